"""Pydantic is used at this edge only: a document becomes a Blueprint, or everything that is wrong with it."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import pydantic

from .. import document, finding
from . import refusals
from .cluster import Blueprint


@dataclasses.dataclass(frozen=True, slots=True)
class Parsed:
    """What parsing came to. With findings, the blueprint lacks what they are about and is good for further checks only."""

    blueprint: Blueprint | None
    findings: tuple[finding.Finding, ...]


def parse(source: document.Document) -> Blueprint:
    """Turn a document into a Blueprint.

    Raises:
        finding.Invalid: with every key and value that the language doesn't have.
    """
    parsed = parse_most(source)
    if parsed.blueprint is None or parsed.findings:
        raise finding.Invalid(parsed.findings)
    return parsed.blueprint


def parse_most(source: document.Document) -> Parsed:
    """Parse what can be parsed, so that the rest of the blueprint is checked in the same run."""
    try:
        return Parsed(Blueprint.model_validate(source.values), ())
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False)
    findings = refusals.explain(faults, Blueprint, source)
    rest = _without([fault["loc"] for fault in faults], source.values)
    try:
        return Parsed(Blueprint.model_validate(rest), findings)
    except pydantic.ValidationError:
        return Parsed(None, findings)


NAMED = ("storage", "pools", "accounts", "qos", "users")
"""Mappings whose keys are names that the blueprint gives."""
_STAND_INS: dict[str, Any] = {"name": "unnamed", "pools": {"unnamed": {"nodes": 1}}}


def _without(refused: Iterable[document.Path], given: Any) -> Any:
    """Take out what was refused: the pool, file system, account or user, or the whole section; stand-ins take the place of what must be there."""
    if not isinstance(given, dict):
        return given
    rest = {key: dict(entry) if key in NAMED and isinstance(entry, dict) else entry for key, entry in given.items()}
    for path in refused:
        if len(path) > 1 and path[0] in NAMED:
            rest.get(str(path[0]), {}).pop(path[1], None)
        elif path:
            rest.pop(str(path[0]), None)
    for key, stand_in in _STAND_INS.items():
        if not rest.get(key):
            rest[key] = stand_in
    return rest
