"""Both sides of each bound of the language: the value at the bound is accepted, and one step beyond it is refused with its place.

The bounds are those of the language's own fields, so that a new one is tried, too. The blueprint around them is the example that has every key once.
"""

import dataclasses
import functools
import json
import re
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import annotated_types as bounds
import pydantic
import pytest

from blueprints import language, read
from blueprints.codes import Code
from blueprints.language import examples, names, outline, values
from blueprints.language.outline import ANY_NAME

Path = tuple[str | int, ...]
CODES = frozenset({Code.NUMBER_OUT_OF_RANGE, Code.EMPTY, Code.TOO_MANY})
MOST_TRIED = 200
"""Longer lists take seconds to read: they are tried as values of their field alone."""


@dataclasses.dataclass(frozen=True)
class Bound:
    path: Path
    of: str
    """`number` or `entries`."""
    at: int
    step: int
    """1: no more is accepted; -1: no less is."""

    @property
    def name(self) -> str:
        return f"{'.'.join(map(str, self.path))} {'most' if self.step > 0 else 'least'}"


def _found(value: Any, path: Path) -> Iterator[Bound]:
    match value:
        case bounds.Ge(ge=int(least)):
            yield Bound(path, "number", least, -1)
        case bounds.Le(le=int(most)):
            yield Bound(path, "number", most, 1)
        case bounds.MinLen(min_length=least):
            yield Bound(path, "entries", least, -1)
        case bounds.MaxLen(max_length=most):
            yield Bound(path, "entries", most, 1)
        case pydantic.fields.FieldInfo(metadata=several):
            for one in several:
                yield from _found(one, path)
        case bounds.Gt() | bounds.Lt() | bounds.MultipleOf():
            raise AssertionError(f"{path}: a bound that this test doesn't know")


def _inside(annotation: Any, path: Path) -> Iterator[Bound]:
    arguments = typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        yield from _of_section(annotation, path)
    elif typing.get_origin(annotation) is typing.Annotated:
        for one in arguments[1:]:
            yield from _found(one, path)
        yield from _inside(arguments[0], path)
    elif typing.get_origin(annotation) is dict:
        yield from _inside(arguments[1], (*path, ANY_NAME))
    elif typing.get_origin(annotation) is tuple:
        yield from _inside(arguments[0], (*path, 0))
    else:
        for one in arguments:
            yield from _inside(one, path)


def _of_section(section: type[pydantic.BaseModel], path: Path) -> Iterator[Bound]:
    for name, field in section.model_fields.items():
        for one in field.metadata:
            yield from _found(one, (*path, name))
        yield from _inside(field.annotation, (*path, name))


def _can_be_passed(bound: Bound) -> bool:
    """Say whether so many entries can be written at all: of a few words, no more than these."""
    field: Any = outline.written(bound.path, language.Blueprint)
    keys = typing.get_args(typing.get_args(field)[0]) if typing.get_origin(field) is dict else ()
    return (
        bound.of == "number"
        or typing.get_origin(typing.get_args(field)[0]) is not typing.Literal
        or typing.get_origin(field) is not dict
        or len(keys) > bound.at
    )


BOUNDS = [one for one in dict.fromkeys(_of_section(language.Blueprint, ())) if _can_be_passed(one)]


@functools.cache
def example() -> str:
    return json.dumps(read.read(examples.EXAMPLE).values)


def _written(path: Path) -> tuple[dict[str, Any], Any, Path]:
    """Give the example, the place that holds what a path leads to, and the path with the example's own names."""
    whole = json.loads(example())
    held, real = whole, []
    for step in path[:-1]:
        real.append(next(iter(held)) if step == ANY_NAME else step)
        held = held[real[-1]]
    real.append(next(iter(held)) if path[-1] == ANY_NAME else path[-1])
    return whole, held, tuple(real)


def _entries(like: Any, count: int) -> Any:
    """Give so many entries like those of the example."""
    if isinstance(like, list):
        return [like[0]] * count
    name, entry = next(iter(like.items()))
    if re.fullmatch("[1-7]g.*", name):  # the profiles of MIG have a form of their own
        return {f"{number % 7 + 1}g.{number + 1}gb": entry for number in range(count)}
    return {f"{name[:8]}{number}": entry for number in range(count)}


def refused(bound: Bound, value: int) -> bool:
    """Say whether the bound refuses this number, or so many entries."""
    whole, held, path = _written(bound.path)
    held[path[-1]] = value if bound.of == "number" else _entries(held[path[-1]], value)
    found = language.parse_most(read.from_bytes(json.dumps(whole).encode(), file="example.yaml")).findings
    return any(one.code in CODES and one.where is not None and one.where.path == path for one in found)


@pytest.mark.parametrize("bound", [one for one in BOUNDS if one.at <= MOST_TRIED or one.of == "number"], ids=lambda bound: bound.name)
def test_a_bound_accepts_itself_and_nothing_beyond(bound: Bound) -> None:
    assert not refused(bound, bound.at)
    assert refused(bound, bound.at + bound.step)


@pytest.mark.parametrize("bound", [one for one in BOUNDS if one.at > MOST_TRIED and one.of == "entries"], ids=lambda bound: bound.name)
def test_a_bound_of_a_long_list_does_too(bound: Bound) -> None:
    *around, key = bound.path
    section: Any = language.Blueprint if not around else outline.written(tuple(around), language.Blueprint)
    field = section.model_fields[key]
    annotation: Any = Annotated[field.annotation, *field.metadata]
    form: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(annotation)
    _, held, path = _written(bound.path)
    like = held[path[-1]]
    if typing.get_origin(field.annotation) is dict:  # an entry that is a section already is not read again
        name, entry = next(iter(like.items()))
        like = {name: pydantic.TypeAdapter(typing.get_args(field.annotation)[1]).validate_python(entry)}
    form.validate_python(_entries(like, bound.at))
    with pytest.raises(pydantic.ValidationError, match="at most"):
        form.validate_python(_entries(like, bound.at + 1))


def test_bounds_are_found_in_all_sections() -> None:
    assert {("inventory", "port"), ("pools", ANY_NAME, "nodes", "max"), ("maintenance", 0, "hours"), ("pools",)} <= {one.path for one in BOUNDS}


FORMS: tuple[tuple[Path, str, str], ...] = (
    (("name",), "a" * names.CLUSTER_LENGTH, "a"),
    (("software",), "a" * 255, "a"),
    (("description",), "a" * values.TEXT_LENGTH, "a"),
    (("control", "machine"), "a" * 255, "a"),
    (("storage", ANY_NAME, "mount"), "/" + "a" * (values.MOUNT_LENGTH - 1), "a"),
    (("storage", ANY_NAME, "source"), "a" * 255, "a"),
    (("versions", "kernel"), "6" * 255, "6"),
    (("pools", ANY_NAME, "labels", ANY_NAME), "a" * names.LABEL_LENGTH, "a"),
    (("pools", ANY_NAME), "a" * names.POOL_LENGTH, "a"),
    (("storage", ANY_NAME), "a" * names.STORAGE_LENGTH, "a"),
    (("accounts", ANY_NAME), "a" * names.ACCOUNT_LENGTH, "a"),
    (("qos", ANY_NAME), "a" * names.ACCOUNT_LENGTH, "a"),
    (("users", ANY_NAME), "a" * names.LINUX_NAME_LENGTH, "a"),
    (("pools", ANY_NAME, "labels"), "a" * names.LABEL_LENGTH, "a"),
    (("tags",), "a" * 63, "a"),
    (("inventory", "hosts"), "a" * 63, "a"),
    (("inventory", "hosts", ANY_NAME, "interfaces"), "a" * 15, "a"),
)
"""A value or, where the path leads to a mapping, a name in it: the longest that is allowed, and what is one too many behind it."""


@pytest.mark.parametrize(("path", "longest", "more"), FORMS, ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "")
def test_the_longest_name_is_accepted_and_a_longer_one_is_not(path: Path, longest: str, more: str) -> None:
    def found(text: str) -> bool:
        whole, held, real = _written(path)
        if isinstance(held[real[-1]], dict):
            within = held if path[-1] == ANY_NAME else held[real[-1]]
            name = real[-1] if path[-1] == ANY_NAME else next(iter(within))
            within[text] = within.pop(name)
            real = (*real[:-1], text) if path[-1] == ANY_NAME else (*real, text)
        else:
            held[real[-1]] = text
        findings = language.parse_most(read.from_bytes(json.dumps(whole).encode(), file="example.yaml")).findings
        return any(one.where is not None and one.where.path == real for one in findings)

    assert not found(longest)
    assert found(longest + more)


@pytest.mark.parametrize(("uid", "is_refused"), [(names.FIRST_UID - 1, True), (names.FIRST_UID, False), (names.LAST_UID, False), (names.LAST_UID + 1, True)])
def test_the_first_and_last_number_of_a_user(uid: int, is_refused: bool) -> None:
    whole, held, path = _written(("users", ANY_NAME, "uid"))
    held["uid"] = uid
    found = language.parse_most(read.from_bytes(json.dumps(whole).encode(), file="example.yaml")).findings
    assert any(one.where is not None and one.where.path == path for one in found) is is_refused
