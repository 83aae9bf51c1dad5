"""What a target's account contains, in one form for every cloud."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Identity:
    """The account and the identity of the credentials."""

    account: str
    who: str


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """Objects of one kind in the account that a blueprint may name."""

    title: str
    entries: list[dict[str, Any]]
    """Each entry has `write`, the lines for a blueprint; offers also have `buy`, the command."""
    hint: str = ""
    """What to do when the list is empty, or what else the lines need."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Filters of a listing."""

    machine: str | None = None
    nodes: int = 1
    days: int = 1


WRITE = "write"
"""The column with the lines for a blueprint."""
