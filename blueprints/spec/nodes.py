"""Compute nodes: the node sets that pools resolve to, how they are bought, and the fabric between them."""

import dataclasses

from .hosts import HostGroup
from .values import Late


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    name: str
    default: bool
    max_time: str
    """Slurm's time format (`1-00:00:00`) or `UNLIMITED`."""
    priority: int = 1
    exclusive: bool = False
    accounts: tuple[str, ...] = ()
    """Empty: all may use it."""
    qos: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """How nodes are bought."""

    kind: str
    """`on-demand`, `spot`, `reserved`, `block`, `flex`; `owned` on metal and local."""
    id: str | None = None
    max_run: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """What a collective must reach over this fabric (nccl-tests' bus bandwidth, GB/s)."""

    collective: str
    size_bytes: int
    nodes: int
    """The number of nodes that the figures are for."""
    typical_gbs: float | None
    warn_gbs: float | None
    floor_gbs: float
    provisional: bool
    source: str
    measured_nodes: int | None = None
    """How many nodes the typical rate was measured on, which can be fewer than `nodes`; None: nobody published a measurement."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
    """The network between the GPUs of different nodes."""

    name: str
    """The catalogue's name (`efa`, `gcp-gib`, `ib-ndr`)."""
    title: str
    required: bool
    nics: int
    """Interfaces of each node that carry it."""
    gbps_per_gpu: float
    plugin: str
    environment: tuple[tuple[str, str], ...]
    log_line: str
    """Must appear in NCCL's log; otherwise the fabric is not in use."""
    expected: Expectation | None


@dataclasses.dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSet:
    """Compute nodes of one machine type inside one partition; a pool resolves to one or more of these."""

    pool: str
    partition: Partition | None
    """None for nodes that Kubernetes schedules."""
    hosts: HostGroup
    features: tuple[str, ...]
    """Slurm features (slurm.conf(5), Features)."""
    minimum: int | None = None
    """Nodes that always stand; None: all of them."""
    pool_most: int | None = None
    """Where several node sets share a pool: the most nodes that all of them have together."""
    weight: int = 1
    """Slurm takes nodes of a lower weight first; it follows the order of the pool's machines."""
    capacity: Capacity = Capacity("owned")
    fabric: Fabric | None = None
    placement: str = "none"
    """`packed`, `spread`, `none`, or `given` where the capacity brings its own."""
    scratch_mount: str | None = None
    health_check: str = "basic"
    on_failure: str = "drain"
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    image: str | Late | None = None
    chosen: str = ""
    """Why it is this machine."""

    @property
    def scheduler(self) -> str:
        return "slurm" if self.partition else "kubernetes"

    @property
    def is_elastic(self) -> bool:
        return self.minimum is not None and self.minimum < self.hosts.count

    @property
    def always(self) -> int:
        """Count the nodes that stand at any time."""
        return self.hosts.count if self.minimum is None else self.minimum
