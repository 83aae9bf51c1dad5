"""The steps that a decision consists of. `why` is for the log; a `reason` is what Slurm shows."""

import dataclasses
from collections.abc import Iterable

from ..memory import Launch, Memory


@dataclasses.dataclass(frozen=True, slots=True)
class SetDown:
    """Take nodes out of service now; Slurm requeues the jobs that wait for them."""

    nodes: tuple[str, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Drain:
    """Let no further job start on nodes."""

    nodes: tuple[str, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class PowerDown:
    """Have Slurm switch nodes off, which ends their instances."""

    nodes: tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class PowerUp:
    """Have Slurm switch nodes on, which asks for instances."""

    nodes: tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Release:
    """Give switched-off nodes back to the scheduler."""

    nodes: tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class SetAddress:
    addresses: tuple[tuple[str, str], ...]
    """(node, address)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Requeue:
    jobs: tuple[int, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class StartNow:
    """Remove the two minutes that Slurm makes a job wait after it lost its nodes."""

    jobs: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Explain:
    """Say in jobs themselves what they wait for."""

    jobs: tuple[int, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Terminate:
    instances: tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Withdraw:
    """Cancel requests that wait in the cloud's queue."""

    requests: tuple[str, ...]
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Ask:
    """Ask the cloud for instances."""

    launch: Launch
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Keep:
    """Log an instance's console before its termination."""

    instance: str
    node: str


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """Tell the cloud that the host of an instance is broken; once more: ask how far it is."""

    instance: str
    node: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Reserve:
    """Keep nodes from jobs that would still run at `start`."""

    name: str
    nodes: tuple[str, ...]
    start: float
    why: str
    is_there: bool = False
    """It has this name already, and is moved: what it protected is protected throughout."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unreserve:
    name: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class Arrange:
    """Tell Slurm which nodes are near to each other."""

    text: str
    """Of topology.conf."""
    why: str


Step = (
    SetDown
    | Drain
    | PowerDown
    | PowerUp
    | Release
    | SetAddress
    | Requeue
    | StartNow
    | Explain
    | Terminate
    | Withdraw
    | Ask
    | Keep
    | Report
    | Reserve
    | Unreserve
    | Arrange
)


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    steps: tuple[Step, ...]
    """In the order in which they are to be carried out; each may be carried out again."""
    memory: Memory
    """The memory to write before the first step."""


def decision(steps: Iterable[Step], memory: Memory) -> Decision:
    return Decision(tuple(steps), memory)
