"""The forms of each target's identifiers, and what they contain: partition, region, zone, account or project."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import files

_ANY = "any"


@dataclasses.dataclass(frozen=True, slots=True)
class IdentifierForm:
    target: str
    """`any`: a form that every target takes."""
    keys: tuple[str, ...]
    """Keys of the language without the names that a blueprint gives (`pools.capacity.id`)."""
    what: str
    like: str
    pattern: re.Pattern[str]
    """Its groups name the parts of the identifier: `partition`, `region`, `zone`, `account`, `project`, `group` (of reservations), `alias` (of a key), `file_system`."""
    is_plain: bool
    """A word without a prefix of its own: identifiers of other targets can look the same."""
    source: str

    def parts(self, text: str) -> Mapping[str, str] | None:
        """Give the parts of an identifier of this form; None for one of another form."""
        found = self.pattern.fullmatch(text)
        return {name: value for name, value in found.groupdict().items() if value} if found else None


@functools.cache
def identifier_forms(target: str) -> tuple[IdentifierForm, ...]:
    """Give the forms of a target's identifiers, and those that every target takes."""
    own = files.mapping("identifiers").get(target, {}).get("forms", ())
    every = files.mapping("identifiers")[_ANY]["forms"]
    return (*_forms(target, own), *_forms(_ANY, every))


def identifier_parts(target: str, key: str, text: str) -> Mapping[str, str] | None:
    """Return what is in an identifier that a key names; None for a text that could be anything, or has no form of the target.

    Args:
        key: of the language, without the names that a blueprint gives (`pools.capacity.id`).
    """
    forms = (form for form in identifier_forms(target) if key in form.keys and not form.is_plain)
    return next((parts for form in forms if (parts := form.parts(text)) is not None), None)


@functools.cache
def partitions(target: str) -> Mapping[str, re.Pattern[str]]:
    """Give what names of regions look like, by partition; none for a target without regions."""
    regions = files.mapping("identifiers").get(target, {}).get("regions", {})
    return {partition: re.compile(pattern) for partition, pattern in regions.items()}


def partition_of(target: str, region: str) -> str | None:
    """Name the partition that a region is in; None: no region of the target has such a name."""
    return next((name for name, pattern in partitions(target).items() if pattern.fullmatch(region)), None)


def _forms(target: str, entries: Sequence[Mapping[str, Any]]) -> tuple[IdentifierForm, ...]:
    return tuple(
        IdentifierForm(target, tuple(entry["keys"]), entry["what"], entry["like"], re.compile(entry["pattern"]), entry.get("plain", False), entry["source"])
        for entry in entries
    )
