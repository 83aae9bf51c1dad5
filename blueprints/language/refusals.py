"""Pydantic's refusals as findings: in the language's own words, at the place in the file, with what was probably meant."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pydantic

from .. import finding, lookalikes, message_text, syntax
from ..codes import Code
from ..document import Document, Path
from . import conversions, outline, synonyms
from .outline import Model
from .section import FORMS

EXPLAINED_AT_MOST = 200
"""A file with more faults than this is no blueprint; looking for near words in all of them takes long."""

_KEY = "[key]"
"""Pydantic's last step on the way to a mapping's key."""
_UNKNOWN, _MISSING = "extra_forbidden", "missing"
_WANTS_MAPPING = ("model_type", "model_attributes_type", "dict_type")


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """One key or value that the language refuses, and how to go on as if it were right."""

    finding: finding.Finding
    path: Path
    is_key: bool = False
    """The name at the end of the path is refused, and not the value under it."""
    is_missing: bool = False
    meant: Any = None
    """The value that was probably meant."""
    belongs: Path | None = None
    """For a key that the language doesn't have: where its value was probably meant to stand."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Words:
    code: Code | str
    what: str
    why: str
    remedy: str
    meant: Any = None
    belongs: Path | None = None


def explain(faults: Sequence[Any], language: type[pydantic.BaseModel], source: Document) -> tuple[Refusal, ...]:
    """Turn each of pydantic's faults into a refusal. A key that is missing because it is mistyped is told once."""
    refusals = [_refusal(fault, language, source) for fault in faults[:EXPLAINED_AT_MOST]]
    meant = [refusal.belongs for refusal in refusals if refusal.belongs is not None]
    return tuple(one for one in refusals if not (one.is_missing and any(path[: len(one.path)] == one.path for path in meant)))


def _refusal(fault: Any, language: Model, source: Document) -> Refusal:
    path: Path = fault["loc"]
    is_key = bool(path) and path[-1] == _KEY
    path = tuple(step for step in (path[:-1] if is_key else path) if step not in FORMS)
    kind = fault["type"]
    words = _words(kind, path, fault["input"], fault.get("ctx", {}), language, is_key=is_key)
    where = source.where_key(*path) if is_key or kind in (_UNKNOWN, _MISSING) else source.where(*path)
    found = finding.Finding(finding.Level.ERROR, words.code, where, words.what, words.why, words.remedy)
    if kind in _WANTS_MAPPING and isinstance(fault["input"], str) and lookalikes.first_of_structure(fault["input"]) is not None:
        return Refusal(lookalikes.refusal_of_text(where, fault["input"]), path)
    is_any_text = words.code == Code.TEXT_FORM  # what only looks like another character may stand there
    meant = None if is_any_text else _look_alike(path, fault["input"], language, is_key=is_key, is_unknown=kind == _UNKNOWN)
    if meant is not None:
        text = str(path[-1] if is_key or kind == _UNKNOWN else fault["input"])
        found = lookalikes.refusal_of_text(where, text)
        return Refusal(found, path, is_key=is_key, meant=meant, belongs=(*path[:-1], str(meant)) if kind == _UNKNOWN else None)
    return Refusal(found, path, is_key=is_key, is_missing=kind == _MISSING, meant=words.meant, belongs=words.belongs)


def _look_alike(path: Path, given: Any, language: Model, *, is_key: bool, is_unknown: bool) -> Any:
    """Give what a key or value would be if its characters were those that they look like; None where that wouldn't do either."""
    text = path[-1] if path and (is_key or is_unknown) else given
    if not isinstance(text, str) or lookalikes.first(text) is None:
        return None
    folded = lookalikes.folded(text).strip("\"' ")
    if is_unknown:
        return folded if folded in outline.keys(path[:-1], language) else None
    if is_key:
        return folded if folded.isascii() else None
    folded = folded.partition(" #")[0].rstrip()  # a space before a comment that is none made the comment a part of the value
    candidates = (int(folded) if folded.isdecimal() else folded, folded)
    return next((value for value in candidates if outline.takes(path, value, language)), None)


def _words(kind: str, path: Path, given: Any, context: dict[str, Any], language: Model, *, is_key: bool) -> _Words:
    fault = context.get("error")
    if kind == _UNKNOWN:
        return _unknown_key(path, given, language)
    if kind == _MISSING:
        what = f"{outline.dotted(path[:-1])} has no {message_text.quoted(path[-1])}"
        return _Words(Code.KEY_MISSING, what, f"it is required; {outline.meaning(path, language)}", f"write `{path[-1]}: …`")
    if isinstance(given, str) and syntax.VARIABLE.search(given):
        return _variable(fault.code if isinstance(fault, finding.Unfit) else Code.TYPE_WRONG, path, given)
    if isinstance(fault, finding.Unfit):
        return _Words(fault.code, fault.what, fault.why, fault.remedy, meant=fault.meant)
    if kind == "literal_error":
        return _unknown_choice(path, given, language, is_key=is_key)
    if kind in ("greater_than_equal", "less_than_equal"):
        least, most = (outline.bounds(path, language)[name] for name in ("ge", "le"))
        what = f"{outline.dotted(path)} can't be {message_text.quoted(given)}"
        return _Words(Code.NUMBER_OUT_OF_RANGE, what, outline.meaning(path, language), f"write a number from {least} to {most}")
    if kind == "too_short":
        what = f"{outline.dotted(path)} is empty"
        return _Words(Code.EMPTY, what, f"a cluster has at least one: {outline.meaning(path, language)}", "write at least one")
    if kind == "too_long":
        what = f"{outline.dotted(path)} has {len(given)} entries"
        return _Words(Code.TOO_MANY, what, outline.meaning(path, language), f"write at most {context['max_length']}")
    return _wrong_type(kind, path, given, language)


def _unknown_key(path: Path, given: Any, language: Model) -> _Words:
    allowed = outline.keys(path[:-1], language)
    what = f"{outline.dotted(path[:-1])} has no key {message_text.quoted(path[-1])}"
    why = "an unknown key would have no effect"
    if not allowed:
        return _Words(Code.KEY_UNKNOWN, what, why, "remove it: no key is allowed here yet")
    meaning = synonyms.of_key(path, given, language)
    if meaning is not None:
        return _Words(Code.KEY_UNKNOWN, what, why, meaning.remedy, belongs=meaning.belongs)
    return _Words(Code.KEY_UNKNOWN, what, why, message_text.did_you_mean(str(path[-1]), allowed, allowed="allowed here"))


def _variable(code: Code | str, path: Path, given: str) -> _Words:
    what = f"{outline.dotted(path)} has a variable: {message_text.quoted(given)}"
    return _Words(code, what, syntax.VARIABLE_WHY, syntax.VARIABLE_REMEDY)


def _unknown_choice(path: Path, given: Any, language: Model, *, is_key: bool) -> _Words:
    choices = outline.choices(path, language, of_key=is_key)
    what = f"{outline.dotted(path[:-1])} has no key {message_text.quoted(given)}" if is_key else f"{outline.dotted(path)} can't be {message_text.quoted(given)}"
    truth = conversions.truth(given) if {"true", "false"} <= {*choices} else None
    if truth is not None:
        return _Words(Code.CHOICE_UNKNOWN, what, outline.meaning(path, language), truth.remedy, meant=truth.meant)
    known = synonyms.of_value(path[:-1] if is_key else path, given)
    if known in choices:
        return _Words(Code.CHOICE_UNKNOWN, what, outline.meaning(path, language), _suggested(known, choices), meant=known)
    remedy = message_text.did_you_mean(str(given), choices, allowed="it is one of")
    return _Words(Code.CHOICE_UNKNOWN, what, outline.meaning(path, language), remedy, meant=message_text.near(str(given), choices))


def _suggested(meant: str | None, choices: Sequence[str]) -> str:
    return f"did you mean {message_text.quoted(meant)}? it is one of: {', '.join(sorted(choices))}"


def _wrong_type(kind: str, path: Path, given: Any, language: Model) -> _Words:
    wanted = conversions.KINDS.get(kind, "something else")
    what = f"{outline.dotted(path)} must be {wanted}, and this is {conversions.kind_of(given)}"
    converted = conversions.convert(path, given, wanted, language)
    return _Words(Code.TYPE_WRONG, what, outline.meaning(path, language), converted.remedy, meant=converted.meant)
