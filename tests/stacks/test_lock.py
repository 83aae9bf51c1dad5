"""The engine's lock: cleared when its holder is gone from this machine, else left alone and its holder named."""

import datetime as dt
import getpass
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprints.project import project_root
from stacks.engine import commands, locks, state
from stacks.errors import EngineFailed, Problem

STACK = "dev"
LONG_AGO = "2024-01-02T03:04:05.123456789Z"  # with nanoseconds, as the engine writes it


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state with space"
    folder.mkdir()
    monkeypatch.setenv("PULUMI_BACKEND_URL", folder.as_uri())
    return folder


@pytest.fixture
def another_engine() -> Iterator[subprocess.Popen[bytes]]:
    """A process that may hold a lock; some distributions wrap the engine, so its name says nothing."""
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def locked(backend: Path, *, pid: int, host: str = "", stack: str = STACK, name: str = "one", since: str = LONG_AGO) -> Path:
    file = backend / ".pulumi" / "locks" / "organization" / "clusterwright" / stack / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"pid": pid, "username": "ada", "hostname": host or socket.gethostname(), "timestamp": since}))
    return file


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_without_a_lock_there_is_nothing_to_do(backend: Path) -> None:
    locks.clear_stale(STACK)
    assert list(backend.iterdir()) == []


def test_a_lock_of_another_machine_has_a_holder_though_no_such_process_runs_here(backend: Path) -> None:
    locked(backend, pid=gone(), host="elsewhere")
    assert "on elsewhere since" in locks.holder(STACK)


def test_the_lock_of_a_process_that_is_gone_is_cleared(backend: Path) -> None:
    files = [locked(backend, pid=gone()), locked(backend, pid=gone(), name="two")]
    locks.clear_stale(STACK)
    assert not any(lock.exists() for lock in files)


def test_a_number_that_a_later_process_has_is_stale(backend: Path, another_engine: subprocess.Popen[bytes]) -> None:
    lock = locked(backend, pid=another_engine.pid, since=LONG_AGO)
    locks.clear_stale(STACK)
    assert not lock.exists()


def test_a_live_lock_names_its_holder_and_stays(backend: Path, another_engine: subprocess.Popen[bytes]) -> None:
    taken = dt.datetime.now(tz=dt.UTC).isoformat()
    lock = locked(backend, pid=another_engine.pid, since=taken)
    with pytest.raises(Problem) as problem:
        locks.clear_stale(STACK)
    assert str(another_engine.pid) in problem.value.why
    assert "ada" in problem.value.why
    assert taken in problem.value.why
    assert lock.exists()


def test_a_lock_of_another_machine_is_never_judged_by_this_one_s_processes(backend: Path) -> None:
    lock = locked(backend, pid=gone(), host="elsewhere")
    with pytest.raises(Problem) as problem:
        locks.clear_stale(STACK)
    assert "elsewhere" in problem.value.why
    assert f"pulumi cancel --stack {STACK}" in problem.value.remedy
    assert lock.exists()


def test_locks_of_other_stacks_are_left_alone(backend: Path) -> None:
    other = locked(backend, pid=gone(), stack="other")
    locks.clear_stale(STACK)
    assert other.exists()


@pytest.mark.parametrize("written", ["file://~/state", "file://{folder}?metadata=skip", "file://{folder}"])
def test_a_folder_is_found_however_it_is_written(written: str, backend: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(backend))
    folder = backend / "state"
    monkeypatch.setenv("PULUMI_BACKEND_URL", written.format(folder=folder))
    lock = locked(folder, pid=gone())
    locks.clear_stale(STACK)
    assert not lock.exists()


def test_backends_that_are_no_folder_keep_their_own_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://bucket")
    locks.clear_stale(STACK)


# The lock of this program's own runs

HOLD = """
import sys
from stacks.engine import locks
with locks.held(sys.argv[1], "up"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def another_run(backend: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of this program that holds the stack and has not started its engine."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, STACK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=project_root())
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    yield process
    process.communicate("\n")


def test_a_second_run_is_refused_before_its_engine_starts_and_knows_who_works(another_run: subprocess.Popen[str]) -> None:
    before = dt.datetime.now(tz=dt.UTC) - dt.timedelta(minutes=1)
    with pytest.raises(Problem) as problem, locks.held(STACK, "down"):
        pytest.fail("two runs hold the stack")
    said = re.fullmatch(r"process (\d+) of (\S+) on (\S+) since (\S+), `clusterwright up`", problem.value.why)
    assert said
    assert (int(said[1]), said[2], said[3]) == (another_run.pid, getpass.getuser(), socket.gethostname())
    assert before < dt.datetime.fromisoformat(said[4]) < dt.datetime.now(tz=dt.UTC)
    assert locks.holder(STACK) == problem.value.why


def test_an_own_lock_ends_with_its_process_however_it_ends(another_run: subprocess.Popen[str]) -> None:
    another_run.kill()
    another_run.wait()
    assert locks.holder(STACK) == ""
    with locks.held(STACK, "up"):
        assert locks.holder(STACK) == "", "a run does not wait for itself"
        with locks.held(STACK, "down"):
            pass


def test_an_own_lock_leaves_no_file(backend: Path) -> None:
    with locks.held(STACK, "up"):
        assert [file.name for file in backend.rglob("*.json")] == [f"{STACK}.json"]
    assert list(backend.rglob("*.json")) == []


# The same folder's state


def recorded(backend: Path, state: Any, *, file: str = f"{STACK}.json") -> None:
    path = backend / ".pulumi" / "stacks" / "clusterwright" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state))


@pytest.mark.parametrize(
    ("file", "exists"),
    [("dev.json", True), ("dev.json.gz", True), ("dev.json.bak", False), ("dev.json.attrs", False), ("develop.json", False), ("de.json", False)],
)
def test_a_stack_is_there_when_its_state_is_and_not_when_only_a_copy_is(backend: Path, file: str, exists: bool) -> None:
    recorded(backend, {}, file=file)
    assert state.exists(STACK) is exists


@pytest.mark.parametrize(
    ("record", "pending"),
    [
        ({"version": 3, "checkpoint": {"stack": "dev"}}, []),
        ({"version": 3, "checkpoint": {"stack": "dev", "latest": None}}, []),
        ({"version": 3, "checkpoint": {"latest": {"resources": []}}}, []),
        (
            {
                "checkpoint": {
                    "latest": {
                        "pending_operations": [{"type": "creating", "resource": {"urn": "urn:a"}}, {"type": "deleting", "resource": {"urn": "urn:b"}}],
                    }
                }
            },
            ["urn:a"],
        ),
    ],
    ids=["new", "empty", "no operation", "a create and a delete"],
)
def test_interrupted_creates_are_read_from_the_state(backend: Path, record: Any, pending: list[str]) -> None:
    recorded(backend, record)
    assert state.pending_creates(STACK) == pending


def test_a_stack_without_state_has_no_interrupted_creates(backend: Path) -> None:
    assert state.pending_creates(STACK) == []


@pytest.mark.parametrize("content", ["", "not json", '{"version": 3, "chec', "[]", "{}", '"text"'])
def test_a_state_that_is_none_is_replaced_by_its_backup(content: str, backend: Path) -> None:
    whole = {"version": 3, "checkpoint": {"stack": STACK, "latest": {"resources": []}}}
    recorded(backend, whole, file=f"{STACK}.json.bak")
    recorded(backend, {})
    [file] = backend.rglob(f"{STACK}.json")
    file.write_text(content)
    state.restore(STACK)
    assert json.loads(file.read_text()) == whole
    assert file.with_name(f"{STACK}.json.cut-off").read_text() == content


# What the engine needs


def test_a_backend_whose_folder_is_gone_is_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", (tmp_path / "gone").as_uri())
    with pytest.raises(Problem) as problem:
        commands.require()
    make = problem.value.remedy.rpartition(": ")[2]
    assert make == f"mkdir -p {tmp_path / 'gone'}"
    subprocess.run(make, shell=True, check=True)
    commands.require()


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "example.org")
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    assert commands.environment()["no_grpc_proxy"] == "example.org,127.0.0.1,localhost"


def test_an_engine_that_says_nothing_is_installed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "engine/key/bin/pulumi"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(EngineFailed) as failed:
        commands.answer("stack", "ls")
    assert str(program) in failed.value.why
    assert f"rm -rf {tmp_path / 'engine/key'} && make setup" in failed.value.remedy


def test_a_missing_plugin_is_checked_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", tmp_path.as_uri())
    monkeypatch.setattr(commands, "PLUGIN", Path("components/provider/gone"))
    with pytest.raises(Problem) as problem:
        commands.require()
    assert problem.value.remedy == f"git -C {project_root()} checkout -- components/provider/gone"
