"""Values of a wrong type: how the one that was meant is written."""

import dataclasses
import re
from typing import Any

import pydantic

from .. import message_text
from ..document import Path
from . import examples, outline, synonyms, value_suggestions
from .outline import Model

_NUMBER, _TEXT, _TRUTH, _MAPPING, _LIST = "a whole number", "text", "true or false", "a mapping (`key: value`)", "a list"
KINDS = {"int_type": _NUMBER, "string_type": _TEXT, "bool_type": _TRUTH, "dict_type": _MAPPING, "model_type": _MAPPING, "tuple_type": _LIST}
"""What is wanted, in words, by pydantic's kind of fault."""
_LONGEST = 60
"""Of a value that is written out in a remedy."""
_TRUE, _FALSE = ("yes", "on", "y", "true"), ("no", "off", "n", "false")


@dataclasses.dataclass(frozen=True, slots=True)
class Conversion:
    remedy: str
    meant: Any = None


def kind_of(given: Any) -> str:
    """Say what a value is."""
    if given is None:
        return "nothing"
    if isinstance(given, bool | int | float):
        return message_text.quoted(given)
    if isinstance(given, str):
        return f"the text {message_text.quoted(given)}"
    return "a list" if isinstance(given, list | tuple) else "a mapping"


def convert(path: Path, given: Any, wanted: str, language: Model) -> Conversion:
    """Say how a value would be written as what is wanted, if it is one written in another way. What may be secret is not repeated."""
    if not path or message_text.is_private(str(given)):
        return Conversion(f"write {wanted}")
    truth_meant = truth(given) if wanted == _TRUTH else None
    if truth_meant is not None:
        return truth_meant
    if wanted == _NUMBER:
        return _as_number(path, given, language)
    if wanted == _TEXT and isinstance(given, int | float):
        return _as_text(path, given, language)
    if wanted == _LIST:
        return _as_list(path, given, language)
    if wanted == _MAPPING:
        return _as_mapping(path, given, language)
    return Conversion(f"write {wanted}")


def truth(given: Any) -> Conversion | None:
    """Say how a word for true or false is written; None for other values."""
    if not isinstance(given, str) or given.lower() not in (*_TRUE, *_FALSE):
        return None
    meant = given.lower() in _TRUE
    return Conversion(f"write `{'true' if meant else 'false'}`; yes, no, on and off are text", meant)


def _as_number(path: Path, given: Any, language: Model) -> Conversion:
    span = value_suggestions.between(given) if isinstance(given, str) else None
    if span is not None and outline.takes(path, span, language):
        return Conversion(f"write `{path[-1]}: {examples.on_one_line(span)}`", span)
    if isinstance(given, str) and re.fullmatch("[0-9]{1,18}", given):
        return Conversion("write it in decimal, without quotes and leading zeros", int(given))
    if isinstance(given, str) and re.fullmatch("[-+]?[0-9]{19,}", given):
        return Conversion("write a smaller number: one of more than 18 digits is read as a text")
    if isinstance(given, float) and given.is_integer():
        return Conversion(f"write `{int(given)}`", int(given))
    return Conversion("write a whole number")


def _as_text(path: Path, given: Any, language: Model) -> Conversion:
    """Put a number in quotes, where it may stand like this."""
    text = examples.on_one_line(given)
    try:
        unfit = outline.refusal(path, text, language)
    except pydantic.ValidationError:
        return Conversion("write a text")
    return Conversion("put it in quotes", text) if unfit is None else Conversion(unfit.remedy, unfit.meant)


def _as_list(path: Path, given: Any, language: Model) -> Conversion:
    words = given.replace(",", " ").split() if isinstance(given, str) and outline.takes(path, given.replace(",", " ").split(), language) else [given]
    if given is not None and outline.takes(path, words, language):
        shown = examples.on_one_line(words)
        return Conversion(f"write `{path[-1]}: {shown}`" if len(shown) < _LONGEST else "write it as [a, b], or one item a line, each after `- `", words)
    example = examples.short(outline.pattern(path, language))
    return Conversion(f"write it as a list, like {example}" if example else "write it as [a, b], or one item a line, each after `- `")


def _as_mapping(path: Path, given: Any, language: Model) -> Conversion:
    meant = _mapping(path, given, language)
    is_short = meant is not None and len(f"{meant}") < _LONGEST
    if is_short and isinstance(path[-1], str):
        return Conversion(f"write `{path[-1]}: {examples.on_one_line(meant)}`", meant)
    if is_short:
        return Conversion(f"write `{examples.on_one_line(meant)}`", meant)
    return Conversion(f"write it like {_example(path, language)}", meant)


def _mapping(path: Path, given: Any, language: Model) -> Any:
    """Find the mapping that a word or list abbreviates."""
    if isinstance(given, list):
        return None if outline.keys(path, language) else _by_name(given)
    if not isinstance(given, str):
        return None
    taint = value_suggestions.taint(given)
    if taint is not None and outline.takes(path, taint, language):
        return taint
    word = synonyms.of_value(path, given) or given
    key = outline.key_of_word(path, word, language)
    return {key: word} if key else None


def _by_name(entries: list[Any]) -> dict[str, Any] | None:
    """Turn a list of mappings with a `name` each into a mapping by their names."""
    if not entries or not all(isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries):
        return None
    named = {entry["name"]: {key: value for key, value in entry.items() if key != "name"} for entry in entries}
    return named if len(named) == len(entries) else None


def _example(path: Path, language: Model) -> str:
    pattern = outline.pattern(path, language)
    key = next((step for step in reversed(pattern) if step != outline.ANY_NAME), None)
    if key is None:
        return "`name: tiny`"
    place = pattern[: len(pattern) - pattern[::-1].index(key)]
    return examples.short(place) or examples.required(place, language)
