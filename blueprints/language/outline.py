"""What the language says at a path of a blueprint: keys, types, limits and meanings, read from the sections."""

import functools
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import pydantic
from pydantic.fields import FieldInfo

from .. import finding, message_text
from ..document import Path

ANY_NAME = "*"
"""Stands in a pattern for a name that the blueprint gives, or for a place in a list."""
_ANY_WORD = frozenset({"identifier", "line of text"})
"""Forms that nearly every word has, so that they tell nothing about what a word means."""

Model: typing.TypeAlias = type[pydantic.BaseModel]


def dotted(path: Path) -> str:
    """Write a path as the blueprint's reader says it: `pools.train.nodes`, `users.ada.ssh_keys[0]`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{message_text.printable(step)[:64]}" for step in path)
    return text.lstrip(".") or "the blueprint"


def pattern(path: Path, language: Model) -> Path:
    """Replace the names and places of a path by `*`: `pools.*.nodes`."""
    return tuple(step if step in keys(path[:place], language) else ANY_NAME for place, step in enumerate(path))


def meaning(path: Path, language: Model) -> str:
    """Say what the key is for that a path leads to or into."""
    name, text = _field(path, language)
    sentence = f"{text[0].lower()}{text[1:]}" if text[1].islower() else text
    return f"{name} means: {sentence.rstrip('.')}"


def _field(path: Path, language: Model) -> tuple[str, str]:
    """Find the innermost key of the language on a path, and its description."""
    for length in range(len(path), 0, -1):
        field = keys(path[: length - 1], language).get(str(path[length - 1]))
        if field is not None:
            return str(path[length - 1]), str(field.description or _plain(field.annotation).__doc__)
    return "a blueprint", str(language.__doc__)


def choices(path: Path, language: Model, *, of_key: bool = False) -> list[str]:
    """List the words that may stand at a path; of a value with a short and a long form, those of the short. Empty where any other may stand, too.

    Args:
        of_key: the words that the last step itself may be, a key of a mapping.
    """
    if of_key:
        mapping = next(form for form in _plain_forms(written(path[:-1], language)) if typing.get_origin(form) is dict)
        found = typing.get_args(mapping)[0]
    else:
        found = _plain(written(path, language))
    return [_word(value) for value in typing.get_args(found)] if typing.get_origin(found) is typing.Literal else []


def _word(value: str | bool) -> str:
    """Write a choice as YAML does."""
    return str(value).lower() if isinstance(value, bool) else value


def bounds(path: Path, language: Model) -> dict[str, Any]:
    """Find the limits of a number (`ge`, `le`): on its key, or on the form of the value that is a number."""
    field = keys(path[:-1], language).get(str(path[-1]))
    found = list(field.metadata) if field else []
    for form in _forms(field.annotation if field else written(path, language)):
        found += list(getattr(form, "__metadata__", ()))
    flat = [limit for one in found for limit in (one.metadata if isinstance(one, FieldInfo) else [one])]
    return {name: getattr(limit, name) for limit in flat for name in ("ge", "le") if hasattr(limit, name)}


def keys(path: Path, language: Model) -> dict[str, FieldInfo]:
    """Give the keys that the language has at a path, whichever form the value takes."""
    return _keys_of(_plain_forms(written(path, language)))


def places_of(key: str, language: Model) -> Iterator[Path]:
    """Find where the language has a key, names as `*`, the outermost first."""
    waiting: list[tuple[Path, Any]] = [((), language)]
    while waiting:
        path, form = waiting.pop(0)
        forms = _plain_forms(form)
        if typing.get_origin(forms[0]) in (dict, tuple):
            waiting.append(((*path, ANY_NAME), _entry(forms[0])))
        for name, field in _keys_of(forms).items():
            if name == key:
                yield (*path, name)
            waiting.append(((*path, name), field.annotation))


def refusal(path: Path, value: Any, language: Model) -> finding.Unfit | None:
    """Say why a path can't have a value; None if it can, or if only the value's type is wrong.

    Raises:
        pydantic.ValidationError: it can't, for a reason that is not the language's own.
    """
    try:
        _adapter(pattern(path, language), language).validate_python(value)
    except pydantic.ValidationError as error:
        faults = [fault.get("ctx", {}).get("error") for fault in error.errors(include_url=False)]
        unfit = next((fault for fault in faults if isinstance(fault, finding.Unfit)), None)
        if unfit is None:
            raise
        return unfit
    return None


@functools.cache
def _adapter(path: Path, language: Model) -> pydantic.TypeAdapter[Any]:
    """Make what validates a single value, as strict as a section."""
    written_type = _with_limits(path, language)
    try:
        return pydantic.TypeAdapter(written_type, config=pydantic.ConfigDict(strict=True))
    except pydantic.PydanticUserError:  # a section brings its own
        return pydantic.TypeAdapter(written_type)


def takes(path: Path, value: Any, language: Model) -> bool:
    """Say whether a value can stand at a path."""
    try:
        return refusal(path, value, language) is None
    except (pydantic.ValidationError, pydantic.PydanticUserError):
        return False


def key_of_word(path: Path, word: str, language: Model) -> str | None:
    """Find the key of a section to which a word belongs that was written instead of the section: `/scratch` is a mount point."""
    return next((key for key, field in keys(path, language).items() if _is_telling(field) and takes((*path, key), word, language)), None)


def _is_telling(field: FieldInfo) -> bool:
    form = _forms(field.annotation)[0]
    limits = (*field.metadata, *getattr(form, "__metadata__", ()))
    titles = {limit.json_schema.get("title") for limit in limits if isinstance(limit, pydantic.WithJsonSchema) and limit.json_schema}
    return typing.get_origin(_plain(form)) is typing.Literal or bool(titles - _ANY_WORD)


def _with_limits(path: Path, language: Model) -> Any:
    """Give the type at a path as a whole: what pydantic took off an annotation is put on again."""
    field = keys(path[:-1], language).get(str(path[-1])) if path else None
    if field is None or not field.metadata:
        return field.annotation if field else written(path, language)
    return typing.Annotated[(field.annotation, *field.metadata)]


def written(path: Path, language: Model) -> Any:
    """Find what the language says of a path, limits and forms included; None where it has nothing."""
    found: Any = language
    for step in path:
        forms = _plain_forms(found)
        if typing.get_origin(forms[0]) in (dict, tuple):
            found = _entry(forms[0])
        else:
            field = _keys_of(forms).get(str(step))
            found = field.annotation if field else None
    return found


def _entry(form: Any) -> Any:
    """Give the type of a mapping's values or of a list's items."""
    return typing.get_args(form)[-1 if typing.get_origin(form) is dict else 0]


def _keys_of(forms: Sequence[Any]) -> dict[str, FieldInfo]:
    sections = [form for form in forms if isinstance(form, type) and issubclass(form, pydantic.BaseModel)]
    return {name: field for section in sections for name, field in section.model_fields.items()}


def _plain_forms(form: Any) -> list[Any]:
    return [_plain(one) for one in _forms(form)]


def _forms(form: Any) -> list[Any]:
    """List the forms that a value may have, nothing at all left aside."""
    bare = form.__origin__ if hasattr(form, "__metadata__") else form
    if typing.get_origin(bare) not in (types.UnionType, typing.Union):
        return [form]
    members = [member for member in typing.get_args(bare) if member is not type(None)]
    return _forms(members[0]) if len(members) == 1 else members


def _plain(form: Any) -> Any:
    first = _forms(form)[0]
    return first.__origin__ if hasattr(first, "__metadata__") else first
