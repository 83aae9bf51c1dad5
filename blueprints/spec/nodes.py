"""Compute nodes: the node sets that pools resolve to, how they are bought, and the fabric between them."""

import dataclasses
from typing import Annotated

from ..capacity_kind import CapacityKind
from . import cost
from .hosts import HostGroup
from .values import Late

OTHER_INTERFACES = cost.replaces_nodes("the interfaces of its nodes change, so the nodes are replaced")
OTHER_MACHINE = cost.replaces_nodes("its nodes are replaced by the other machine type")
OTHER_NUMBER = cost.in_place(
    "nodes are added; the others run on", less=cost.Cost(cost.Effect.REPLACES_NODES, "the last nodes go, with their disks and the jobs on them")
)
LATER_JOBS = cost.in_place("jobs that start from now on have it")


IN_DOMAINS = "domain"
"""A placement: nodes start in the NVLink domain of their number, the first of a node set in the first one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    name: Annotated[str, cost.SCHEDULER_SETTING]
    default: Annotated[bool, cost.SCHEDULER_SETTING]
    max_time: Annotated[str, cost.SCHEDULER_SETTING]
    """Slurm's time format (`1-00:00:00`) or `UNLIMITED`."""
    priority: Annotated[int, cost.SCHEDULER_SETTING] = 1
    exclusive: Annotated[bool, cost.SCHEDULER_SETTING] = False
    accounts: Annotated[tuple[str, ...], cost.SCHEDULER_SETTING] = ()
    """Empty: all may use it."""
    qos: Annotated[tuple[str, ...], cost.SCHEDULER_SETTING] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """How nodes are bought."""

    kind: Annotated[CapacityKind, cost.replaces_nodes("the purchase option changes, so the nodes are replaced")]
    id: Annotated[str | None, cost.replaces_nodes("nodes are replaced in the other reservation")] = None
    max_run: Annotated[str | None, cost.in_place("nodes that start from now on have it")] = None


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """What a collective must reach over this fabric (nccl-tests' bus bandwidth, GB/s)."""

    collective: Annotated[str, cost.JUDGED]
    size_bytes: Annotated[int, cost.JUDGED]
    nodes: Annotated[int, cost.JUDGED]
    """The number of nodes that the figures are for."""
    typical_gbs: Annotated[float | None, cost.JUDGED]
    warn_gbs: Annotated[float | None, cost.JUDGED]
    floor_gbs: Annotated[float, cost.JUDGED]
    provisional: Annotated[bool, cost.JUDGED]
    source: Annotated[str, cost.JUDGED]
    measured_nodes: Annotated[int | None, cost.JUDGED] = None
    """How many nodes the typical rate was measured on, which can be fewer than `nodes`; None: no measurement is published."""
    lowered_from_gbs: Annotated[float | None, cost.JUDGED] = None
    """The floor before the blueprint lowered it to `floor_gbs`; None: it didn't."""

    @property
    def extrapolated_from(self) -> int | None:
        """Give the nodes of the measurement if the figures are for more nodes than that."""
        return self.measured_nodes if self.measured_nodes is not None and self.measured_nodes < self.nodes else None


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
    """The network between the GPUs of different nodes."""

    name: Annotated[str, OTHER_INTERFACES]
    """The catalogue's name (`efa`, `gcp-gib`, `ib-ndr`)."""
    title: Annotated[str, cost.TEXT]
    required: Annotated[bool, cost.none("what is refused or warned about; nothing running changes")]
    nics: Annotated[int, OTHER_INTERFACES]
    """Interfaces of each node that carry it."""
    gbps_per_gpu: Annotated[float, cost.FOLLOWS]
    plugin: Annotated[str, LATER_JOBS]
    environment: Annotated[tuple[tuple[str, str], ...], LATER_JOBS]
    log_line: Annotated[str, cost.JUDGED]
    """Must appear in NCCL's log; otherwise the fabric is not in use."""
    expected: Annotated[Expectation | None, cost.JUDGED]
    bad_log_lines: Annotated[tuple[str, ...], cost.JUDGED] = ()
    """Appear in NCCL's log when something else carries the data."""
    direct: Annotated[bool, cost.JUDGED] = False
    """Whether every connection shows GPUDirect RDMA in NCCL's log."""
    environment_script: Annotated[str, LATER_JOBS] = ""
    """A file that jobs source before the variables are set; empty: none."""
    daemon: Annotated[str, LATER_JOBS] = ""
    """A program that each node of a job over several nodes runs for it (`rxdm`): started before the job and ended after it; empty: none."""
    daemon_arguments: Annotated[str, LATER_JOBS] = ""
    """Words after the daemon's own; empty, as in records of older versions: those that its program knows."""
    note: Annotated[str, cost.TEXT] = ""
    """What known shortfalls of the rate look like."""


@dataclasses.dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSet:
    """Compute nodes of one machine type inside one partition; a pool resolves to one or more of these."""

    pool: Annotated[str, cost.SCHEDULER_SETTING]
    partition: Annotated[Partition | None, cost.replaces_nodes("the nodes join another scheduler")]
    """None for nodes that Kubernetes schedules, and for those of a service that runs training jobs."""
    hosts: Annotated[HostGroup, cost.within(count=OTHER_NUMBER, machine=OTHER_MACHINE)]
    features: Annotated[tuple[str, ...], cost.SCHEDULER_SETTING]
    """Slurm features (slurm.conf(5), Features)."""
    minimum: Annotated[int | None, cost.in_place("nodes are started or left to stop when idle")] = None
    """Nodes that always run; None: all of them."""
    reachable_min: Annotated[int | None, cost.none("what `up` requires of hosts that don't answer; nothing running changes")] = None
    """Of hosts that exist already: so many must be reachable for `up` to go on; None: all of them."""
    pool_most: Annotated[int | None, cost.SCHEDULER_SETTING] = None
    """Where several node sets share a pool: the most nodes that all of them have together."""
    weight: Annotated[int, cost.SCHEDULER_SETTING] = 1
    """Slurm takes nodes of a lower weight first; it follows the order of the pool's machines."""
    capacity: Capacity = Capacity(CapacityKind.OWNED)
    fabric: Annotated[Fabric | None, OTHER_INTERFACES] = None
    placement: Annotated[str, cost.replaces_nodes("placement is decided when a node is launched")] = "none"
    """`packed`, `spread`, `none`, `given` where the capacity brings its own, or IN_DOMAINS."""
    scratch_mount: Annotated[str | None, cost.rolling("nodes mount their own disks when they boot")] = None
    health_check: Annotated[str, cost.in_place("nodes that start from now on")] = "basic"
    rolling: Annotated[str, cost.none("how many nodes the next upgrade of Kubernetes, kernel or drivers takes out of service at once")] = ""
    """A number of nodes, or a share of them (`10%`); empty: the default."""
    on_failure: Annotated[str, cost.in_place("nodes that start from now on")] = "drain"
    """As the blueprint says; `drain` also where it says nothing, and `keep` where it says `drain` of nodes that are otherwise replaced."""
    health_brake: Annotated[str, cost.in_place("nodes that fail from now on")] = ""
    """How many nodes of the partition may be drained by their checks at once (`3`, `10%`); empty: the default."""
    labels: Annotated[tuple[tuple[str, str], ...], cost.SCHEDULER_SETTING] = ()
    taints: Annotated[tuple[Taint, ...], cost.in_place("pods that start from now on; `NoExecute` ends those that run too")] = ()
    collectives: Annotated[tuple[Expectation, ...], cost.JUDGED] = ()
    """What acceptance demands inside one node, over two, and over all of them, as far as it is known."""
    image: Annotated[str | Late | None, cost.replaces_nodes("nodes start from the other image")] = None
    chosen: Annotated[str, cost.TEXT] = ""
    """Why it is this machine."""

    @property
    def scheduler(self) -> str:
        return "slurm" if self.partition else "training" if self.hosts.role == "worker" else "kubernetes"

    @property
    def is_elastic(self) -> bool:
        return self.minimum is not None and self.minimum < self.hosts.count

    @property
    def always(self) -> int:
        """Count the nodes that always run."""
        return self.hosts.count if self.minimum is None else self.minimum


NodeSets = Annotated[
    tuple[NodeSet, ...],
    cost.Entries(
        added=cost.in_place("its nodes are added; the others run on"), removed=cost.replaces_nodes("its nodes go, with their disks and the jobs on them")
    ),
]
"""The node sets of one scheduler."""
