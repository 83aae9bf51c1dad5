"""Processes that end together."""

from __future__ import annotations

import ctypes
import signal
import sys


def end_with_parent(by: signal.Signals) -> None:
    """Let Linux end this process when the one that started it is killed: a build that nobody waits for would run on for minutes."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler if by is not signal.SIGINT else signal.SIG_DFL
    )  # a background job of a shell starts with it ignored
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # prctl(2)
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, by)
