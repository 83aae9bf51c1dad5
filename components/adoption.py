"""What a run that was killed may have left behind: how the engine's side asks a target about it."""

import dataclasses
import enum
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Creation:
    """A resource whose creation was cut off: it may exist, and the state doesn't have it."""

    urn: str
    kind: str
    """The engine's type token."""
    inputs: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.urn.rpartition("::")[2]

    @property
    def shown(self) -> str:
        """Name it as people do: `Vpc vpc`."""
        return f"{self.kind.rpartition(':')[2]} {self.name}"


class Certainty(enum.Enum):
    """How sure it is that a creation was carried out."""

    FOUND = "found"
    LIKELY = "likely"
    """It can't be missing without being noticed: the refresh that follows looks at it by the identity that it would have."""
    ABSENT = "absent"
    AGAIN = "again"
    """Making it once more is the same as having made it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """What a creation left.

    Args:
        identities: the provider's ids of what exists, the one to keep first; more than one when it was made more than once.
    """

    certainty: Certainty
    identities: tuple[str, ...] = ()


ABSENT, AGAIN = Trace(Certainty.ABSENT), Trace(Certainty.AGAIN)


class NotAsked(Exception):
    """A target's account can't be asked: credentials, rights, network."""


class Ambiguous(Exception):
    """Several things that hold data could be the one that was being made.

    Args:
        creation: what was being made.
        identities: what could be it.
    """

    def __init__(self, creation: Creation, identities: Collection[str]):
        super().__init__(f"{creation.shown}: {', '.join(identities)}")
        self.creation, self.identities = creation, tuple(identities)


class Account(Protocol):
    """Where a target's resources are."""

    def trace(self, creation: Creation, *, recorded: Collection[str]) -> Trace:
        """Say what a creation left.

        Args:
            recorded: ids of that kind that the state has; what they name is some other resource's.
        Raises:
            NotAsked: the account does not answer.
            Ambiguous: only a person can tell.
        """

    def keep(self, names: Sequence[str]) -> None:
        """Mark what stays when its stack goes, so that the stack's next life does not take it for its own.

        Args:
            names: the target's own full names (ARNs).
        Raises:
            NotAsked: the account does not answer.
        """
