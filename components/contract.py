"""What targets and offerings give and take: the same words whether a host is an instance, a server or a container.

A cluster is a foundation plus one or two schedulers on it. A target makes the foundation: network, storage, images, identity. An offering is one way in which the target runs a scheduler on that foundation
(Slurm on instances, EKS); it takes its own part of the resolved spec. Neither knows what runs on the hosts: `components/schedulers` makes keys, finishes hosts and accepts the cluster on any target.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import pulumi

from blueprints.spec import ClusterSpec, HostGroup, Kubernetes, NodeSet, Slurm


@dataclasses.dataclass(frozen=True, slots=True)
class Hosts:
    """The hosts of one group."""

    group: HostGroup
    described: pulumi.Output[list[dict[str, Any]]]
    """Each host: name, address, incarnation, host_key, jump (`finish.inventory.FinishedHost`). Empty where hosts come and go without the engine."""
    boots: pulumi.Output[dict[str, Any]]
    """Hostname → mark of its latest boot; where hosts come and go, the group's hostlist → mark of what they start from."""
    resource: pulumi.Resource

    def once_there(self, others: Iterable["Hosts"]) -> "Hosts":
        """Give the same hosts, described only when other groups are."""
        waiting = pulumi.Output.all(self.described, *(one.described for one in others)).apply(lambda known: list(known[0]))
        return dataclasses.replace(self, described=waiting)


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    """A shared file system or data volume, as a host mounts it."""

    source: pulumi.Output[str]
    """What the host mounts, in the target's own form (a folder, `server:/export`, a file system's DNS name)."""
    incarnation: pulumi.Output[str]
    """Another one whenever the data was lost and the file system created again."""
    target: str
    resource: pulumi.Resource
    kind: str = ""
    """The file system's type for mount(8); empty where the target mounts it itself."""
    options: tuple[str, ...] = ()
    is_late: bool = False
    """Whether a host of the cluster serves it: others may boot before that one answers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Foundation:
    """What all offerings of a stack share. Each target adds what its own offerings need."""

    mounts: tuple[Mount, ...]
    """The blueprint's file systems."""


@dataclasses.dataclass(frozen=True, slots=True)
class KubernetesAccess:
    """How users reach the API server of Kubernetes."""

    server: pulumi.Input[str]
    version: str
    kubeconfig: pulumi.Output[str]
    """The administrator's. Secret."""
    release: pulumi.Output[str]
    """Folder of the release in the cache, with its programs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Endpoint:
    """Where users reach the login nodes."""

    address: pulumi.Output[str]
    port: int
    host_key: pulumi.Output[str]
    """Public SSH host key that every login node answers with."""
    command: pulumi.Output[str] | None = None
    """What carries the connection (ssh_config(5), ProxyCommand), where `address` is only a name; None: the network."""


@dataclasses.dataclass(frozen=True, slots=True)
class SshKey:
    """A key pair of the stack, in OpenSSH's form."""

    public: pulumi.Output[str]
    private: pulumi.Output[str]


@dataclasses.dataclass(frozen=True, slots=True)
class SlurmKeys:
    """Keys that hosts of Slurm have from their first boot."""

    munge: pulumi.Output[str]
    """Base64."""
    admin: SshKey
    """Finishing logs in with it."""
    login_host: SshKey
    """Every login node answers with it."""
    database: pulumi.Output[str]
    """Password of the accounting database's user."""


@dataclasses.dataclass(frozen=True, slots=True)
class SlurmSite:
    """What an offering provisioned for Slurm."""

    control: Hosts | None
    """The controllers; None: a service of the target runs them."""
    login: Hosts
    pools: tuple[Hosts, ...]
    endpoint: Endpoint
    database: pulumi.Output[str] | None = None
    """Address of the accounting database where the target runs it; None: it is on the controller."""
    database_authority: pulumi.Output[str] | None = None
    """Authority (PEM) of that database's certificate, where it is the database's own; None: the target publishes one (`database_authorities` of host_settings.yaml)."""
    addresses: pulumi.Output[dict[str, str]] | None = None
    """Hostname → address of all hosts that the engine creates, where finishing writes the table of hosts; None: the target does."""
    host_services: Mapping[str, Any] | None = None
    """What the hosts run for the cluster because the target has no service for it (`metal/services.py`); the roles read it. Not secret."""
    in_place: bool = False
    """The hosts come from no image of the stack: finishing installs all of it, on compute nodes too."""
    hardware: pulumi.Output[dict[str, Any]] | None = None
    """Hostname → what a host says of its processors and memory (`schedulers/hardware.py`), where the blueprint need not; None: the spec says it."""
    fleet: pulumi.Output[dict[str, Any]] | None = None
    """What the program on the controller starts and terminates compute nodes from (`elastic/model.py`); None: no node set is elastic."""


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPair:
    """A private key, and what of it everyone may know: its certificate or its public key. Both PEM."""

    public: pulumi.Output[str]
    private: pulumi.Output[str]


@dataclasses.dataclass(frozen=True, slots=True)
class KubernetesKeys:
    """Keys of a Kubernetes cluster."""

    authority: KeyPair
    """The cluster's own certificate authority."""
    etcd: KeyPair
    """The authority of etcd's members and its clients."""
    front_proxy: KeyPair
    """The authority of API servers that extend the cluster's."""
    service_accounts: KeyPair
    """What tokens of service accounts are signed with."""
    encryption: pulumi.Output[str]
    """Base64: what the API server encrypts secrets at rest with."""
    admin: SshKey
    """Finishing logs in with it."""


Shared = TypeVar("Shared", bound=Foundation, contravariant=True)
"""The foundation of an offering's own target."""


class Target(Protocol):
    """One place where clusters run."""

    def __init__(self, cluster: ClusterSpec, *, stack: str, opts: pulumi.ResourceOptions): ...

    def foundation(self) -> Foundation:
        """Create what all schedulers share. The stack's mark is the first resource."""


class SlurmOffering(Protocol[Shared]):
    """One way in which a target runs Slurm. The order of control, login and compute is the target's own business."""

    def provision(self, slurm: Slurm, *, foundation: Shared, keys: SlurmKeys) -> SlurmSite: ...


class KubernetesOffering(Protocol[Shared]):
    """One way in which a target runs Kubernetes. Between the two calls the scheduler finishes the control plane and installs the network plug-in."""

    in_place: bool
    """The hosts come from no image of the stack: finishing installs all of it, the release too."""

    def control(self, kubernetes: Kubernetes, *, foundation: Shared, keys: KubernetesKeys) -> Hosts: ...

    def nodes(self, node_sets: Sequence[NodeSet], *, foundation: Shared, keys: KubernetesKeys, control: Hosts, after: pulumi.Resource) -> Sequence[Hosts]:
        """Create the nodes.

        Args:
            after: the control plane, finished. Hosts may start before, and join when they are finished.
        """

    def fleet(self) -> pulumi.Output[dict[str, Any]] | None:
        """Give the fleet table of elastic pools (`components/fleet_table.py`), once the control plane is provisioned; None: no pool is elastic."""

    def provided(self, kubernetes: Kubernetes, *, foundation: Shared) -> Mapping[str, Any]:
        """Give what only the target knows and the playbooks need beside the spec: `releases` (the folder of releases on the hosts), `rehearsal`. Nothing in it is secret."""
