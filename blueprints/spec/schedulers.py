"""The schedulers of a cluster, each with the offering that runs it, its own hosts and its nodes."""

import dataclasses
from typing import Annotated

from . import cost
from .hosts import HostGroup
from .nodes import NodeSets

OTHER_DATABASE = cost.replaces_nodes("a new database is made, and the records of the old one are not carried over", reaches=("database",))
OTHER_SLURM = cost.replaces_nodes("the queue and the accounting records stay with the scheduler that goes", reaches=("database",))
OTHER_CONTROLLERS = cost.replaces_nodes(
    "two controllers keep their state in a file system and one keeps it on a disk: the queue starts empty, on controllers with new disks",
    reaches=("state", "own-database"),
)
OTHER_STATE = cost.in_place("controllers restart with the state of the other file system, where the queue starts empty", reaches=("state",))
OTHER_SERVICE = cost.replaces_nodes("jobs that run go on in the service that goes, and new ones are submitted to the other")
OTHER_RANGE = cost.replaces_nodes("pods and services have addresses in the old range: another range needs another cluster")
OTHER_CONTROL_PLANE = cost.replaces_nodes("nodes join another control plane; what is recorded in the one that goes is lost")


@dataclasses.dataclass(frozen=True, slots=True)
class Qos:
    name: Annotated[str, cost.ACCOUNTING_SETTING]
    priority: Annotated[int, cost.ACCOUNTING_SETTING]
    max_time: Annotated[str, cost.ACCOUNTING_SETTING]
    gpus_per_user: Annotated[int | None, cost.ACCOUNTING_SETTING]
    jobs_per_user: Annotated[int | None, cost.ACCOUNTING_SETTING]
    preempts: Annotated[tuple[str, ...], cost.ACCOUNTING_SETTING]


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """The accounting database."""

    placement: Annotated[str, OTHER_DATABASE]
    """`embedded` (on the controller) or `managed` (the cloud's service)."""
    protect: Annotated[bool, cost.in_place("what is refused from now on; the database stays")]
    product: Annotated[str, OTHER_DATABASE] = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Slurm:
    """Slurm, with everything that it alone needs."""

    run_by: Annotated[str, OTHER_SLURM]
    """The offering (`slurm_hosts`, `pcs`, …; blueprints/catalog/offerings.yaml)."""
    control: Annotated[
        HostGroup | None,
        OTHER_SLURM,
        cost.within(count=OTHER_CONTROLLERS, machine=cost.rolling("the host stops and starts with the new size; until it is back no job starts")),
    ]
    """The controllers; None where a service of the cloud runs them."""
    database: Database
    node_sets: NodeSets
    product: Annotated[str, cost.FOLLOWS] = ""
    """What the cloud calls the service; empty where the stack's own hosts run Slurm."""
    state_on: Annotated[str, OTHER_STATE] = ""
    """The file system where two controllers that exist already keep Slurm's state; empty: the target has a place for it."""
    qos: Annotated[tuple[Qos, ...], cost.Entries(cost.ACCOUNTING_SETTING, cost.in_place("jobs can't name it any more; waiting ones that do are held"))] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Addon:
    """What runs in a Kubernetes cluster beside its control plane, from blueprints/catalog/addons.yaml."""

    name: Annotated[str, cost.in_place("another add-on is installed")]
    version: Annotated[str, cost.in_place("its objects are applied in the other version; its own pods start again")]


@dataclasses.dataclass(frozen=True, slots=True)
class KwokNodes:
    """Nodes like those of a pool that exist in the API alone."""

    pool: Annotated[str, cost.in_place("simulated nodes of another pool are added")]
    count: Annotated[int, cost.in_place("simulated nodes come or go")]

    @property
    def name(self) -> str:
        """The pool that they are: none of its pods may be on a real node, nor a real job on one of these."""
        return f"{self.pool}-kwok"


@dataclasses.dataclass(frozen=True, slots=True)
class SecondaryNetwork:
    """A network of an interface that nodes have, in which pods can ask for an interface."""

    name: Annotated[str, cost.in_place("pods can ask for an interface in the other network")]
    """That of the interface."""
    cidr: Annotated[str, cost.in_place("pods that start from now on get the other length of the prefix")]
    """The whole network, of which the pods' addresses are a part."""
    pods: Annotated[str, cost.in_place("pods that start from now on get addresses of the other range")]
    """Addresses of pods."""
    first: Annotated[str, cost.FOLLOWS] = ""
    """The first address that a pod can have; empty, as is the next: there is none."""
    last: Annotated[str, cost.FOLLOWS] = ""


METALLB = "metallb"
"""The add-on that gives services of type LoadBalancer their addresses where no cloud does."""
POLICY_ENFORCER = "network-policies"
"""The add-on that enforces NetworkPolicies, which the network plug-ins of the catalogue don't."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kubernetes:
    """Kubernetes, with everything that it alone needs."""

    run_by: Annotated[str, OTHER_CONTROL_PLANE]
    """The offering (`eks`, `gke`, `kubernetes_hosts`, …)."""
    product: Annotated[str, cost.FOLLOWS]
    """What the cloud calls the service (`EKS`, `GKE`), or `hosts`."""
    version: Annotated[str, cost.rolling("the control plane is upgraded, then the nodes, a few at a time: pods leave a node before it is upgraded")]
    control: Annotated[
        HostGroup | None,
        OTHER_CONTROL_PLANE,
        cost.within(
            count=cost.rolling("members of the control plane come or go one at a time"),
            machine=cost.rolling("members of the control plane are exchanged one at a time"),
        ),
    ]
    """Hosts of the control plane; None where a service of the cloud runs it."""
    node_sets: NodeSets = ()
    qos: Annotated[
        tuple[Qos, ...],
        cost.Entries(cost.SCHEDULER_SETTING, cost.in_place("jobs can't name it any more; those that run go on with the priority that they had")),
    ] = ()
    pod_cidr: Annotated[str, OTHER_RANGE] = ""
    """Addresses of pods; each node has a /24 of them. Empty where a service of the cloud chooses them, as are the next three."""
    service_cidr: Annotated[str, OTHER_RANGE] = ""
    pod_network: Annotated[str, cost.replaces_nodes("pods keep the addresses and routes of the old network plug-in: another one needs another cluster")] = ""
    """The network plug-in (`flannel`)."""
    endpoint: Annotated[str, cost.rolling("certificates and kubeconfigs get the other address of the API server, and its hosts boot again")] = ""
    """Where the API server answers (`10.80.0.14:6443`)."""
    registry: Annotated[str, cost.in_place("hosts pull images from the other registry from now on")] = ""
    """The site's own mirror of all registries (`registry.example.org:5000`); empty: the control plane's hosts serve the images."""
    addons: Annotated[
        tuple[Addon, ...],
        cost.Entries(
            added=cost.in_place("the add-on is installed"),
            removed=cost.in_place("the add-on's objects are deleted, and the custom resources of its kinds with them"),
        ),
    ] = ()

    kwok_nodes: Annotated[
        tuple[KwokNodes, ...],
        cost.Entries(added=cost.in_place("simulated nodes are added"), removed=cost.in_place("the simulated nodes are deleted with what is said to run there")),
    ] = ()

    load_balancer_cidr: Annotated[
        str, cost.in_place("services of type LoadBalancer get addresses of the other range; what reaches them at an old one ends")
    ] = ""
    """Addresses of services that are reached from outside; empty: none."""

    secondary_networks: Annotated[
        tuple[SecondaryNetwork, ...],
        cost.Entries(
            added=cost.in_place("pods can ask for an interface in the network"),
            removed=cost.in_place("pods that ask for it no longer start; those that run keep their interface"),
        ),
    ] = ()

    @property
    def enforces_policies(self) -> bool:
        """Whether the stack installs what enforces NetworkPolicies. A cloud's service may do so by itself."""
        return any(one.name == POLICY_ENFORCER for one in self.addons)


@dataclasses.dataclass(frozen=True, slots=True)
class Training:
    """A service of the cloud that runs training jobs on machines that it starts for each job and ends with it."""

    run_by: Annotated[str, OTHER_SERVICE]
    """The offering (`vertex`)."""
    product: Annotated[str, cost.FOLLOWS]
    """What the cloud calls the service (`Vertex AI`)."""
    node_sets: NodeSets
    """What a job can run on: the machine, how it is bought, and the most of them at once."""
