"""The whole cluster."""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Self

from . import cost
from .hosts import HostGroup
from .network import Network
from .nodes import NodeSet, Partition
from .people import Account, Login, User
from .schedulers import Kubernetes, Qos, Slurm, Training
from .site import Site
from .software import Software
from .storage import FileSystems

OTHER_LOGIN_NODES = cost.in_place("login nodes are added", less=cost.Cost(cost.Effect.REPLACES_NODES, "the last login nodes go, and sessions on them end"))


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """Something that the cloud runs and charges for by the hour: a load balancer, address translation, a control plane, a database."""

    name: Annotated[str, cost.in_place("a service is exchanged")]
    """The catalogue's key (`nat-gateway`, `load-balancer`, `kubernetes-control-plane`)."""
    product: Annotated[str, cost.in_place("a service is exchanged")]
    count: Annotated[int, cost.in_place("services are added or go")]


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A time when hosts may be updated, UTC."""

    weekday: str
    start: str
    hours: int
    week: str


@dataclasses.dataclass(frozen=True, slots=True)
class Monitoring:
    metrics: Annotated[bool, cost.SERVICE_SETTING] = False
    retention_days: Annotated[int, cost.SERVICE_SETTING] = 30
    dashboards: Annotated[bool, cost.SERVICE_SETTING] = True
    alert_webhook: Annotated[str, cost.SERVICE_SETTING] = ""
    """Where alerts are sent; empty: to nobody."""


@dataclasses.dataclass(frozen=True, slots=True)
class People:
    """Who uses a cluster, and what its accounting allows them."""

    cluster: str
    """The cluster's name, by which Slurm's database knows it."""
    users: tuple[User, ...]
    accounts: tuple[Account, ...]
    qos: tuple[Qos, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSpec:
    """A resolved cluster: at least one scheduler, and what the schedulers share."""

    version: Annotated[int, cost.none("the form of the record itself")]
    name: Annotated[str, cost.replaces_nodes("all names contain it, so everything is replaced", reaches=("storage", "database"))]
    description: Annotated[str, cost.in_place("the greeting of the login nodes; jobs run on")]
    target: Annotated[str, cost.replaces_nodes("the cluster is created in another place, and this one is deleted", reaches=("storage", "database"))]
    software: Software
    network: Network
    access: Annotated[
        HostGroup, cost.within(count=OTHER_LOGIN_NODES, machine=cost.rolling("the login nodes stop and start with the new size; sessions on them end"))
    ]
    storage: FileSystems
    accounts: Annotated[
        tuple[Account, ...],
        cost.Entries(
            added=cost.in_place("the account is added"),
            removed=cost.in_place("its users can no longer submit jobs to it; the account and its records stay in Slurm's database"),
        ),
    ]
    users: Annotated[
        tuple[User, ...],
        cost.Entries(
            added=cost.in_place("the user can log in; everyone else notices nothing"),
            removed=cost.in_place("the user can't log in any more; home and records stay"),
        ),
    ]
    simulated: Annotated[tuple[str, ...], cost.TEXT]
    """One sentence for each thing that is simulated; shown wherever a user looks."""
    slurm: Annotated[
        Slurm | None,
        cost.replaces_nodes(
            "Slurm goes with its nodes, its queue and its accounting",
            given=(("slurm", None, cost.Cost(cost.Effect.IN_PLACE, "Slurm is added, with its own hosts and nodes")),),
            reaches=("database",),
        ),
    ] = None
    kubernetes: Annotated[
        Kubernetes | None,
        cost.replaces_nodes(
            "Kubernetes goes with its nodes, and what is recorded in its control plane",
            given=(("kubernetes", None, cost.Cost(cost.Effect.IN_PLACE, "Kubernetes is added, with its own hosts and nodes")),),
        ),
    ] = None
    training: Annotated[
        Training | None,
        cost.replaces_nodes(
            "the service gets no jobs of this cluster any more",
            given=(("training", None, cost.Cost(cost.Effect.IN_PLACE, "jobs can be submitted to the service")),),
        ),
    ] = None
    services: Annotated[
        tuple[Service, ...], cost.Entries(added=cost.in_place("a service is added"), removed=cost.in_place("a service goes; what used it goes another way"))
    ] = ()
    login: Login = dataclasses.field(default=Login())
    maintenance: Annotated[tuple[Window, ...], cost.SERVICE_SETTING] = ()
    monitoring: Monitoring = Monitoring()
    acceptance: Annotated[tuple[str, ...], cost.JUDGED] = ("nodes", "gpus", "jobs", "accounting", "collectives", "storage")
    """Tests that must pass."""
    tags: Annotated[tuple[tuple[str, str], ...], cost.in_place("tags of existing resources")] = ()
    site: Annotated[Site | None, cost.in_place("how hosts that exist already are reached")] = None
    """The hosts that exist already; None where the target creates them."""

    @property
    def schedulers(self) -> tuple[str, ...]:
        """Name the schedulers of the cluster: `slurm`, `kubernetes`, `training`."""
        return tuple(name for name, one in (("slurm", self.slurm), ("kubernetes", self.kubernetes), ("training", self.training)) if one)

    @property
    def offerings(self) -> tuple[str, ...]:
        """Name the offerings that run the schedulers, Slurm's first."""
        return tuple(one.run_by for one in (self.slurm, self.kubernetes, self.training) if one)

    @property
    def controllers(self) -> int:
        """Count Slurm's controllers that are hosts of the stack."""
        return self.slurm.control.count if self.slurm and self.slurm.control else 0

    @property
    def people(self) -> People:
        """Give who uses the cluster, and what its accounting allows them."""
        return People(self.name, self.users, self.accounts, self.slurm.qos if self.slurm else ())

    @property
    def node_sets(self) -> tuple[NodeSet, ...]:
        """List the node sets of all schedulers, Slurm's first."""
        return tuple(node_set for one in (self.slurm, self.kubernetes, self.training) if one for node_set in one.node_sets)

    def with_node_sets(self, change: Callable[[NodeSet], NodeSet]) -> Self:
        """Give the cluster with every node set changed."""
        slurm, kubernetes, training = self.slurm, self.kubernetes, self.training
        return dataclasses.replace(
            self,
            training=dataclasses.replace(training, node_sets=tuple(change(one) for one in training.node_sets)) if training else None,
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
    def kubernetes_groups(self) -> tuple[HostGroup, ...]:
        """List the groups of hosts that Kubernetes has: its control plane and its nodes."""
        if self.kubernetes is None:
            return ()
        control = (self.kubernetes.control,) if self.kubernetes.control else ()
        return (*control, *(node_set.hosts for node_set in self.kubernetes.node_sets))

    @property
    def slurm_node_sets(self) -> tuple[tuple[NodeSet, Partition], ...]:
        return tuple((node_set, node_set.partition) for node_set in self.node_sets if node_set.partition)
