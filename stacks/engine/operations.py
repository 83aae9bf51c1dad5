"""Run one operation of the engine on the user's terminal, and leave no process of it behind.

A killed engine leaves its children running. Its language host becomes a child of this process, which asks the kernel for orphans, and is ended with the operation.
"""

import ctypes
import os
import signal
import subprocess
from pathlib import Path

from blueprints.project import project_root
from components import engine_watch

from . import locks, state

LANGUAGE_HOST = "pulumi-language"  # as far as the kernel keeps a command's name: 15 letters
PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def prepare(stack: str) -> None:
    """Clean up after a killed engine: its lock, and a state file that it was writing.

    Raises:
        Problem: another run holds the stack.
    """
    locks.clear_stale(stack)
    state.restore(stack)


def operate(*words: str, stack: str) -> int:
    """Run one operation with the terminal as it is, and give its exit status.

    Raises:
        Problem: another run holds the stack; also one that took the engine's lock in the same moment.
    """
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
    if status:
        locks.clear_stale(stack)
    return status


def _end_orphans() -> None:
    """End the language host of a killed engine. Plugins end by themselves; local hosts, which are orphans here too, keep running."""
    for pid in engine_watch.children(os.getpid()):
        try:
            if Path(f"/proc/{pid}/comm").read_text().startswith(LANGUAGE_HOST):
                os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)
        except (FileNotFoundError, ProcessLookupError, ChildProcessError):
            continue
