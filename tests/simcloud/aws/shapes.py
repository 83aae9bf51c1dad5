"""Values of the AWS API by botocore's shapes: check them, and bring a program's values into their form."""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from ..core.failure import NotSimulated
from ..core.typed import UNKNOWN, Problems
from .schema import plain_pattern

NUMBERS = frozenset({"integer", "long", "float", "double"})


def problems(shape: Shape, value: Any, path: str) -> Problems:
    """Yield (path, reason) for whatever in a value is not as its shape says: names, types, enums, patterns, ranges, what is required."""
    if value == UNKNOWN:
        return
    match shape:
        case StructureShape():
            for name in value.keys() - shape.members.keys():
                yield f"{path}.{name}", "there is no such parameter"
            for name in shape.required_members:
                if name not in value:
                    yield f"{path}.{name}", "it is required"
            for name, inner in value.items():
                if name in shape.members:
                    yield from problems(shape.members[name], inner, f"{path}.{name}")
        case ListShape():
            for place, one in enumerate(value):
                yield from problems(shape.member, one, f"{path}.{place + 1}")
            yield from _size_problems(shape, len(value), value, path)
        case MapShape():
            for name, one in value.items():
                yield from problems(shape.value, one, f"{path}.{name}")
        case StringShape():
            yield from _string_problems(shape, value, path)
        case _:
            yield from _scalar_problems(shape, value, path)


def formed(shape: Shape, value: Any, names: Mapping[str, str], path: str = "") -> Any:
    """Bring a program's value (names begin small, numbers and truths may be text) into the form of a shape.

    Args:
        names: path → the member's name, where it is not the same word; "" for a value that has no place there.
    Raises:
        NotSimulated: a name leads nowhere.
    """
    if value == UNKNOWN:
        return UNKNOWN
    match shape:
        case StructureShape():
            made = {}
            for name, inner in value.items():
                here = f"{path}.{name}" if path else name
                theirs = names.get(here) or _same(name, shape)
                if inner is None or names.get(here) == "":
                    continue
                if theirs is None:
                    raise NotSimulated(f"{shape.name} {here}")
                made[theirs] = formed(shape.members[theirs], inner, names, here)
            return made
        case ListShape():
            return [formed(shape.member, one, names, f"{path}[]") for one in value]
    match shape.type_name:
        case "boolean":
            return value == "true" if value in ("true", "false") else value
        case "string":
            return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
        case "timestamp":
            return value
    return value


def _same(name: str, shape: StructureShape) -> str | None:
    return next((theirs for theirs in shape.members if theirs.lower() == name.lower()), None)


def _string_problems(shape: StringShape, value: Any, path: str) -> Problems:
    if not isinstance(value, str):
        yield path, f"text is wanted, not {value!r}"
        return
    if shape.enum and value not in shape.enum:
        options = ", ".join(shape.enum[:12]) + (" ..." if len(shape.enum) > 12 else "")
        yield path, f"{value!r} is none of {options}"
    if (pattern := shape.metadata.get("pattern")) and not re.fullmatch(plain_pattern(pattern), value):
        yield path, f"{value!r} does not match {pattern}"
    yield from _size_problems(shape, len(value), value, path)


def _scalar_problems(shape: Shape, value: Any, path: str) -> Problems:
    if shape.type_name == "boolean" and not isinstance(value, bool):
        yield path, f"true or false is wanted, not {value!r}"
    if shape.type_name in NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield path, f"a number is wanted, not {value!r}"
        else:
            yield from _size_problems(shape, value, value, path)
    if shape.type_name == "timestamp" and not isinstance(value, (int, float, dt.datetime)):
        try:
            dt.datetime.fromisoformat(value)
        except (TypeError, ValueError):
            yield path, f"a time is wanted, not {value!r}"


def _size_problems(shape: Shape, size: float, value: Any, path: str) -> Problems:
    if "min" in shape.metadata and size < shape.metadata["min"]:
        yield path, f"{value!r} is below {shape.metadata['min']}"
    if "max" in shape.metadata and size > shape.metadata["max"]:
        yield path, f"{value!r} is above {shape.metadata['max']}"
