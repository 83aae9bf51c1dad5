"""What a cluster costs, as the report shows it: part by part, with dates, and "at least" where a price is unknown. Pure."""

from blueprints import catalog
from blueprints.estimate import HOURS_PER_MONTH, NOT_COUNTED, Estimate, Part

from . import words
from .contents import Figure, Section, table

_COLUMNS = "Part | What | #Number | #Each, per hour | #Per hour | #Per month | Price from | Note"


def figure(estimate: Estimate) -> Figure | None:
    """Give the number for the top of the report; None where nothing is paid for by the hour."""
    if estimate.owned:
        return None
    note = f"{_range(estimate.hourly_min * HOURS_PER_MONTH, estimate.hourly_max * HOURS_PER_MONTH)} per month"
    if not estimate.complete:
        note += f", without {words.some((part.name for part in estimate.unknown), most=2)}"
    return Figure(_range(estimate.hourly_min, estimate.hourly_max), "per hour" if estimate.complete else "per hour, at least", note)


def section(estimate: Estimate) -> Section:
    """Write the section on cost."""
    if estimate.owned:
        return Section("cost", "Cost", ("Nothing here is paid for by the hour: the machines are there already.",))
    rows = [_row(part) for part in estimate.parts]
    least = "" if estimate.complete else "at least "
    hourly, monthly = (least + _range(estimate.hourly_min * hours, estimate.hourly_max * hours) for hours in (1, HOURS_PER_MONTH))
    total = ("All", "", "", "", hourly, monthly, "", "" if estimate.complete else "parts without a known price come on top")
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
    hourly = _range(part.hourly_min, part.hourly_max)
    monthly = _range(part.hourly_min * HOURS_PER_MONTH, part.hourly_max * HOURS_PER_MONTH)
    doubt = f"confidence: {part.confidence}" if part.confidence not in ("", "high") else ""
    note = "; ".join(word for word in (part.note, doubt) if word)
    return (*head, words.money(part.unit_usd_per_hour), hourly, monthly, part.as_of, note)


def _range(least: float, most: float) -> str:
    return words.money(most) if round(least, 2) == round(most, 2) else f"{words.money(least)} to {words.money(most)}"


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
