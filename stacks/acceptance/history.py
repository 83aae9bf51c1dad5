"""What acceptance found when somebody ran it between two `up`s: one line for each run, the oldest first."""

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.files import atomic_files
from components.finish import inspection_results
from components.inspection.recorded_cluster import Known

from .. import project
from . import repaired_hosts

FILE = "acceptance.jsonl"
KEPT = 500
"""Runs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run of acceptance."""

    began: dt.datetime
    seconds: float
    pools: tuple[str, ...]
    """Empty: all of them."""
    ok: bool
    checks: tuple[Mapping[str, Any], ...]


def folder(stack: str) -> Path:
    """Give the private folder in which the runs of a stack are kept."""
    return project.private_folder(stack)


def read(stack: str) -> tuple[Run, ...]:
    """Give the runs that are kept, the oldest first; lines that can't be read are skipped."""
    try:
        lines = (folder(stack) / FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    found = []
    for line in lines:
        try:
            found.append(_run(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def add(stack: str, run: Run) -> None:
    """Keep a run, and let the oldest go."""
    kept = [*read(stack), run][-KEPT:]
    atomic_files.write_text(folder(stack) / FILE, "".join(f"{json.dumps(as_record(one))}\n" for one in kept), mode=0o600)


def newest(stack: str, known: Known) -> Known:
    """Give what is known of a stack with the newest result of acceptance over all of its pools, recorded by `up` or kept here, and what was repaired since."""
    later = [run for run in read(stack) if not run.pools and (known.accepted_at is None or run.began > known.accepted_at)]
    if later:
        last = later[-1]
        known = dataclasses.replace(known, acceptance=last.checks, accepted_at=last.began, acceptance_s=last.seconds, outdated="")
    began = known.accepted_at.isoformat() if known.accepted_at else ""
    return dataclasses.replace(known, repaired=inspection_results.repaired_after(began, repaired_hosts.read(stack)))


def _run(record: Mapping[str, Any]) -> Run:
    return Run(
        dt.datetime.fromisoformat(record["began"]),
        float(record["seconds"]),
        tuple(record["pools"]),
        bool(record["ok"]),
        tuple(dict(one) for one in record["checks"]),
    )


def as_record(run: Run) -> dict[str, Any]:
    """Turn a run into plain JSON values."""
    return {"began": run.began.isoformat(timespec="seconds"), "seconds": run.seconds, "pools": run.pools, "ok": run.ok, "checks": run.checks}
