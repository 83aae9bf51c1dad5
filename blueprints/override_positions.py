"""Places of findings that an overriding value causes: the line of the blueprint that overrides, instead of the inherited line.

Which value causes a finding is not guessed: the blueprint is examined again without it. The entry without which the finding isn't there, and nothing else is
wrong, is its cause. A change of the parent's values can't be the remedy where the parent is a blueprint of the library.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from . import dotted, finding
from .document import Document, Path

_MOST_EXAMINED = 64
_MOST_PLACES = 100_000
"""Entries of all examinations together: a large blueprint is examined again fewer times."""
_OF_NO_FINDING = ("name", "description", "audience", "extends", "targets", "suppress")

Examine: TypeAlias = Callable[[Document], Iterable[finding.Finding]]
_Key: TypeAlias = tuple[str, Path | None]
_Place: TypeAlias = tuple[str, int, int]


def point(findings: Sequence[finding.Finding], source: Document, target: str, examine: Examine) -> list[finding.Finding]:
    """Move errors and warnings about inherited values to the overriding entries that cause them.

    Args:
        source: the blueprint as written, with those that it extends.
        examine: finds what is wrong with another form of it.
    """
    part = ("targets", target)
    layers: list[Path] = [part] if isinstance(source.at(*part), dict) else []
    if source.parent is not None:
        layers.append(())
    if not layers:
        return [*findings]
    places = [_places(source, layer) for layer in layers]
    search = _Search(source, findings, examine)
    return [_moved(one, source, dict(zip(layers, places, strict=True)), search) if one.level is not finding.Level.NOTE else one for one in findings]


def _moved(one: finding.Finding, source: Document, layers: Mapping[Path, frozenset[_Place]], search: "_Search") -> finding.Finding:
    if one.where is None or one.where.path is None:
        return one
    for layer, places in layers.items():
        if _place(one.where) in places:
            return one
        cause = search.cause(one, layer)
        if cause is not None:
            return _at(one, source, cause)
    return one


def _places(source: Document, layer: Path) -> frozenset[_Place]:
    inside = [path for path in source.places if path[: len(layer)] == layer]
    return frozenset(_place(where) for path in inside for where in (source.where(*path), source.where_key(*path)))


def _place(where: finding.Position) -> _Place:
    return where.file, where.line, where.column


def _at(one: finding.Finding, source: Document, cause: Path) -> finding.Finding:
    where = one.where or finding.Position(source.file)
    value = source.at(*cause)
    place = source.where_key(*cause) if value is None or isinstance(value, dict | list) else source.where(*cause)
    place = dataclasses.replace(place, path=where.path)
    if value is None:
        why = f"an empty `{cause[-1]}` removes the entry that it overrides; {one.why}"
        return dataclasses.replace(one, subject=place, why=why, remedy=f"remove the empty `{cause[-1]}`, or what needs it")
    return dataclasses.replace(one, subject=place, why=f"{one.why}; without `{dotted.joined(cause)}` here, {where.file}:{where.line} is right")


class _Search:
    """Finds causes, and remembers what was examined."""

    def __init__(self, source: Document, findings: Sequence[finding.Finding], examine: Examine) -> None:
        self._source, self._examine = source, examine
        self._errors = {_key(one) for one in findings if one.level is finding.Level.ERROR}
        self._seen: dict[Path, frozenset[_Key] | None] = {}
        self._left = min(_MOST_EXAMINED, _MOST_PLACES // max(1, _size(source)))

    def cause(self, one: finding.Finding, path: Path) -> Path | None:
        """Find the entry under a path without which a finding isn't there, as deep as possible."""
        for entry in self._entries(path):
            if self._vanishes(one, entry):
                return self.cause(one, entry) or entry
        return None

    def _entries(self, path: Path) -> Iterator[Path]:
        values = self._source.at(*path)
        for key in values if isinstance(values, dict) else ():
            if path or key not in _OF_NO_FINDING:
                yield (*path, key)

    def _vanishes(self, one: finding.Finding, entry: Path) -> bool:
        if entry not in self._seen:
            self._left -= 1
            self._seen[entry] = self._without(entry) if self._left >= 0 else None
        found = self._seen[entry]
        return found is not None and _key(one) not in found

    def _without(self, entry: Path) -> frozenset[_Key] | None:
        """Give what is found without an entry; None where something else is wrong then."""
        found = tuple(self._examine(self._source.without(entry)))
        errors = {_key(one) for one in found if one.level is finding.Level.ERROR}
        return frozenset(_key(one) for one in found) if errors <= self._errors else None


def _key(one: finding.Finding) -> _Key:
    return str(one.code), one.where.path if one.where else None


def _size(source: Any) -> int:
    return len(source.places) + (_size(source.parent) if source.parent is not None else 0)
