"""`clusterwright values`: every value of a blueprint as it counts in the end, and where it comes from."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import display, dotted
from blueprints.codes import Code
from blueprints.finding import Finding, Invalid, Level
from blueprints.language import Blueprint
from blueprints.load import Loaded

from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
DEFAULT = "the language's own value"
_NO_VALUES = ("targets", "extends")
"""What says where values come from."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument("--all", action="store_true", help="show values that nothing sets, too")
    parser.add_argument("--json", action="store_true", help="print them as JSON (docs/json.md)")
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="show only what lies here: pools.train")


def run(given: argparse.Namespace) -> int:
    loaded = options.loaded(given)
    if given.path:
        _require(given.path, loaded)
    found = [one for one in values(loaded, every=given.all) if _lies_in(one["path"], given.path)]
    if given.path and all(one["value"] == {} for one in found):  # what is asked for by name is shown, though nothing sets it
        found = [one for one in values(loaded, every=True) if _lies_in(one["path"], given.path)]
    if given.json:
        print(json.dumps({"format": FORMAT, "values": found}, indent=2))
    else:
        width = max((len(one["path"]) for one in found), default=0)
        for one in found:
            print(f"{one['path']:{width}} = {json.dumps(one['value'], ensure_ascii=False)}   ({one['from']})")
    return 0


def values(loaded: Loaded, *, every: bool) -> list[dict[str, Any]]:
    """Give each value with its dotted path and its origin, in the order of the language.

    Args:
        every: those too that neither the blueprint nor a stack's setting sets.
    """
    whole = _plain(loaded.blueprint)
    leaves = [(path, value, loaded.document.origin(*path)) for path, value in _leaves(loaded.document.values)]
    if every:
        leaves = [leaf for leaf in leaves if leaf[1] != {} or not _at(whole, leaf[0])]  # `control: {}` says nothing of what is in it
        leaves += [(path, value, DEFAULT) for path, value in _unset(whole, [path for path, _, _ in leaves])]
    shown = sorted((leaf for leaf in leaves if leaf[0][0] not in _NO_VALUES), key=lambda leaf: _rank(leaf[0], whole))
    return [{"path": _dotted(path), "value": value, "from": origin} for path, value, origin in shown]


def paths(loaded: Loaded) -> tuple[str, ...]:
    """List the places that can be asked for: every value, and everything around one."""
    known: dict[str, None] = {}
    for one in values(loaded, every=True):
        steps = dotted.steps(one["path"])
        known |= dict.fromkeys(dotted.joined(steps[:length]) for length in range(1, len(steps) + 1))
    return tuple(known)


def _require(path: str, loaded: Loaded) -> None:
    """Refuse a path that leads nowhere.

    Raises:
        Invalid: there is no such place; the finding names what was probably meant.
    """
    known = paths(loaded)
    if path in known:
        return
    around, _, last = path.rpartition(".")
    while around and around not in known:
        around, _, last = around.rpartition(".")
    begin = f"{around}." if around else ""
    beside = [one.removeprefix(begin) for one in known if one.startswith(begin) and "." not in one.removeprefix(begin)]
    what = f"there is no {display.quoted(path)} in the blueprint"
    why = f"{display.quoted(around)} has no {display.quoted(last)}" if around else f"no section or key of the language is named {display.quoted(last)}"
    close = display.near(last, beside)
    meant = f"did you mean {display.quoted(begin + close)}? " if close else ""
    raise Invalid([Finding(Level.ERROR, Code.PATH_FORM, None, what, why, f"{meant}there {'is' if len(beside) == 1 else 'are'}: {', '.join(beside)}")])


def _unset(whole: Mapping[str, Any], written: Sequence[tuple[str | int, ...]]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Give what the language itself sets, where nothing on the way to it is written."""
    known = set(written)
    around = {path[:length] for path in written for length in range(1, len(path))}
    for path, value in _leaves(whole):
        if path not in around and not any(path[:length] in known for length in range(1, len(path) + 1)):
            yield path, value


def _rank(path: Sequence[str | int], whole: Any) -> tuple[int, ...]:
    """Say where a path stands among all, by the order of keys on each step."""
    rank = []
    for step in path:
        keys = list(whole) if isinstance(whole, Mapping) else []
        rank.append(keys.index(step) if step in keys else len(keys))
        whole = whole.get(step) if isinstance(whole, Mapping) else None
    return tuple(rank)


def _at(whole: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        whole = whole.get(step) if isinstance(whole, Mapping) else None
    return whole


def _plain(blueprint: Blueprint) -> dict[str, Any]:
    return blueprint.model_dump(mode="json")


def _leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Give what is no mapping with entries; lists count as one value."""
    if isinstance(value, Mapping) and value:
        for key, entry in value.items():
            yield from _leaves(entry, (*at, key))
    elif at:
        yield at, value


def _dotted(path: Sequence[str | int]) -> str:
    return dotted.joined(path)


def _lies_in(path: str, wanted: str) -> bool:
    return not wanted or path == wanted or path.startswith((f"{wanted}.", f"{wanted}["))
