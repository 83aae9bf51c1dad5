"""Warnings that a blueprint accepts for a time: each by its code and place, with a reason and a last day. Errors can't be accepted."""

import datetime as dt
from collections.abc import Iterator, Sequence

from . import dotted, finding, message_text
from .codes import Code
from .document import Document, Path
from .language import Suppression


def apply(
    findings: Sequence[finding.Finding], suppressions: Sequence[Suppression], source: Document, *, today: dt.date
) -> tuple[tuple[finding.Finding, ...], tuple[finding.Finding, ...]]:
    """Take out what is accepted.

    Args:
        source: the blueprint as written; findings about suppressions point into it.
        today: the day on which suppressions must still hold.
    Returns:
        the findings that stay, with those about the suppressions themselves, and the ones that were taken out.
    """
    if not suppressions:
        return tuple(dict.fromkeys(findings)), ()
    kept, suppressed, used = list[finding.Finding](), list[finding.Finding](), set[int]()
    covered: dict[tuple[str, Path], list[int]] = {}
    for number, entry in enumerate(suppressions):
        covered.setdefault((entry.code, _steps(entry)), []).append(number)
    for one in findings:
        matching = sorted(number for place in _around(one) for number in covered.get(place, ()))
        used.update(matching)
        is_accepted = any(_holds(suppressions[number], today) for number in matching)
        (suppressed if is_accepted and one.level is not finding.Level.ERROR else kept).append(one)
        if one.level is finding.Level.ERROR:
            kept += [_of_error(suppressions[number], number, source) for number in matching]
    there = {_as_text(path) for path in (*source.places, *source.settings)} if len(used) < len(suppressions) else set()
    for number, entry in enumerate(suppressions):
        kept += _about(entry, number, source, is_used=number in used, holds=_holds(entry, today), is_there=_steps(entry) in there)
    return tuple(dict.fromkeys(kept)), tuple(suppressed)


def _around(one: finding.Finding) -> Iterator[tuple[str, Path]]:
    """Give the code with each place in which the finding lies: a suppression of one of these covers it."""
    path = one.where.path if one.where else None
    steps = () if path is None else _as_text(path)
    yield from ((one.code, steps[:length]) for length in range(1, len(steps) + 1))


def _as_text(path: Path) -> Path:
    return tuple(str(step) for step in path)


def _steps(entry: Suppression) -> Path:
    return dotted.steps(entry.at)


def _holds(entry: Suppression, today: dt.date) -> bool:
    return today <= dt.date.fromisoformat(entry.until)


def _about(entry: Suppression, number: int, source: Document, *, is_used: bool, holds: bool, is_there: bool) -> Iterator[finding.Finding]:
    if is_used and not holds:
        what = f"the suppression of {entry.code} at `{entry.at}` held until {entry.until}"
        why = "what it accepted is reported again from the next day on, so that nothing is accepted for ever unseen"
        remedy = "mend what it accepts, or look at it again and write a later day"
        yield finding.Finding(finding.Level.WARNING, Code.SUPPRESSION_EXPIRED, source.where("suppress", number, "until"), what, why, remedy)
    elif not is_used and not is_there:
        what = f"`{entry.at}` is no place in this blueprint, and a suppression names it"
        why = "it accepts nothing, and a finding that it was meant for is still reported"
        remedy = _near_place(entry, source)
        yield finding.Finding(finding.Level.WARNING, Code.SUPPRESSION_UNUSED, source.where("suppress", number, "at"), what, why, remedy)
    elif not is_used:
        what = f"nothing at `{entry.at}` is found that the suppression of {entry.code} could accept"
        why = "what it was meant for is mended, or is found on other targets only"
        position = source.where("suppress", number, "code")
        yield finding.Finding(finding.Level.NOTE, Code.SUPPRESSION_UNUSED, position, what, why, "take it out, unless another target needs it")


def _of_error(entry: Suppression, number: int, source: Document) -> finding.Finding:
    what = f"{entry.code} at `{entry.at}` is an error, and errors can't be suppressed"
    why = "an error means that the cluster can't be built, loses data, or lacks something that the blueprint asks for"
    position = source.where("suppress", number, "code")
    return finding.Finding(finding.Level.ERROR, Code.SUPPRESSION_OF_ERROR, position, what, why, "correct the error, and remove the suppression")


def _near_place(entry: Suppression, source: Document) -> str:
    """Name the entries beside the first step that isn't there."""
    steps = dotted.steps(entry.at)
    for length in range(len(steps)):
        around = source.at(*steps[:length])
        if not isinstance(around, dict) or steps[length] not in around:
            names = [str(name) for name in around] if isinstance(around, dict) else []
            place = f"in {dotted.joined(steps[:length])} there are" if length else "a blueprint's keys here are"
            return message_text.did_you_mean(steps[length], names, allowed=place) if names else "name a place that the blueprint has"
    return "name a place that the blueprint has"
