"""Check values against CloudFormation's resource schemas: enums, patterns, ranges, what goes together.

Pulumi's names differ from CloudFormation's. A name with its first letter raised is looked for without regard to case; what differs more is in `data/types.yaml`. An input
that leads nowhere is an error of the table, never a pass.
"""

import functools
import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.model
import jsonschema
import jsonschema.validators

from ..core.failure import NotSimulated
from ..core.typed import UNKNOWN, Problems
from . import facts

# What a value still unknown may satisfy later.
# What the provider's own validation of an ARN asks for (hashicorp/terraform-provider-aws, internal/verify, ValidARN).
ARN = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]+:([a-z]{2}(-[a-z]+)+-[0-9]{1,2})?:(aws|aws-managed|third-party|aws-marketplace|[0-9]{12})?:.+")
OF_THE_WHOLE = frozenset({"required", "requiredXor", "requiredOr", "oneOf", "anyOf", "allOf", "dependentRequired", "minProperties", "minItems", "not", "if"})
# Letters, separators and digits of any script, as the schemas write them; Python's own words for them.
CLASSES = (("\\p{L}", "\\w"), ("\\p{Z}", "\\s"), ("\\p{N}", "\\d"))


def problems(kind: facts.Kind, inputs: Mapping[str, Any]) -> Problems:
    """Yield (path, reason) for every value that the schema or a shape of the service does not allow."""
    if kind.schema:
        wanted, has_unknown = as_schema(kind, inputs)
        for error in _validator(kind.name).iter_errors(wanted):
            if not (has_unknown and error.validator in OF_THE_WHOLE):
                yield ".".join(str(part) for part in error.absolute_path), _reason(error)
    for name in kind.arns:
        for value in values_at(inputs, name):
            if value != UNKNOWN and not ARN.fullmatch(value):
                yield name, f"{value!r} is an invalid ARN"
    for path, name in kind.shapes.items():
        for value in values_at(inputs, path):
            if value != UNKNOWN:
                yield from shape_problems(facts.shape(name), value, path)


def as_schema(kind: facts.Kind, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Give the inputs in CloudFormation's form, and whether something unknown was left out.

    Raises:
        NotSimulated: the table does not say what an input is called there.
    """
    wanted: dict[str, Any] = json.loads(json.dumps(kind.constants))
    left_out = False
    for name, value in inputs.items():
        if value is None or name in kind.free or name in ("tags", "region") or name.startswith("__"):
            continue
        steps = kind.names[name].split("/") if name in kind.names else [_same(name, kind.schema) or _no_rule(f"{kind.name}.{name}")]
        schema: Mapping[str, Any] = kind.schema
        place = wanted
        for step in steps[:-1]:
            schema = _resolved(schema["properties"][step], kind.schema)
            place = place.setdefault(step, {})
        converted, unknown = _convert(value, _resolved(schema["properties"][steps[-1]], kind.schema), kind, name)
        left_out = left_out or unknown
        if converted is not None:
            place[steps[-1]] = converted
    return wanted, left_out


def replaced_by(kind: facts.Kind) -> frozenset[str]:
    """Name the inputs whose change makes a new object."""
    fixed = {pointer.removeprefix("/properties/") for pointer in kind.schema.get("createOnlyProperties", ())}
    found = {name for name in kind.inputs if (kind.names.get(name) or _same(name, kind.schema)) in fixed}
    return frozenset((found | set(kind.replace) | {"region"}) - {"tags", *kind.keep})


def values_at(values: Any, path: str) -> Iterator[Any]:
    """Yield what lies at a path; `[]` after a name goes into a list (`networkInterfaces[].subnetId`)."""
    name, _, rest = path.partition(".")
    inner = values.get(name.removesuffix("[]")) if isinstance(values, Mapping) else None
    if inner is None or inner == UNKNOWN:
        return
    for one in inner if name.endswith("[]") else [inner]:
        if rest:
            yield from values_at(one, rest)
        elif one is not None:
            yield one


def shape_problems(shape: botocore.model.Shape, value: Any, path: str) -> Problems:
    """Check one value against a shape of a service's model."""
    options, limits = getattr(shape, "enum", None), shape.metadata
    if options and value not in options:
        yield path, f"{value!r} is none of {', '.join(options)}"
    if isinstance(value, str) and (pattern := limits.get("pattern")) and not re.fullmatch(plain_pattern(pattern), value):
        yield path, f"{value!r} does not match {pattern}"
    size = value if isinstance(value, (int, float)) else len(value)
    if "min" in limits and size < limits["min"]:
        yield path, f"{value!r} is below {limits['min']}"
    if "max" in limits and size > limits["max"]:
        yield path, f"{value!r} is above {limits['max']}"


def plain_pattern(pattern: str) -> str:
    """Rewrite a pattern of the services for Python."""
    for theirs, ours in CLASSES:
        pattern = pattern.replace(theirs, ours)
    return pattern


def _no_rule(what: str) -> str:
    raise NotSimulated(what)


def _same(name: str, schema: Mapping[str, Any]) -> str | None:
    return next((theirs for theirs in schema.get("properties", {}) if theirs.lower() == name.lower()), None)


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        inner: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            inner = inner[step]
        schema = inner
    return schema


def _convert(value: Any, schema: Mapping[str, Any], kind: facts.Kind, path: str) -> tuple[Any, bool]:
    """Give a value in the form of its schema, and whether something unknown was left out of it."""
    if value is None:
        return None, False
    if value == UNKNOWN:
        return None, True
    types = schema.get("type", ())
    types = (types,) if isinstance(types, str) else tuple(types)
    if isinstance(value, list):
        inner = _resolved(schema.get("items", {}), kind.schema)
        parts = [_convert(one, inner, kind, f"{path}[]") for one in value]
        return [one for one, _ in parts if one is not None], any(unknown for _, unknown in parts)
    if isinstance(value, Mapping):
        return _convert_object(value, schema, kind, path)
    if isinstance(value, str) and "object" in types:
        return _parsed(value), False
    if isinstance(value, str) and types == ("boolean",) and value in ("true", "false"):
        return value == "true", False
    if isinstance(value, (int, float)) and not isinstance(value, bool) and types == ("string",):
        return str(value), False
    if isinstance(value, str) and types in (("integer",), ("number",)) and re.fullmatch(r"-?\d+", value):
        return int(value), False
    return value, False


def _convert_object(value: Mapping[str, Any], schema: Mapping[str, Any], kind: facts.Kind, path: str) -> tuple[Any, bool]:
    if "properties" not in schema:
        return {name: inner for name, inner in value.items() if inner != UNKNOWN}, any(inner == UNKNOWN for inner in value.values())
    converted, left_out = {}, False
    for name, inner in value.items():
        here = f"{path}.{name}"
        if inner is None or here in kind.free:
            continue
        theirs = kind.names.get(here) or _same(name, schema)
        if theirs is None:
            raise NotSimulated(f"{kind.name}.{here}")
        one, unknown = _convert(inner, _resolved(schema["properties"][theirs], kind.schema), kind, here)
        left_out = left_out or unknown
        if one is not None:
            converted[theirs] = one
    return converted, left_out


def _parsed(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value  # the schema says that text is no object


def _reason(error: jsonschema.ValidationError) -> str:
    return error.message if len(error.message) <= 500 else error.message[:500] + " ..."


@functools.cache
def _validator(name: str) -> Any:
    schema = facts.kinds()[name].schema
    rules = {
        "dependentExcluded": _dependent_excluded, "dependentRequired": _dependent_required, "requiredXor": _required_xor, "requiredOr": _required_or,
        "pattern": _pattern, "format": _format,
    }  # fmt: skip
    return jsonschema.validators.extend(  # type: ignore[no-untyped-call]
        jsonschema.Draft7Validator, rules
    )(schema)


def _dependent_excluded(validator: Any, excluded: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    for name, others in excluded.items() if isinstance(value, Mapping) else ():
        for other in others:
            if name in value and other in value:
                yield jsonschema.ValidationError(f"{name} and {other} exclude each other")


def _dependent_required(validator: Any, required: Mapping[str, Any], value: Any, schema: Any) -> Iterator[Any]:
    for name, others in required.items() if isinstance(value, Mapping) else ():
        for other in others:
            if name in value and other not in value:
                yield jsonschema.ValidationError(f"{name} needs {other}")


def _required_xor(validator: Any, names: list[str], value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, Mapping) and sum(name in value for name in names) != 1:
        yield jsonschema.ValidationError(f"exactly one of {', '.join(names)} is wanted")


def _required_or(validator: Any, names: list[str], value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, Mapping) and not any(name in value for name in names):
        yield jsonschema.ValidationError(f"one of {', '.join(names)} is wanted")


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and not re.search(plain_pattern(pattern), value):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern}")


def _format(validator: Any, name: str, value: Any, schema: Any) -> Iterator[Any]:
    if name in ("ipv4-network", "ipv6-network") and isinstance(value, str):
        try:
            ipaddress.ip_network(value)
        except ValueError as error:
            yield jsonschema.ValidationError(str(error))
