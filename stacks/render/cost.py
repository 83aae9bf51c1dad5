"""What a plan says of money and quotas. Pure."""

from collections.abc import Iterator, Sequence

from blueprints import display
from blueprints.estimate import CURRENCY, HOURS_PER_MONTH, NOT_COUNTED, Estimate, Part
from blueprints.quotas import QuotaNeed

from . import formatting
from .tables import Cell, Column, Shown, Table

MAIN = ("compute", "storage")
"""Kinds of parts without whose prices a sum says nothing of the whole."""
KINDS = {"compute": "compute nodes", "control": "control", "access": "login nodes", "storage": "storage", "service": "services"}
"""The parts of an estimate, in the order in which they are shown."""
LISTED = ("listed", "lowest zone")
"""Methods of prices that somebody states."""


def quotas_needed(needs: Sequence[QuotaNeed]) -> Table:
    """Write what of which quota is needed, and for what."""
    columns = (Column("quota"), Column("code"), Column("needed", right=True), Column("new accounts have", right=True), Column("for"))
    return Table(columns, tuple(_quota_row(need) for need in needs))


def _quota_row(need: QuotaNeed) -> tuple[Shown, ...]:
    needed = Cell(formatting.counted(need.needed, need.unit), "care" if need.to_raise else "")
    return (need.name, need.code, needed, "unknown" if need.default is None else f"{need.default:,}", formatting.named(need.takers))


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
        if any(part.kind == kind for part in costs.parts):
            rows.append((name, total(costs, kind=kind), total(costs, kind=kind, hours=HOURS_PER_MONTH)))
    if rows:
        rows.append(("together", total(costs), total(costs, hours=HOURS_PER_MONTH)))
    return Table(columns, tuple(rows))


def total(costs: Estimate, *, kind: str | None = None, hours: int = 1, sign: str = "", mark: str = formatting.DOUBTFUL) -> str:
    """Write what everything costs together, or one kind of part: `unknown` where a main part has no price, since the rest would look like the whole.

    Args:
        sign: of the currency, before each amount.
        mark: stands before amounts that doubtful prices are in.
    """
    parts = [part for part in costs.parts if kind in (None, part.kind)]
    missing = [part for part in costs.unknown if kind in (None, part.kind)]
    known = [part for part in parts if part.unit_usd_per_hour is not None]
    low, high = costs.of(kind)
    amount = f"{mark if any(is_doubtful(part) for part in known) else ''}{formatting.money(low * hours, high * hours, sign=sign)}"
    if not missing:
        return amount
    if not known:
        return "unknown"
    return f"unknown (known parts: {amount})" if any(part.kind in MAIN for part in missing) else f"at least {amount}"


def difference(before: Estimate, after: Estimate) -> Shown:
    """Say how the price of an hour moves, with every pool at its largest; of the known parts where a price is missing."""
    if before.owned and after.owned:
        return ""
    old, new = ("nothing" if one.owned else formatting.money(one.hourly_max, one.hourly_max) for one in (before, after))
    missing = dict.fromkeys(part.name for one in (before, after) for part in one.unknown)
    what = f"cost of the parts with a known price (not {', '.join(missing)})" if missing else "cost"
    moved = f"stays at {new}" if old == new else f"from {old} to {new}"
    return f"{what}: {moved} {CURRENCY} an hour at most"


def price(part: Part | None) -> str:
    """Write what one part costs by the hour, marked where the price is doubtful; empty for what isn't paid for."""
    if part is None:
        return ""
    return f"{formatting.DOUBTFUL if is_doubtful(part) else ''}{formatting.money(part.hourly_min, part.hourly_max)}"


def is_doubtful(part: Part) -> bool:
    """Say whether a part has a price that no source states with certainty: of medium or low confidence, or made from others."""
    return part.unit_usd_per_hour is not None and part.confidence in ("medium", "low")


def _doubt(part: Part) -> str:
    """Name a part and how its price was made, if it was made from others."""
    derived = part.kind in ("compute", "control", "access") and part.method not in LISTED
    return f"{part.name} (from {part.method})" if derived else part.name


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
            all_of_them = ", ".join(names) if label == "unknown" else formatting.named(names)
            yield label, Cell(f"{all_of_them}: {remark}", "care" if label == "unknown" else "soft")
    for confidence in ("medium", "low"):
        doubtful = [_doubt(part) for part in costs.parts if is_doubtful(part) and part.confidence == confidence]
        if doubtful:
            yield formatting.DOUBTFUL, Cell(f"{confidence} confidence: {', '.join(doubtful)}", "care")
    yield "not counted", Cell(display.listed(NOT_COUNTED), "soft")


def _remarkable(costs: Estimate) -> tuple[Part, ...]:
    return tuple(part for part in costs.parts if part.kind == "compute" and part.unit_usd_per_hour is not None and part.note)
