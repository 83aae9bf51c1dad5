"""What a target's account contains, in one form for every cloud, and what the modules of a target's `account` package offer."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol


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


class Session(Protocol):
    """A connection to the account, in one region."""

    def identity(self) -> Identity:
        """Return the identity of the credentials.

        Raises:
            AccountUnavailable: no credentials, invalid credentials, or no answer.
        """


class Sessions(Protocol):
    """The module `session`."""

    Session: Callable[[str], Session]
    """Region → connection."""


class Lookup(Protocol):
    """The module `lookup`: what the account has that a blueprint may name."""

    KINDS: Collection[str]
    NEED_MACHINE: Collection[str]
    """Kinds that are listed by machine only."""
    EXAMPLE_MACHINE: str
    REGION_VARIABLES: Sequence[str]
    """Environment variables that name the region."""

    def listing(self, session: Any, kind: str, wanted: Wanted) -> Listing:
        """List the account's objects of one kind."""


class Caller(Protocol):
    """The module `caller`."""

    def public_address(self) -> str:
        """Return the address from which this machine reaches the Internet, as the cloud sees it.

        Raises:
            AddressUnknown: nobody says it.
        """


class Pipeline(Protocol):
    """The module `pipeline`: how a CI pipeline reads the account."""

    GITHUB_STEPS: Sequence[Mapping[str, Any]]
    GITHUB_PERMISSIONS: Mapping[str, str]
    GITHUB_COMMENT: str


MODULES: Mapping[str, type] = {"session": Sessions, "lookup": Lookup, "caller": Caller, "pipeline": Pipeline}
"""Module of a target's `account` package → what it offers."""
