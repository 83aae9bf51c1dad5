"""What `plan --diff` says: the changes of a cluster that stands, the dearest first. Pure."""

from collections.abc import Iterator, Sequence

from blueprints import display
from blueprints.changes import Change
from blueprints.effects import Effect

from .amounts import brief
from .tables import Cell, Column, Facts, Section, Shown, Table

STYLES = {Effect.NONE: "soft", Effect.IN_PLACE: "good", Effect.ROLLING: "care", Effect.REPLACES_NODES: "care", Effect.DESTROYS_DATA: "bad"}


def sections(changes: Sequence[Change], *, title: str, note: str | None) -> Iterator[Section]:
    """Write the changes.

    Args:
        title: what is compared with what.
        note: what could not be compared, if anything.
    """
    remarks: list[tuple[str, Shown]] = [("", _verdict(changes))]
    if note:
        remarks.append(("", Cell(note, "care")))
    yield Section(title, (Facts(tuple(remarks)),))
    columns = (Column("effect"), Column("field"), Column("from"), Column("to"), Column("why"))
    yield Section("", (Table(columns, tuple(_change(change) for change in changes)),))


def _verdict(changes: Sequence[Change]) -> Shown:
    if not changes:
        return Cell("no field differs: nothing would change", "good")
    dearest = max((change.effect for change in changes), key=lambda effect: effect.severity)
    refused = sum(change.is_refused for change in changes)
    count = f"{len(changes)} change{'' if len(changes) == 1 else 's'}; the dearest: {dearest}"
    return Cell(count + (f"; `up` refuses {refused} of them, since protected data would be lost" if refused else ""), STYLES[dearest])


def _change(change: Change) -> tuple[Shown, ...]:
    following = f" (with {len(change.follows)} value{'' if len(change.follows) == 1 else 's'} that follow{'s' if len(change.follows) == 1 else ''})"
    refused = f"; refused: {display.listed(change.protected)} {'is' if len(change.protected) == 1 else 'are'} protected" if change.protected else ""
    why = f"{change.why}{following if change.follows else ''}{refused}"
    return (Cell(str(change.effect), STYLES[change.effect]), change.path, brief(change.old), brief(change.new), why)
