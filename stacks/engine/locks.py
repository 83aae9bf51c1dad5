"""The locks of a stack: this program's own, which a run holds from its first question to its last line, and the engine's, which an engine that was killed leaves behind.

The engine takes its lock only when it starts, and what it says about somebody else's lock is advice to clear it. Two runs that start together are therefore kept apart before the engine.
The kernel releases the own lock when its holder ends, however it ends. A lock of the engine is stale when its holder ran on this machine and no longer does.
"""

import contextlib
import datetime as dt
import fcntl
import getpass
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from .. import project
from ..errors import Problem
from . import backend, commands

OWN_FOLDER = "clusterwright-locks"
"""In the folder of a file backend, which all who use the stack share."""
ORGANIZATION = "organization"  # the file backend has only this one
CLOCK_SLACK_S = 2  # the kernel's boot time is in whole seconds


_held: set[str] = set()
"""Stacks that this process holds."""


@contextlib.contextmanager
def held(stack: str, purpose: str) -> Iterator[None]:
    """Hold the stack while this process changes it; a stack that this process holds already stays held.

    Args:
        purpose: the command, for whoever comes second (`up`).
    Raises:
        Problem: another run holds the stack.
    """
    if stack in _held:
        yield
        return
    backend.require()
    path = _own_file(stack)
    with _locked(stack, path) as file:
        since = dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")
        json.dump({"pid": os.getpid(), "username": getpass.getuser(), "hostname": socket.gethostname(), "timestamp": since, "purpose": purpose}, file)
        file.flush()
        _held.add(stack)
        try:
            yield
        finally:
            _held.discard(stack)
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(stack: str, path: Path) -> Iterator[IO[str]]:
    """Take the lock on the file that has this path now: its last holder removed the one that it held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Problem(
                    f"stack {stack} is locked: another run is in progress",
                    why="\n".join(_holders(stack)) or "a process that has just started holds it",
                    remedy="wait until it finishes, or stop it with Ctrl-C where it runs",
                ) from None
            if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                file.truncate(0)  # a killed holder's words
                yield file
                return


def _own_file(stack: str) -> Path:
    folder = backend.folder()
    return (project.private_folder(stack).parent if folder is None else folder) / OWN_FOLDER / f"{stack}.json"


def holder(stack: str) -> str:
    """Name who is changing the stack, and change nothing; empty when nobody is.

    Pulumi's own service says that somebody is, not who; backends in object storage say neither, and are not waited for.
    """
    if found := next(_holders(stack), ""):
        return found
    return "somebody, as the backend says" if backend.folder() is None and commands.listed(stack).get("updateInProgress") else ""


def _holders(stack: str) -> Iterator[str]:
    """Describe the run that holds the stack, then its engine."""
    own = None if stack in _held else backend.read_json(_own_file(stack))
    if own and own["hostname"] == socket.gethostname() and _is_alive(own):
        yield f"{_described(own)}, `clusterwright {own['purpose']}`"
    for _, lock in _locks(stack):
        if lock["hostname"] != socket.gethostname() or _is_alive(lock):
            yield _described(lock)


def _described(lock: Mapping[str, Any]) -> str:
    return f"process {lock['pid']} of {lock['username']} on {lock['hostname']} since {lock['timestamp']}"


def clear_stale(stack: str) -> None:
    """Clear the lock of an engine that no longer runs. Other backends than a folder report their locks themselves; `pulumi cancel` clears those.

    Raises:
        Problem: another run holds the stack.
    """
    for file, lock in _locks(stack):
        pid, host = lock["pid"], lock["hostname"]
        if host != socket.gethostname():
            raise Problem(
                f"stack {stack} is locked",
                why=f"process {pid} of {lock['username']} on {host} has held it since {lock['timestamp']}",
                remedy=f"wait for it; if that machine no longer exists, run: pulumi cancel --stack {stack} --yes",
            )
        if _is_alive(lock):
            raise Problem(
                f"stack {stack} is locked: another run is in progress",
                why=f"process {pid} of {lock['username']} has held it since {lock['timestamp']}",
                remedy="wait until it finishes, or stop it with Ctrl-C where it runs",
            )
        print(f"clearing the lock of process {pid}, which ended without releasing stack {stack}")
        file.unlink(missing_ok=True)


def _locks(stack: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Give the lock files of a stack in a file backend with what is in them; none for other backends."""
    folder = backend.folder()
    if folder is None:
        return
    for file in (folder / ".pulumi" / "locks" / ORGANIZATION / commands.PROJECT / stack).glob("*.json"):
        lock = backend.read_json(file)
        if lock is not None:
            yield file, lock


def _is_alive(lock: Mapping[str, Any]) -> bool:
    """Say whether the holder lives and is not a later process with the same number; its name says nothing, as some systems wrap the engine in scripts."""
    try:
        ticks = int(Path(f"/proc/{int(lock['pid'])}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return False
    booted = int(Path("/proc/stat").read_text().partition("btime ")[2].split()[0])
    return booted + ticks / os.sysconf("SC_CLK_TCK") <= dt.datetime.fromisoformat(lock["timestamp"]).timestamp() + CLOCK_SLACK_S
