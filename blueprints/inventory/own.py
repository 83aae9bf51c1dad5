"""An inventory in the language's own form: the keys of `inventory`, in a file of its own."""

import dataclasses
from typing import Any

from .. import document, read
from ..document import Document, Path
from ..language import merge
from .source import Text

FORMAT = "clusterwright"
_BEYOND = ("file", "command", "format", "group", "host_keys")
"""Keys that say where an inventory is; one inventory names no other."""


def below(blueprint: Document, text: Text) -> Document:
    """Put an inventory below a blueprint: values of the blueprint override it, and ranges of both count.

    Raises:
        finding.Invalid: the inventory isn't plain YAML.
    """
    written = read.from_bytes(text.text.encode(), file=text.source.file)
    if not isinstance(written.values, dict):
        raise text.refusal("the inventory is not a mapping", "it has the keys of `inventory`, such as `hosts`", "write `hosts: {gpu-001: {address: …}}`")
    if beyond := [key for key in _BEYOND if key in written.values]:
        raise text.refusal(f"the inventory has the key `{beyond[0]}`", "it belongs in the blueprint", "move it to `inventory` of the blueprint")
    values, places = dict(written.values), {("inventory", *path): place for path, place in written.places.items()}
    top = document.Place(None, text.start, text.source)
    base = Document(written.source, {"inventory": values}, {(): top, **places})
    merged = merge.extend(base, blueprint)
    return _with_ranges(merged, base, after=blueprint.at("inventory", "ranges"))


def _with_ranges(merged: Document, base: Document, *, after: Any) -> Document:
    """Add the ranges of the inventory, which those of the blueprint replaced."""
    ranges = base.at("inventory", "ranges")
    if not isinstance(after, list) or not after or not isinstance(ranges, list):
        return merged
    places = dict(merged.places)
    for path, place in base.places.items():
        if path[:2] == ("inventory", "ranges") and len(path) > 2 and isinstance(path[2], int):
            moved: Path = ("inventory", "ranges", path[2] + len(after), *path[3:])
            places[moved] = place
    values = {**merged.values, "inventory": {**merged.values["inventory"], "ranges": [*after, *ranges]}}
    return dataclasses.replace(merged, values=values, places=places)
