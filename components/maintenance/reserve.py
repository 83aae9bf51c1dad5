"""`python3 -m maintenance.reserve`: let Slurm's reservations be those of the cluster's maintenance windows.

A timer of the controller runs it every few minutes. It knows its own reservations by the beginning of their names, and touches no other. Slurm repeats a reservation daily or weekly, but not "on the first
Tuesday of a month", and one that repeats can't be told from one that somebody changed: so each occurrence has a reservation of its own.
"""

import argparse
import dataclasses
import datetime as dt
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from blueprints import maintenance_windows

WINDOWS = Path("/etc/clusterwright/maintenance.json")
AHEAD = 2
"""Occurrences of each window that are reserved: a job that begins when one has just ended must not run into the next."""
FLAGS = "MAINT,IGNORE_JOBS"
"""Slurm plans no job into the time, whatever else is reserved; jobs that run already are no obstacle (scontrol(1), reservations)."""
USERS = "root"
"""Slurm requires a user; no other may use the nodes."""
ANSWER_WITHIN_S = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A window as the blueprint has it."""

    weekday: str
    start: str
    hours: int
    week: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation that should exist."""

    name: str
    start: dt.datetime
    end: dt.datetime


def main() -> int:
    """Reserve and release; exit with 1 where Slurm refused something."""
    parser = argparse.ArgumentParser(prog="clusterwright-maintenance", description="Reserve nodes for the maintenance windows.")
    parser.add_argument("--none", action="store_true", help="delete the reservations of all windows")
    given = parser.parse_args()
    windows = [] if given.none else [Window(**one) for one in json.loads(WINDOWS.read_text(encoding="utf-8"))]
    now = dt.datetime.now(dt.UTC)
    status = 0
    for words in steps(windows, names(_scontrol("--oneliner", "show", "reservation")), now):
        try:
            _scontrol(*words)
        except subprocess.CalledProcessError as error:
            print(f"`scontrol {' '.join(words)}` failed: {(error.stderr or error.stdout).strip()}", file=sys.stderr)
            status = 1
    return status


def steps(windows: Iterable[maintenance_windows.Window], present: Collection[str], now: dt.datetime) -> Iterator[tuple[str, ...]]:
    """Give the commands of scontrol that are missing.

    Args:
        present: the names of all reservations.
        now: in UTC, with its time zone.
    """
    expected = wanted(windows, now)
    for name in sorted(present):
        if name.startswith(maintenance_windows.PREFIX) and name not in expected:
            yield ("delete", f"reservation={name}")
    for name, one in expected.items():
        if name not in present:
            start = max(one.start, now)  # Slurm refuses a time that is over
            minutes = -(-(one.end - start) // dt.timedelta(minutes=1))
            when = (f"starttime=uts{start.timestamp():.0f}", f"duration={minutes}")
            yield ("create", "reservation", f"reservationname={name}", *when, "nodes=ALL", f"flags={FLAGS}", f"users={USERS}")


def wanted(windows: Iterable[maintenance_windows.Window], now: dt.datetime) -> Mapping[str, Reservation]:
    """Give the reservations that should exist, by name."""
    found = {}
    for window in windows:
        for start, end in itertools.islice(maintenance_windows.occurrences(window, now), AHEAD):
            name = maintenance_windows.reservation(start, end)
            found[name] = Reservation(name, start, end)
    return found


def names(shown: str) -> frozenset[str]:
    """Read the names from `scontrol --oneliner show reservation`."""
    mark = "ReservationName="
    return frozenset(line.split()[0].removeprefix(mark) for line in shown.splitlines() if line.startswith(mark))


def _scontrol(*words: str) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(["scontrol", *words], capture_output=True, text=True, check=True, timeout=ANSWER_WITHIN_S, env=environment).stdout


if __name__ == "__main__":
    sys.exit(main())
