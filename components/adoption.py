"""Find resources that a killed run created and did not record: the interface between the engine's side and a target."""

import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Creation:
    """A resource whose creation was interrupted: it may exist, but the state does not record it."""

    urn: str
    kind: str
    """The engine's type token."""
    inputs: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.urn.rpartition("::")[2]

    @property
    def shown(self) -> str:
        """Return the name for messages: `Vpc vpc`."""
        return f"{self.kind.rpartition(':')[2]} {self.name}"


class Certainty(enum.Enum):
    """How to find out whether the resource was created."""

    FOUND = "found"
    LIKELY = "likely"
    """No query is needed: the refresh that follows reads it by its known identity and notices when it is missing."""
    ABSENT = "absent"
    AGAIN = "again"
    """Creating it again has the same result."""


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """Resources that a creation left.

    Args:
        identities: the provider's ids of existing resources, the one to keep first; several when it was created several times.
    """

    certainty: Certainty
    identities: tuple[str, ...] = ()


ABSENT, AGAIN = Trace(Certainty.ABSENT), Trace(Certainty.AGAIN)


class NotAsked(Exception):
    """The target's account can't be queried: credentials, permissions or network."""


class Ambiguous(Exception):
    """Several resources that hold data match the interrupted creation.

    Args:
        creation: the interrupted creation.
        identities: the resources that match.
    """

    def __init__(self, creation: Creation, identities: Collection[str]):
        super().__init__(f"{creation.shown}: {', '.join(identities)}")
        self.creation, self.identities = creation, tuple(identities)


class Account(Protocol):
    """The account that holds a target's resources."""

    def trace(self, creation: Creation, *, recorded: Collection[str]) -> Trace:
        """Return the resources that a creation left.

        Args:
            recorded: ids of that kind in the state; they belong to other resources.
        Raises:
            NotAsked: the account does not answer.
            Ambiguous: several resources match, and a person must decide.
        """

    def keep(self, names: Sequence[str]) -> None:
        """Mark resources that stay when their stack is deleted, so that a later stack of this name does not adopt them.

        Args:
            names: the target's own full names (ARNs).
        Raises:
            NotAsked: the account does not answer.
        """
