"""The engine's lock of a stack: who holds it, and clearing the lock of an engine that was killed.

A lock is stale when its holder ran on this machine and no longer does.
"""

import datetime as dt
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import Problem
from . import backend, commands

ORGANIZATION = "organization"  # the file backend has only this one
CLOCK_SLACK_S = 2  # the kernel's boot time is in whole seconds


def holder(stack: str) -> str:
    """Name who is changing the stack, and change nothing; empty when nobody is.

    Pulumi's own service says that somebody is, not who; backends in object storage say neither, and are not waited for.
    """
    if backend.folder() is None:
        return "somebody, as the backend says" if commands.listed(stack).get("updateInProgress") else ""
    for _, lock in _locks(stack):
        if lock["hostname"] != socket.gethostname() or _is_alive(lock):
            return f"process {lock['pid']} of {lock['username']} on {lock['hostname']} since {lock['timestamp']}"
    return ""


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
                remedy=f"wait for it; if that machine no longer exists, run: pulumi cancel --stack {stack}",
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
