"""Validate a body against the schema of its method: names, types, enums, patterns, what is required. Null and "" count as unset, as Google's own clients send both."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..core.failure import Refused
from . import discovery
from .errors import invalid, required

INTEGERS = {"int32": 31, "uint32": 32, "int64": 63, "uint64": 64}
WHOLE = re.compile(r"-?\d+")


def clean(document: str, ref: str, value: Any, *, method: str, where: str = "resource", writing: bool = True) -> dict[str, Any]:
    """Give a body without what is unset and what only the service sets.

    Args:
        method: id of the method, which decides what is required.
        where: how the service calls the body in errors.
        writing: whether the body makes a thing, so that what is required has to be there.
    Raises:
        Refused: it breaks the schema.
    """
    if not isinstance(value, Mapping):
        raise Refused("parseError", "This API does not support parsing form-encoded input.")
    return _object(document, discovery.schema(document, ref), value, where, method, writing)


def _object(document: str, schema: Mapping[str, Any], value: Any, where: str, method: str, writing: bool) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise invalid(where, value, "An object is wanted.")
    fields: Mapping[str, Any] = schema.get("properties", {})
    free = schema.get("additionalProperties")
    found: dict[str, Any] = {}
    for name, one in value.items():
        field = fields.get(name, free)
        if field is None:
            raise Refused("badRequest", f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot find field.")
        if name not in fields:
            if one is not None:
                found[name] = _value(document, field, one, f"{where}.{name}", method, writing)
        elif one is not None and one != "" and not is_output(field):
            found[name] = _value(document, field, one, f"{where}.{name}", method, writing)
    for name in _required(fields, document, method) if writing else ():
        if found.get(name) in (None, [], {}) and not isinstance(found.get(name), bool):
            raise required(f"{where}.{name}")
    return found


def is_output(field: Mapping[str, Any]) -> bool:
    """Say whether only the service sets a field; what a caller sends there is ignored, as the service does. Labels for locking are input all the same."""
    return bool(field.get("readOnly"))


def _required(fields: Mapping[str, Any], document: str, method: str) -> Iterator[str]:
    for name, field in fields.items():
        if document.startswith("compute."):
            if method in field.get("annotations", {}).get("required", ()):
                yield name
        elif field.get("description", "").startswith("Required.") and not is_output(field):
            yield name


def _value(document: str, field: Mapping[str, Any], value: Any, where: str, method: str, writing: bool) -> Any:
    if "$ref" in field:
        return _object(document, discovery.schema(document, field["$ref"]), value, where, method, writing)
    match field.get("type"):
        case "object":
            return _object(document, field, value, where, method, writing) if field.get("properties") or field.get("additionalProperties") else value
        case "array":
            if not isinstance(value, list):
                raise invalid(where, value, "A list is wanted.")
            return [_value(document, field["items"], one, f"{where}[{place}]", method, writing) for place, one in enumerate(value)]
        case "boolean":
            if value not in (True, False, "true", "false"):
                raise invalid(where, value, "A boolean is wanted.")
            return value in (True, "true")
        case "integer":
            return _whole(field.get("format", "int32"), value, where)
        case "number":
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise invalid(where, value, "A number is wanted.")
            return value
        case "string":
            return _text(field, value, where)
        case _:
            return value


def _whole(form: str, value: Any, where: str) -> int:
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and WHOLE.fullmatch(value))):
        raise invalid(where, value, "An integer is wanted.")
    number = int(value)
    bits = INTEGERS[form]
    if not (0 if form.startswith("u") else -(2**bits)) <= number < 2**bits:
        raise invalid(where, value, f"It is out of the range of {form}.")
    return number


def _text(field: Mapping[str, Any], value: Any, where: str) -> str:
    if field.get("format") in INTEGERS:
        return str(_whole(field["format"], value, where))
    if not isinstance(value, str):
        raise invalid(where, value, "A string is wanted.")
    if field.get("enum") and value not in field["enum"]:
        raise invalid(where, value, f"The value must be one of: {', '.join(field['enum'])}")
    if field.get("pattern") and not re.fullmatch(field["pattern"], value):
        raise invalid(where, value, f"Must be a match of regex '{field['pattern']}'")
    return value


def parameters(declared: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Give a request's parameters, typed.

    Raises:
        Refused: one is unknown, missing or has the wrong form.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in declared:
            raise Refused(
                "badRequest",
                f"Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. Field '{name}' could not be found in request message.",
            )
        values = value if isinstance(value, list) else [value]
        typed = [_value("", {**declared[name], "readOnly": False}, one, name, "", False) for one in values if one not in (None, "")]
        if typed:
            found[name] = typed if declared[name].get("repeated") else typed[-1]
    for name, field in declared.items():
        if field.get("required") and field["location"] == "query" and name not in found:
            raise required(name)
    return found
