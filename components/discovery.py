"""What runs now for a stack, beside what its record names: the same words on every target.

Compute nodes come and go without the engine, so a refresh doesn't see them, and what somebody attached to a recorded resource leaves that resource as it was. A target's class `Discovery` lists both. It only reads.
"""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Stack:
    """What discovery needs to know of a recorded stack."""

    name: str
    region: str
    resources: tuple[Mapping[str, Any], ...]
    """Each resource: `type`, `name`, `id`, `outputs`."""
    nodes: Mapping[str, tuple[str, ...]]
    """Node set → hostnames that it can have."""
    node_key: str = ""
    """Public SSH host key of all compute nodes; empty: each has its own."""
    node_key_since: dt.datetime | None = None
    """When the stack got that key: nodes that started earlier have another one."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunningNode:
    """A compute node that runs and can be inspected."""

    name: str
    node_set: str
    address: str
    id: str
    host_key: str
    """Public SSH host key."""
    launched: dt.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class RunningNodes:
    """The compute nodes that run."""

    nodes: tuple[RunningNode, ...] = ()
    skipped: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Hostname → why this running node can't be inspected."""
    reason: str = ""
    """Why no node can be inspected."""
    failure: str = ""
    """Why the target, which should answer, did not list them."""
    boot_s: float = 0.0
    """How long a node may boot."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stray:
    """An instance with the stack's name that is not one of its hosts."""

    id: str
    reason: str
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Deviation:
    """A node that differs from the template that it was started from."""

    id: str
    node: str
    attribute: str
    expected: str
    actual: str


@dataclasses.dataclass(frozen=True, slots=True)
class Instances:
    """What the instances under the stack's name show."""

    strays: tuple[Stray, ...] = ()
    deviations: tuple[Deviation, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Instance → why it was not compared."""


@dataclasses.dataclass(frozen=True, slots=True)
class Attachment:
    """Something that is attached to a resource of the stack and not recorded."""

    resource: str
    """`type name` of the resource, or its id where the stack doesn't record it."""
    what: str
    effect: str
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Attachments:
    """What is attached to a stack's resources without being recorded."""

    found: tuple[Attachment, ...] = ()
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Kind of attachment → why the account did not list it."""
    answered: bool = True
    """Whether the account answered any question, or none was asked."""


class Discovery(Protocol):
    """What a target implements."""

    leases_end: bool
    """Whether the elastic program reads when bought capacity ends, and reserves nodes in Slurm before."""

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        """Name the folders that a host of a role mounts beside the blueprint's file systems."""

    def running_nodes(self, stack: Stack) -> RunningNodes:
        """List the compute nodes that run and that no record names."""

    def instances(self, stack: Stack) -> Instances:
        """Compare the instances under the stack's name with its record.

        Raises:
            TargetUnanswered: the target does not answer, or refuses.
        """

    def added_policies(self, kind: str, outputs: Mapping[str, Any], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Name the policies that a role has beside those that the stack gives it. Pure.

        Args:
            kind: type of a resource that a refresh looked at; only roles have policies.
            outputs: of that resource, as the refresh sees them.
            recorded: the stack's resources.
        """

    def attachments(self, stack: Stack) -> Attachments:
        """List what is attached to the stack's resources without being recorded."""
