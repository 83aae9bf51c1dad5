"""Take the stack's part out of a text that somebody changed since. Pure."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/subuid", "/etc/subgid")
"""Files with a line for each name, whatever the order."""


def without(path: str, *, before: str, left: str, now: str) -> str | None:
    """Give the text of now without what the stack changed between before and left; None: somebody changed the same lines."""
    return without_rows(before=before, left=left, now=now) if path in TABLES else without_lines(before=before, left=left, now=now)


def without_rows(*, before: str, left: str, now: str) -> str | None:
    """Do it row by row: a row that the stack added and nobody changed is left out, one that it changed is as before, one that it removed is there again."""
    earlier, recorded, present = _rows(before), _rows(left), _rows(now)
    kept = {}
    for name, row in present.items():
        if recorded.get(name) == earlier.get(name) or row == earlier.get(name):
            kept[name] = row  # the stack did not change it, or it is as before already
        elif row != recorded.get(name):
            return None
        elif name in earlier:
            kept[name] = earlier[name]
    kept.update((name, row) for name, row in earlier.items() if name not in recorded and name not in present)
    return "".join(f"{row}\n" for row in kept.values())


def without_lines(*, before: str, left: str, now: str) -> str | None:
    """Do it line by line: both differences from what the stack left are applied to it where they touch other lines."""
    earlier, recorded, present = (text.splitlines(keepends=True) for text in (before, left, now))
    back, since = list(_changes(recorded, earlier)), list(_changes(recorded, present))
    if any(_collide(one, other) for one in back for other in since if one != other):
        return None
    merged, place = [], 0
    for start, end, lines in sorted({*back, *since}, key=lambda change: (change[0], change[1])):
        merged += [*recorded[place:start], *lines]
        place = max(place, end)
    return "".join([*merged, *recorded[place:]])


Change = tuple[int, int, tuple[str, ...]]  # (start, end, lines) in what the stack left


def _changes(old: list[str], new: list[str]) -> Iterator[Change]:
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield start, end, tuple(new[new_start:new_end])


def _collide(one: Change, other: Change) -> bool:
    """Say whether two changes are of the same lines. Lines that one adds beside lines that the other removes are no collision."""
    if one[0] == one[1] and other[0] == other[1]:
        return bool(one[0] == other[0])
    return bool(one[0] < other[1] and other[0] < one[1])


def with_named_rows(before: str, left: str, names: str) -> str:
    """Add to the rows of before those of left whose name is a word of `names`: users of packages that stay."""
    words = set(re.findall(r"[\w.-]+", names))
    earlier = {name for name, _ in _rows(before)}
    return before + "".join(f"{row}\n" for (name, _), row in _rows(left).items() if name in words and name not in earlier)


def _rows(text: str) -> dict[tuple[str, int], str]:
    """Give the rows by name and by their place among the rows of that name: a user may have several ranges of subordinate numbers."""
    found: dict[tuple[str, int], str] = {}
    seen: dict[str, int] = {}
    for line in filter(None, text.splitlines()):
        name = line.partition(":")[0]
        found[name, seen.get(name, 0)] = line
        seen[name] = seen.get(name, 0) + 1
    return found
