"""How amounts, names and recorded values are written for people. Pure."""

from collections.abc import Iterable
from typing import Any

from blueprints import display

NAMED_AT_MOST = 4
"""Names in one place; of more, the first ones and how many more."""
MIB_PER_GIB = 1024
GIB_PER_TIB = 1024
NAMING = ("name", "profile", "product", "type", "what", "hosts")
"""Fields of a recorded thing that say which one it is."""


def size(gib: float) -> str:
    """Write a size in TiB where one digit after the point is exact, otherwise in GiB or MiB."""
    if gib >= GIB_PER_TIB and (gib * 10 / GIB_PER_TIB).is_integer():
        return f"{gib / GIB_PER_TIB:g} TiB"
    if gib >= 1:
        return f"{gib:,.0f} GiB" if gib >= 10 else f"{gib:g} GiB"
    return f"{gib * MIB_PER_GIB:g} MiB"


def money(low: float | None, high: float | None, *, digits: int = 2) -> str:
    """Write an amount of money, or the least and the most of it."""
    if low is None or high is None:
        return "unknown"
    least, most = f"{low:,.{digits}f}", f"{high:,.{digits}f}"
    return most if least == most else f"{least}–{most}"


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
