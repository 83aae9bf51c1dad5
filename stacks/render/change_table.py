"""The changes that `plan --diff` shows, the most expensive first. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from blueprints import message_text
from blueprints.plan.changes import Change
from blueprints.spec.cost import Effect

from .formatting import MIB_PER_GIB, brief, size
from .tables import Cell, Column, Facts, Section, Shown, Table

LONGEST = 60
"""Characters of a value."""
VERSIONS = "software.versions"
"""A field with all parts of a software profile and their versions."""
STYLES = {Effect.NONE: "soft", Effect.IN_PLACE: "good", Effect.ROLLING: "care", Effect.REPLACES_NODES: "care", Effect.DESTROYS_DATA: "bad"}


def sections(changes: Sequence[Change], *, title: str, note: str | None, more: Sequence[Shown] = ()) -> Iterator[Section]:
    """Write the changes, without those that only follow from others.

    Args:
        title: what is compared with what.
        note: what could not be compared, if anything.
        more: what else is to be said at the head.
    """
    shown = [change for change in changes if not change.derived]
    remarks: list[tuple[str, Shown]] = [("", _verdict(shown))]
    remarks += [("", words) for words in more]
    if note:
        remarks.append(("", Cell(note, "care")))
    if left_out := len(changes) - len(shown):
        words = "1 value that follows from others is" if left_out == 1 else f"{left_out} values that follow from others are"
        remarks.append(("", Cell(f"{words} left out; `--json` has all", "soft")))
    yield Section(title, (Facts(tuple(remarks)),))
    columns = (Column("effect"), Column("field"), Column("from"), Column("to"), Column("why"))
    yield Section("", (Table(columns, tuple(_change(change) for change in shown)),))


def _verdict(changes: Sequence[Change]) -> Shown:
    if not changes:
        return Cell("no field differs: nothing would change", "good")
    dearest = max((change.effect for change in changes), key=lambda effect: effect.severity)
    count = f"{len(changes)} change{'' if len(changes) == 1 else 's'}; the most expensive: {dearest}"
    refused = sum(bool(change.protected) for change in changes), sum(change.anew and not change.protected for change in changes)
    reasons = ("because protected data would be lost", "because the cluster has to be deleted first")
    verdicts = [f"`up` refuses {number} of them, {reason}" for number, reason in zip(refused, reasons, strict=True) if number]
    return Cell("; ".join((count, *verdicts)), STYLES[dearest])


def _change(change: Change) -> tuple[Shown, ...]:
    following = f" (with {len(change.follows)} value{'' if len(change.follows) == 1 else 's'} that follow{'s' if len(change.follows) == 1 else ''})"
    reasons = [f"{message_text.listed(change.protected)} {'is' if len(change.protected) == 1 else 'are'} protected"] if change.protected else []
    reasons += ["the cluster has to be deleted first"] if change.anew else []
    refused = f"; refused: {', and '.join(reasons)}" if reasons else ""
    old, new = values(change)
    return (Cell(str(change.effect), STYLES[change.effect]), change.key or change.path, old, new, f"{change.why}{following if change.follows else ''}{refused}")


def values(change: Change) -> tuple[str, str]:
    """Write the old and the new value, each short enough for a table; of versions those that differ."""
    if change.path == VERSIONS:
        old, new = ([" ".join(part) for part in side or ()] for side in (change.old, change.new))
        return _short([one for one in old if one not in new]), _short([one for one in new if one not in old])
    return _short(_as_written(change, change.old)), _short(_as_written(change, change.new))


def _as_written(change: Change, value: Any) -> Any:
    """Give a value with its unit, where the field's name has one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if change.path.endswith(("_gib", "_mib")):
        return size(value if change.path.endswith("_gib") else value / MIB_PER_GIB)
    return f"{value} MB/s/TiB" if change.path.endswith("_mbs_per_tib") else value


def _short(value: Any) -> str:
    """Write a value so that the columns beside it stay in sight; `--json` has the whole."""
    text = brief(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip(' ,')}…"
