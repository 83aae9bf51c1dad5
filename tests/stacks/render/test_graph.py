"""`clusterwright graph`: the right form in the right place, and files that are whole or not there."""

import os
import stat
import threading
from pathlib import Path

import pytest

from stacks.cli import graph
from stacks.cli.main import main

BEGINNINGS = {"svg": b"<svg ", "html": b"<!doctype html>", "text": b"starter on this machine"}


def run(*words: str) -> int:
    return main(["graph", "--stack", "nothing-set", "--blueprint", "starter", *words])


@pytest.mark.parametrize(
    ("name", "asked", "form"),
    [
        ("a.svg", None, "svg"),
        ("a.html", None, "html"),
        ("a.HTM", None, "html"),
        ("a.txt", None, "text"),
        ("a.html", "text", "text"),
        ("a.picture", "svg", "svg"),
        ("picture", "html", "html"),
    ],
)
def test_a_file_is_what_its_ending_says_or_what_is_asked_for(name: str, asked: str | None, form: str, tmp_path: Path) -> None:
    assert run("--output", str(tmp_path / name), *(["--as", asked] if asked else [])) == 0
    assert (tmp_path / name).read_bytes().startswith(BEGINNINGS[form])
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_ending_that_says_nothing_is_refused_with_those_that_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--output", str(tmp_path / "a.png")) == 2
    error = capfd.readouterr().err
    assert "a.png can't be written" in error
    assert "a picture is written as .svg, .html or .txt" in error
    assert "--as svg, --as html, --as text" in error
    assert not list(tmp_path.iterdir())


def test_a_pipe_gets_svg_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    drawn = capfd.readouterr().out
    assert drawn.startswith("<svg ")
    assert drawn.endswith("</svg>\n")


def test_another_target_can_be_looked_at(tmp_path: Path) -> None:
    assert run("--target", "aws", "--output", str(tmp_path / "a.txt")) == 0
    assert (tmp_path / "a.txt").read_text().startswith("starter on AWS\n")


def test_a_value_can_be_tried(tmp_path: Path) -> None:
    assert run("--set", "pools.train.nodes=5", "--output", str(tmp_path / "a.txt")) == 0
    assert (tmp_path / "a.txt").read_text().splitlines()[1].startswith("5 nodes, 40 GPUs")


def test_text_for_a_file_has_box_drawing_whatever_the_terminal_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert run("--output", str(tmp_path / "a.txt")) == 0
    assert "┌──" in (tmp_path / "a.txt").read_text()


@pytest.mark.parametrize(
    ("encoding", "settings", "shown"),
    [
        ("utf-8", {}, True),
        ("utf-8", {"LANG": "C.UTF-8"}, True),
        ("utf-8", {"LANG": "C"}, False),
        ("utf-8", {"LANG": "en_US.UTF-8", "LC_ALL": "POSIX"}, False),
        ("ascii", {"LANG": "en_US.UTF-8"}, False),
        ("latin-1", {}, False),
    ],
)
def test_box_drawing_is_for_terminals_that_have_it(encoding: str, settings: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert graph.shows_boxes(encoding) is shown


def test_a_file_that_is_there_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    there, link = tmp_path / "real.svg", tmp_path / "link.svg"
    there.write_text("old")
    there.chmod(0o640)
    link.symlink_to(there)
    assert run("--output", str(link)) == 0
    assert link.is_symlink()
    assert there.read_bytes().startswith(BEGINNINGS["svg"])
    assert stat.S_IMODE(there.stat().st_mode) == 0o640


def test_a_new_file_can_be_read_by_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        graph.write_whole(tmp_path / "a", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_what_can_not_be_written_is_said_and_leaves_what_was_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run("--output", str(tmp_path / "missing" / "a.svg")) == 1
    error = capfd.readouterr().err
    assert f"the file {tmp_path}/missing/a.svg can't be written\n  why: No such file or directory\n" in error
    (tmp_path / "folder.svg").mkdir()
    assert run("--output", str(tmp_path / "folder.svg")) == 1
    assert not list((tmp_path / "folder.svg").iterdir())


def test_a_write_that_breaks_off_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.svg").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    assert run("--output", str(tmp_path / "a.svg")) == 1
    assert (tmp_path / "a.svg").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.svg")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "a.svg").read_bytes()))
    reader.start()
    assert run("--output", str(tmp_path / "a.svg")) == 0
    reader.join(timeout=30)
    assert read[0].startswith(BEGINNINGS["svg"])
    assert (tmp_path / "a.svg").is_fifo()
