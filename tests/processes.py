"""Look at real processes, and wait for them without sleeping longer than needed."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

WITHIN_S = 120.0
"""Only a test that fails waits so long; a busy machine may need much of it."""
LOOK_EVERY_S = 0.01


def wait_until(done: Callable[[], bool], *, awaiting: str, within_s: float = WITHIN_S) -> None:
    """Wait for a condition; fail naming what was awaited."""
    deadline = time.monotonic() + within_s
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within_s:.0f} s for {awaiting}")
        select.select((), (), (), LOOK_EVERY_S)


class Watched:
    """Handles on processes, which can't come to mean other ones; theirs is the question whether each has ended."""

    def __init__(self, pids: Iterable[int]):
        self._names: dict[int, str] = {}
        for pid in pids:
            try:
                self._names[os.pidfd_open(pid)] = f"{pid} ({command_line(pid)})"
            except ProcessLookupError:
                continue

    def alive(self) -> list[str]:
        poll = select.poll()
        for handle in self._names:
            poll.register(handle, select.POLLIN)
        ended = {handle for handle, _ in poll.poll(0)}
        return [name for handle, name in self._names.items() if handle not in ended]

    def wait_for_end(self, within_s: float = WITHIN_S) -> None:
        deadline = time.monotonic() + within_s
        for handle in self._names:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        left = self.alive()
        assert left == [], f"still there after {within_s:.0f} s: {', '.join(left)}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what a failed test left."""
        for handle in self._names:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)


def below(pid: int) -> list[int]:
    """Every process under this one, children before theirs."""
    found: list[int] = []
    try:
        threads = [entry.name for entry in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return found  # it has ended
    for thread in threads:
        for child in [int(word) for word in _of(pid, f"task/{thread}/children").split()]:
            found += [child, *below(child)]
    return found


def command_line(pid: int) -> str:
    return _of(pid, "cmdline").replace("\0", " ").strip()


def environment(pid: int) -> dict[str, str]:
    return dict(word.split("=", 1) for word in _of(pid, "environ").split("\0") if "=" in word)


def _of(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except OSError:
        return ""
