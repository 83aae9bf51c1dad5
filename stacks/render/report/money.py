"""What a cluster costs, as the report shows it: part by part, with dates, and "at least" where a price is unknown. Pure."""

from blueprints import catalog
from blueprints.estimate import HOURS_PER_MONTH, NOT_COUNTED, Estimate, Part

from .. import cost, formatting, words
from .contents import Figure, Section, table

SIGN = "$"
UNCERTAIN = ""
"""Stands before doubtful amounts: nothing, since the note of each part says it."""
_COLUMNS = "Part | What | #Number | #Each, per hour | #Per hour | #Per month | Price from | Note"


def figure(estimate: Estimate) -> Figure | None:
    """Give the number for the top of the report; None where nothing is paid for by the hour."""
    if estimate.owned:
        return None
    hourly, monthly = (formatting.money(estimate.hourly_min * hours, estimate.hourly_max * hours, sign=SIGN) for hours in (1, HOURS_PER_MONTH))
    if estimate.complete:
        return Figure(hourly, "per hour", f"{monthly} per month")
    missing = f"without {', '.join(part.name for part in estimate.unknown)}"
    if all(part.kind not in cost.MAIN for part in estimate.unknown):
        return Figure(hourly, "per hour, at least", f"{monthly} per month, {missing}")
    known = f"known parts: {hourly} per hour, {monthly} per month, " if estimate.hourly_max else ""
    return Figure("unknown", "per hour", f"{known}{missing}")


def section(estimate: Estimate) -> Section:
    """Write the section on cost."""
    if estimate.owned:
        return Section("cost", "Cost", ("Nothing here is paid for by the hour: the machines are there already.",))
    rows = [_row(part) for part in estimate.parts]
    hourly, monthly = (cost.total(estimate, hours=hours, sign=SIGN, mark=UNCERTAIN) for hours in (1, HOURS_PER_MONTH))
    missing = ", ".join(part.name for part in estimate.unknown)
    total = ("All", "", "", "", hourly, monthly, "", f"no price is known of {missing}" if missing else "")
    paragraphs = [
        f"Prices are USD in {estimate.region}, listed {_dates(estimate)}; a month is {HOURS_PER_MONTH} hours. Where there are two amounts, the pools that come and go "
        "are at their smallest and at their largest.",
        f"Not counted: {', '.join(NOT_COUNTED)}.",
    ]
    return Section("cost", "Cost", tuple(paragraphs), (table("Cost by part", _COLUMNS, rows, totals=[total]),), points=_sources(estimate))


def _row(part: Part) -> tuple[str, ...]:
    number = words.between(part.count_min, part.count_max)
    head = (part.name, f"{part.what} ({part.kind})", number)
    if part.unit_usd_per_hour is None or part.hourly_min is None or part.hourly_max is None:
        return (*head, "unknown", "unknown", "unknown", "", part.note)
    hourly = formatting.money(part.hourly_min, part.hourly_max, sign=SIGN)
    monthly = formatting.money(part.hourly_min * HOURS_PER_MONTH, part.hourly_max * HOURS_PER_MONTH, sign=SIGN)
    doubt = f"confidence: {part.confidence}" if part.confidence not in ("", "high") else ""
    note = "; ".join(word for word in (part.note, doubt) if word)
    return (*head, formatting.unit_price(part.unit_usd_per_hour, sign=SIGN), hourly, monthly, part.as_of, note)


def _dates(estimate: Estimate) -> str:
    if estimate.dates is None:
        return "at no known date"
    first, last = estimate.dates
    return f"in {last}" if first == last else f"between {first} and {last}"


def _sources(estimate: Estimate) -> tuple[str, ...]:
    names = dict.fromkeys(part.source for part in estimate.parts if part.source)
    return tuple(
        f"Prices of {words.some((part.name for part in estimate.parts if part.source == name), most=6)}: {catalog.source(name).title}" for name in names
    )
