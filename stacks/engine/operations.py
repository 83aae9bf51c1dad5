"""Run one operation of the engine, show its progress, and leave no process of it behind.

The engine writes its events into a file that this process follows: an output whose reader has gone, or the end of this process, doesn't reach the engine.

A killed engine leaves its children running. Its language host becomes a child of this process, which asks the kernel for orphans, and is ended with the operation.
"""

import ctypes
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from blueprints.project import project_root
from components import engine_watch

from ..project import private_folder
from ..render import engine_events
from ..render.live_rows import LiveRows
from ..render.progress import Progress
from . import commands, locks, passphrase, state

LANGUAGE_HOST = "pulumi-language"  # as far as the kernel keeps a command's name: 15 letters
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>
LOOK_EVERY_S = 0.1
"""How often the event log is read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """How an operation ended."""

    status: int
    """The engine's exit status."""
    changed: frozenset[str]
    """URNs of the resources that it created, changed or deleted."""

    def has_changed(self, kind: str) -> bool:
        """Say whether it created or changed a resource of a kind, by the last part of its type."""
        return any(engine_events.Resource(urn).kind == kind for urn in self.changed)


def prepare(stack: str) -> None:
    """Clean up after a killed engine: its lock, and a state file that it was writing. Ask for a passphrase that is needed and not given.

    Raises:
        Problem: another run holds the stack.
    """
    locks.clear_stale(stack)
    state.restore(stack)
    passphrase.ask_if_needed(stack)


def operate(*words: str, stack: str, is_verbose: bool = False) -> Done:
    """Run one operation to its end, show what it does, and say whether it succeeded.

    Args:
        is_verbose: show every step of every resource.
    Raises:
        Problem: another run holds the stack; also one that took the engine's lock in the same moment.
    """
    prepare(stack)
    folder = private_folder(stack)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    progress = Progress(is_verbose=is_verbose)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="engine-", dir=folder) as place:
        log, complaints = Path(place) / "events.jsonl", Path(place) / "stderr"
        log.touch()
        argv = ["pulumi", *words, "--stack", stack, "--non-interactive", "--color", "never", "--event-log", str(log)]
        environment = {**commands.environment(), **commands.EVENTS}
        with log.open(encoding="utf-8") as events, complaints.open("w") as stderr:
            process = subprocess.Popen(argv, cwd=project_root(), env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
            status = _follow(process, events, progress)
        _end_orphans()
        said = complaints.read_text(encoding="utf-8", errors="replace").strip()
    for line in progress.notes():
        print(line)
    if status:
        locks.clear_stale(stack)
        if page := commands.about_settings(stack, said):
            raise page
    if status and not progress.has_errors:
        print(said or _ended(status))
    print(f"stack {stack}: {progress.total()} ({time.monotonic() - began:.0f} s)")
    return Done(status, progress.changed)


def _follow(process: subprocess.Popen[bytes], events: TextIO, progress: Progress) -> int:
    """Show the engine's events until it ends, and give its exit status."""
    screen = _Screen(progress)
    unread = ""
    while True:
        try:
            status = process.poll()
            unread = screen.take(unread + events.read())
            if status is not None:
                break
            try:
                process.wait(LOOK_EVERY_S)
            except subprocess.TimeoutExpired:
                continue
        except KeyboardInterrupt:
            # The engine got the same Ctrl-C.
            screen.write(["stopping: what is under way is ended and recorded; a second Ctrl-C stops the engine at once"])
    screen.end()
    return status


class _Screen:
    """Where progress is shown: live rows on a terminal, lines anywhere else, nothing where the output has no reader."""

    def __init__(self, progress: Progress):
        self._progress = progress
        self._rows = LiveRows(sys.stdout) if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else None
        self._is_read = True

    def take(self, text: str) -> str:
        """Show what the complete lines of the log say, and give the rest."""
        *complete, rest = text.split("\n")
        self.write([*self._stay(complete)])
        return rest

    def _stay(self, lines: list[str]) -> Iterator[str]:
        now = time.monotonic()
        for line in lines:
            if event := engine_events.parse(line):
                yield from self._progress.take(event, now)
        yield from self._progress.quick(now)
        if self._rows is None:
            yield from self._progress.news(now)

    def write(self, lines: list[str]) -> None:
        if not self._is_read:
            return
        try:
            if self._rows:
                self._rows.show(self._progress.rows(time.monotonic()), above=lines)
            elif lines:
                print("\n".join(lines), flush=True)
        except BrokenPipeError:
            self._is_read = False  # the operation goes on: an engine that is stopped half-way leaves a stack half-made

    def end(self) -> None:
        self.write([*self._progress.quick()])
        if self._rows and self._is_read:
            self._rows.show(())


def _ended(status: int) -> str:
    """Say how an engine ended that didn't say it itself."""
    return f"error: the engine was ended by {signal.Signals(-status).name}" if status < 0 else f"error: the engine ended with status {status} and said nothing"


def _end_orphans() -> None:
    """End the language host of a killed engine. Plugins end by themselves; local hosts, which are orphans here too, keep running."""
    for pid in engine_watch.children(os.getpid()):
        try:
            if Path(f"/proc/{pid}/comm").read_text().startswith(LANGUAGE_HOST):
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)
        except (FileNotFoundError, ProcessLookupError, ChildProcessError):
            continue
