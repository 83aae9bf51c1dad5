"""Arguments that take certain words alone: the provider refuses others in a preview."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import typed
from . import kinds
from .kinds import Kind


def problems(kind: Kind, inputs: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, reason) for every word that the provider does not take; the inputs have the SDK's types."""
    return _of_fields(kind.name, kind.inputs, inputs, "")


def _of_fields(owner: str, fields: Mapping[str, Any], values: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    known = kinds.sdk()["values"].get(owner, {})
    for name, value in values.items():
        if name in fields:
            here = f"{path}.{name}" if path else name
            yield from _of_value(fields[name][0], value, here, known.get(name))


def _of_value(form: Any, value: Any, path: str, words: list[str] | None) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        inner = form[1] if isinstance(form, list) else form
        for place, one in enumerate(value):
            yield from _of_value(inner, one, f"{path}[{place}]", words)
    elif isinstance(form, str) and form in kinds.sdk()["objects"] and isinstance(value, Mapping):
        yield from _of_fields(form, kinds.sdk()["objects"][form], value, path)
    elif words and isinstance(value, str) and value not in (*words, "", typed.UNKNOWN):
        yield path, f"expected {path} to be one of {words}, got {value}"
