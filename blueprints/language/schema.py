"""The language as JSON Schema, for editors: derived from the sections, never written beside them.

The schema accepts whatever the language accepts. What it accepts has the right keys, types, words and ranges, with one exception: JSON Schema takes `16.0` for a
whole number. Names, texts and dates are checked as far as a regular expression sees (`2027-02-31` passes here and not there), and what is decided between
several values (a duplicate user number, a mount point inside another) is not the schema's business.

Only keywords that draft 7 has as well are used (`$defs` is reached by its path), as some editors know no later draft.
"""

import functools
import typing
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import json_schema
from pydantic_core import core_schema

from .. import catalog
from . import merge
from .cluster import Blueprint, TargetName
from .parse import NAMED

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PART = "Part"
"""Ends the names of definitions in which nothing is required, as they are put over a blueprint that is there."""
_VARIANT, _TARGET = "Variant", "TargetPart"
_KNOWN: dict[tuple[str, str], Callable[[], typing.Iterable[str]]] = {
    ("Pool", "accelerator"): catalog.accelerators,
    ("Blueprint", "software"): catalog.profile_names,
}
"""Keys whose words editors propose from the catalogue, and take others for."""

ALTERNATIVES = {"Pool": ("nodes", "hosts")}
"""Sections that require one of these keys."""

Schema = dict[str, Any]


@functools.cache
def schema() -> Schema:
    """Give the JSON Schema of a blueprint's file (draft 2020-12)."""
    generated = Blueprint.model_json_schema(schema_generator=_Generator)
    sections: dict[str, Schema] = {**generated.pop("$defs"), "Blueprint": generated}
    whole = {name: _tidy(section) for name, section in sections.items()}
    for (section, key), words in _KNOWN.items():
        whole[section]["properties"][key]["examples"] = sorted(words())
    for name, keys in ALTERNATIVES.items():
        whole[name]["anyOf"] = [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in keys]
    for section in whole.values():
        if not section.get("required") and "anyOf" not in section:
            section["type"] = ["object", "null"]  # a key left empty means {}
    whole["Blueprint"]["properties"]["targets"] = _targets(whole["Blueprint"]["properties"]["targets"])
    demanding = _demanding(whole)
    variant = _part(whole["Blueprint"], demanding)
    for name in NAMED:
        entry = variant["properties"][name]
        if entry["additionalProperties"]["$ref"].endswith(PART):
            entry["additionalProperties"] = {"anyOf": [entry["additionalProperties"], {"type": "null"}]}  # left empty, it is taken out
    parts = {f"{name}{PART}": _part(whole[name], demanding) for name in demanding if name != "Blueprint"}
    kept = {name: entry for name, entry in variant["properties"].items() if name not in merge.SAME_EVERYWHERE}
    definitions = {**whole, **parts, _VARIANT: variant, _TARGET: {**variant, "description": "What is different on this target.", "properties": kept}}
    used = _reached(definitions, ("Blueprint", _VARIANT))
    return {
        "$schema": DIALECT,
        "title": "clusterwright blueprint",
        "description": str(Blueprint.__doc__),
        "$comment": "Made by `clusterwright schema`; the language itself is blueprints/language.",
        "if": {"type": "object", "required": ["extends"], "properties": {"extends": {"type": "string"}}},
        "then": {"$ref": f"#/$defs/{_VARIANT}"},
        "else": {"$ref": "#/$defs/Blueprint"},
        "$defs": {name: definitions[name] for name in sorted(used)},
    }


class _Generator(json_schema.GenerateJsonSchema):
    """Pydantic's own schema, without titles made from names, and with rules for keys that hold for every key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        keys = self.generate_inner(schema["keys_schema"])
        values = self.generate_inner(schema["values_schema"])
        limits = {"minProperties": schema.get("min_length"), "maxProperties": schema.get("max_length")}
        bounds = {name: limit for name, limit in limits.items() if limit is not None}
        return {"type": "object", "additionalProperties": values, "propertyNames": keys, **bounds}


def _tidy(written: Any) -> Any:
    """Put the description first, leave out defaults that say nothing to a reader, and write `a text or nothing` as one type."""
    if isinstance(written, list):
        return [_tidy(entry) for entry in written]
    if not isinstance(written, dict):
        return written
    first = {key: written[key] for key in ("description", "title") if isinstance(written.get(key), str)}
    tidy = {key: _tidy(entry) for key, entry in {**first, **written}.items() if key not in ("default", "properties")}
    if "properties" in written:  # its keys are the language's own, whatever they are called
        tidy["properties"] = {key: _tidy(entry) for key, entry in written["properties"].items()}
    if _is_telling(written.get("default")):
        tidy["default"] = written["default"]
    if written.get("default") in ({}, []) and isinstance(tidy.get("type"), str):
        tidy["type"] = [tidy["type"], "null"]  # left empty, it has no entries
    forms = tidy.get("anyOf", ())
    if len(forms) == 2 and forms[1] == {"type": "null"} and isinstance(forms[0].get("type"), str):
        del tidy["anyOf"]
        tidy |= {**forms[0], "type": [forms[0]["type"], "null"]}
        if "enum" in tidy:
            tidy["enum"] = [*tidy["enum"], None]
    elif len(forms) == 2 and forms[1] == {"type": "null"} and "oneOf" in forms[0]:
        tidy["anyOf"] = [*forms[0]["oneOf"], forms[1]]
    return tidy


def _is_telling(default: Any) -> bool:
    return default not in (None, "", []) and not isinstance(default, dict)


def _targets(written: Schema) -> Schema:
    parts = {target: {"anyOf": [{"$ref": f"#/$defs/{_TARGET}"}, {"type": "null"}]} for target in typing.get_args(TargetName)}
    return {"description": written["description"], "type": ["object", "null"], "properties": parts, "additionalProperties": False}


def _demanding(sections: dict[str, Schema]) -> set[str]:
    """Find the sections that require a key, or lead to one that does."""
    demanding = {name for name, section in sections.items() if section.get("required") or "anyOf" in section}
    while more := {name for name, section in sections.items() if name not in demanding and demanding & {*_references(_kept(section))}}:
        demanding |= more
    return demanding


def _kept(section: Schema) -> Schema:
    """Leave out what takes the place of an earlier value as a whole, and stays as it is in a part."""
    return {key: entry for key, entry in section["properties"].items() if key != merge.WHOLE and "items" not in entry}


def _part(section: Schema, demanding: set[str]) -> Schema:
    """Require nothing, here and in the sections that it leads to."""
    part = {key: entry for key, entry in section.items() if key not in ("required", "anyOf")}
    part["properties"] = {**section["properties"]} | {key: _leading_to_parts(entry, demanding) for key, entry in _kept(section).items()}
    return part


def _leading_to_parts(written: Any, demanding: set[str]) -> Any:
    if isinstance(written, list):
        return [_leading_to_parts(entry, demanding) for entry in written]
    if not isinstance(written, dict):
        return written
    part = {key: _leading_to_parts(entry, demanding) for key, entry in written.items() if key not in ("minProperties", "maxProperties")}
    if _name(part.get("$ref", "")) in demanding:
        part["$ref"] += PART
    return part


def _reached(definitions: dict[str, Schema], start: tuple[str, ...]) -> set[str]:
    """Find the definitions that can be reached from some."""
    reached: set[str] = set()
    waiting = [*start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _references(definitions[name])
    return reached


def _references(written: Any) -> Iterator[str]:
    entries = written.values() if isinstance(written, dict) else written if isinstance(written, list) else ()
    for entry in entries:
        yield from _references(entry)
    if isinstance(written, dict) and isinstance(written.get("$ref"), str):
        yield _name(written["$ref"])


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
