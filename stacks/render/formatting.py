"""How amounts, names and recorded values are written for people. Pure."""

from collections.abc import Iterable
from typing import Any

from blueprints import catalog, display
from blueprints.spec import Gpus

NAMED_AT_MOST = 4
"""Names in one place; of more, the first ones and how many more."""
MIB_PER_GIB = 1024
GIB_PER_TIB = 1024
DOUBTFUL = "~"
"""Stands before a price of medium or low confidence."""
NAMING = ("name", "profile", "product", "type", "what", "hosts")
"""Fields of a recorded thing that say which one it is."""


def size(gib: float) -> str:
    """Write a size in the largest unit that it fills (powers of 1024), with two digits after the point at most."""
    for unit, factor in (("PiB", GIB_PER_TIB * GIB_PER_TIB), ("TiB", GIB_PER_TIB), ("GiB", 1)):
        if gib >= factor:
            return f"{_short(gib / factor)} {unit}"
    return f"{gib * MIB_PER_GIB:.0f} MiB"


def _short(number: float) -> str:
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def gpu_memory(gpus: Gpus) -> str:
    """Write the memory of one GPU as its vendor names it, which is the same wherever it stands; empty when no source tells."""
    if gpus.memory_gib is None:
        return ""
    known = catalog.accelerators().get(gpus.type)
    return f"{known.nominal_gb(gpus.memory_gib)} GB" if known else f"{gpus.memory_gib:g} GiB"


def counted(number: int, units: str) -> str:
    """Write a number with its unit, which is given in the plural if it has one (`vcpus`, `GiB`)."""
    return f"{number:,} {units.removesuffix('s') if number == 1 else units}"


def collective(name: str) -> str:
    """Write a collective's name as its users do (`all-gather`)."""
    return name.replace("_", "-")


def money(low: float | None, high: float | None, *, sign: str = "") -> str:
    """Write a sum of money, or the least and the most of it; to the hundredth, whatever its size."""
    if low is None or high is None:
        return "unknown"
    least, most = f"{sign}{low:,.2f}", f"{sign}{high:,.2f}"
    return most if least == most else f"{least} to {most}"


def unit_price(usd: float, *, sign: str = "") -> str:
    """Write what one of something costs: small prices differ in their last digits."""
    return f"{sign}{usd:,.4f}" if usd < 1 else f"{sign}{usd:,.2f}"


def named(names: Iterable[str]) -> str:
    """List names, of many the first ones and how many more."""
    known = list(names)
    if len(known) <= NAMED_AT_MOST:
        return ", ".join(known)
    return f"{', '.join(known[: NAMED_AT_MOST - 1])} and {len(known) - NAMED_AT_MOST + 1} more"


def brief(value: Any) -> str:
    """Write a recorded value in a few words."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        inner = next((value[field] for field in NAMING if value.get(field)), None)
        return brief(inner) if inner else f"{len(value)} values"
    if isinstance(value, list | tuple):
        return named([brief(one) for one in value]) if value else "none"
    return display.quoted(value)[1:-1]
