"""What earlier checks found: so that a known finding isn't announced twice, one that comes and goes can wait, and a report shows how it came to this."""

import contextlib
import dataclasses
import datetime as dt
import fcntl
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from blueprints.finding import Finding, Level
from components.inspection.finding import layer_of
from components.inspection.layer import Layer

from .report import Report, fingerprint

FILE = "history.jsonl"
KEPT = 500
"""Runs; at one every quarter of an hour, five days."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One earlier check, as far as later ones need it."""

    moment: dt.datetime
    seconds: float
    counts: Mapping[str, int]
    """Level → number of findings that counted."""
    ignored: int
    failed: tuple[str, ...]
    """Layers that could not be checked."""
    layers: tuple[str, ...]
    """Layers that were asked for."""
    shown: Mapping[str, str]
    """Fingerprint → `code where` of what was reported."""
    streaks: Mapping[str, int]
    """Fingerprint → in how many runs in a row it was found."""
    layer_of: Mapping[str, str]
    """Fingerprint → layer."""


def streaks(findings: Iterator[Finding] | tuple[Finding, ...], checked: frozenset[str], before: Run | None) -> dict[str, int]:
    """Count in how many runs in a row each finding was found, this one included. Of layers that this run could not check, the counts stay. Pure."""
    earlier = dict(before.streaks) if before else {}
    kept = {name: count for name, count in earlier.items() if before and before.layer_of.get(name, "") not in checked}
    return kept | {fingerprint(finding): earlier.get(fingerprint(finding), 0) + 1 for finding in findings}


def as_run(report: Report, counted: Mapping[str, int], before: Run | None) -> Run:
    """Turn a report into what is kept of it. What a layer showed that could not be checked now is still taken for shown. Pure."""
    layers = {str(result.layer) for result in report.results}
    failed = {str(result.layer) for result in report.results if result.failure}
    checked = layers - failed
    shown = {fingerprint(finding): f"{finding.code} {finding.place}" for finding in report.findings}
    layer_names = {fingerprint(finding): str(layer_of(finding)) for finding in (*report.findings, *(one for one, _ in report.waiting))}
    if before:
        shown |= {name: place for name, place in before.shown.items() if before.layer_of.get(name, "") not in checked}
        layer_names |= {name: layer for name, layer in before.layer_of.items() if layer not in checked}
    return Run(
        moment=report.moment,
        seconds=round(report.seconds, 1),
        counts={str(level): report.count(level) for level in Level},
        ignored=len(report.ignored),
        failed=tuple(sorted(failed)),
        layers=tuple(layer for layer in Layer if layer in layers),
        shown=shown,
        streaks=dict(counted),
        layer_of=layer_names,
    )


def read(folder: Path) -> tuple[Run, ...]:
    """Give earlier runs, the oldest first; lines that can't be read are skipped."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return ()
    found = []
    for line in lines[-KEPT:]:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            found.append(_run(json.loads(line)))
    return tuple(found)


def add(folder: Path, run: Run) -> None:
    """Append a run and drop the oldest ones."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / FILE).open("a+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        lines = [*stream.read().splitlines(), json.dumps({**dataclasses.asdict(run), "moment": run.moment.isoformat()}, sort_keys=True)]
        stream.seek(0)
        stream.truncate()
        stream.write("".join(f"{line}\n" for line in lines[-KEPT:]))


def _run(values: Mapping[str, Any]) -> Run:
    moment = dt.datetime.fromisoformat(values["moment"])
    return Run(**{**values, "moment": moment, "failed": tuple(values["failed"]), "layers": tuple(values["layers"])})
