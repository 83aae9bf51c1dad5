"""The whole cluster."""

import dataclasses
from collections.abc import Callable
from typing import Self

from .hosts import HostGroup
from .network import Network
from .nodes import NodeSet, Partition
from .people import Account, Login, User
from .schedulers import Kubernetes, Slurm
from .software import Software
from .storage import FileSystem


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """Something that the cloud runs and charges for by the hour: a load balancer, address translation, a control plane, a database."""

    name: str
    """The catalogue's key (`nat-gateway`, `load-balancer`, `kubernetes-control-plane`)."""
    product: str
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A time when hosts may be updated, UTC."""

    weekday: str
    start: str
    hours: int
    week: str


@dataclasses.dataclass(frozen=True, slots=True)
class Monitoring:
    metrics: bool = False
    retention_days: int = 30
    dashboards: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A resolved cluster: at least one scheduler, and what the schedulers share."""

    version: int
    name: str
    description: str
    target: str
    software: Software
    network: Network
    access: HostGroup
    storage: tuple[FileSystem, ...]
    accounts: tuple[Account, ...]
    users: tuple[User, ...]
    simulated: tuple[str, ...]
    """One sentence for each thing that is simulated; shown wherever a user looks."""
    slurm: Slurm | None = None
    kubernetes: Kubernetes | None = None
    services: tuple[Service, ...] = ()
    login: Login = dataclasses.field(default=Login())
    maintenance: tuple[Window, ...] = ()
    monitoring: Monitoring = Monitoring()
    acceptance: tuple[str, ...] = ("nodes", "gpus", "jobs", "accounting", "collectives", "storage")
    """Tests that must pass."""
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Name the schedulers of the cluster: `slurm`, `kubernetes`."""
        return tuple(name for name, one in (("slurm", self.slurm), ("kubernetes", self.kubernetes)) if one)

    @property
    def controllers(self) -> int:
        """Count Slurm's controllers that are hosts of the stack."""
        return self.slurm.control.count if self.slurm and self.slurm.control else 0

    @property
    def node_sets(self) -> tuple[NodeSet, ...]:
        """List the node sets of all schedulers, Slurm's first."""
        return (*(self.slurm.node_sets if self.slurm else ()), *(self.kubernetes.node_sets if self.kubernetes else ()))

    def with_node_sets(self, change: Callable[[NodeSet], NodeSet]) -> Self:
        """Give the cluster with every node set changed."""
        slurm, kubernetes = self.slurm, self.kubernetes
        return dataclasses.replace(
            self,
            slurm=dataclasses.replace(slurm, node_sets=tuple(change(one) for one in slurm.node_sets)) if slurm else None,
            kubernetes=dataclasses.replace(kubernetes, node_sets=tuple(change(one) for one in kubernetes.node_sets)) if kubernetes else None,
        )

    @property
    def host_groups(self) -> tuple[HostGroup, ...]:
        """List the groups that have hosts: the schedulers' own, login nodes, compute nodes."""
        control = self.slurm.control if self.slurm else None
        kubernetes = self.kubernetes.control if self.kubernetes else None
        groups = (control, self.access, kubernetes, *(node_set.hosts for node_set in self.node_sets))
        return tuple(group for group in groups if group and group.count)

    @property
    def slurm_node_sets(self) -> tuple[tuple[NodeSet, Partition], ...]:
        return tuple((node_set, node_set.partition) for node_set in self.node_sets if node_set.partition)
