"""Validate what a program declares against the typed arguments of a provider's SDK: the names, the types and what is required."""

from collections.abc import Iterator, Mapping
from typing import Any

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # the engine's mark for what only an apply will give
FILES = frozenset({"Asset", "Archive"})  # the engine sends these as maps with a signature
SCALARS: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}

Problems = Iterator[tuple[str, str]]


def problems(arguments: Mapping[str, Any], inputs: Mapping[str, Any], *, objects: Mapping[str, Any]) -> Problems:
    """Yield (path, reason) for every input that the SDK's arguments do not have in this form.

    Args:
        arguments: of the resource, name → (type, whether it is required).
        objects: the SDK's argument objects by name, each in the same form.
    """
    return _of_fields(arguments, inputs, "", objects)


def holds_unknown(value: Any) -> bool:
    """Say whether a value contains the mark for what is not known yet."""
    if isinstance(value, Mapping):
        return any(holds_unknown(inner) for inner in value.values())
    if isinstance(value, list):
        return any(holds_unknown(inner) for inner in value)
    return bool(value == UNKNOWN)


def _of_fields(fields: Mapping[str, Any], values: Mapping[str, Any], path: str, objects: Mapping[str, Any]) -> Problems:
    for name, value in values.items():
        here = f"{path}.{name}" if path else name
        if name.startswith("__"):
            continue  # the bridge's own notes
        if name not in fields:
            yield here, "there is no such property"
        elif value is not None:
            yield from _of_type(fields[name][0], value, here, objects)
    for name, (_, required) in fields.items():
        if required and values.get(name) is None:
            yield (f"{path}.{name}" if path else name), "it is required"


def _of_type(wanted: Any, value: Any, path: str, objects: Mapping[str, Any]) -> Problems:
    if value == UNKNOWN or wanted in ("any", "object"):
        return
    match wanted:
        case ["list", inner]:
            if not isinstance(value, list):
                yield path, f"a list is wanted, not {_described(value)}"
                return
            for place, one in enumerate(value):
                yield from _of_type(inner, one, f"{path}[{place}]", objects)
        case ["map", inner]:
            if not isinstance(value, Mapping):
                yield path, f"a map is wanted, not {_described(value)}"
                return
            for name, one in value.items():
                yield from _of_type(inner, one, f"{path}.{name}", objects)
        case ["union", *options]:
            if all(list(_of_type(option, value, path, objects)) for option in options):
                yield path, f"none of the allowed types is {_described(value)}"
        case str() if wanted in FILES:
            if not isinstance(value, Mapping):
                yield path, f"an {wanted} is wanted, not {_described(value)}"
        case str() if wanted in SCALARS:
            if not isinstance(value, SCALARS[wanted]) or (isinstance(value, bool) and wanted != "boolean"):
                yield path, f"a {wanted} is wanted, not {_described(value)}"
        case str() if wanted in objects:
            if not isinstance(value, Mapping):
                yield path, f"an object is wanted, not {_described(value)}"
                return
            yield from _of_fields(objects[wanted], value, path, objects)
        case _:
            raise TypeError(f"{path} has the type {wanted}, which is not understood")


def _described(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"
