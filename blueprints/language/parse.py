"""Pydantic is used at this edge only: a document becomes a Blueprint, or everything that is wrong with it."""

import dataclasses
from typing import Any

import pydantic

from .. import document, finding
from . import error_recovery, other_tools, refusals
from .cluster import Blueprint
from .error_recovery import NAMED, Refused

__all__ = ["NAMED", "Parsed", "Refused", "parse", "parse_most"]

_ROUNDS = 8
"""Each round mends what the one before brought to light; what isn't whole by then is no blueprint."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parsed:
    """What parsing came to. With findings, the blueprint lacks what they are about, or holds what was probably meant, and is good for further checks only."""

    blueprint: Blueprint | None
    document: document.Document
    """What the blueprint was made of; its places are those of the document that was parsed."""
    findings: tuple[finding.Finding, ...] = ()
    refused: tuple[Refused, ...] = ()


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
        return Parsed(Blueprint.model_validate(source.values), source)
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False)
    strange = other_tools.recognised(source)
    if strange is not None:
        return Parsed(None, source, (strange,))
    return _mended(source, faults)


def _mended(source: document.Document, faults: list[Any]) -> Parsed:
    """Parse what is left when the faults are mended, round by round, and tell those of the first and of what was moved in between."""
    mended = error_recovery.Mending(source)
    findings: list[finding.Finding] = []
    blueprint = None
    for number in range(_ROUNDS):
        refused = refusals.explain(faults, Blueprint, mended.document)
        findings += [one.finding for one in refused if number == 0 or mended.is_unseen(one.path)]
        if any(not one.path for one in refused) or len(faults) > refusals.EXPLAINED_AT_MOST:
            break
        mended.mend(refused, Blueprint)
        try:
            blueprint = mended.named_as_written(Blueprint.model_validate(mended.values))
            break
        except pydantic.ValidationError as error:
            faults = error.errors(include_url=False)
    return Parsed(blueprint, mended.document, finding.in_order(findings), tuple(mended.refused))
