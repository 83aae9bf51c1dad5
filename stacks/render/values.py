"""Every value of a blueprint with its origin, after everything is merged. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import dotted, message_text
from blueprints.codes import Code
from blueprints.finding import Finding, Invalid, Level
from blueprints.language import Blueprint
from blueprints.load import Loaded

DEFAULT = "the language's own value"
_NO_VALUES = ("targets", "extends")
"""What says where values come from."""


def chosen(loaded: Loaded, path: str, *, every: bool) -> list[dict[str, Any]]:
    """Give the values below a path; all of them when it is empty.

    Args:
        every: values that nothing sets, too. A path that names one shows it in any case.
    Raises:
        Invalid: there is no such path.
    """
    if path:
        _require(path, loaded)
    found = [one for one in values(loaded, every=every) if _lies_in(one["path"], path)]
    if path and all(one["value"] == {} for one in found):
        found = [one for one in values(loaded, every=True) if _lies_in(one["path"], path)]
    return found


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
    """List the paths that can be named: of every value, and of every section around one."""
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
    what = f"there is no {message_text.quoted(path)} in the blueprint"
    why = (
        f"{message_text.quoted(around)} has no {message_text.quoted(last)}"
        if around
        else f"no section or key of the language is named {message_text.quoted(last)}"
    )
    close = message_text.near(last, beside)
    meant = f"did you mean {message_text.quoted(begin + close)}? " if close else ""
    raise Invalid([Finding(Level.ERROR, Code.PATH_FORM, None, what, why, f"{meant}there {'is' if len(beside) == 1 else 'are'}: {', '.join(beside)}")])


def _unset(whole: Mapping[str, Any], written: Sequence[tuple[str | int, ...]]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Give what the language itself sets, where nothing on the way to it is written."""
    known = set(written)
    around = {path[:length] for path in written for length in range(1, len(path))}
    for path, value in _leaves(whole):
        if path not in around and not any(path[:length] in known for length in range(1, len(path) + 1)):
            yield path, value


def _rank(path: Sequence[str | int], whole: Any) -> tuple[int, ...]:
    """Rank a path among all, by the order of keys on each step."""
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
