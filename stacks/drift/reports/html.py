"""The report as one HTML page, with the history of earlier checks."""

import dataclasses
from collections.abc import Iterator, Sequence

from blueprints.finding import Level

from ...render import html
from .. import history
from ..report import Report, Result, fingerprint
from . import summary

RUNS_SHOWN = 30
WIDTH, HEIGHT = 600, 80
"""Of the bars, pixels."""


def write(report: Report, runs: Sequence[history.Run]) -> str:
    """Write the page.

    Args:
        runs: earlier checks and this one, the oldest first.
    """
    latest = runs[-RUNS_SHOWN:]
    return html.page(
        "drift.html.j2",
        style=html.style("page.css", "drift.css"),
        report=report,
        title=summary.title(report),
        verdict=summary.verdict(report).capitalize(),
        figures=summary.figures(report),
        levels=tuple(Level),
        layers=[(result.layer, _found(result), f"{result.seconds:.1f} s") for result in report.results],
        sides=summary.sides,
        fingerprint=fingerprint,
        rest=_rest(report),
        bars=[*_bars(latest)],
        bars_text=f"The last {len(latest)} checks found {', '.join(str(sum(run.counts.values())) for run in latest)}",
        width=WIDTH,
        height=HEIGHT,
        history_head=("moment (UTC)", *(f"{level}s" for level in Level), "ignored", "could not be checked", "took"),
        history_rows=[_run(run) for run in reversed(latest)],
    )


def _found(result: Result) -> str:
    if result.failure:
        return f"{summary.of_layer(result)}: {summary.one_line(result.failure)}"
    return str(len(result.findings)) if result.findings else "clean"


def _rest(report: Report) -> tuple[tuple[str, str, str, tuple[str, ...], list[tuple[str, ...]]], ...]:
    """Give what is not drift now: key, title, caption, head and rows of each table."""
    ignored = [(str(one.finding.code), one.finding.place, one.reason, str(one.until or "no end")) for one in report.ignored]
    waiting = [(str(finding.code), finding.place, finding.what, str(count)) for finding, count in report.waiting]
    unchecked = [(str(one.layer), one.where, summary.one_line(one.why)) for one in report.unchecked]
    return (
        ("ignored", "Ignored", "Findings that the ignore file covers", ("code", "where", "reason", "until"), [*ignored]),
        ("waiting", "Seen, not yet often enough", "Findings that wait", ("code", "where", "what", "runs"), [*waiting]),
        ("unchecked", "Not checked", "What was not compared", ("layer", "where", "why"), [*unchecked]),
    )


def _run(run: history.Run) -> tuple[str, ...]:
    counts = (str(run.counts.get(str(level), 0)) for level in Level)
    return (run.moment.strftime("%Y-%m-%d %H:%M"), *counts, str(run.ignored), ", ".join(run.failed) or "none", f"{run.seconds:.1f} s")


@dataclasses.dataclass(frozen=True, slots=True)
class _Bar:
    level: Level
    x: int
    y: float
    width: int
    height: float


def _bars(runs: Sequence[history.Run]) -> Iterator[_Bar]:
    """Draw a bar for each run, as high as it had findings."""
    most = max(1, *(sum(run.counts.values()) for run in runs), 1)
    across = WIDTH // RUNS_SHOWN
    for place, run in enumerate(runs):
        top = float(HEIGHT)
        for level in reversed(Level):
            if size := HEIGHT * run.counts.get(str(level), 0) / most:
                top -= size
                yield _Bar(level, place * across + 2, top, across - 4, size)
