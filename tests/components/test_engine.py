"""Resources of our own provider in the hands of the real engine."""

import json
import signal
import subprocess

import pytest

from stacks.engine import locks, state
from stacks.errors import Problem
from stacks.render import engine_events
from stacks.render.progress import Progress
from tests import processes
from tests.components.project import STACK, Project
from tests.processes import Watched

pytestmark = pytest.mark.engine

NOTE, NOTES, MEETING = "test:files:Note", "test:files:Notes", "test:files:Meeting"
DRIFT = 7  # the engine's own number for changes that were not to be
CHILDREN_END_WITHIN_S = 5.0


def test_what_was_lost_is_seen_and_mended_and_nothing_else_touched(project: Project) -> None:
    folder = project.folder / "notes"
    project.declare(NOTES, "notes", folder=str(folder), names=["a", "b"], text="hello", outputs=["present"])
    project.succeed("up", "--yes")  # with the preview that the others leave out
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]

    project.up("--refresh", "--expect-no-changes")

    (folder / "b").unlink()
    kept = (folder / "a").stat()
    assert project.run("refresh", "--preview-only", "--expect-no-changes").returncode == DRIFT

    project.up("--refresh")
    assert (folder / "b").read_text() == "hello"
    assert (folder / "a").stat() == kept

    project.destroy()
    assert not folder.exists()


def test_a_row_ends_with_what_was_changed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_COMMANDS", "true")
    assert shown_of_up(project, "hello") == (["  + Note note created"], ["writing", ""])
    change = "text hello → bye"
    assert shown_of_up(project, "bye") == (["  ~ Note note updated"], [change, "writing", change])
    assert shown_of_up(project, "bye") == ([], [])


@pytest.mark.parametrize(("words", "are_sent"), [((), False), (("--debug",), True)])
def test_the_program_sends_debug_messages_to_an_engine_that_shows_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], are_sent: bool
) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_COMMANDS", "true")
    log = project.folder / "events.jsonl"
    project.declare(NOTE, "note", path=str(project.folder / "note"), text="hello")
    project.up("--event-log", str(log), *words)
    said = [event["diagnosticEvent"] for line in log.read_text().splitlines() if "diagnosticEvent" in (event := json.loads(line))]
    assert any(one["severity"] == "debug" and "name=note" in one["message"] for one in said) is are_sent


def shown_of_up(project: Project, text: str) -> tuple[list[str], list[str]]:
    """Run the engine, and give what its log is shown as, and what was said while it went on."""
    log, progress = project.folder / "events.jsonl", Progress()
    project.declare(NOTE, "note", path=str(project.folder / "note"), text=text)
    project.up("--event-log", str(log))
    events = [event for line in log.read_text().splitlines() if (event := engine_events.parse(line))]
    log.unlink()
    assert not progress.has_errors
    lines = [*(line for event in events for line in progress.take(event, 0)), *progress.quick()]
    return lines, [event.text for event in events if isinstance(event, engine_events.Said)]


def test_a_failure_half_way_is_recorded_and_the_next_run_goes_on(project: Project) -> None:
    folder, secret = project.folder / "notes", "marker-of-a-secret-0815"
    names = [f"{number}-{'x' * 100}" for number in range(1500)]  # a record of this size must come through, too
    (folder / names[700]).mkdir(parents=True)
    project.declare(NOTES, "notes", folder=str(folder), names=names, text="hello", key=secret, secrets=["key"], outputs=["present"])
    failed = project.run("up", "--yes", "--skip-preview")
    assert failed.returncode != 0
    assert f"{names[700]}: Is a directory" in failed.stdout
    recorded = project.recorded("notes")
    assert recorded is not None
    assert recorded["id"] == str(folder)
    assert recorded["outputs"]["complete"] is False
    assert recorded["outputs"]["present"] == [*names[:700], *names[701:]]

    kept = (folder / names[0]).stat()
    (folder / names[700]).rmdir()
    project.up("--refresh")  # looking at the world makes the engine forget its own mark of the failure
    mended = project.recorded("notes")
    assert mended is not None
    assert (mended["outputs"]["complete"], mended["outputs"]["present"]) == (True, names)
    assert (folder / names[0]).stat() == kept
    assert secret not in project.state()


def test_an_engine_killed_in_a_silent_create_leaves_no_process_and_the_next_run_converges(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", project.state_folder.as_uri())
    folder = project.folder / "notes"
    folder.mkdir()
    subprocess.run(["mkfifo", folder / "pipe"], check=True)  # writing to it blocks: nobody reads
    project.declare(NOTES, "notes", folder=str(folder), names=["a", "pipe", "z"], text="hello")
    run = project.start("up", "--yes", "--skip-preview")
    processes.wait_until(lambda: (folder / "a").exists(), awaiting="the create to begin")
    started = processes.below(run.pid)
    lines = [processes.command_line(pid) for pid in started]
    assert all(any(part in line for line in lines) for part in ("pulumi-language-python ", "tests.components.plugin", "language-python-exec"))

    with pytest.raises(Problem) as held:
        locks.clear_stale(STACK)
    assert str(run.pid) in held.value.why

    with Watched(started) as watched:
        run.kill()
        watched.wait_for_end(CHILDREN_END_WITHIN_S)
    run.wait()

    (folder / "pipe").unlink()
    locks.clear_stale(STACK)
    (urn,) = state.pending_creates(STACK)
    assert urn.endswith("::notes")
    project.succeed("refresh", "--yes", "--skip-preview", "--clear-pending-creates")
    project.up()
    assert state.pending_creates(STACK) == []
    assert sorted(path.name for path in folder.iterdir()) == ["a", "pipe", "z"]
    assert all(path.read_text() == "hello" for path in folder.iterdir())


def test_an_interrupted_create_stops_and_is_recorded(project: Project) -> None:
    place = project.folder / "place"
    project.declare(MEETING, "meeting", place=str(place), guest="godot")
    run = project.start("up", "--yes", "--skip-preview")
    processes.wait_until(place.is_dir, awaiting="the create to begin")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=processes.WITHIN_S)
    assert run.returncode != 0
    recorded = project.recorded("meeting")
    assert recorded is not None
    assert recorded["outputs"] == {"place": str(place), "guest": "godot", "guests": [], "complete": False}


def test_a_stack_that_was_removed_is_not_there_any_more(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", project.state_folder.as_uri())
    assert state.exists(STACK)
    assert state.pending_creates(STACK) == []
    project.succeed("stack", "rm", "--yes")
    assert not state.exists(STACK)
