"""What targets give and take: the same words whether a host is an instance, a server or a container.

A target is a class with these methods, called in this order: `network`, `storage`, `control`, `compute`, `access`. It takes parts of the resolved spec and gives the records below; it knows nothing of what runs on
the hosts. A target whose scheduler is somebody's service gives `ManagedSlurm` or `KubernetesApi` from `control`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import pulumi

from blueprints.spec import ClusterSpec, FileSystem, HostGroup, NodeSet


@dataclasses.dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of one group."""

    group: HostGroup
    described: pulumi.Output[list[dict[str, Any]]]
    """Per host: name, address, incarnation, host_key (`finish.inventory.FinishedHost`)."""
    boots: pulumi.Output[dict[str, Any]]
    """Hostname → mark of its latest boot."""
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
