"""What differs between recorded inputs and wanted ones, in the few words that fit on a resource's row. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SHOWN_AT_MOST = 4
"""Differences in one text; of more, the first ones and how many more."""
LONGEST = 32
"""Characters of a value."""
NAMES = ("name", "pool")
"""Keys that identify the entries of a list."""
FIELDS = {"content": "playbooks", "count": "nodes"}
"""Fields that users know by another word."""
_OPAQUE = re.compile(r"[0-9a-f]{12,}|ssh-.*", re.DOTALL)
"""Digests, identities and keys: nobody compares them by eye."""
_MISSING = object()


def describe(old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]) -> str:
    """Say what differs: `train: nodes 2 → 4; ada: most jobs 10 → 20`.

    Args:
        names: the inputs to compare, without secrets.
    """
    found = dict.fromkeys(text for name in names for text in _differences(old.get(name, _MISSING), new.get(name, _MISSING), subject="", field=name))
    texts = list(found)
    more = len(texts) - SHOWN_AT_MOST
    return "; ".join([*texts[:SHOWN_AT_MOST], *([f"and {more} more"] if more > 0 else [])])


def _differences(old: Any, new: Any, *, subject: str, field: str) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(key, _MISSING), new.get(key, _MISSING), subject=subject, field=str(key))
    elif (before := _by_name(old)) is not None and (after := _by_name(new)) is not None:
        for name in dict.fromkeys((*before, *after)):
            if name not in after or name not in before:
                yield f"{name} {'added to' if name in after else 'removed from'} {_words(field)}"
            else:
                yield from _differences(before[name], after[name], subject=name, field=field)
    else:
        yield f"{subject}: {_change(field, old, new)}" if subject else _change(field, old, new)


def _change(field: str, old: Any, new: Any) -> str:
    if _is_short(old) and _is_short(new):
        return f"{_words(field)} {_written(old)} → {_written(new)}"
    return f"{_words(field)} changed"


def _by_name(value: Any) -> dict[str, Any] | None:
    """Give a list's entries by their names; None for anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, Mapping) and any(key in one for key in NAMES) for one in value):
        return None
    found = {str(next(one[key] for key in NAMES if key in one)): one for one in value}
    return found if len(found) == len(value) else None


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST and not _OPAQUE.fullmatch(value)
    return value is _MISSING or value is None or isinstance(value, bool | int | float)


def _written(value: Any) -> str:
    if value is _MISSING or value is None or value == "":
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _words(field: str) -> str:
    return FIELDS.get(field, field.replace("_", " "))
