"""Names that lead to each other until they come back to where they began."""

from collections.abc import Iterator, Mapping, Sequence

_SHOWN = 6
"""Names of one circle that a message shows; who has the first ones finds the rest."""


def of_parents(parents: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Find the circles where each name leads to one other, or to none. Every name is looked at once."""
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
    """Write the way from the first name back to it."""
    shown = circle if len(circle) <= _SHOWN else [*circle[:_SHOWN], f"… ({len(circle) - _SHOWN} more)"]
    return joint.join([*shown, circle[0]])
