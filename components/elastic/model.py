"""What Slurm and the cloud say at one moment, as decisions see it. Frozen, without input or output; what may run is in `table`."""

import dataclasses
from collections.abc import Mapping
from enum import Enum

OURS = "clusterwright: "
"""Every reason that this program gives to Slurm begins so; nodes with another reason are somebody else's business."""
GUARD = f"{OURS}start guard: "
"""So begins what a node itself gives as the reason why it takes no jobs (playbooks/roles/guard). What this program then tells Slurm has the same words without this beginning: once is enough."""
HEALTH = f"{OURS}health: "
"""So begins the reason of a node that its own check drained while it was in service."""
BEYOND_REPAIR = "; to be replaced"
"""So it ends where the node can do no more about it (playbooks/roles/guard/files/guard.py)."""
BROKEN_PART = "(replace the part)"
"""What a finding says that only another part ends (blueprints/catalog/repairs.yaml)."""
SLURMS_OWN = (
    "Not responding",
    "ResumeTimeout reached",
    "Node unexpectedly rebooted",
    "node power_up failed",
    "reboot timed out",
    "NO NETWORK ADDRESS FOUND",
    # A node that registers with less than it is configured with.
    "Low RealMemory",
    "Low CPUs",
    "Low socket*core*thread count",
    "Low TmpDisk",
    "gres/",
    "Kill task failed",  # slurmd's, thus given by root
    "Prolog error",
    "Epilog error",
    "batch job complete failure",
    "Duplicate jobid",
)
"""Reasons begin so that Slurm gives by itself when a node is lost or unfit (slurmctld's and slurmd's sources; some seen with 22.05 and 24.11)."""
SLURMS_USER = "slurm"
"""Whom Slurm names as the giver of its own reasons (slurm.conf(5), SlurmUser; the project's is called so)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A node as Slurm sees it."""

    name: str
    base: str
    """Lower case: `idle`, `allocated`, `mixed`, `down`, …"""
    flags: frozenset[str] = frozenset()
    """Lower case: `powered_down`, `powering_up`, `drain`, `not_responding`, …"""
    reason: str = ""
    address: str = ""
    reason_by: str = ""
    """The user who gave the reason; empty where Slurm does not say."""

    @property
    def is_off(self) -> bool:
        return "powered_down" in self.flags

    @property
    def is_stopping(self) -> bool:
        # A node that is to stop while it starts goes on starting first (seen with 24.11).
        return "powering_down" in self.flags or ("power_down" in self.flags and "powering_up" not in self.flags)

    @property
    def is_starting(self) -> bool:
        return bool(self.flags & {"powering_up", "power_up"}) and not self.is_off and not self.is_stopping

    @property
    def is_up(self) -> bool:
        """Say whether Slurm takes it for switched on, alive or not."""
        return not (self.is_off or self.is_stopping or self.is_starting)

    @property
    def is_down(self) -> bool:
        return self.base in ("down", "error")

    @property
    def is_drained(self) -> bool:
        return bool(self.flags & {"drain", "fail"})

    @property
    def is_answering(self) -> bool:
        return not self.is_down and "not_responding" not in self.flags

    @property
    def is_rebooting(self) -> bool:
        """Say whether Slurm was asked to reboot it and it has not registered since."""
        return bool(self.flags & {"reboot_requested", "reboot_issued"})

    @property
    def has_jobs(self) -> bool:
        return self.base in ("allocated", "mixed") or "completing" in self.flags

    @property
    def is_ours(self) -> bool:
        """Say whether this program took it out of service."""
        return (self.is_down or self.is_drained) and self.reason.startswith(OURS.strip())

    @property
    def shortage(self) -> str:
        """Give what the node itself found missing before it took jobs; empty: it found nothing, or this program has dealt with it."""
        return self.reason.removeprefix(GUARD) if self.is_down and self.reason.startswith(GUARD) else ""

    @property
    def is_unhealthy(self) -> bool:
        """Say whether its own check drained it."""
        return self.is_drained and self.reason.startswith(HEALTH)

    @property
    def is_beyond_repair(self) -> bool:
        return self.is_unhealthy and self.reason.endswith(BEYOND_REPAIR)

    @property
    def is_slurms(self) -> bool:
        """Say whether Slurm itself took it out of service.

        Where a person has given a reason, Slurm puts its own after it, with a comma, and signs for both (slurmctld's sources, set_node_reason): such a node is still that person's.
        """
        is_signed = self.reason_by == SLURMS_USER and ", " not in self.reason
        return (self.is_down or self.is_drained) and not self.is_ours and (self.reason.startswith(SLURMS_OWN) or is_signed)

    @property
    def is_kept(self) -> bool:
        """Say whether an administrator keeps it: under maintenance, waiting for a requested reboot, or drained with a reason of their own. The program leaves such a node alone."""
        if self.flags & {"maint", "maintenance"} or self.is_rebooting:
            return True
        return (self.is_down or self.is_drained) and not self.is_ours and not self.is_slurms and (self.is_drained or bool(self.reason))

    @property
    def is_unfit(self) -> bool:
        """Say whether it registered with less than it is configured with."""
        return "invalid_reg" in self.flags


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    id: int
    state: str
    """Lower case: `running`, `configuring`, `completing`, `pending`, …"""
    nodes: tuple[str, ...]
    requeues: bool = True
    """It goes back to the queue when it loses a node: not so a job of srun or salloc, or one with `--no-requeue`, which ends then with NODE_FAIL (sbatch(1); seen with 24.11)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    name: str
    start: float
    """Seconds since 1970, as every time here."""
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Slurm:
    """What Slurm says at one moment."""

    nodes: Mapping[str, Node]
    jobs: tuple[Job, ...] = ()
    """Those that have nodes."""
    reservations: tuple[Reservation, ...] = ()
    """Those of this program."""
    switches: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Switch → what is connected to it, nodes or switches; empty: Slurm was not asked, or has none."""

    @property
    def bound(self) -> frozenset[str]:
        """Nodes with a job that ends when it loses one of them."""
        return frozenset(node for job in self.jobs if not job.requeues for node in job.nodes)

    def jobs_on(self, nodes: frozenset[str]) -> tuple[int, ...]:
        return tuple(sorted(job.id for job in self.jobs if nodes.intersection(job.nodes)))


class Fault(Enum):
    """What is wrong with the host of a node."""

    SLOW = "performance"
    WRONG_RESULTS = "silent-data-corruption"
    GPU_ERROR = "unrecoverable-gpu-error"
    CHIP_ERROR = "chip-error"


def fault_of(reason: str) -> Fault:
    """Say what is wrong with the host of a node whose check gives this reason: a broken port makes it slow, and is no GPU's error."""
    broken = [one for one in reason.removeprefix(HEALTH).split("; ") if BROKEN_PART in one]
    return Fault.GPU_ERROR if any(one.startswith("GPU ") for one in broken) else Fault.SLOW


class Life(Enum):
    """How an instance is."""

    LIVE = "live"
    """Coming up or running."""
    ENDED = "ended"
    """Ending or gone, and the cloud says so."""


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """A machine of the cloud that carries the stack's tags."""

    id: str
    node: str
    """Empty while it has no node's tag."""
    life: Life
    launched_at: float
    address: str = ""
    """Empty while the cloud does not say."""
    launch: str = ""
    """Token of the launch that made it."""
    is_outdated: bool = False
    """It was started from what the node set no longer is."""
    has_notice: bool = False
    """The cloud is about to take it back."""
    ended_because: str = ""
    """What the cloud says of its end; empty where that is not known."""
    place: tuple[str, ...] = ()
    """Where it runs in the cloud's network, from the widest part to the narrowest; empty where the cloud does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """When capacity that was bought for a time begins and ends."""

    begins: float
    ends: float


@dataclasses.dataclass(frozen=True, slots=True)
class Queued:
    """A request that waits in the cloud's queue."""

    id: str
    launch: str
    """Token of the launch, or of the part of one, that it is for."""
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Cloud:
    """What the cloud says at one moment."""

    instances: tuple[Instance, ...]
    leases: Mapping[str, Lease] | None = dataclasses.field(default_factory=dict)
    """By node set; None: unknown, so that the reservations that exist because of them stay."""
    unknown: tuple[str, ...] = ()
    """Queries that failed, apart from the list of instances, in words."""
    queued: tuple[Queued, ...] = ()
