"""What a plan says of money and quotas. Pure."""

from collections.abc import Iterator, Sequence

from blueprints import display
from blueprints.estimate import CURRENCY, HOURS_PER_MONTH, NOT_COUNTED, Estimate, Part
from blueprints.quotas import QuotaNeed

from . import amounts
from .tables import Cell, Column, Shown, Table

KINDS = {"compute": "compute nodes", "control": "control", "access": "login nodes", "storage": "storage", "service": "services"}
"""The parts of an estimate, in the order in which they are shown."""


def quotas_needed(needs: Sequence[QuotaNeed]) -> Table:
    """Write what of which quota is needed, and for what."""
    columns = (Column("quota"), Column("code"), Column("needed", right=True), Column("new accounts have", right=True), Column("for"))
    return Table(columns, tuple(_quota_row(need) for need in needs))


def _quota_row(need: QuotaNeed) -> tuple[Shown, ...]:
    needed = Cell(f"{need.needed:,} {need.unit}", "care" if need.to_raise else "")
    return (need.name, need.code, needed, "unknown" if need.default is None else f"{need.default:,}", amounts.named(need.takers))


def title(costs: Estimate) -> str:
    """Say in what and of when the prices are."""
    if costs.owned:
        return "Cost"
    first, last = costs.dates or ("", "")
    dated = f", prices of {first}{f' to {last}' if last != first else ''}" if first else ""
    return f"Cost in {CURRENCY}{dated}"


def sums(costs: Estimate) -> Table:
    """Write what each kind of part costs, and all together."""
    columns = (Column("part"), Column("an hour", right=True), Column(f"a month ({HOURS_PER_MONTH} h)", right=True))
    rows: list[tuple[Shown, ...]] = []
    for kind, name in KINDS.items():
        parts = [part for part in costs.parts if part.kind == kind]
        if any(part.unit_usd_per_hour is not None for part in parts):
            rows.append(_row(name, costs.of(kind), complete=all(part.unit_usd_per_hour is not None for part in parts)))
        elif parts:
            rows.append((name, "unknown", "unknown"))
    if rows:
        rows.append(_row("together", costs.of(), complete=costs.complete))
    return Table(columns, tuple(rows))


def _row(name: str, hourly: tuple[float, float], *, complete: bool) -> tuple[Shown, ...]:
    least = "" if complete else "at least "
    low, high = hourly
    return (name, f"{least}{amounts.money(low, high)}", f"{least}{amounts.money(low * HOURS_PER_MONTH, high * HOURS_PER_MONTH, digits=0)}")


def remarks(costs: Estimate) -> Iterator[tuple[str, Shown]]:
    """Say what is unknown, doubtful or not counted."""
    if costs.owned:
        yield "owned", "nothing here is paid for by the hour: the machines are there already"
        return
    for label, kept in (("unknown", costs.unknown), ("note", _remarkable(costs))):
        noted: dict[str, list[str]] = {}
        for part in kept:
            noted.setdefault(part.note, []).append(part.name)
        for remark, names in noted.items():
            yield label, Cell(f"{amounts.named(names)}: {remark}", "care" if label == "unknown" else "soft")
    doubtful = [part.name for part in costs.parts if part.confidence == "low"]
    if doubtful:
        yield "doubtful", Cell(f"{amounts.named(doubtful)}: the price rests on a weak source", "care")
    yield "not counted", Cell(display.listed(NOT_COUNTED), "soft")


def _remarkable(costs: Estimate) -> tuple[Part, ...]:
    return tuple(part for part in costs.parts if part.kind == "compute" and part.unit_usd_per_hour is not None and part.note)
