"""Pydantic's refusals as findings: in the language's own words, at the place in the file."""

import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic
from pydantic.fields import FieldInfo

from .. import display, finding
from ..codes import Code
from ..document import Document, Path
from .section import FORMS

EXPLAINED_AT_MOST = 200
"""A file with more faults than this is no blueprint; looking for near words in all of them takes long."""

_KINDS = {
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping (`key: value`)",
    "model_type": "a mapping (`key: value`)",
    "tuple_type": "a list",
}


def explain(faults: Sequence[Any], language: type[pydantic.BaseModel], source: Document) -> tuple[finding.Finding, ...]:
    """Turn each of pydantic's faults into a finding, in the order of the file."""
    return finding.in_order(_finding(fault, language, source) for fault in faults[:EXPLAINED_AT_MOST])


def _finding(fault: Any, language: type[pydantic.BaseModel], source: Document) -> finding.Finding:
    path: Path = fault["loc"]
    is_key = bool(path) and path[-1] == "[key]"
    path = tuple(step for step in (path[:-1] if is_key else path) if step not in FORMS)
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    points_at_key = is_key or kind in ("extra_forbidden", "missing")
    where = source.where_key(*path) if points_at_key else source.where(*path)
    code, what, why, remedy = _words(kind, path, given, context, language)
    return finding.Finding(finding.Level.ERROR, code, where, what, why, remedy)


def _words(kind: str, path: Path, given: Any, context: dict[str, Any], language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    fault = context.get("error")
    if isinstance(fault, finding.Unfit):
        return fault.code, fault.what, fault.why, fault.remedy
    if kind == "extra_forbidden":
        return _unknown_key(path, language)
    if kind == "missing":
        return _missing_key(path, language)
    if kind == "literal_error":
        return _unknown_choice(path, given, language)
    if kind in ("greater_than_equal", "less_than_equal"):
        return _out_of_range(path, given, _bounds(path, language), language)
    if kind == "too_short":
        what = f"{dotted(path)} is empty"
        return Code.EMPTY, what, f"a cluster has at least one: {_meaning(path, language)}", "write at least one"
    return _wrong_type(path, given, _KINDS.get(kind, "something else"), language)


def dotted(path: Path) -> str:
    """Write a path as the blueprint's reader says it: `pools.train.nodes`, `users.ada.ssh_keys[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{display.printable(step)[:64]}" for step in path)
    return text.lstrip(".") or "the blueprint"


def _unknown_key(path: Path, language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    allowed = _keys(path[:-1], language)
    what = f"{dotted(path[:-1])} has no key {display.quoted(path[-1])}"
    why = "a key that nothing reads would be ignored without a word"
    if not allowed:
        return Code.KEY_UNKNOWN, what, why, "take it out: no key is allowed here yet"
    return Code.KEY_UNKNOWN, what, why, display.did_you_mean(str(path[-1]), allowed, allowed="allowed here")


def _missing_key(path: Path, language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    what = f"{dotted(path[:-1])} has no {display.quoted(path[-1])}"
    return Code.KEY_MISSING, what, f"it is required; {_meaning(path, language)}", f"write `{path[-1]}: …`"


def _unknown_choice(path: Path, given: Any, language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    choices = [str(choice) for choice in typing.get_args(_annotation(path, language))]
    what = f"{dotted(path)} can't be {display.quoted(given)}"
    return Code.CHOICE_UNKNOWN, what, _meaning(path, language), display.did_you_mean(str(given), choices, allowed="it is one of")


def _out_of_range(path: Path, given: Any, bounds: Mapping[str, Any], language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    least, most = bounds["ge"], bounds["le"]
    what = f"{dotted(path)} can't be {display.quoted(given)}"
    return Code.NUMBER_OUT_OF_RANGE, what, _meaning(path, language), f"write a number from {least} to {most}"


def _bounds(path: Path, language: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Find the limits of a number: on its key, or on the form of the value that is a number."""
    field = _keys(path[:-1], language).get(str(path[-1]))
    found = list(field.metadata) if field else []
    for form in _forms(field.annotation if field else _written(path, language)):
        found += list(getattr(form, "__metadata__", ()))
    flat = [limit for one in found for limit in (one.metadata if isinstance(one, FieldInfo) else [one])]
    return {name: getattr(limit, name) for limit in flat for name in ("ge", "le") if hasattr(limit, name)}


def _wrong_type(path: Path, given: Any, wanted: str, language: type[pydantic.BaseModel]) -> tuple[str, str, str, str]:
    what = f"{dotted(path)} must be {wanted}, and {_kind_of(given)} stands here"
    return Code.TYPE_WRONG, what, _meaning(path, language), _conversion(given, wanted)


def _conversion(given: Any, wanted: str) -> str:
    """Say how the value would be written, if it is one written in a wrong way."""
    if wanted == "true or false" and isinstance(given, str) and given.lower() in ("yes", "on", "y", "no", "off", "n"):
        return f"write `{'true' if given.lower() in ('yes', 'on', 'y') else 'false'}`; yes, no, on and off are text"
    if wanted == "a whole number" and isinstance(given, str) and re.fullmatch("[0-9]+", given):
        return "write it in decimal, without quotes and leading zeros"
    if wanted == "text" and isinstance(given, int | float):
        return "put it in quotes"
    if wanted == "a list":
        return "write it as [a, b], or one item a line, each after `- `"
    return f"write {wanted}"


def _kind_of(given: Any) -> str:
    if given is None:
        return "nothing"
    if isinstance(given, bool | int | float):
        return display.quoted(given)
    if isinstance(given, str):
        return f"the text {display.quoted(given)}"
    return "a list" if isinstance(given, list | tuple) else "a mapping"


def _meaning(path: Path, language: type[pydantic.BaseModel]) -> str:
    """Say what the key is for that a path leads to or into."""
    name, text = _field(path, language)
    sentence = f"{text[0].lower()}{text[1:]}" if text[1].islower() else text
    return f"{name} means: {sentence.rstrip('.')}"


def _field(path: Path, language: type[pydantic.BaseModel]) -> tuple[str, str]:
    """Find the innermost key of the language on a path, and its description."""
    for length in range(len(path), 0, -1):
        field = _keys(path[: length - 1], language).get(str(path[length - 1]))
        if field is not None:
            return str(path[length - 1]), str(field.description or _plain(field.annotation).__doc__)
    return "a blueprint", str(language.__doc__)


def _annotation(path: Path, language: type[pydantic.BaseModel]) -> Any:
    """Find the plain type that the language wants at a path; None where the language has nothing. Of a value with a short and a long form, the short."""
    return _plain(_written(path, language))


def _written(path: Path, language: type[pydantic.BaseModel]) -> Any:
    """Find what the language says of a path, limits and forms included."""
    written: Any = language
    for step in path:
        forms = [_plain(form) for form in _forms(written)]
        if typing.get_origin(forms[0]) in (dict, tuple):
            written = typing.get_args(forms[0])[-1 if typing.get_origin(forms[0]) is dict else 0]
        else:
            field = _keys_of(forms).get(str(step))
            written = field.annotation if field else None
    return written


def _keys(path: Path, language: type[pydantic.BaseModel]) -> dict[str, FieldInfo]:
    """Give the keys that the language has at a path, whichever form the value takes."""
    return _keys_of([_plain(form) for form in _forms(_written(path, language))])


def _keys_of(forms: Sequence[Any]) -> dict[str, FieldInfo]:
    sections = [form for form in forms if isinstance(form, type) and issubclass(form, pydantic.BaseModel)]
    return {name: field for section in sections for name, field in section.model_fields.items()}


def _forms(written: Any) -> list[Any]:
    """List the forms that a value may have, nothing at all left aside."""
    bare = written.__origin__ if hasattr(written, "__metadata__") else written
    if typing.get_origin(bare) not in (types.UnionType, typing.Union):
        return [written]
    return [member for member in typing.get_args(bare) if member is not type(None)]


def _plain(written: Any) -> Any:
    first = _forms(written)[0]
    return first.__origin__ if hasattr(first, "__metadata__") else first
