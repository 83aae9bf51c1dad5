"""Examples of every key, for the reference and for messages. They stand in one blueprint, `example.yaml`."""

import functools
import json
import pathlib
from typing import Any

import pydantic

from .. import finding, read
from ..document import Path
from . import outline

EXAMPLE = pathlib.Path(__file__).with_name("example.yaml")
"""Holds every key once."""
_LONGEST = 100


def at(path: Path) -> Any:
    """Give an example value of a path; of a name or a place in a list, the first."""
    value: Any = _examples()
    for step in path:
        value = next(iter(value.values() if isinstance(value, dict) else value)) if step == outline.ANY_NAME else value[step]
    return value


def short(path: Path) -> str:
    """Write an example as `key: value` on one line; empty where the value is long."""
    value = at(path)
    is_long = isinstance(value, dict) and any(isinstance(entry, dict) for entry in value.values())
    return "" if is_long or len(f"{value}") > _LONGEST else f"`{path[-1]}: {on_one_line(value)}`"


def required(path: Path, language: type[pydantic.BaseModel]) -> str:
    """Write an example of a long mapping as `key: value` on one line, with one name and what must be there."""
    return f"`{path[-1]}: {on_one_line(_required(path, language))}`"


def _required(path: Path, language: type[pydantic.BaseModel]) -> Any:
    value = at(path)
    fields = outline.keys(path, language)
    if not isinstance(value, dict):
        return value
    if not fields:
        return {next(iter(value)): _required((*path, outline.ANY_NAME), language)}
    kept = [key for key in value if fields[key].is_required()] or [next(iter(value))]
    return {key: _required((*path, key), language) for key in kept}


@functools.cache
def _examples() -> dict[str, Any]:
    values: dict[str, Any] = read.read(EXAMPLE).values
    return values


def on_one_line(value: Any) -> str:
    """Write a value on one line, so that a blueprint reads the same value again."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {on_one_line(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(on_one_line, value))}]"
    if not isinstance(value, str):
        return json.dumps(value)
    return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Say whether a text needs no quotes inside of a list."""
    try:
        return ", " not in text and bool(read.from_bytes(f"[{text}]".encode(), file="").values == [text])
    except finding.Invalid:
        return False
