"""Cycles among names that refer to each other."""

from collections.abc import Iterator, Mapping, Sequence

_SHOWN = 6
"""Names of one cycle that a message shows."""


def of_parents(parents: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Find the cycles where each name has one parent or none, in linear time."""
    seen: set[str] = set()
    for start in parents:
        way: dict[str, int] = {}
        name: str | None = start
        while name is not None and name in parents and name not in seen:
            seen.add(name)
            way[name] = len(way)
            name = parents[name]
        if name in way:
            yield list(way)[way[name] :]


def words(circle: Sequence[str], joint: str) -> str:
    """Write the cycle from its first name back to it."""
    shown = circle if len(circle) <= _SHOWN else [*circle[:_SHOWN], f"… ({len(circle) - _SHOWN} more)"]
    return joint.join([*shown, circle[0]])
