"""One check of a stack as a command runs it: with the ignore file, the memory of earlier checks, report files and notifications."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from components.inspection.layer import LAYERS, Layer

from ..engine import locks, state
from ..errors import BadIgnoreFile, NotDelivered, Problem
from . import detect, filters, history, ignore, notifications, repair, reports
from .report import Report, Result


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What is checked, and what counts."""

    stack: str
    ignore_file: Path
    layers: Collection[Layer] = LAYERS
    acceptance: bool = False
    """Judge the figures of the last acceptance too."""


@dataclasses.dataclass(frozen=True, slots=True)
class Remembered:
    """A check with the earlier ones."""

    chosen: filters.Chosen
    runs: tuple[history.Run, ...]
    """Earlier checks and this one, the oldest first."""
    unsaved: str = ""
    """Why this check was not added to the history; empty when it was."""


def busy(stack: str, *, settle_s: int) -> str:
    """Say why now is no moment for a check: somebody updates the stack, or did so a moment ago. Empty when it is one.

    Args:
        settle_s: for so long after an update, hosts may still come and go.
    """
    if holder := locks.holder(stack):
        return f"stack {stack} is being updated by {holder}"
    age_s = state.age_s(stack) if settle_s else None
    if age_s is not None and age_s < settle_s:
        return f"the last update of stack {stack} was {age_s:.0f} s ago; checks wait {settle_s} s for it to settle"
    return ""


def compare(wanted: Wanted, *, say: Callable[[str], None]) -> tuple[Report, Sequence[ignore.Entry]]:
    """Compare the stack, and read the ignore file; an unusable one becomes a failure of the report and covers nothing."""
    report = detect.detect(wanted.stack, layers=wanted.layers, acceptance=wanted.acceptance, say=say).by_cause()
    try:
        return report, ignore.read(wanted.ignore_file)
    except BadIgnoreFile as error:
        return dataclasses.replace(report, results=(*report.results, Result(Layer.CHECK, failure=f"nothing is ignored: {error}"))), ()


def check(wanted: Wanted, folder: Path, choose: Callable[[Sequence[ignore.Entry]], filters.Choice], *, say: Callable[[str], None]) -> Remembered:
    """Compare the stack, choose what counts, and add the check to the history.

    Args:
        folder: of the history.
        choose: given the ignore file's entries, says what counts.
    """
    report, entries = compare(wanted, say=say)
    runs = history.read(folder)
    chosen = filters.choose(report, choose(entries), runs[-1] if runs else None)
    try:
        history.add(folder, chosen.run)
    except OSError as error:
        return Remembered(chosen, (*runs, chosen.run), unsaved=str(error))
    return Remembered(chosen, (*runs, chosen.run))


def write(remembered: Remembered, paths: Sequence[Path], *, show_ignored: bool) -> Iterator[str]:
    """Write report files, and give an error for each that can't be written."""
    for path in paths:
        try:
            reports.write(path, remembered.chosen.report, remembered.runs, show_ignored=show_ignored)
        except OSError as error:
            yield f"the report {path} could not be written: {error}"


def notify(remembered: Remembered, *, command: str, webhook: str) -> Iterator[str]:
    """Send what is new, and give an error for each notification that failed."""
    earlier = remembered.runs[:-1]
    chosen, failed_before = remembered.chosen, frozenset(earlier[-1].failed if earlier else ())
    if not notifications.is_worth(chosen.report, chosen.news, failed_before=failed_before):
        return
    for send, address in ((notifications.run_command, command), (notifications.post, webhook)):
        try:
            if address:
                send(address, chosen.report, chosen.news)
        except NotDelivered as error:
            yield f"no notification was sent: {error}"


def write_baseline(wanted: Wanted, selection: repair.Selection, *, reason: str, days: int, say: Callable[[str], None]) -> str:
    """Make the ignore file cover what differs now, and give one sentence about it. Selected findings are covered with the value of now: another one is drift again.

    Raises:
        Problem: a layer could not be checked.
    """
    report, entries = compare(wanted, say=say)
    if report.failures:
        names = ", ".join(str(result.layer) for result in report.failures)
        why = "\n".join(dict.fromkeys(result.failure for result in report.failures))
        raise Problem(f"no baseline: {names} could not be checked", why=why, remedy="correct that first: a baseline needs a check of every layer")
    day = report.moment.date()
    until = day + dt.timedelta(days=days)
    kept = [entry for entry in entries if not entry.has_ended(day)]
    findings, _ = ignore.apply(report.findings, kept, day)
    findings = tuple(filter(selection.covers, findings))
    text = ignore.baseline(findings, kept, reason=reason or f"there at the baseline of {day}", until=until, is_of_value=bool(selection.only))
    wanted.ignore_file.write_text(text, encoding="utf-8")
    return f"{wanted.ignore_file} covers {len(findings)} more finding{'' if len(findings) == 1 else 's'} until {until}"
