"""What an inspection gives: findings with values, and what could not be compared."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from blueprints import message_text
from blueprints.finding import Finding, Level
from blueprints.finding.subject import Subject
from blueprints.finding.values import Value, Values

from .codes import Code, code_of
from .layer import Layer

LONGEST = 200
"""Characters of a value in a report."""
DIGITS = 16
"""Hexadecimal digits of a digest: enough that no two values of one place have the same by chance."""


def drift(
    code: Code,
    subject: Subject,
    what: str,
    *,
    remedy: str,
    desired: Value | None = None,
    recorded: Value | None = None,
    actual: Value | None = None,
    digest: str = "",
    level: Level | None = None,
) -> Finding:
    """Make a finding with the level of its code, or another one that a rule gives."""
    return Finding(code.level if level is None else level, code, subject, what, "", remedy, Values(desired, recorded, actual, digest))


def digest(whole: Any) -> str:
    """Give the digest of plain JSON values of which a finding shows a part."""
    return f"sha256:{hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:DIGITS]}"


def layer_of(finding: Finding) -> Layer:
    """Give the layer that made a finding."""
    return code_of(finding.code).layer


@dataclasses.dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that was not compared; it is neither clean nor drift."""

    layer: Layer
    where: str
    why: str


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings: what matters most first, then by place; equal ones once."""
    levels = list(Level)
    return tuple(sorted(dict.fromkeys(findings), key=lambda one: (levels.index(one.level), one.place, one.code)))


def shown(text: str) -> str:
    """Write a text as a value for a report: printable, not too long, and no private key. A text that is cut has its digest, so that two of them differ."""
    if message_text.is_private(text):
        return "(a private key)"
    text = message_text.printable(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({digest(text)})"
