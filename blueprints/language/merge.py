"""How values of several sources become one blueprint.

Later ones are put over earlier ones: the blueprint that is extended, the blueprint itself, its part `targets.<target>` when the stack lands on that target, and the
stack's setting `clusterwright:set`.

- A mapping is put over a mapping key by key. Any other value, lists included, takes the place of the earlier one as a whole.
- `capacity` is taken as a whole too, since its keys mean nothing without each other.
- `machine` and `machines` exclude each other: the later one takes the place of the earlier.
- A pool, file system, account, quality of service or user that is left empty in a later source (`train:`) is taken out.
- `name`, `extends`, `targets` and `suppress` can't differ between targets.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from .. import display, finding
from ..codes import Code
from ..document import Document, Path, Place, Source
from .parse import NAMED

WHOLE = "capacity"
_EXCLUSIVE = {"machine": "machines", "machines": "machine"}
SAME_EVERYWHERE = ("name", "extends", "targets", "suppress")


def extend(parent: Document, child: Document) -> Document:
    """Put a blueprint over the one that it extends."""
    merged = _Merged(parent)
    merged.put((), child, child.values, at=())
    return merged.document(child.source, (*parent.findings, *child.findings))


def refine(source: Document, target: str) -> Document:
    """Put a blueprint's part for one target over the rest of it. What can't differ between targets is left aside, and becomes a finding."""
    part = source.at("targets", target)
    if not isinstance(part, dict):
        return source
    merged = _Merged(source, part=f"targets.{target}")
    refused = [key for key in part if key in SAME_EVERYWHERE]
    for key, value in part.items():
        if key not in refused:
            merged.put((key,), source, value, at=("targets", target, key))
    return merged.document(source.source, (*source.findings, *(_refusal(source, target, key) for key in refused)))


def _refusal(source: Document, target: str, key: str) -> finding.Finding:
    what = f"{display.quoted(key)} can't be different on the target {target}"
    why = "it belongs to the blueprint as a whole, which is the same wherever it lands"
    where = source.where_key("targets", target, key)
    return finding.Finding(
        finding.Level.ERROR, Code.TARGET_KEY, where, what, why, f"move it out of `targets.{target}`, or into a blueprint that extends this one"
    )


class _Merged:
    """Values and places of one document, over which those of another are put."""

    def __init__(self, below: Document, *, part: str = "") -> None:
        self._values = _copied(below.values)
        self._places: dict[Path, Place] = dict(below.places)
        self._settings = dict(below.settings)
        self._part = part
        self._sources: dict[str, Source] = {}

    def put(self, path: Path, over: Document, value: Any, *, at: Path) -> None:
        """Put a value at a path over what is there.

        Args:
            over: the document that it comes from.
            at: where it stands in that document.
        """
        below = self._at(path)
        if isinstance(value, dict) and isinstance(below, dict) and path[-1:] != (WHOLE,):
            for key, entry in value.items():
                self.put((*path, key), over, entry, at=(*at, key))
        elif value is None and len(path) == 2 and path[0] in NAMED and below is not None:
            self._take_out(path)
        else:
            self._take_out(path)
            other = _EXCLUSIVE.get(str(path[-1])) if len(path) == 3 else None
            if other is not None and other not in over.at(*at[:-1]):  # both in one source contradict each other, and are refused for it
                self._take_out((*path[:-1], other))
            self._set(path, _copied(value))
            for inner in _paths(value):
                place = over.places[(*at, *inner)]
                self._places[(*path, *inner)] = place._replace(source=self._marked(place.source))

    def document(self, source: Source, findings: tuple[finding.Finding, ...]) -> Document:
        return Document(source, self._values, self._places, self._settings, findings)

    def _marked(self, source: Source) -> Source:
        if not self._part:
            return source
        return self._sources.setdefault(source.file, dataclasses.replace(source, part=self._part))

    def _at(self, path: Path) -> Any:
        value = self._values
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _set(self, path: Path, value: Any) -> None:
        if not path:
            self._values = value
            return
        parent = self._at(path[:-1])
        parent[path[-1]] = value

    def _take_out(self, path: Path) -> None:
        for inner in _paths(self._at(path)):
            self._places.pop((*path, *inner), None)
        if path:
            self._at(path[:-1]).pop(path[-1], None)


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
