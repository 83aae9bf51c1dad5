"""Run all tests that this machine can run but the long ones, and say where the time went. `tools/test` calls it; words go to pytest.

With SINCE=commit in the environment, run those that can notice what changed since then (`tests.choice`).
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

PASSED, FAILED, INTERRUPTED, NONE_CHOSEN = 0, 1, 2, 5
"""pytest's exit statuses."""
WHOLE = (PASSED, FAILED, NONE_CHOSEN)
"""Any other says that not all chosen tests ran."""
OF_SIGNALS = 128
"""What shells add to the number of a signal that ended a program."""
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""Not meant for this run: each of its many processes would compile the tests and the simulated clouds again."""
LESS_URGENT = ("nice", "-n", "5")
"""What only computes uses the processors while tests of hosts wait, and delays them little."""

WITHOUT_HOSTS = ("--numprocesses=auto", "--maxprocesses=8", "--dist=worksteal", "-m", "not hosts and not soak")
"""These tests share nothing of the machine: as many run at a time as it has processors."""
HOSTS = ("--numprocesses=4", "--dist=loadscope", "--no-loadscope-reorder", "--timeout=1200", "-m", "hosts and not soak")
"""These tests wait more than they compute: their groups (tests/hosts/groups.py) run side by side, and each test may take longer than alone."""


def main(words: Sequence[str]) -> int:
    """Run both parts at once; give pytest's status of the worse one."""
    os.environ.pop(NO_BYTECODE, None)
    if since := os.environ.get("SINCE"):
        answer = subprocess.run(["python", "-m", "tests.choice", since], stdout=subprocess.PIPE, text=True, check=False)
        if answer.returncode:
            return answer.returncode
        chosen = answer.stdout.split()
        words = [*words, *([] if chosen == ["all"] else chosen)]
    with tempfile.TemporaryDirectory() as folder:
        reports = [Path(folder, f"{part}.xml") for part in ("without-hosts", "hosts")]
        status = _both(_pytest(reports[0], *WITHOUT_HOSTS, *words), _pytest(reports[1], *HOSTS, *words))
        if status in WHOLE:
            subprocess.run(["python", "-m", "tests.timing", *map(str, reports)], check=True)
    return status


def _pytest(report: Path, *words: str) -> list[str]:
    return ["python", "-m", "pytest", f"--junitxml={report}", *words]


def _both(without_hosts: Sequence[str], hosts: Sequence[str]) -> int:
    """Run two commands at once, the output of the second below that of the first. When one is cut off, the other is interrupted."""
    print("Tests of hosts run at the same time; what they print follows below.", flush=True)
    behind = subprocess.Popen(hosts, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    front = subprocess.Popen([*LESS_URGENT, *without_hosts])
    lines: queue.Queue[str | None] = queue.Queue()
    is_ending = threading.Event()

    def read() -> None:
        for line in behind.stdout or ():
            lines.put(line)
        lines.put(None)
        if behind.wait() not in WHOLE and not is_ending.is_set():
            front.send_signal(signal.SIGINT)

    reader = threading.Thread(target=read)
    # Between the start of both parts and the `try`, an interrupt would find nobody who lets them end.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    reader.start()
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if front.wait() not in WHOLE:
            is_ending.set()
            behind.send_signal(signal.SIGINT)
        _print(lines)
    except KeyboardInterrupt:  # the terminal interrupts both parts, too: they clear up and end
        is_ending.set()
        front.wait()
        _print(lines)
        return INTERRUPTED
    finally:
        reader.join()
    return _worse(front.returncode, behind.returncode)


def _print(lines: queue.Queue[str | None]) -> None:
    for line in iter(lines.get, None):
        print(line, end="", flush=True)


def _worse(*statuses: int) -> int:
    cut_off = [one for one in statuses if one not in WHOLE]
    if cut_off:
        worse = next((one for one in cut_off if one != INTERRUPTED), INTERRUPTED)
        return OF_SIGNALS - worse if worse < 0 else worse
    return next(one for one in (FAILED, PASSED, NONE_CHOSEN) if one in statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
