"""The schedulers of a cluster, each with the offering that runs it, its own hosts and its nodes."""

import dataclasses

from .hosts import HostGroup
from .nodes import NodeSet


@dataclasses.dataclass(frozen=True, slots=True)
class Qos:
    name: str
    priority: int
    max_time: str
    gpus_per_user: int | None
    jobs_per_user: int | None
    preempts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """The accounting database."""

    placement: str
    """`embedded` (on the controller) or `managed` (the cloud's service)."""
    protect: bool
    product: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Slurm:
    """Slurm, with everything that it alone needs."""

    run_by: str
    """The offering (`slurm_hosts`, `pcs`, …; blueprints/catalog/offerings.yaml)."""
    control: HostGroup | None
    """The controllers; None where a service of the cloud runs them."""
    database: Database
    node_sets: tuple[NodeSet, ...]
    product: str = ""
    """What the cloud calls the service; empty where the stack's own hosts run Slurm."""
    qos: tuple[Qos, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Kubernetes:
    """Kubernetes, with everything that it alone needs."""

    run_by: str
    """The offering (`eks`, `gke`, `kubernetes_hosts`, …)."""
    product: str
    """What the cloud calls the service (`EKS`, `GKE`), or `hosts`."""
    version: str
    control: HostGroup | None
    """Hosts of the control plane; None where a service of the cloud runs it."""
    node_sets: tuple[NodeSet, ...] = ()
