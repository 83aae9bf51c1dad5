"""Differences between two records, property by property. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints import message_text
from components.inspection import finding
from components.inspection.record import SECRET_SIGNATURE

HIDDEN = "[secret]"
"""What reports of Pulumi have in the place of a secret."""
ABSENT = object()
"""What a property has that isn't there."""


def differences(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, old, new) for each property that differs; `ABSENT` is the value of one that is missing.

    Lists of records of the same length are compared entry by entry, all other lists as a whole.
    """
    if is_secret(old) or is_secret(new):
        if old != new:
            yield path, _hidden(old), _hidden(new)  # one side may be in the clear where a provider forgets that it is secret
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}, key=str):
            yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), f"{path}.{name}" if path else str(name))
    elif _are_records(old, new):
        for place, (before, now) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, now, f"{path}[{place}]")
    elif old != new:
        yield path, old, new


def _are_records(old: Any, new: Any) -> bool:
    both_lists = isinstance(old, list) and isinstance(new, list) and len(old) == len(new)
    return both_lists and all(isinstance(entry, Mapping) for entry in (*old, *new))


def shown(value: Any) -> str | None:
    """Write a value for a report; None for one that isn't there. Private keys are not shown."""
    if value is ABSENT or value is None:
        return None
    if is_secret(value):
        return "(a secret)"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return finding.shown(text)


def private_digest(value: Any) -> str:
    """Give the digest of a value that is not shown because it holds a private key; empty for all others."""
    return finding.digest(value) if value is not ABSENT and not is_secret(value) and message_text.is_private(json.dumps(value)) else ""


def is_secret(value: Any) -> bool:
    """Say whether a value is hidden, in Pulumi's form or in that of its reports."""
    return value == HIDDEN or (isinstance(value, Mapping) and SECRET_SIGNATURE in value)


def _hidden(value: Any) -> Any:
    return value if value is ABSENT or value is None else HIDDEN


def change(old: Any, new: Any) -> str:
    """Describe how a value changed: the entries that a list lost and got, or that it is another one."""
    if old is ABSENT or old is None:
        return "was added"
    if new is ABSENT or new is None:
        return "is gone"
    if isinstance(old, list) and isinstance(new, list):
        lost = [entry for entry in old if entry not in new]
        got = [entry for entry in new if entry not in old]
        words = [f"has lost {_named(lost)}"] if lost else []
        words += [f"has {_named(got)} in addition"] if got else []
        return " and ".join(words) or "has another order"
    return "is not as recorded"


def _named(entries: list[Any]) -> str:
    return message_text.listed(shown(entry) or "nothing" for entry in entries[:5]) + (f" and {len(entries) - 5} more" if len(entries) > 5 else "")
