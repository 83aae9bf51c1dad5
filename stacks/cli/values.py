"""`clusterwright values`: every value of a blueprint as it counts in the end, and where it comes from."""

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints.language import Blueprint
from blueprints.load import Loaded

from . import options

DEFAULT = "the language's own value"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser, word=False)
    options.target(parser)
    parser.add_argument("--all", action="store_true", help="show values that nothing sets, too")
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.add_argument("path", nargs="?", default="", help="show only what lies here: pools.train")


def run(given: argparse.Namespace) -> int:
    found = [value for value in values(options.loaded(given), every=given.all) if _lies_in(value["path"], given.path)]
    if given.json:
        print(json.dumps({"format": 1, "values": found}, indent=2))
    else:
        width = max((len(one["path"]) for one in found), default=0)
        for one in found:
            print(f"{one['path']:{width}} = {json.dumps(one['value'], ensure_ascii=False)}   ({one['from']})")
    return 0


def values(loaded: Loaded, *, every: bool) -> Iterator[dict[str, Any]]:
    """Give each value with its dotted path and its origin.

    Args:
        every: those too that neither the blueprint nor a stack's setting sets.
    """
    written = {path for path, _ in _leaves(loaded.document.values)}
    for path, value in _leaves(loaded.document.values):
        if path[0] not in ("targets", "extends"):
            yield {"path": _dotted(path), "value": value, "from": loaded.document.origin(*path)}
    if every:
        for path, value in _leaves(_plain(loaded.blueprint)):
            around = {path[:length] for length in range(1, len(path) + 1)}
            if path[0] not in ("targets", "extends") and not around & written and not any(known[: len(path)] == path for known in written):
                yield {"path": _dotted(path), "value": value, "from": DEFAULT}


def _plain(blueprint: Blueprint) -> dict[str, Any]:
    return blueprint.model_dump(mode="json")


def _leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Give what is no mapping with entries; lists count as one value."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _leaves(entry, (*at, key))
    elif at:
        yield at, value


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) for step in path)


def _lies_in(path: str, wanted: str) -> bool:
    return not wanted or path == wanted or path.startswith(f"{wanted}.")
