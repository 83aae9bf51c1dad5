"""End with the engine, however it went.

A killed engine leaves its plugins and its language host behind, still working on a stack whose changes are no longer recorded. The kernel reports when the engine ends (a pidfd becomes
readable); then this process ends the language host, which is another child of the engine, and itself. What it started and must end with it watches a pipe to it.
"""

import os
import select
import signal
import threading
from pathlib import Path

from .files import memory_folders

LOOK_FOR_SIBLINGS_S = 1.0
LANGUAGE_HOST = "pulumi-language"  # as far as the kernel keeps a command's name: 15 letters


def end_with_engine() -> None:
    """End the program with its engine."""
    if (found := engine()) is not None:
        end_with(found)


def engine() -> int | None:
    """Give the process id of the engine of this program, the parent of the language host that started it; None: a test or a debugger started it."""
    host = os.getppid()
    if not _command(host).startswith(LANGUAGE_HOST):
        return None
    return int(Path(f"/proc/{host}/stat").read_text().rpartition(")")[2].split()[1])


def end_with(engine: int) -> None:
    """End this process as soon as the process `engine` has ended; called once, at the start."""
    try:
        handle = os.pidfd_open(engine)
    except ProcessLookupError:
        os._exit(1)
    threading.Thread(target=_watch, args=(engine, handle), daemon=True, name="engine-watch").start()


def children(pid: int) -> list[int]:
    """Give the children of a process, none when it has ended; it may end while it is looked at."""
    found: list[int] = []
    try:
        threads = [entry.name for entry in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return found
    for thread in threads:
        try:
            found += [int(word) for word in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()]
        except OSError:
            continue
    return found


def _watch(engine: int, handle: int) -> None:
    siblings: dict[int, int] = {}
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    _remember_children(engine, siblings)
    while not poll.poll(LOOK_FOR_SIBLINGS_S * 1000):
        _remember_children(engine, siblings)
    for sibling in siblings.values():
        try:
            signal.pidfd_send_signal(sibling, signal.SIGTERM)
        except ProcessLookupError:
            continue
    memory_folders.remove_own()
    os._exit(1)


def _remember_children(engine: int, known: dict[int, int]) -> None:
    """Hold a handle on every child of the engine that is a language host: a handle, unlike a number, can't come to mean another process."""
    for pid in children(engine):
        if pid in known or pid == os.getpid():
            continue
        try:
            if _command(pid).startswith(LANGUAGE_HOST):
                known[pid] = os.pidfd_open(pid)
        except OSError:
            continue


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
