"""Files of other tools: one finding that says what they are, instead of one for each of their keys. They are described in `other_tools.yaml`."""

import functools
import pathlib
from collections.abc import Mapping
from typing import Any

from .. import finding, read
from ..codes import Code
from ..document import Document

_TABLE = pathlib.Path(__file__).with_name("other_tools.yaml")
_OURS = ("pools", "extends")
"""A file with one of these is meant to be a blueprint, whatever else is in it."""


def recognised(source: Document) -> finding.Finding | None:
    """Say which other tool's file this is; None where it is none that is known."""
    values = source.values
    if not isinstance(values, dict) or any(key in values for key in _OURS):
        return None
    tool = next((tool for tool in _tools() if _is_of(tool, values)), None)
    if tool is None:
        return None
    there = [f"`{part}` becomes {ours}" for part, ours in tool["parts"].items() if part in values]
    what = f"this file is {tool['title']}, which is another language than that of these blueprints"
    why = ": ".join(["a blueprint says what a cluster is in words of its own", *(["; ".join(there)] if there else [])])
    remedy = "begin with a blueprint of the library that is near to it (blueprints/library), and carry these parts over"
    mark = next(mark for mark in tool["marks"] if mark in values)
    return finding.Finding(finding.Level.ERROR, Code.FOREIGN_FILE, source.where_key(mark), what, why, remedy)


def _is_of(tool: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    holds = tool.get("holds", {})
    begins = all(str(values.get(key, "")).startswith(text) for key, text in holds.items())
    return begins and sum(mark in values for mark in tool["marks"]) >= tool["enough"]


@functools.cache
def _tools() -> list[Mapping[str, Any]]:
    tools: list[Mapping[str, Any]] = read.read(_TABLE).values
    return tools
