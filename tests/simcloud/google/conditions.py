"""Conditions of bindings: the part of the Common Expression Language that speaks of resources. Source: cloud.google.com/iam/docs/conditions-attribute-reference."""

import re
from collections.abc import Mapping
from typing import Any

from ..core.failure import NotSimulated, Refused

TOKENS = re.compile(r'\s*(&&|\|\||==|!=|!|\(|\)|,|"(?:[^"\\]|\\.)*"|\'[^\']*\'|\.?[A-Za-z_][\w.]*)')


def holds(expression: str, attributes: Mapping[str, str]) -> bool:
    """Say whether a condition holds for a resource.

    Args:
        attributes: `resource.name`, `resource.type`, `resource.service`.
    Raises:
        Refused: it is no expression.
        NotSimulated: it reads something else.
    """
    tokens, place = [], 0
    text = expression.strip()
    while place < len(text):
        match = TOKENS.match(text, place)
        if not match:
            raise Refused("badRequest", f"Expression could not be parsed at {text[place:]!r}.")
        tokens.append(match[1])
        place = match.end()
    value, rest = _either(tokens, attributes)
    if rest:
        raise Refused("badRequest", f"Expression could not be parsed at {' '.join(rest)!r}.")
    return bool(value)


def _either(tokens: list[str], attributes: Mapping[str, str]) -> tuple[Any, list[str]]:
    value, rest = _both(tokens, attributes)
    while rest and rest[0] == "||":
        other, rest = _both(rest[1:], attributes)
        value = value or other
    return value, rest


def _both(tokens: list[str], attributes: Mapping[str, str]) -> tuple[Any, list[str]]:
    value, rest = _compared(tokens, attributes)
    while rest and rest[0] == "&&":
        other, rest = _compared(rest[1:], attributes)
        value = value and other
    return value, rest


def _compared(tokens: list[str], attributes: Mapping[str, str]) -> tuple[Any, list[str]]:
    value, rest = _one(tokens, attributes)
    while rest and rest[0] in ("==", "!="):
        other, after = _one(rest[1:], attributes)
        value, rest = (value == other) == (rest[0] == "=="), after
    return value, rest


def _one(tokens: list[str], attributes: Mapping[str, str]) -> tuple[Any, list[str]]:
    if not tokens:
        raise Refused("badRequest", "Expression ends too early.")
    first, rest = tokens[0], tokens[1:]
    if first == "!":
        value, rest = _one(rest, attributes)
        return not value, rest
    if first == "(":
        value, rest = _either(rest, attributes)
        return _called(value, _without(rest, ")"), attributes)
    if first[0] in "\"'":
        return first[1:-1].replace('\\"', '"'), rest
    name, function = first, ""
    if rest and rest[0] == "(":
        name, _, function = first.rpartition(".")
    if name not in attributes:
        raise NotSimulated(f"the condition on {name}")
    value = attributes[name]
    if function:
        argument, rest = _either(rest[1:], attributes)
        value, rest = _function(function, value, argument), _without(rest, ")")
    return _called(value, rest, attributes)


def _called(value: Any, tokens: list[str], attributes: Mapping[str, str]) -> tuple[Any, list[str]]:
    """Apply the functions that follow a value (`.startsWith("x")`)."""
    while len(tokens) > 1 and tokens[0].startswith(".") and tokens[1] == "(":
        argument, rest = _either(tokens[2:], attributes)
        value, tokens = _function(tokens[0][1:], value, argument), _without(rest, ")")
    return value, tokens


def _function(name: str, value: str, argument: str) -> Any:
    match name:
        case "startsWith":
            return value.startswith(argument)
        case "endsWith":
            return value.endswith(argument)
        case "extract":
            before, _, rest = argument.partition("{")
            after = rest.partition("}")[2]
            if before not in value:
                return ""
            found = value.split(before, 1)[1]
            return found.split(after, 1)[0] if after else found
        case _:
            raise NotSimulated(f"the function {name} in conditions")


def _without(tokens: list[str], wanted: str) -> list[str]:
    if not tokens or tokens[0] != wanted:
        raise Refused("badRequest", f"Expression lacks {wanted}.")
    return tokens[1:]
