"""Values that a stack's settings put over the blueprint's, by dotted path."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from .. import document, dotted, finding, message_text, read
from ..codes import Code
from . import merge
from .parse import NAMED

SETTING = "clusterwright:set"
_SETTING = f"stack setting {SETTING}"
_SETTLED = {
    "targets": "leave out `targets.<target>.`: a value that is set counts for the target that is chosen",
    "extends": "write `extends` in the blueprint, or name the other blueprint",
}
"""Sections that are merged into the blueprint before anything is set over it, with what to do instead."""


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """A value that no stack's setting holds, with what gives it instead."""

    value: Any
    origin: str
    """`option --set`."""


def apply(source: document.Document, overrides: Mapping[str, Any]) -> document.Document:
    """Put values over the blueprint's by the rules of `merge`. `{"pools.train.nodes": 4}` changes one pool, `{"pools.dev": {…}}` adds one or changes several of its
    keys, and `{"pools.dev": None}` takes it out.

    A path that leads nowhere and a value that no blueprint could hold are left out, and become findings of the document.

    Args:
        overrides: by dotted path; a `Given` where the value comes from elsewhere than a stack's setting.
    """
    given: dict[document.Path, Given] = {dotted.steps(text): entry if isinstance(entry, Given) else Given(entry, _SETTING) for text, entry in overrides.items()}
    places = {path: finding.Position(one.origin, text=f"{dotted.joined(path)}: {message_text.quoted(one.value)[1:-1]}") for path, one in given.items()}
    values = merge.Settings({path: one.value for path, one in given.items()}, places)
    findings = []
    for path in sorted(given, key=lambda one: (len(one), one)):  # wholes before their parts
        fault = _fault(source, path, given[path].value, places[path])
        if fault is None:
            source = merge.set_over(source, values, path)
        else:
            findings.append(fault)
    return dataclasses.replace(source, findings=(*source.findings, *findings))


def _fault(source: document.Document, path: document.Path, value: Any, where: finding.Position) -> finding.Finding | None:
    if path[0] in _SETTLED:
        return _path_fault(where, f"{message_text.quoted(dotted.joined(path))} can't be set", _SETTLED[str(path[0])])
    for length in range(1, len(path)):
        parent = source.at(*path[:length])
        if parent is not None and not isinstance(parent, dict):
            what = f"{message_text.quoted(dotted.joined(path[:length]))} is not a mapping, so it has no keys to set"
            return _path_fault(where, what, "set the whole value, or correct the path")
        if length == 2 and parent is None and path[0] in NAMED:
            names = source.at(path[0])
            known = [str(name) for name in names] if isinstance(names, dict) else []
            remedy = message_text.did_you_mean(str(path[1]), known, allowed=f"in {path[0]} there are") if known else f"set `{path[0]}.{path[1]}` as a whole"
            return _path_fault(where, f"{path[0]} has no {message_text.quoted(path[1])}", remedy)
    if not all(path):
        return _path_fault(where, f"{message_text.quoted(dotted.joined(path))} is no path", "write names separated by dots, such as pools.train.nodes")
    if not _is_plain(value, depth=read.DEPTH_LIMIT - len(path)):
        why = "a blueprint holds text, numbers, true and false, lists and mappings, nested a few levels"
        what = f"the value of {message_text.quoted(dotted.joined(path))} is not valid in a blueprint"
        return finding.Finding(finding.Level.ERROR, Code.OVERRIDE_VALUE, where, what, why, "write it as in a blueprint")
    return None


def _path_fault(where: finding.Position, what: str, remedy: str) -> finding.Finding:
    why = f"{where.file.rpartition(' ')[2]} overrides values of the blueprint by their dotted paths"
    return finding.Finding(finding.Level.ERROR, Code.OVERRIDE_PATH, where, what, why, remedy)


def _is_plain(value: Any, *, depth: int) -> bool:
    if depth <= 0:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(entry, depth=depth - 1) for key, entry in value.items())
    if isinstance(value, list):
        return all(_is_plain(entry, depth=depth - 1) for entry in value)
    return value is None or isinstance(value, str | bool | int | float)
