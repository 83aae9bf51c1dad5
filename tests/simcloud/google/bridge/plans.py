"""What a preview shows of a thing that is yet to be made or changed: what is declared, what stays, and what only the service will say."""

from collections.abc import Mapping
from typing import Any

from ...core import typed
from . import differences, kinds
from .kinds import Kind

Values = Mapping[str, Any]


def planned(kind: Kind, inputs: Values, olds: Values) -> dict[str, Any]:
    """Give the properties that a thing will have; `olds` is empty for a new one."""
    before = olds or dict.fromkeys(kind.outputs, typed.UNKNOWN)
    found = dict(before)
    for name, value in inputs.items():
        form = kind.inputs[name][0] if name in kind.inputs else "any"
        if not olds or not differences.same(form, value, olds.get(name)):
            found[name] = _with_chosen(form, value, olds.get(name), name, kind)
    return found


def _with_chosen(form: Any, value: Any, old: Any, path: str, kind: Kind) -> Any:
    """Add to a declared value what the service chose, or will choose."""
    if isinstance(form, list) and form[0] == "list" and isinstance(value, list):
        olds = old if isinstance(old, list) and len(old) == len(value) else [None] * len(value)
        return [_with_chosen(form[1], one, before, path, kind) for one, before in zip(value, olds, strict=True)]
    fields = kinds.sdk()["objects"].get(form) if isinstance(form, str) else None
    if not fields or not isinstance(value, Mapping):
        return value
    before = old if isinstance(old, Mapping) else {}
    found = {name: _with_chosen(fields[name][0], one, before.get(name), f"{path}.{name}", kind) for name, one in value.items()}
    for name in fields:
        if f"{path}.{name}" in kind.chosen and found.get(name) is None:
            found[name] = before.get(name, typed.UNKNOWN)
    return found
