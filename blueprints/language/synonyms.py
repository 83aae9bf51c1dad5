"""Words of other tools: what a key or a value that the language doesn't have is called here. They stand in `synonyms.yaml`."""

import dataclasses
import functools
import pathlib
from collections.abc import Mapping
from typing import Any

import pydantic

from .. import message_text, read
from ..document import Path
from . import examples, outline

_TABLE = pathlib.Path(__file__).with_name("synonyms.yaml")
_SURE = 0.8
"""Likeness of two words from which on one is a mistyped other: a value is then read as if the right one stood there."""
_TOO_COMMON = frozenset({"name", "id", "key", "kind", "size", "value", "description", "source", "count", "mount"})
"""Keys that mean something else in each section, so that standing in a wrong one tells nothing."""
_PLACES_AT_MOST = 3
_LONGEST_VALUE = 40
"""Of a value that is written out in a remedy."""


@dataclasses.dataclass(frozen=True, slots=True)
class Meaning:
    """What a key probably means that the language doesn't have."""

    remedy: str
    belongs: Path | None = None
    """Where its value can be taken over to as it is."""


def of_key(path: Path, given: object, language: type[pydantic.BaseModel]) -> Meaning | None:
    """Say what an unknown key probably means; None where nothing fits.

    Args:
        given: its value.
    """
    section, word = path[:-1], str(path[-1])
    pattern = outline.pattern(section, language)
    entry = _words(".".join(map(str, pattern))).get(_squeezed(word))
    if isinstance(entry, str):
        steps = entry.split(".")
        return Meaning(f"{message_text.quoted(word)} is `{entry}` here: {_as_written(section, steps, given, language)}", belongs=(*section, *steps))
    if entry is not None:
        return Meaning(entry["instead"] if "instead" in entry else f"write {entry['write']}")
    return _of_a_pool(section, word) or _misplaced(section, word, given, pattern, language) or _mistyped(section, word, language)


def of_value(path: Path, given: object) -> str | None:
    """Give the language's word for a value of another tool; None where nobody knows."""
    word = str(given).lower()
    keys = [str(step) for step in path if isinstance(step, str)]
    found: str | None = next((words[word] for key in reversed(keys[-3:]) if word in (words := table()["values"].get(key, {}))), None)
    return found


def _of_a_pool(section: Path, word: str) -> Meaning | None:
    """Say where a key of pools belongs that was written at the top of the blueprint."""
    entry = None if section else _words("pools.*").get(_squeezed(word))
    return Meaning(f"{message_text.quoted(word)} is `{entry}` here, and belongs in a pool: `pools: {{<name>: …}}`") if isinstance(entry, str) else None


def _as_written(section: Path, steps: list[str], given: object, language: type[pydantic.BaseModel]) -> str:
    """Show a key where it belongs, with its value if that can stand there."""
    is_short = isinstance(given, str | int | float) and len(str(given)) < _LONGEST_VALUE
    value = examples.on_one_line(given) if is_short and outline.takes((*section, *steps), given, language) else "…"
    for place in range(len(steps) - 1, 0, -1):
        fields = outline.keys((*section, *steps[:place]), language)
        kept = [key for key, field in fields.items() if key == steps[place] or field.is_required()]
        value = f"{{{', '.join(f'{key}: {value}' if key == steps[place] else f'{key}: …' for key in kept)}}}"
    return f"write `{steps[0]}: {value}`"


def _misplaced(section: Path, word: str, given: object, pattern: Path, language: type[pydantic.BaseModel]) -> Meaning | None:
    """Find the places that have the key which a blueprint has elsewhere, those inside the section first."""
    places = [] if word in _TOO_COMMON else [place for place in outline.places_of(word, language) if place != pattern]
    inside = [place for place in places if place[: len(pattern)] == pattern]
    found = inside or places
    if not found or len(found) > _PLACES_AT_MOST:
        return None
    if inside == found and len(found) == 1 and outline.ANY_NAME not in found[0][len(pattern) :]:
        steps = [str(step) for step in found[0][len(pattern) :]]
        return Meaning(f"`{word}` belongs in `{'.'.join(steps[:-1])}`: {_as_written(section, steps, given, language)}", belongs=(*section, *steps))
    named = [".".join("<name>" if step == outline.ANY_NAME else str(step) for step in place) for place in found]
    if named == [word]:
        return Meaning(f"`{word}` is a key of the blueprint itself: write it at the top, without indentation")
    return Meaning(f"`{word}` is a key of another place: write it as {' or '.join(f'`{name}`' for name in named)}")


def _mistyped(section: Path, word: str, language: type[pydantic.BaseModel]) -> Meaning | None:
    allowed = outline.keys(section, language)
    meant = message_text.near(word, allowed, likeness=_SURE)
    return Meaning(message_text.did_you_mean(word, allowed, allowed="allowed here"), belongs=(*section, meant)) if meant else None


@functools.cache
def _words(section: str) -> Mapping[str, Any]:
    return {_squeezed(word): entry for word, entry in table()["keys"].get(section, {}).items()}


def _squeezed(word: str) -> str:
    """Write a word without what differs between the tools' ways to write several as one (`instanceType`, `instance_type`)."""
    return word.lower().replace("_", "").replace("-", "")


@functools.cache
def table() -> Mapping[str, Any]:
    """Give the table as it is written."""
    values: Mapping[str, Any] = read.read(_TABLE).values
    return values
