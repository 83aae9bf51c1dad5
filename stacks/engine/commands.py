"""Drive Pulumi's engine: find it, choose the stack, run one operation, and leave no process of it behind.

A killed engine leaves its lock in the state and its children running. The lock is recognised as stale when its holder is gone from this same machine; its language host becomes ours, because this process asks the
kernel to hand orphans to it, and is ended with the operation.
"""

import ctypes
import datetime as dt
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from blueprints.project import project_root
from components import lifetime

from ..problem import Problem

PROJECT = "clusterwright"
ORGANIZATION = "organization"  # the file backend has only this one
LANGUAGE_HOST = "pulumi-language"  # as far as the kernel keeps a command's name: 15 letters
STATE_SUFFIXES = (".json", ".json.gz", ".json.zst")  # other suffixes are copies, which stay when the stack is removed
FILE_SCHEME = "file://"
STATUS_NOT_FOUND = 6  # Pulumi's exit status for an unknown stack
OPERATIONS_LOOKED_AT = 20
CLOCK_SLACK_S = 2  # the kernel's boot time is in whole seconds
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def require() -> None:
    """Raise Problem unless the engine is on PATH and a backend chosen."""
    if shutil.which("pulumi") is None or "PULUMI_BACKEND_URL" not in os.environ:
        raise Problem(
            "Pulumi's engine is not at hand",
            why="`pulumi` is not on PATH, or no backend is chosen",
            remedy="`make setup` installs it; then `. ./activate` in this shell, or use the make targets, which do both",
        )


def make_if_missing(stack: str) -> None:
    """Make the stack unless the backend has it; a new one is the one that a bare `pulumi up` takes."""
    if exists(stack):
        return
    _capture("stack", "select", "--create", "--stack", stack)


def exists(stack: str) -> bool:
    """Say whether the backend has the stack; for the file backend without starting the engine."""
    folder = _file_backend()
    if folder is not None:
        return any((folder / ".pulumi" / "stacks" / PROJECT / f"{stack}{suffix}").exists() for suffix in STATE_SUFFIXES)
    done = subprocess.run(["pulumi", "stack", "--stack", stack], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=project_root(), check=False)
    if done.returncode in (0, STATUS_NOT_FOUND):
        return done.returncode == 0
    # Anything else is no answer. Taken for "no such stack" it would make `down` sweep away a living one.
    raise Problem(
        f"the backend can't say whether there is a stack {stack}",
        why=done.stderr.strip() or "it said nothing",
        remedy="see to its credentials and network, then run the command again",
    )


def resources(stack: str) -> list[dict[str, Any]]:
    """Give the stack's resources as the state records them, secrets encrypted."""
    return resources_of(record(stack))


def resources_of(known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the resources of a record."""
    found: list[dict[str, Any]] = (known.get("deployment") or {}).get("resources") or []
    return found


def record(stack: str) -> dict[str, Any]:
    """Give all that the backend records of a stack, secrets encrypted."""
    found: dict[str, Any] = json.loads(_capture("stack", "export", "--stack", stack))
    return found


def put_record(stack: str, new: Mapping[str, Any], *, instead_of: Mapping[str, Any]) -> None:
    """Replace what the backend records of a stack; notes of what was under way are dropped with it.

    The engine takes the stack's lock while it writes. Between the look at the record and that moment somebody else may have changed it, which is looked for at the last moment that there is.

    Raises:
        Problem: the stack is somebody else's by now.
    """
    if record(stack) != instead_of:
        raise Problem(
            f"stack {stack} was changed while this run looked at what an earlier one had left",
            why="somebody else works on it",
            remedy="wait for the other run to end, then run the command again",
        )
    clear_stale_lock(stack)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # readable by its owner alone
        json.dump(new, file)
        file.flush()
        _capture("stack", "import", "--stack", stack, "--file", file.name)


def operate(*words: str, stack: str) -> int:
    """Run one operation with the terminal as it is, and give its exit status."""
    prepare(stack)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(["pulumi", *words, "--stack", stack], cwd=project_root())
    while True:
        try:
            status = process.wait()
            break
        except KeyboardInterrupt:
            continue  # the engine got the same Ctrl-C; a second one makes it stop at once
    _end_orphans()
    return status


def outputs(stack: str) -> dict[str, Any]:
    """Give the stack's outputs, secrets included."""
    found: dict[str, Any] = json.loads(_capture("stack", "output", "--json", "--show-secrets", "--stack", stack))
    return found


def prepare(stack: str) -> None:
    """Undo what a killed engine left of itself: its lock, and a state file that it was writing.

    Raises:
        Problem: another run holds the stack.
    """
    clear_stale_lock(stack)
    _recover_state(stack)


def _recover_state(stack: str) -> None:
    """Mend what a kill or a full disk cut off in the file backend: before each write of a state the engine copies the one before to `.bak`."""
    folder = _file_backend()
    if folder is None:
        return
    state = folder / ".pulumi" / "stacks" / PROJECT / f"{stack}.json"
    for attributes in state.parent.glob(f"{stack}.json*.attrs"):
        if _read_json(attributes) is None:
            attributes.unlink()  # what the backend notes beside each file (type, checksum); it does without
    if not state.exists() or _read_json(state) is not None:
        return
    aside = state.with_name(f"{stack}.json.cut-off")
    state.replace(aside)
    backup = state.with_name(f"{stack}.json.bak")
    if _read_json(backup) is not None:
        shutil.copy(backup, state)
        print(f"the state of stack {stack} was cut off by a kill; its last backup is taken, and what was made since is adopted")
    else:
        print(f"the state of stack {stack} was cut off by a kill before there was a backup; it begins anew and adopts what exists ({aside} is kept)")


def has_file_backend() -> bool:
    """Say whether the record is a file here, which can be read without the engine."""
    return _file_backend() is not None


def pending_creates(stack: str) -> list[str]:
    """URNs whose creation was interrupted by a kill, from the file backend's state; empty for other backends, which keep them themselves."""
    state = _state(stack)
    latest = (state or {}).get("checkpoint", {}).get("latest") or {}  # null until something was registered
    operations = latest.get("pending_operations") or []
    return [operation["resource"]["urn"] for operation in operations if operation["type"] == "creating"]


def has_failed(stack: str) -> bool:
    """Say whether the latest update of the stack that came to its end ended with an error; for the file backend without starting the engine."""
    latest = next((one for one in _history(stack) if one.get("kind") == "update"), {})
    return latest.get("result") == "failed"


def _history(stack: str) -> Iterator[Mapping[str, Any]]:
    """Give what is noted of operations on the stack, the latest first."""
    folder = _file_backend()
    if folder is not None:
        for file in sorted((folder / ".pulumi" / "history" / PROJECT / stack).glob("*.history.json"), reverse=True):  # their names hold the time
            yield _read_json(file) or {}
        return
    words = ["pulumi", "stack", "history", "--json", "--page-size", str(OPERATIONS_LOOKED_AT), "--stack", stack]
    done = subprocess.run(words, cwd=project_root(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    yield from json.loads(done.stdout or "[]") if done.returncode == 0 else ()


def planned(stack: str, *words: str) -> list[dict[str, Any]] | None:
    """Give the steps that an `up` would take, as a preview tells them: `op` and the resource's `newState`, without what only an apply gives and without secrets.

    Returns:
        None where the program can't be run, which `up` itself tells better.
    """
    done = subprocess.run(
        ["pulumi", "preview", "--json", *words, "--stack", stack], cwd=project_root(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        return None
    found: list[dict[str, Any]] = json.loads(done.stdout).get("steps") or []
    return found


def under_way(stack: str) -> str:
    """Name who is changing the stack; empty when nobody is. Only looks.

    Pulumi's own service says that somebody is, not who; backends in object storage say neither, and are not waited for.
    """
    folder = _file_backend()
    if folder is None:
        return "somebody, as the backend says" if listed(stack).get("updateInProgress") else ""
    for lock in (folder / ".pulumi" / "locks" / ORGANIZATION / PROJECT / stack).glob("*.json"):
        holder = _read_json(lock)
        if holder is None:
            continue
        elsewhere = holder["hostname"] != socket.gethostname()
        if elsewhere or _has_run_since(int(holder["pid"]), dt.datetime.fromisoformat(holder["timestamp"])):
            return f"process {holder['pid']} of {holder['username']} on {holder['hostname']} since {holder['timestamp']}"
    return ""


def state_age_s(stack: str) -> float | None:
    """Say how long ago the stack's record was last written, seconds; None where nobody knows."""
    if has_file_backend():
        moment = ((_state(stack) or {}).get("checkpoint", {}).get("latest") or {}).get("manifest", {}).get("time")
    else:
        moment = listed(stack).get("lastUpdate")
    return None if moment is None else dt.datetime.now(dt.UTC).timestamp() - dt.datetime.fromisoformat(moment).timestamp()


def clear_stale_lock(stack: str) -> None:
    """Clear the lock of an engine that is gone; refuse, naming the holder, when it lives.

    Raises:
        Problem: another run holds the stack.
    """
    folder = _file_backend()
    if folder is None:
        return  # the engine itself speaks of other backends' locks; `pulumi cancel` clears them
    for lock in (folder / ".pulumi" / "locks" / ORGANIZATION / PROJECT / stack).glob("*.json"):
        holder = _read_json(lock)
        if holder is None:
            continue
        pid, host = int(holder["pid"]), holder["hostname"]
        if host != socket.gethostname():
            raise Problem(
                f"stack {stack} is locked",
                why=f"process {pid} of {holder['username']} on {host} has held it since {holder['timestamp']}",
                remedy=f"wait for it; if that machine is gone for good: pulumi cancel --stack {stack}",
            )
        if _has_run_since(pid, dt.datetime.fromisoformat(holder["timestamp"])):
            raise Problem(
                f"stack {stack} is locked: another run is under way",
                why=f"process {pid} of {holder['username']} has held it since {holder['timestamp']}",
                remedy="wait for it to end, or stop it with Ctrl-C where it runs",
            )
        print(f"clearing the lock of process {pid}, which ended without releasing stack {stack}")
        lock.unlink(missing_ok=True)


def _has_run_since(pid: int, moment: dt.datetime) -> bool:
    """Say whether the process lives and is not a later one with the same number; what it is called doesn't matter, as engines are wrapped in scripts."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return False
    booted = int(Path("/proc/stat").read_text().partition("btime ")[2].split()[0])
    return booted + ticks / os.sysconf("SC_CLK_TCK") <= moment.timestamp() + CLOCK_SLACK_S


def _capture(*words: str) -> str:
    done = subprocess.run(["pulumi", *words], cwd=project_root(), capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise Problem(
            f"`pulumi {' '.join(words[:2])}` failed", why=done.stderr.strip() or "it said nothing", remedy="mend what it names and run the command again"
        )
    return done.stdout


def _file_backend() -> Path | None:
    """The folder of a `file://` backend, as Pulumi reads it: `~` is the home folder, a relative path starts from where the engine runs."""
    url = os.environ["PULUMI_BACKEND_URL"]
    if not url.startswith(FILE_SCHEME):
        return None
    return project_root() / Path(unquote(url.removeprefix(FILE_SCHEME).partition("?")[0])).expanduser()


def listed(stack: str) -> Mapping[str, Any]:
    """Give what the backend lists of a stack; nothing where it doesn't answer, which whoever reads the record is told."""
    done = subprocess.run(["pulumi", "stack", "ls", "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=project_root(), check=False)
    return entry_of(json.loads(done.stdout), stack) if done.returncode == 0 else {}


def entry_of(entries: Sequence[Mapping[str, Any]], stack: str) -> Mapping[str, Any]:
    """Find a stack in `pulumi stack ls --json`, where Pulumi's service writes an organization before its name. Pure."""
    return next((entry for entry in entries if entry["name"] == stack or entry["name"].endswith(f"/{stack}")), {})


def _state(stack: str) -> dict[str, Any] | None:
    folder = _file_backend()
    return None if folder is None else _read_json(folder / ".pulumi" / "stacks" / PROJECT / f"{stack}.json")


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found


def _end_orphans() -> None:
    """End what a killed engine left. Its plugins end by themselves and its language host doesn't; the hosts, which are orphans here too, are meant to stay."""
    for pid in lifetime.children(os.getpid()):
        try:
            if Path(f"/proc/{pid}/comm").read_text().startswith(LANGUAGE_HOST):
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)
        except (FileNotFoundError, ProcessLookupError, ChildProcessError):
            continue
