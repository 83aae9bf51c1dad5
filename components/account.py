"""What the account of a target says of itself, in the same words for every cloud."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Identity:
    """Whose credentials these are."""

    account: str
    who: str


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """What an account has of one kind that a blueprint may name."""

    title: str
    entries: list[dict[str, Any]]
    """Each with `write`, the lines for a blueprint; offers with `buy`, the command."""
    hint: str = ""
    """What to do where there is nothing, or what the lines need beside them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries of a listing somebody wants."""

    machine: str | None = None
    nodes: int = 1
    days: int = 1


WRITE = "write"
"""The column with what a blueprint says."""
