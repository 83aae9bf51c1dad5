"""Lists of Compute Engine: filters, pages, and the parts of an answer that `fields` asks for."""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..core.failure import Refused

PAGE = 500
TOKENS = re.compile(r'\s*(\(|\)|"(?:[^"\\]|\\.)*"|!=|>=|<=|[=:<>]|[^\s()=!<>:"]+)')
COMPARISONS = ("=", "!=", ":", "eq", "ne", "<", ">", "<=", ">=")


def page(things: Iterator[Mapping[str, Any]], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Give one page of a list: {"items", "nextPageToken"}, no `items` when there are none."""
    wanted = parameters.get("filter")
    found = [dict(thing) for thing in things if not wanted or matches(wanted, thing)]
    if parameters.get("orderBy", "").startswith("creationTimestamp"):
        found.sort(key=lambda one: one.get("creationTimestamp", ""), reverse=True)
    else:
        found.sort(key=lambda one: str(one.get("name", "")))
    start, size = int(parameters.get("pageToken") or 0), int(parameters.get("maxResults") or PAGE)
    if size > PAGE:
        raise Refused("invalid", f"Invalid value for field 'maxResults': '{size}'. Acceptable values are 0 to 500, inclusive.")
    part = found[start : start + size]
    return {**({"items": part} if part else {}), **({"nextPageToken": str(start + size)} if len(found) > start + size else {})}


def matches(text: str, thing: Mapping[str, Any]) -> bool:
    """Say whether a thing passes a filter. Source: instances.list, parameter `filter`."""
    tokens = TOKENS.findall(text)
    if re.sub(r"\s", "", "".join(tokens)) != re.sub(r"\s", "", text):
        raise Refused("invalid", f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")
    result, rest = _either(tokens, thing)
    if rest:
        raise Refused("invalid", f"Invalid value for field 'filter': '{text}'. Invalid list filter expression.")
    return result


def _either(tokens: list[str], thing: Mapping[str, Any]) -> tuple[bool, list[str]]:
    result, rest = _both(tokens, thing)
    while rest and rest[0] == "OR":
        other, rest = _both(rest[1:], thing)
        result = result or other
    return result, rest


def _both(tokens: list[str], thing: Mapping[str, Any]) -> tuple[bool, list[str]]:
    result, rest = _one(tokens, thing)
    while rest and rest[0] not in ("OR", ")"):
        other, rest = _one(rest[1:] if rest[0] == "AND" else rest, thing)
        result = result and other
    return result, rest


def _one(tokens: list[str], thing: Mapping[str, Any]) -> tuple[bool, list[str]]:
    if not tokens:
        raise Refused("invalid", "Invalid list filter expression.")
    if tokens[0] in ("NOT", "-"):
        result, rest = _one(tokens[1:], thing)
        return not result, rest
    if tokens[0] == "(":
        result, rest = _either(tokens[1:], thing)
        if not rest or rest[0] != ")":
            raise Refused("invalid", "Invalid list filter expression.")
        return result, rest[1:]
    if len(tokens) < 3 or tokens[1] not in COMPARISONS:
        raise Refused("invalid", "Invalid list filter expression.")
    field, how, value = tokens[0], tokens[1], tokens[2]
    return _compare(_values(thing, field.split(".")), how, value.strip('"').replace('\\"', '"')), tokens[3:]


def _values(value: Any, steps: list[str]) -> list[Any]:
    if isinstance(value, list):
        return [inner for one in value for inner in _values(one, steps)]
    if not steps:
        return [] if value is None else [value]
    if not isinstance(value, Mapping):
        return []
    # Keys of labels may hold dots no more than names of fields do.
    return _values(value.get(steps[0]), steps[1:])


def _compare(found: Iterable[Any], how: str, value: str) -> bool:
    texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in found]
    match how:
        case "=":
            return any(text == value for text in texts)
        case "!=":
            return all(text != value for text in texts)
        case ":":
            return bool(texts) if value == "*" else any(fnmatch.fnmatchcase(text, value) if "*" in value else value in text for text in texts)
        case "eq":
            return any(re.fullmatch(value, text) for text in texts)
        case "ne":
            return not any(re.fullmatch(value, text) for text in texts)
        case _:
            return any(_less(text, value) if how[0] == "<" else _less(value, text) for text in texts) or (how.endswith("=") and value in texts)


def _less(one: str, other: str) -> bool:
    return float(one) < float(other) if one.isdigit() and other.isdigit() else one < other


def masked(answer: dict[str, Any], fields: str | None) -> dict[str, Any]:
    """Give the parts of an answer that a mask names (`items(name,status),nextPageToken`)."""
    if not fields or fields == "*":
        return answer
    tree, rest = _mask(fields)
    if rest:
        raise Refused("invalidParameter", f"Invalid field selection {fields}")
    found: dict[str, Any] = _masked(answer, tree)
    return found


def _mask(text: str) -> tuple[dict[str, Any], str]:
    tree: dict[str, Any] = {}
    while text and text[0] != ")":
        name = re.match(r"[\w*/-]+", text)
        if not name:
            return tree, text
        text = text[name.end() :]
        inner: dict[str, Any] = {}
        if text.startswith("("):
            inner, text = _mask(text[1:])
            if not text.startswith(")"):
                return tree, text or ")"
            text = text[1:]
        node = tree
        *steps, last = name[0].split("/")
        for step in steps:
            node = node.setdefault(step, {})
        node.setdefault(last, {}).update(inner)
        text = text.removeprefix(",")
    return tree, text


def _masked(value: Any, tree: Mapping[str, Any]) -> Any:
    if not tree:
        return value
    if isinstance(value, list):
        return [_masked(one, tree) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {name: _masked(one, tree.get(name, tree.get("*", {}))) for name, one in value.items() if name in tree or "*" in tree}
