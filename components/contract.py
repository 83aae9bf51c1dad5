"""What targets give and take: the same words whether a host is an instance, a server or a container.

A target is a class with these methods, called in this order: `network`, `storage`, `control`, `compute`, `access`. It takes parts of the resolved spec and gives the records below; it knows nothing of what runs on
the hosts. A target whose scheduler is somebody's service gives `ManagedSlurm` or `KubernetesApi` from `control`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import pulumi

from blueprints.spec import ClusterSpec, FileSystem, HostGroup, NodeSet, Slurm


def slurm_on_hosts(spec: ClusterSpec) -> tuple[Slurm, HostGroup]:
    """Give Slurm and its controllers, which are hosts of the stack.

    Raises:
        pulumi.RunError: the cluster has another scheduler, or a service of the cloud runs Slurm.
    """
    if spec.slurm is None or spec.slurm.control is None or spec.kubernetes is not None:
        asked = " and ".join(one.product or "Slurm on hosts" for one in (spec.slurm, spec.kubernetes) if one)
        raise pulumi.RunError(f"this version provisions Slurm on hosts of the stack on {spec.target}, not {asked}")
    return spec.slurm, spec.slurm.control


@dataclasses.dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of one group."""

    group: HostGroup
    described: pulumi.Output[list[dict[str, Any]]]
    """Per host: name, address, incarnation, host_key, jump (`finish.inventory.FinishedHost`). Empty where hosts come and go without the engine."""
    boots: pulumi.Output[dict[str, Any]]
    """Hostname → mark of its latest boot; where hosts come and go, the group's hostlist → mark of what they start from."""
    resource: pulumi.Resource


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    """A shared file system or data volume, as a host mounts it."""

    source: pulumi.Output[str]
    """What is mounted, in the target's own form (a folder, `server:/export`, a file system's DNS name)."""
    incarnation: pulumi.Output[str]
    """New whenever what is mounted was lost and made anew."""
    target: str
    resource: pulumi.Resource
    kind: str = ""
    """The file system's type for mount(8); empty where the target mounts it itself."""
    options: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """Where users reach the login nodes."""

    address: pulumi.Output[str]
    port: int
    host_key: pulumi.Output[str]
    """Public SSH host key that every login node answers with."""


@dataclasses.dataclass(frozen=True, slots=True)
class SlurmHosts:
    """Slurm's controllers are hosts of the stack; finishing installs them."""

    hosts: Hosts
    database: pulumi.Output[str] | None = None
    """Address of the accounting database where the cloud runs it; None: it is on the controller."""
    addresses: pulumi.Output[dict[str, str]] | None = None
    """Hostname → address of all hosts that always stand, where finishing writes the table of hosts; None: the target does."""


@dataclasses.dataclass(frozen=True, slots=True)
class ManagedSlurm:
    """The cloud runs slurmctld (AWS PCS, HyperPod, Google's managed Slurm)."""

    endpoint: pulumi.Output[str]
    accounting: bool


@dataclasses.dataclass(frozen=True, slots=True)
class KubernetesApi:
    """A Kubernetes control plane, ours or the cloud's."""

    kubeconfig: pulumi.Output[str]


Control = SlurmHosts | ManagedSlurm | KubernetesApi


@dataclasses.dataclass(frozen=True, slots=True)
class Keys:
    """Keys of the stack that hosts are born with."""

    munge: pulumi.Output[str]
    admin_public: pulumi.Output[str]
    admin_private: pulumi.Output[str]
    login_host: pulumi.Output[str]
    login_host_public: pulumi.Output[str]
    database: pulumi.Output[str] | None = None
    """Password of the accounting database's user."""


class Target(Protocol):
    """One place where clusters land."""

    def __init__(self, spec: ClusterSpec, *, stack: str, keys: Keys, opts: pulumi.ResourceOptions): ...

    def network(self) -> None:
        """Make what all hosts share: addresses, names, the way out."""

    def storage(self, file_systems: Sequence[FileSystem]) -> Sequence[Mount]:
        """Make the shared file systems."""

    def control(self, group: HostGroup, *, mounts: Sequence[Mount]) -> Control:
        """Make the scheduler's own hosts, or use the cloud's."""

    def compute(self, node_set: NodeSet, *, mounts: Sequence[Mount], control: Control) -> Hosts:
        """Make the compute nodes of one node set."""

    def access(self, group: HostGroup, *, mounts: Sequence[Mount]) -> tuple[Hosts, Endpoint]:
        """Make the login nodes and what stands in front of them."""

    def fleet(self) -> pulumi.Output[dict[str, Any]] | None:
        """Give what the program on the controller starts and ends compute nodes from (`elastic/model.py`); None where it has nothing to do. Called last."""
