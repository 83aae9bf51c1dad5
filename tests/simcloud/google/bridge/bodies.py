"""Turn what a program declares into the body of a request, and what a service shows into the provider's properties."""

import re
from collections.abc import Mapping
from typing import Any

from ...core import typed
from ...core.failure import NotSimulated
from .kinds import Kind

LINK = re.compile(r"https://(?:www\.googleapis\.com/compute|compute\.googleapis\.com/compute)/[a-z0-9]+/")
SHORT = ("zone", "region", "machineType", "type")
"""Properties that Compute Engine shows as a link and the provider as the last word of it."""


def body(kind: Kind, inputs: Mapping[str, Any], variables: Mapping[str, str], *, only: frozenset[str] | None = None) -> dict[str, Any]:
    """Give the body of a request.

    Args:
        variables: what the kind's path is filled with; no part of a body but the name.
        only: the inputs that are wanted; all when unset.
    Raises:
        NotSimulated: an input is set that has no known place in a body.
    """
    found: dict[str, Any] = {}
    shape = {name: form for name, form in kind.shape.items() if name not in _of_path(kind)}
    chosen = {name: value for name, value in inputs.items() if _is_sent(kind, name) and (only is None or name in only)}
    _fill(found, shape, chosen, "", kind, variables)
    return found


def properties(kind: Kind, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Give the provider's properties of what a service shows."""
    found = _read(kind.shape, shown)
    for name in SHORT:
        if isinstance(found.get(name), str):
            found[name] = found[name].rpartition("/")[2]
    return found


def reference(value: str, collection: str, variables: Mapping[str, str]) -> str:
    """Give a reference in full: a bare name belongs to the collection, a partial link to the project."""
    if value.startswith(("https://", "projects/")):
        return value
    if value.startswith(("global/", "regions/", "zones/")):
        return f"projects/{variables['project']}/{value}"
    return f"{collection.format(**variables)}/{value}"


def put(into: dict[str, Any], place: str, value: Any) -> None:
    """Put a value at a place (`a.b`) of a body."""
    head, _, rest = place.partition(".")
    if rest:
        put(into.setdefault(head, {}), rest, value)
    else:
        into[head] = value


def _of_path(kind: Kind) -> frozenset[str]:
    """Name the inputs that say where a thing is, and for services that take the name from the query what it is called."""
    named = frozenset(re.findall(r"\{(\w+)\}", kind.path))
    return (named if kind.create else named - {"name", "type"}) | {"project"}


def _is_sent(kind: Kind, name: str) -> bool:
    return not name.startswith("__") and not kind.is_client(name) and name not in _of_path(kind)


def _fill(into: dict[str, Any], shape: Mapping[str, Any], values: Mapping[str, Any], path: str, kind: Kind, variables: Mapping[str, str]) -> None:
    for name, value in values.items():
        here = f"{path}.{name}" if path else name
        if value is None or value == typed.UNKNOWN:
            continue
        if name not in shape:
            raise NotSimulated(f"{here} of {kind.name}")
        place, form = shape[name]
        put(into, place, _sent(value, form, here, kind, variables))


def _sent(value: Any, form: Any, path: str, kind: Kind, variables: Mapping[str, str]) -> Any:
    if isinstance(form, Mapping):
        filled = []
        for one in value if isinstance(value, list) else [value]:
            inner: dict[str, Any] = {}
            _fill(inner, form["fields"], one, path, kind, variables)
            filled.append(inner)
        return filled if form["many"] else filled[0] if filled else None
    if collection := kind.links.get(path):
        value = [reference(one, collection, variables) for one in value] if isinstance(value, list) else reference(value, collection, variables)
    if form == "number-as-text":
        return str(value)
    return [value] if form == "wrapped" else value


def _read(shape: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, (place, form) in shape.items():
        value = _get(shown, place)
        if value is not None:
            found[name] = _shown(value, form)
    return found


def _shown(value: Any, form: Any) -> Any:
    if isinstance(form, Mapping):
        read = [_read(form["fields"], one) for one in (value if isinstance(value, list) else [value])]
        return read if form["list"] else read[0] if read else None
    if form == "number-as-text":
        return int(value)
    if form == "wrapped":
        return value[0] if value else None
    return value


def _get(shown: Any, place: str) -> Any:
    for part in place.split("."):
        if not isinstance(shown, Mapping):
            return None
        shown = shown.get(part)
    return shown
