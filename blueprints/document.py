"""A blueprint as written: plain values, and the position of each key and value in the file."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import finding

Path = tuple[str | int, ...]
"""The way to a value: keys and list positions from the top (`("pools", "train", "nodes")`)."""


class Mark(NamedTuple):
    """Where text begins; line and column are counted from 0."""

    line: int
    column: int
    width: int


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A file that values come from, or one part of it."""

    file: str
    lines: tuple[str, ...]
    part: str = ""
    """What its values are put over another source's for (`targets.aws`); empty for a file as a whole."""

    def __str__(self) -> str:
        return f"{self.part} of {self.file}" if self.part else self.file


class Place(NamedTuple):
    """The positions of an entry: its key (none for list items and the top), its value, and the source of both."""

    key: Mark | None
    value: Mark
    source: Source


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """Plain values with their places. Never changed: `with_setting` gives a new one."""

    source: Source
    values: Any
    places: Mapping[Path, Place]
    settings: Mapping[Path, finding.Position] = dataclasses.field(default_factory=dict)
    """Where values come from that a stack's settings put over the file's."""
    findings: tuple[finding.Finding, ...] = ()
    """What was noticed while reading it and applying settings."""
    parent: "Document | None" = None
    """The blueprint that this one extends, as long as they aren't merged."""
    moved: Mapping[Path, Path] = dataclasses.field(default_factory=dict)
    """Where values were written that parsing moved to the place that was probably meant. Positions are those of the text."""

    @property
    def file(self) -> str:
        return self.source.file

    def where(self, *path: str | int) -> finding.Position:
        """Find the place of a value. For one that isn't there, the nearest thing around it that is."""
        return self._written_at(path, wants_key=False)

    def where_key(self, *path: str | int) -> finding.Position:
        """Find the place of a key. For one that isn't there, the nearest thing around it that is."""
        return self._written_at(path, wants_key=True)

    def written(self, path: Path) -> Path:
        """Give the path where a value was written."""
        length = next((length for length in range(len(path), 0, -1) if path[:length] in self.moved), 0)
        return (*self.moved[path[:length]], *path[length:]) if length else path

    def at(self, *path: str | int) -> Any:
        """Give the value at a path; None where there is none."""
        value = self.values
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def with_setting(self, path: Path, value: Any, position: finding.Position) -> "Document":
        """Put a value over the file's at a path whose parents are mappings or missing.

        Raises:
            TypeError: a parent is there and is no mapping.
        """
        places = {known: place for known, place in self.places.items() if known[: len(path)] != path}
        settings = {known: place for known, place in self.settings.items() if known[: len(path)] != path}
        return dataclasses.replace(self, values=_put(self.values, path, value), places=places, settings={**settings, path: position})

    def without(self, path: Path) -> "Document":
        """Take an entry of a mapping out."""
        places = {known: place for known, place in self.places.items() if known[: len(path)] != path}
        return dataclasses.replace(self, values=_taken_out(self.values, path), places=places)

    def origin(self, *path: str | int) -> str:
        """Say where the value at a path comes from, or the nearest thing around it: a file and line, with the part if it is a part; or a stack's setting."""
        for length in range(len(path), -1, -1):
            prefix = path[:length]
            if prefix in self.settings:
                return str(self.settings[prefix])
            if prefix in self.places:
                place = self.places[prefix]
                where = f"{place.source.file}:{place.value.line + 1}"
                return f"{place.source.part}, {where}" if place.source.part else where
        return self.file

    def _written_at(self, path: Path, *, wants_key: bool) -> finding.Position:
        written = self.written(path)
        return dataclasses.replace(self._nearest(written, wants_key=wants_key), path=written)

    def _nearest(self, path: Path, *, wants_key: bool) -> finding.Position:
        for length in range(len(path), -1, -1):
            prefix = path[:length]
            if prefix in self.settings:
                return self.settings[prefix]
            if prefix in self.places:
                return self._position(self.places[prefix], wants_key=wants_key or length < len(path))
            if prefix and length == len(path) and (inside := next((one for known, one in self.settings.items() if known[:length] == prefix), None)):
                return inside  # an entry that only a setting below it made
        return finding.Position(self.file)

    def _position(self, place: Place, *, wants_key: bool) -> finding.Position:
        mark = place.key if place.key and (wants_key or not place.value.width) else place.value
        return position(place.source.file, place.source.lines, mark)


def position(file: str, lines: tuple[str, ...], mark: Mark) -> finding.Position:
    """Make the position that messages show, the line itself included."""
    text = lines[mark.line] if mark.line < len(lines) else ""
    return finding.Position(file, mark.line + 1, mark.column + 1, text, max(1, mark.width))


def _put(values: Any, path: Path, value: Any) -> Any:
    if not path:
        return value
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise TypeError
    step, *rest = path
    return {**values, step: _put(values.get(step), tuple(rest), value)}


def _taken_out(values: Any, path: Path) -> Any:
    step, *rest = path
    if rest:
        return {**values, step: _taken_out(values[step], tuple(rest))}
    return {key: value for key, value in values.items() if key != step}
