"""Values that a stack's settings put over the blueprint's, by dotted path."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from .. import display, document, finding, read
from ..codes import Code
from .parse import NAMED

SETTING = "clusterwright:set"


def apply(source: document.Document, overrides: Mapping[str, Any]) -> document.Document:
    """Put values over the blueprint's. `{"pools.train.nodes": 4}` changes one pool; `{"pools.dev": {…}}` adds or replaces a whole one.

    A path that leads nowhere and a value that no blueprint could hold are left out, and become findings of the document.
    """
    findings = []
    for dotted, value in sorted(overrides.items(), key=lambda entry: (entry[0].count("."), entry[0])):  # wholes before their parts
        where = finding.Position(f"stack setting {SETTING}", text=f"{dotted}: {display.quoted(value)[1:-1]}")
        fault = _fault(source, dotted, value, where)
        if fault is None:
            source = source.with_setting(tuple(dotted.split(".")), value, where)
        else:
            findings.append(fault)
    return dataclasses.replace(source, findings=(*source.findings, *findings))


def _fault(source: document.Document, dotted: str, value: Any, where: finding.Position) -> finding.Finding | None:
    path = dotted.split(".")
    for length in range(1, len(path)):
        parent = source.at(*path[:length])
        if parent is not None and not isinstance(parent, dict):
            what = f"{display.quoted('.'.join(path[:length]))} is no mapping, so nothing can be set in it"
            return _path_fault(where, what, "set the whole value, or correct the path")
        if length == 2 and parent is None and path[0] in NAMED:
            names = source.at(path[0])
            known = [str(name) for name in names] if isinstance(names, dict) else []
            remedy = display.did_you_mean(path[1], known, allowed=f"in {path[0]} there are") if known else f"set `{path[0]}.{path[1]}` as a whole"
            return _path_fault(where, f"{path[0]} has no {display.quoted(path[1])}", remedy)
    if not all(path):
        return _path_fault(where, f"{display.quoted(dotted)} is no path", "write names with dots between them, such as pools.train.nodes")
    if not _is_plain(value, depth=read.DEPTH_LIMIT - len(path)):
        why = "a blueprint holds text, numbers, true and false, lists and mappings, nested a few levels"
        what = f"the value of {display.quoted(dotted)} can't stand in a blueprint"
        return finding.Finding(finding.Level.ERROR, Code.OVERRIDE_VALUE, where, what, why, "write it as it would stand in the blueprint")
    return None


def _path_fault(where: finding.Position, what: str, remedy: str) -> finding.Finding:
    why = f"{SETTING} puts values over those of the blueprint, each at its dotted path"
    return finding.Finding(finding.Level.ERROR, Code.OVERRIDE_PATH, where, what, why, remedy)


def _is_plain(value: Any, *, depth: int) -> bool:
    if depth <= 0:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(entry, depth=depth - 1) for key, entry in value.items())
    if isinstance(value, list):
        return all(_is_plain(entry, depth=depth - 1) for entry in value)
    return value is None or isinstance(value, str | bool | int | float)
