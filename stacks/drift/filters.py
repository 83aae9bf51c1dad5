"""Choose the findings that a report shows: not those that are ignored, below a level, not yet confirmed, or already known. Pure."""

import dataclasses
from collections.abc import Sequence

from blueprints.finding import Finding, Level
from components.inspection.finding import in_order
from components.inspection.layer import Layer

from . import history, ignore
from .report import Ignored, Report, Result, fingerprint


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """How findings are chosen."""

    entries: Sequence[ignore.Entry] = ()
    least: Level = Level.NOTE
    """Findings below this level are left out."""
    confirm: int = 1
    """In how many runs in a row a finding has to be found before it counts."""
    since_last: bool = False
    """Report only what the run before didn't."""


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """A report to show, and what the next run has to know."""

    report: Report
    run: history.Run
    news: tuple[Finding, ...]
    """Findings to announce: those that the run before didn't report."""


def choose(report: Report, choice: Choice, before: history.Run | None) -> Chosen:
    """Apply a choice to a report."""
    day = report.moment.date()
    checked = frozenset(str(result.layer) for result in report.results if not result.failure)
    ignored: list[Ignored] = []
    counting: dict[Layer, tuple[Finding, ...]] = {}
    for result in report.results:
        wanted = [finding for finding in result.findings if _matters(finding, choice.least)]
        counting[result.layer], covered = ignore.apply(wanted, choice.entries, day)
        ignored += covered
    expired = ignore.expired(choice.entries, day)
    everything = [*(finding for findings in counting.values() for finding in findings), *expired]
    counts = history.streaks(tuple(everything), checked | {str(Layer.CHECK)}, before)
    waiting = tuple((finding, counts[fingerprint(finding)]) for finding in everything if counts[fingerprint(finding)] < choice.confirm)
    held = {fingerprint(finding) for finding, _ in waiting}
    results = [_with(result, [one for one in counting[result.layer] if fingerprint(one) not in held]) for result in report.results]
    if confirmed := [one for one in expired if fingerprint(one) not in held]:
        results.append(Result(Layer.CHECK, in_order(confirmed)))
    whole = dataclasses.replace(report, results=tuple(results), ignored=tuple(ignored), waiting=waiting)
    run = history.as_run(whole, counts, before)
    fresh = frozenset(fingerprint(one) for one in whole.findings if before is None or fingerprint(one) not in before.shown)
    gone = tuple(place for name, place in (before.shown.items() if before else ()) if name not in run.shown)
    marked = dataclasses.replace(whole, fresh=None if before is None else fresh, gone=gone)
    news = tuple(one for one in marked.findings if fingerprint(one) in fresh)
    return Chosen(_only_fresh(marked, fresh) if choice.since_last else marked, run, news)


def _matters(finding: Finding, least: Level) -> bool:
    levels = list(Level)
    return levels.index(finding.level) <= levels.index(least)


def _with(result: Result, findings: list[Finding]) -> Result:
    return dataclasses.replace(result, findings=in_order(findings))


def _only_fresh(report: Report, fresh: frozenset[str]) -> Report:
    results = tuple(_with(result, [one for one in result.findings if fingerprint(one) in fresh]) for result in report.results)
    return dataclasses.replace(report, results=results)
