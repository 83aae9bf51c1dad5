"""How resources of Compute Engine name each other: full URLs, partial ones and paths."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..core.failure import Refused
from . import discovery
from .errors import invalid

COMPUTE = "compute.googleapis.com"
BASE = "https://www.googleapis.com/compute/v1/"
URL = re.compile(r"https://(?:www|compute)\.googleapis\.com/compute/(?:v1|beta)/(.+)")


def link(path: str) -> str:
    return BASE + path


def path_of(value: str, *, project: str, field: str) -> str:
    """Give the path of what a reference names (`projects/p/global/networks/n`).

    Raises:
        Refused: it is no URL, and no part of one that Compute Engine takes.
    """
    found = URL.fullmatch(value)
    path = found[1] if found else value
    if path.startswith(("global/", "zones/", "regions/")):
        path = f"projects/{project}/{path}"
    if not path.startswith("projects/"):
        raise invalid(field, value, "The URL is malformed.")
    return path


def kind_of(path: str) -> str | None:
    """Give the kind of what lies at a path, None when nothing of Compute Engine does."""
    try:
        method, _ = discovery.find(COMPUTE, "GET", f"compute/v1/{path}")
    except Refused:
        return None
    return method.kind if method.verb == "get" else None


def values_at(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Give what lies at a path (`networkInterfaces[].subnetwork`; `*` is any key), each with its place."""
    yield from _at(value, path.split(".") if path else [], "")


def replaced_at(value: Any, path: str, change: Callable[[str, Any], Any]) -> Any:
    """Give a copy in which `change` (place, value → value) was applied to what lies at a path."""
    return _replaced(value, path.split("."), "", change)


def _at(value: Any, steps: list[str], place: str) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if not steps:
        yield place, value
        return
    name, *rest = steps
    many = name.endswith("[]")
    inner = value.get(name.removesuffix("[]")) if isinstance(value, dict) and name != "*" else None
    dotted = f"{place}.{name.removesuffix('[]')}".lstrip(".")
    if name == "*":
        for key, one in (value or {}).items():
            yield from _at(one, rest, f"{place}.{key}")
    elif many:
        for number, one in enumerate(inner or []):
            yield from _at(one, rest, f"{dotted}[{number}]")
    else:
        yield from _at(inner, rest, dotted)


def _replaced(value: Any, steps: list[str], place: str, change: Callable[[str, Any], Any]) -> Any:
    if value is None:
        return None
    if not steps:
        return change(place, value)
    name, *rest = steps
    if name == "*":
        return {key: _replaced(one, rest, f"{place}.{key}", change) for key, one in value.items()}
    plain = name.removesuffix("[]")
    if not isinstance(value, dict) or plain not in value:
        return value
    dotted = f"{place}.{plain}".lstrip(".")
    if name.endswith("[]"):
        inner: Any = [_replaced(one, rest, f"{dotted}[{number}]", change) for number, one in enumerate(value[plain])]
    else:
        inner = _replaced(value[plain], rest, dotted, change)
    return {**value, plain: inner}
