"""What a plan says of money. Pure."""

from collections.abc import Iterator

from blueprints import catalog, message_text
from blueprints.plan.estimate import CURRENCY, HOURS_PER_MONTH, NOT_COUNTED, Estimate, Part

from . import formatting
from .tables import Cell, Column, Facts, Shown, Table

MAIN = ("compute", "storage")
"""Kinds of parts without whose prices a sum says nothing of the whole."""
KINDS = {"compute": "compute nodes", "control": "control", "access": "login nodes", "storage": "storage", "service": "services"}
"""The parts of an estimate, in the order in which they are shown."""
SIGN = "$"
LISTED = ("listed", "lowest zone")
"""Methods of prices that somebody states."""


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


def figure(costs: Estimate) -> tuple[str, str, str] | None:
    """Give the sum for the top of a page: value, label and note; None when nothing is paid for by the hour."""
    if costs.owned:
        return None
    hourly, monthly = (formatting.money(costs.hourly_min * hours, costs.hourly_max * hours, sign=SIGN) for hours in (1, HOURS_PER_MONTH))
    if costs.complete:
        return hourly, "per hour", f"{monthly} per month"
    missing = f"without {', '.join(part.name for part in costs.unknown)}"
    if all(part.kind not in MAIN for part in costs.unknown):
        return hourly, "per hour, at least", f"{monthly} per month, {missing}"
    known = f"known parts: {hourly} per hour, {monthly} per month, " if costs.hourly_max else ""
    return "unknown", "per hour", f"{known}{missing}"


_PART_COLUMNS = (
    Column("part"),
    Column("what"),
    Column("number", right=True),
    Column("each, an hour", right=True),
    Column("an hour", right=True),
    Column(f"a month ({HOURS_PER_MONTH} h)", right=True),
    Column("price of"),
    Column("note"),
)


def parts(costs: Estimate) -> Table:
    """Write what each part costs."""
    return Table(_PART_COLUMNS, tuple(_part_row(part) for part in costs.parts), caption="Cost by part", detail=True)


def _part_row(part: Part) -> tuple[Shown, ...]:
    head = (part.name, f"{part.what} ({part.kind})", formatting.between(part.count_min, part.count_max))
    if part.unit_usd_per_hour is None or part.hourly_min is None or part.hourly_max is None:
        return (*head, "unknown", "unknown", "unknown", "", part.note)
    monthly = formatting.money(part.hourly_min * HOURS_PER_MONTH, part.hourly_max * HOURS_PER_MONTH)
    doubt = f"{part.confidence} confidence" if is_doubtful(part) else ""
    note = "; ".join(word for word in (part.note, doubt) if word)
    return (*head, formatting.unit_price(part.unit_usd_per_hour), price(part), monthly, part.as_of, note)


def sources(costs: Estimate) -> Facts:
    """Name the sources of the prices."""
    names = dict.fromkeys(part.source for part in costs.parts if part.source)
    priced = {name: formatting.some((part.name for part in costs.parts if part.source == name), most=6) for name in names}
    return Facts(tuple((f"prices of {parts}", catalog.source(name).title) for name, parts in priced.items()), detail=True)


def total(costs: Estimate, *, kind: str | None = None, hours: int = 1) -> str:
    """Write what everything costs together, or one kind of part: `unknown` where a main part has no price, since the rest would look like the whole.."""
    parts = [part for part in costs.parts if kind in (None, part.kind)]
    missing = [part for part in costs.unknown if kind in (None, part.kind)]
    known = [part for part in parts if part.unit_usd_per_hour is not None]
    low, high = costs.of(kind)
    amount = f"{formatting.DOUBTFUL if any(is_doubtful(part) for part in known) else ''}{formatting.money(low * hours, high * hours)}"
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
    """Say whether a part's price has medium or low confidence."""
    return part.unit_usd_per_hour is not None and part.confidence in ("medium", "low")


def _doubt(part: Part) -> str:
    """Name a part and how its price was made, if it was made from others."""
    derived = part.kind in ("compute", "control", "access") and part.method not in LISTED
    return f"{part.name} (from {part.method})" if derived else part.name


def remarks(costs: Estimate) -> Iterator[tuple[str, Shown]]:
    """Say what is unknown, doubtful or not counted."""
    if costs.owned:
        yield "owned", "no hourly cost: the machines exist already"
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
    yield "not counted", Cell(message_text.listed(NOT_COUNTED), "soft")


def _remarkable(costs: Estimate) -> tuple[Part, ...]:
    return tuple(part for part in costs.parts if part.kind == "compute" and part.unit_usd_per_hour is not None and part.note)
