"""The second way to an engine: the official release archive, with a pinned checksum."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.installer import PROGRAMS, VERSION, Installer, release_archive, release_server


def test_the_archive_is_taken_when_its_checksum_is_recorded(engine: Installer) -> None:
    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, asked):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 0, answer.stderr
    assert [Path(path).name.startswith(f"pulumi-v{VERSION}-linux-") for path in asked] == [True]
    bin_folder = Path(answer.stdout.strip())
    assert sorted(path.name for path in bin_folder.iterdir()) == sorted(PROGRAMS)
    assert all(os.access(path, os.X_OK) for path in bin_folder.iterdir())
    assert engine.made() == [bin_folder.parent]
    assert [path.name for path in bin_folder.parent.iterdir()] == ["bin"]
    assert "downloading" in answer.stderr
    assert "minutes" in answer.stderr


def test_without_a_recorded_checksum_nothing_is_downloaded(engine: Installer) -> None:
    (engine.folder / "checksums").write_text("# none yet\n")
    with release_server(release_archive()) as (url, asked):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 1
    assert asked == []
    assert "no checksum is recorded for pulumi-v" in answer.stderr


def test_an_archive_with_another_checksum_is_refused_and_no_other_way_is_tried(engine: Installer) -> None:
    engine.pin(release_archive())
    other = release_archive(without="pulumi-language-go")
    with release_server(other) as (url, _):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert "is not the pinned archive, so it was thrown away" in answer.stderr
    assert "building" not in answer.stderr
    assert engine.made() == []


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (release_archive(without="pulumi-language-python"), "it lacks pulumi-language-python"),
        (release_archive(version="3.1.0"), f"says it is 3.1.0, not {VERSION}"),
        (b"no archive at all", "cannot be unpacked"),
    ],
)
def test_a_pinned_archive_that_holds_something_else_is_refused(engine: Installer, archive: bytes, why: str) -> None:
    engine.pin(archive)
    with release_server(archive) as (url, _):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 1
    assert why in answer.stderr
    assert "Traceback" not in answer.stderr
    assert engine.made() == []


def test_a_server_without_the_archive_leads_to_the_next_way(engine: Installer) -> None:
    engine.pin(release_archive())
    with release_server(None) as (url, _):
        answer = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert answer.returncode == 1
    assert "could not be downloaded: Not Found" in answer.stderr
    assert "no `go` on PATH" in answer.stderr


def test_two_runs_at_once_make_one_engine(engine: Installer) -> None:
    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, asked):
        environment = engine.environment(CLUSTERWRIGHT_ENGINE_RELEASES=url)
        runs = [subprocess.Popen(engine.command(), env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]
        answers = {run.communicate()[0] for run in runs}
    assert len(asked) == 1
    assert len(answers) == 1
    assert len(engine.made()) == 1


def test_new_pins_mean_a_new_engine(engine: Installer) -> None:
    archive = release_archive()
    engine.pin(archive)
    with release_server(archive) as (url, asked):
        first = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
        with (engine.folder / "cli/go.sum").open("a") as sums:
            sums.write("changed\n")
        second = engine.run(CLUSTERWRIGHT_ENGINE_RELEASES=url)
    assert first.stdout != second.stdout
    assert len(asked) == 2


@pytest.mark.skipif(os.geteuid() != 0, reason="a full disk is made with a small file system, which needs root")
def test_a_full_disk_is_one_page_and_leaves_nothing(engine: Installer) -> None:
    archive = release_archive()
    engine.pin(archive)
    engine.cache.mkdir()
    with release_server(archive) as (url, _):
        # Mounted in a namespace of its own, the file system is gone with the process, however that ends.
        script = f"mount -t tmpfs -o size=64k tmpfs {engine.cache} && {sys.executable} {engine.folder}/install; echo rc=$?; ls -A {engine.cache}/engine"
        answer = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script],
            env=engine.environment(CLUSTERWRIGHT_ENGINE_RELEASES=url),
            capture_output=True,
            text=True,
            check=True,
        )
    assert answer.stdout.split() == ["rc=1", ".lock"]
    assert "GiB free" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_cache_that_cannot_be_written_is_one_page(engine: Installer) -> None:
    engine.pin(release_archive())
    engine.cache.write_text("a file stands where the cache should be")
    answer = engine.run()
    assert answer.returncode == 1
    assert "cannot be used" in answer.stderr
    assert "CLUSTERWRIGHT_CACHE" in answer.stderr
    assert "Traceback" not in answer.stderr
