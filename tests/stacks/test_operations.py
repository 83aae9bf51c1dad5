"""An operation of the engine as this process follows it: any program that writes a log may be in the engine's place."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stacks.engine import operations, passphrase
from stacks.render.progress import Progress

URN = "urn:pulumi:dev::clusterwright::clusterwright:index:Cluster$clusterwright:local:HostPool::train"
CREATED = "".join(
    json.dumps({event: {"metadata": {"op": "create", "urn": URN, "new": {"custom": True}}}}) + "\n" for event in ("resourcePreEvent", "resOutputsEvent")
)


def followed(folder: Path, script: str) -> tuple[int, Progress]:
    """Follow a shell script that writes events with `cat $1 >>$2`."""
    (folder / "created").write_text(CREATED)
    log, progress = folder / "log", Progress()
    log.touch()
    with log.open(encoding="utf-8") as events:
        process = subprocess.Popen(["sh", "-c", script, "sh", str(folder / "created"), str(log)])
        return operations._follow(process, events, progress), progress


def test_the_log_is_shown_to_its_last_event_and_the_status_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, progress = followed(tmp_path, 'cat "$1" >>"$2"; exit 3')
    assert status == 3
    assert capsys.readouterr().out == "  + HostPool train created\n"
    assert progress.changed == {URN}


def test_an_event_that_is_half_written_waits_for_its_rest(capsys: pytest.CaptureFixture[str]) -> None:
    screen = operations._Screen(Progress())
    unread = screen.take(CREATED[:30])
    assert unread == CREATED[:30]
    assert screen.take(unread + CREATED[30:]) == ""
    screen.end()
    assert capsys.readouterr().out == "  + HostPool train created\n"


def test_an_operation_goes_on_when_nobody_reads_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        status, progress = followed(tmp_path, 'cat "$1" >>"$2"; cat "$1" >>"$2"')
        monkeypatch.undo()
        assert (status, progress.changed) == (0, frozenset({URN}))
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())  # what is left in the buffer


@pytest.mark.parametrize(("status", "text"), [(-9, "SIGKILL"), (4, "status 4")])
def test_an_engine_that_says_nothing_is_described_by_its_end(status: int, text: str) -> None:
    assert text in operations._ended(status)


@pytest.mark.parametrize("variable", [None, passphrase.VARIABLE, passphrase.FILE_VARIABLE])
def test_a_passphrase_is_asked_for_only_where_it_is_needed_and_somebody_can_answer(
    variable: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "Pulumi.dev.yaml"
    settings.write_text("encryptionsalt: v1:salt\n")
    monkeypatch.setattr("stacks.project.stack_file", lambda _: settings)
    monkeypatch.setattr("getpass.getpass", lambda _: "typed")
    for name in (passphrase.VARIABLE, passphrase.FILE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "given")
    passphrase.ask_if_needed("dev")
    assert os.environ.get(passphrase.VARIABLE) == ("given" if variable == passphrase.VARIABLE else None), "no terminal"
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    passphrase.ask_if_needed("dev")
    expected = {None: "typed", passphrase.VARIABLE: "given", passphrase.FILE_VARIABLE: None}
    assert os.environ.get(passphrase.VARIABLE) == expected[variable]
    monkeypatch.delenv(passphrase.VARIABLE, raising=False)
