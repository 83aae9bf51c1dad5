"""Going on without what was refused, so that the rest of a blueprint is checked in the same run: what was meant where that is known, stand-ins, or nothing."""

import copy
import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pydantic

from ..codes import Code
from ..document import Document, Path
from . import names, outline
from .refusals import Refusal

NAMED = ("storage", "pools", "accounts", "qos", "users")
"""Mappings whose keys are names that the blueprint gives."""
_ANY = outline.ANY_NAME
_STAND_INS: Mapping[Path, Callable[[str, int], Any]] = {
    ("name",): lambda name, _: name,
    ("pools",): lambda name, _: {name: {"nodes": 1}},
    ("pools", _ANY, "nodes"): lambda *_: 1,
    ("storage", _ANY, "kind"): lambda *_: "existing",
    ("storage", _ANY, "mount"): lambda name, _: f"/{name}",
    ("users", _ANY, "uid"): lambda _, number: names.LAST_UID - number,
    ("users", _ANY, "account"): lambda *_: "root",
}
"""What takes the place of what must be there, from a name and a number that nothing else has: each is a value about which nothing is found by itself."""


class Scope(enum.Enum):
    """How much is said with a refusal, so that nothing else is said about it."""

    NOTHING = "nothing"
    NAME = "name"
    VALUE = "value"


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A place in the blueprint as written of which something was refused."""

    path: Path
    scope: Scope
    is_known: bool
    """What was meant there is known, or nothing hangs on it, so that what is found about the rest holds."""


class Mending:
    """A blueprint's values, from which each round takes or mends what was refused."""

    def __init__(self, source: Document) -> None:
        self._source = source
        self.values: Any = copy.deepcopy(source.values)
        self.refused: list[Refused] = []
        self._moved: dict[Path, Path] = {}
        self._unseen: set[Path] = set()
        self._names: dict[Path, str] = {}
        self._number = 0

    @property
    def document(self) -> Document:
        """The blueprint as it is now; the places of its values are those where they were written."""
        return dataclasses.replace(self._source, values=self.values, moved=self._moved)

    def is_unseen(self, path: Path) -> bool:
        """Say whether a value was moved to its place in the last round, so that nothing was said about it before."""
        written = self.document.written(path)
        return any(written[:length] in self._unseen for length in range(len(written) + 1))

    def mend(self, refusals: Iterable[Refusal], language: type[pydantic.BaseModel]) -> None:
        """Take or mend what was refused: what lies deeper first, and in lists the last first, so that no path changes before its turn."""
        self._unseen = set()
        given_up: set[Path] = set()
        for one, path in sorted(((one, self._place(one, language)) for one in refusals), key=_depth, reverse=True):
            written = self.document.written(one.path)
            if path not in given_up:
                scope, is_known = self._mend(one, path, language)
                self.refused.append(Refused(written, scope, is_known))
            if one.is_missing:
                given_up.add(path)

    def named_as_written(self, blueprint: pydantic.BaseModel) -> Any:
        """Give back the names for which others stood in. Nothing found about them is worse than what was said about the names themselves."""
        changed = {}
        for section in dict.fromkeys(str(path[0]) for path in self._names):
            changed[section] = {self._names.get((section, name), name): entry for name, entry in getattr(blueprint, section).items()}
            self.values[section] = {self._names.get((section, name), name): entry for name, entry in self.values[section].items()}
        self._moved = {(path[0], self._names[path[:2]], *path[2:]) if path[:2] in self._names else path: origin for path, origin in self._moved.items()}
        return blueprint.model_copy(update=changed)

    def _place(self, one: Refusal, language: type[pydantic.BaseModel]) -> Path:
        """Say what must be mended: the section, where it lacks what nothing can stand in for."""
        return one.path[:-1] if one.is_missing and outline.pattern(one.path, language) not in _STAND_INS else one.path

    def _mend(self, one: Refusal, path: Path, language: type[pydantic.BaseModel]) -> tuple[Scope, bool]:
        make = _STAND_INS.get(outline.pattern(path, language)) if one.is_missing else None
        if make is not None:
            self._put(path, make(self._stand_in(), self._number))
            return Scope.VALUE, False
        if one.is_missing:
            self._drop(path)
            return Scope.VALUE, False
        if one.is_key:
            self._rename(path)
            return Scope.NAME, one.meant is None
        if one.finding.code == Code.KEY_UNKNOWN or (one.finding.code == Code.LOOK_ALIKE and one.belongs is not None):
            self._move(path, one.belongs)
            return Scope.NOTHING, True
        if one.meant is not None and one.meant != self._at(path):
            return self._replace(path, one.meant), True
        number = self._number_within_limits(path, language)
        if number is not None:
            self._put(path, number)
        elif len(path) == 2 and path[0] in NAMED:
            self._put(path, {})
        else:
            self._drop(path)
        return Scope.VALUE, False

    def _replace(self, path: Path, meant: Any) -> Scope:
        """Put what was meant in the place of what was written. Of entries that become a mapping by their names nothing was seen yet."""
        origin, is_by_name = self._origin(path), isinstance(self._at(path), list) and isinstance(meant, dict)
        if is_by_name:
            self._moved |= {(*path, name): (*origin, place) for place, name in enumerate(meant)}
            self._unseen.add(origin)
        self._put(path, copy.deepcopy(meant))
        return Scope.NAME if is_by_name else Scope.VALUE

    def _move(self, path: Path, belongs: Path | None) -> None:
        """Remove a key that the language doesn't have; its value moves to the right key, if that is known and free."""
        value, origin = self._at(path), self._origin(path)
        self._drop(path)
        if belongs is not None and self._is_free(belongs):
            self._put(belongs, value)
            self._moved[belongs] = origin
            self._unseen.add(origin)

    def _number_within_limits(self, path: Path, language: type[pydantic.BaseModel]) -> int | None:
        """Give the nearest number that can stand where another, or none, was written."""
        value, limits = self._at(path), outline.bounds(path, language)
        if len(limits) != 2:
            return None
        is_number = isinstance(value, int) and not isinstance(value, bool)
        nearest: int = max(limits["ge"], min(limits["le"], value)) if is_number else limits["ge"]
        return None if is_number and nearest == value else nearest

    def _rename(self, path: Path) -> None:
        """Let another name stand in for a refused one of the blueprint; other keys are taken out."""
        if len(path) != 2 or path[0] not in NAMED:
            self._drop(path)
            return
        section, stand_in = str(path[0]), self._stand_in()
        self.values[section] = {(stand_in if name == path[1] else name): entry for name, entry in self.values[section].items()}
        self._moved = {(section, stand_in, *known[2:]) if known[:2] == path else known: origin for known, origin in self._moved.items()}
        self._moved.setdefault((section, stand_in), path)
        self._names[(section, stand_in)] = str(path[1])

    def _stand_in(self) -> str:
        self._number += 1
        return f"unnamed-{self._number}"

    def _origin(self, path: Path) -> Path:
        return self.document.written(path)

    def _at(self, path: Path) -> Any:
        return self.document.at(*path)

    def _is_free(self, path: Path) -> bool:
        parents = [self._at(path[:length]) for length in range(len(path))]
        return all(parent is None or isinstance(parent, dict) for parent in parents) and self._at(path) is None

    def _put(self, path: Path, value: Any) -> None:
        container = self.values
        for step in path[:-1]:
            if isinstance(container, dict) and container.get(step) is None:
                container[step] = {}
            container = container[step]
        container[path[-1]] = value

    def _drop(self, path: Path) -> None:
        """Take a value out; in a list the later ones move up."""
        *around, step = path
        container = self._at(tuple(around))
        if isinstance(container, list) and isinstance(step, int):
            origins = {(*around, place - (place > step)): self._origin((*around, place)) for place in range(len(container)) if place != step}
            inner = {known: origin for known, origin in self._moved.items() if known[: len(around)] == tuple(around) and len(known) > len(path)}
            self._moved = {known: origin for known, origin in self._moved.items() if known[: len(around)] != tuple(around)}
            self._moved |= origins | {_moved_up(known, len(around), step): origin for known, origin in inner.items() if known[len(around)] != step}
            del container[step]
        elif isinstance(container, dict):
            self._moved = {known: origin for known, origin in self._moved.items() if known[: len(path)] != path}
            container.pop(step, None)


def _moved_up(path: Path, place: int, dropped: int) -> Path:
    number = int(path[place])
    return (*path[:place], number - (number > dropped), *path[place + 1 :])


def _depth(mending: tuple[Refusal, Path]) -> tuple[list[int], bool]:
    one, path = mending
    return [step if isinstance(step, int) else -1 for step in path], not one.is_key
