"""How values of several sources become one blueprint.

Later sources override earlier ones: the extended blueprint with its values for the target (`targets.<target>`), the blueprint itself, its own values for the
target, and the stack's setting `clusterwright:set`. A value of the blueprint always overrides everything that it extends.

- Mappings are merged key by key. Any other value, lists included, replaces the earlier value.
- `capacity` is replaced as a whole.
- `machine` and `machines` exclude each other: the later one replaces the earlier one.
- An empty entry in a later source (`train:`) removes a pool, file system, account, QOS or user.
- `name`, `extends`, `targets` and `suppress` can't differ between targets.
- `description` and `audience` of an extended blueprint don't count.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from .. import finding, message_text
from ..codes import Code
from ..document import Document, Path, Place, Source
from .parse import NAMED

WHOLE = "capacity"
_EXCLUSIVE = {"machine": "machines", "machines": "machine"}
OF_ITS_OWN = ("description", "audience")
"""Keys that say what one blueprint is; a blueprint that extends it is something else."""
SAME_EVERYWHERE = ("name", "extends", "targets", "suppress")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Values by path, each with the place that is shown for it."""

    values: Mapping[Path, Any]
    places: Mapping[Path, finding.Position]

    def gives(self, at: Path) -> bool:
        return at in self.values

    def place(self, at: Path) -> finding.Position:
        return next(self.places[at[:length]] for length in range(len(at), -1, -1) if at[:length] in self.places)


def settle(source: Document, target: str) -> Document:
    """Merge a blueprint with those that it extends and with their parts for one target."""
    refined = refine(source, target)
    return refined if source.parent is None else extend(settle(source.parent, target), refined)


def extend(parent: Document, child: Document) -> Document:
    """Put a blueprint over the one that it extends, without what that one says of itself."""
    merged = _Merged(parent)
    for key in OF_ITS_OWN:
        merged.take_out((key,))
    merged.put((), child.values, _Written(child), at=())
    return merged.document(child.source, (*parent.findings, *child.findings, *_slips(parent, child)))


def _slips(parent: Document, child: Document) -> Iterator[finding.Finding]:
    """Find names in a variant that are most likely meant to be one of what it extends: the mistake adds a pool instead of changing one."""
    for section in NAMED:
        known, added = parent.at(section), child.at(section)
        if isinstance(known, dict) and isinstance(added, dict):
            for name in (name for name in added if name not in known):
                meant = next((other for other in known if other not in added and message_text.is_slip(name, other)), None)
                if meant is not None:
                    what = f"{section}.{message_text.printable(name)} is new beside {message_text.quoted(meant)} of the blueprint that this one extends"
                    why = "the names differ by one slip of the hand; a mistyped name adds an entry instead of changing the one that is meant"
                    remedy = f"write {message_text.quoted(meant)}, or choose a name that differs more"
                    yield finding.Finding(finding.Level.WARNING, Code.NAME_SLIP, child.where_key(section, name), what, why, remedy)


def refine(source: Document, target: str) -> Document:
    """Put a blueprint's part for one target over the rest of it. What can't differ between targets is left aside, and becomes a finding."""
    part = source.at("targets", target)
    if not isinstance(part, dict):
        return source
    merged, giver = _Merged(source), _Written(source, part=f"targets.{target}")
    refused = [key for key in part if key in SAME_EVERYWHERE]
    for key, value in part.items():
        if key not in refused:
            merged.put((key,), value, giver, at=("targets", target, key))
    return merged.document(source.source, (*source.findings, *(_refusal(source, target, key) for key in refused)))


def set_over(source: Document, settings: Settings, path: Path) -> Document:
    """Put one of the settings over a document. What is around its path must be mappings, or not be there."""
    merged = _Merged(source)
    merged.put(path, settings.values[path], settings, at=path)
    return merged.document(source.source, source.findings)


def _refusal(source: Document, target: str, key: str) -> finding.Finding:
    what = f"{message_text.quoted(key)} can't be different on the target {target}"
    why = "it belongs to the blueprint as a whole, which is the same wherever it lands"
    where = source.where_key("targets", target, key)
    return finding.Finding(
        finding.Level.ERROR, Code.TARGET_KEY, where, what, why, f"move it out of `targets.{target}`, or into a blueprint that extends this one"
    )


class _Merged:
    """Values and places of one document, over which those of another are put."""

    def __init__(self, below: Document) -> None:
        self._values = _copied(below.values)
        self._places: dict[Path, Place] = dict(below.places)
        self._settings = dict(below.settings)

    def put(self, path: Path, value: Any, giver: "_Giver", *, at: Path) -> None:
        """Put a value at a path over what is there.

        Args:
            giver: where it comes from.
            at: its path there.
        """
        below = self._at(path)
        if isinstance(value, dict) and isinstance(below, dict) and path[-1:] != (WHOLE,):
            for key, entry in value.items():
                self.put((*path, key), entry, giver, at=(*at, key))
        elif value is None and len(path) == 2 and path[0] in NAMED and below is not None:
            self.take_out(path)
        else:
            self.take_out(path)
            other = _EXCLUSIVE.get(str(path[-1])) if len(path) == 3 and value else None
            if other is not None and not giver.gives((*at[:-1], other)):  # both from one giver contradict each other, and are refused for it
                self.take_out((*path[:-1], other))
            self._set(path, _copied(value))
            for inner in _paths(value):
                self._mark((*path, *inner), giver.place((*at, *inner)))

    def document(self, source: Source, findings: tuple[finding.Finding, ...]) -> Document:
        return Document(source, self._values, self._places, self._settings, findings)

    def _mark(self, path: Path, place: Place | finding.Position) -> None:
        if isinstance(place, Place):
            self._places[path] = place
        else:
            self._settings[path] = place

    def _at(self, path: Path) -> Any:
        value = self._values
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _set(self, path: Path, value: Any) -> None:
        if not path:
            self._values = value
            return
        for length in range(len(path)):  # a setting may name a place in a section that isn't there yet
            if self._at(path[:length]) is None:
                self._set(path[:length], {})
        self._at(path[:-1])[path[-1]] = value

    def take_out(self, path: Path) -> None:
        """Remove a value and its places, if there is one."""
        for inner in _paths(self._at(path)):
            self._places.pop((*path, *inner), None)
            self._settings.pop((*path, *inner), None)
        parent = self._at(path[:-1]) if path else None
        if isinstance(parent, dict):
            parent.pop(path[-1], None)


class _Giver(Protocol):
    """Where values come from that are put over others."""

    def gives(self, at: Path) -> bool:
        """Say whether it has a value at a path of its own."""

    def place(self, at: Path) -> Place | finding.Position:
        """Give the place of the value at a path of its own."""


class _Written:
    """Another document, or one part of it."""

    def __init__(self, source: Document, part: str = "") -> None:
        self._source, self._part = source, part
        self._parts: dict[str, Source] = {}

    def gives(self, at: Path) -> bool:
        above = self._source.at(*at[:-1])
        return isinstance(above, dict) and at[-1] in above

    def place(self, at: Path) -> Place:
        found = self._source.places[at]
        if not self._part:
            return found
        return found._replace(source=self._parts.setdefault(found.source.file, dataclasses.replace(found.source, part=self._part)))


def _paths(value: Any) -> Iterator[Path]:
    """Give the paths of a value and of all that is in it."""
    yield ()
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, entry in entries:
        for inner in _paths(entry):
            yield (step, *inner)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value
