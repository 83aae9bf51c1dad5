"""The blueprint itself, and its sections beside pools, storage and people."""

from typing import Annotated, Any, Literal

from pydantic import Field

from .inventory import Inventory
from .people import Account, Qos, User
from .pools import Pool
from .section import (
    AccountName,
    ArchiveAddress,
    CatalogName,
    Cidr,
    ClockTime,
    ClusterName,
    Date,
    DottedPath,
    FindingCode,
    HostAddress,
    HostList,
    Identifier,
    InterfaceName,
    Ipv4,
    KeyFingerprint,
    OrEmpty,
    PoolName,
    QosName,
    Reason,
    RegistryName,
    Section,
    SoftwareVersion,
    StorageName,
    TagKey,
    Text,
    UserName,
    WebhookAddress,
    number_as_text,
)
from .storage import Storage

TargetName = Literal["aws", "gcp", "metal", "local"]
Managed = Annotated[Literal[False, True, "pcs", "hyperpod", "cluster_director", "eks", "gke", "vertex"], number_as_text]
"""Whether a service of the cloud runs the scheduler, and which: the offerings of blueprints/catalog/offerings.yaml that have a title."""
SoftwarePart = Literal["kernel", "driver", "cuda", "nccl", "dcgm", "container_toolkit", "lustre_client"]
"""Parts of a software profile that a running host restarts for."""


ArchiveName = Literal["nvidia", "nvidia_container"]
"""Archives of vendors that hosts install packages from."""


class Archive(Section):
    """Your mirror of a vendor's archive of packages."""

    address: ArchiveAddress = Field(description="Folder with the mirror's `InRelease` and its key, `key.asc` (`https://mirror.example.org/cuda/ubuntu2404`).")
    key: KeyFingerprint | None = Field(default=None, description="Fingerprint of the mirror's own key, 40 digits. Default: the vendor's, as a plain copy has.")
    simulated: bool = Field(default=False, description="For tests: the packages have the vendor's names and versions, and are empty. Every report says so.")


class Control(Section):
    """The scheduler's own hosts."""

    size: Literal["auto", "small", "medium", "large"] = Field(default="auto", description="Size of the controllers; `auto` follows the number of nodes.")
    machine: Identifier | None = Field(default=None, description="A machine type of the target's catalogue, instead of a size.")
    highly_available: bool = Field(
        default=False, description="Go on when one host fails: Slurm gets a second controller that takes over, Kubernetes a control plane of three hosts."
    )
    hosts: HostList | None = Field(default=None, description="Hosts of the inventory: the controllers, the first of them active.")
    state: StorageName | None = Field(
        default=None,
        description="With two hosts of the inventory: the existing file system under `storage` that keeps the scheduler's state. Default: the only existing one.",
    )
    address: Ipv4 | None = Field(
        default=None,
        description="With hosts of the inventory: a free address of their network that moves between two controllers, for `network.nat` and `network.dns`, or between three hosts of Kubernetes' control plane, for the API server. Default: the only controller's own.",
    )
    managed: Managed = Field(
        default=False,
        description="Use the cloud's scheduler service instead of hosts: `true` is the target's usual one, a name a certain one (`pcs`: AWS PCS, `hyperpod`: SageMaker HyperPod, `vertex`: Vertex AI).",
    )


class Ldap(Section):
    """A directory that users come from, read by SSSD."""

    uri: Text = Field(description="URI of the server (`ldaps://ldap.example.org`).")
    base: Text = Field(description="Base DN of the users (`dc=example,dc=org`).")


class Access(Section):
    """Login nodes, and who may reach them."""

    login_nodes: int = Field(default=1, ge=0, le=32, description="Login nodes behind the load balancer; 0 for clusters that only Kubernetes schedules.")
    machine: Identifier | None = Field(default=None, description="A machine type of the target's catalogue. Default: the target's usual one.")
    hosts: HostList | None = Field(default=None, description="Hosts of the inventory: the login nodes.")
    address: HostAddress | None = Field(
        default=None,
        description="With hosts of the inventory: the address of the load balancer, which is free in their network. Default: the first login node's.",
    )
    load_balancer: bool = Field(default=True, description="Put a load balancer with one address in front of all login nodes.")
    tunnel: bool = Field(
        default=False,
        description="Reach the first login node through the cloud's own tunnel (Identity-Aware Proxy), by the rights of who connects: no load balancer, no public address.",
    )
    os_login: bool = Field(
        default=False,
        description="Let the cloud decide who logs in (OS Login): users with a `cloud_identity` get the roles for login nodes, and keys of their Google Account.",
    )
    rest_api: bool = Field(
        default=False, description="Serve Slurm's REST API (slurmrestd) at the login nodes' address. `clusterwright token` gives users access."
    )
    allowed_cidrs: tuple[Cidr, ...] = Field(
        default=(), strict=False, max_length=1_000, description="Networks that may log in. Empty: the cluster's own network only."
    )
    ldap: Ldap | None = Field(default=None, description="A directory with further users. Default: the users of the blueprint only.")


class Accounting(Section):
    """The scheduler's record of jobs, accounts and users."""

    database: Literal["embedded", "managed"] = Field(
        default="embedded", description="Where the database runs: on the controller (`embedded`) or as the cloud's service (`managed`)."
    )
    protect: bool = Field(default=True, description="Refuse changes that would delete or replace the database.")


class Network(Section):
    """Region, zones and addresses of the hosts."""

    cidr: Cidr | None = Field(
        default=None,
        description="The hosts' private IPv4 network; on Google Cloud with `subnets`, the range of the first of them. Default: derived from the stack's name.",
    )
    region: Identifier | None = Field(default=None, description="The cloud's region. Default: the target's usual one. Write it under `targets`.")
    zones: tuple[Identifier, ...] = Field(
        default=(),
        strict=False,
        max_length=10,
        description="Zones of the region, the compute nodes' zone first. Default: the first zone that offers the pools' machines, or the zone of the reservation.",
    )
    existing: Identifier | None = Field(default=None, description="The id of an existing network (a VPC). Default: the stack creates one.")
    host_project: Identifier | None = Field(
        default=None,
        description="With `existing` on Google Cloud: the project that owns the network and its subnets, which shares them with this one (Shared VPC).",
    )
    subnets: tuple[Identifier, ...] = Field(
        default=(), strict=False, max_length=100, description="Subnets of the existing network for the hosts, the compute nodes' subnet first."
    )
    egress: Literal["nat", "none"] = Field(default="nat", description="How hosts reach the Internet: through NAT, or not at all.")
    private_endpoints: bool = Field(default=False, description="Reach the cloud's services through private endpoints; required with `egress: none`.")
    nat: Literal["site", "control"] = Field(
        default="site",
        description="With hosts of the inventory: how nodes without a way out reach other networks: as the site has it (`site`), or through the controllers (`control`).",
    )
    dns: Literal["site", "control"] = Field(
        default="site",
        description="With hosts of the inventory: who resolves names for nodes: the site's name servers (`site`), or the controllers (`control`).",
    )


class Kubernetes(Section):
    """Kubernetes on hosts of the stack: its version, its networks and what runs in it."""

    version: Identifier | None = Field(
        default=None,
        description='The version (`1.34.4`), or its minor version in quotes (`"1.34"`). Default: that of the software profile, or the catalogue\'s.',
    )
    pod_cidr: Cidr | None = Field(default=None, description="Addresses of pods; each node has a /24 of them. Default: 10.224.0.0/11.")
    service_cidr: Cidr | None = Field(default=None, description="Addresses of services. Default: 10.63.0.0/16.")
    load_balancer_cidr: Cidr | None = Field(
        default=None,
        description="Free addresses of the hosts' network for services of type LoadBalancer (`10.20.3.0/27`). Installs the add-on metallb. Default: such services get none.",
    )
    secondary_networks: dict[InterfaceName, Cidr] = Field(
        default={},
        max_length=64,
        description="Interface of the nodes, such as a rail → free addresses of its network for pods that ask for an interface there: `{rail0: 10.40.0.128/25}`. Installs the add-ons multus and whereabouts.",
    )
    pod_network: Literal["flannel"] = Field(default="flannel", description="The network between pods.")
    addons: dict[CatalogName, bool] = Field(
        default={},
        max_length=100,
        description="Add-ons to install or to leave out: `{trainer: true, kueue: false}`. `clusterwright catalog addons` lists them.",
    )
    kwok_nodes: dict[PoolName, Annotated[int, Field(ge=1, le=1000)]] = Field(
        default={},
        max_length=100,
        description="Pool → number of nodes like its own that exist in the API alone, to try queues and placement at scale: `{train: 64}`. Nothing runs on them.",
    )
    registry: RegistryName | None = Field(
        default=None,
        description="Your own mirror of all images (`registry.example.org:5000`), for sites without the Internet. Default: hosts of the control plane serve them.",
    )


class Maintenance(Section):
    """A time when hosts may be updated; the scheduler keeps it free of jobs."""

    weekday: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = Field(description="The day it starts.")
    start: ClockTime = Field(description="The time it starts, in UTC (`02:00`).")
    hours: int = Field(ge=1, le=48, description="Its duration.")
    week: Literal["every", "first", "second", "third", "fourth", "last"] = Field(default="every", description="Which week of the month.")


class Monitoring(Section):
    """Metrics and dashboards."""

    metrics: bool = Field(default=False, description="Collect metrics of hosts, GPUs and the scheduler.")
    retention_days: int = Field(default=30, ge=1, le=3650, description="Days that metrics and logs are kept.")
    dashboards: bool = Field(default=True, description="Provide dashboards where metrics are collected.")
    alert_webhook: WebhookAddress | None = Field(default=None, description="Where alerts are sent, as Alertmanager's JSON. It can't have a password.")


class Acceptance(Section):
    """What a cluster must prove before `up` succeeds."""

    gate: tuple[Literal["nodes", "gpus", "jobs", "accounting", "collectives", "storage"], ...] = Field(
        default=("nodes", "gpus", "jobs", "accounting", "collectives", "storage"),
        strict=False,
        max_length=100,
        description="Tests that must pass. The others run and are reported.",
    )


class Suppression(Section):
    """A warning that is accepted until a date."""

    code: FindingCode = Field(description="The finding's code (`CW520`).")
    at: DottedPath = Field(description="The key where it is accepted, including all keys below (`pools.train`).")
    reason: Reason = Field(description="Why it is accepted.")
    until: Date = Field(description="The last day (`2027-03-31`). After that the warning is reported again.")


class Blueprint(Section):
    """A cluster, described in terms that are valid on every target."""

    name: ClusterName = Field(description="The cluster's name.")
    description: Text = Field(default="", description="One line that describes it.")
    audience: Text = Field(default="", description="One line that names its users.")
    extends: Text | None = Field(default=None, description="The blueprint that this one extends: a name of the library, or a .yaml file in this folder.")
    scheduler: Literal["slurm", "kubernetes", "both", "training"] = Field(
        default="slurm",
        description="What schedules work on the nodes; `training`: a service of the cloud that runs jobs and needs no hosts of yours.",
    )
    software: Identifier | None = Field(default=None, description="The software profile: a tested set of versions. Default: the target's usual one.")
    versions: dict[SoftwarePart, SoftwareVersion] = Field(
        default={},
        max_length=10,
        description="Versions that your hosts have instead of the profile's, of parts that are installed in place: `{kernel: 6.8.0-90-generic, driver: 580.178.04}`.",
    )
    archives: dict[ArchiveName, Archive] = Field(
        default={},
        max_length=10,
        description="Mirrors that your hosts install packages from instead of the vendors' archives: `nvidia` (CUDA, NCCL, DCGM), `nvidia_container` (container toolkit).",
    )
    inventory: Inventory = Field(default=Inventory())
    control: Control = Field(default=Control())
    access: Access = Field(default=Access())
    accounting: Accounting = Field(default=Accounting())
    network: Network = Field(default=Network())
    kubernetes: Kubernetes = Field(default=Kubernetes())
    storage: dict[StorageName, Storage] = Field(default={}, max_length=100, description="File systems that all hosts share, by name.")
    pools: dict[PoolName, Pool] = Field(min_length=1, max_length=1_000, description="Compute nodes, by name.")
    accounts: dict[AccountName, Account] = Field(default={}, max_length=2_000, description="Accounts of the scheduler, by name.")
    qos: dict[QosName, Qos] = Field(default={}, max_length=200, description="Qualities of service, by name.")
    users: dict[UserName, User] = Field(default={}, max_length=10_000, description="Users, by name.")
    maintenance: tuple[Maintenance, ...] = Field(default=(), strict=False, max_length=100, description="Times when hosts may be updated.")
    monitoring: Monitoring = Field(default=Monitoring())
    acceptance: Acceptance = Field(default=Acceptance())
    tags: dict[TagKey, Text] = Field(default={}, max_length=100, description="Tags of every cloud resource that can have tags (labels on Google Cloud).")
    targets: dict[TargetName, Annotated[dict[str, Any], OrEmpty]] = Field(
        default={}, description="Values for one target: the same keys as above, which override them on that target."
    )
    suppress: tuple[Suppression, ...] = Field(default=(), strict=False, max_length=1_000, description="Warnings that are accepted until a date.")

    def scheduler_of(self, pool: Pool) -> str:
        """Say which scheduler has a pool's nodes: one of two where the pool says so, and Slurm where it doesn't."""
        return (pool.scheduler or "slurm") if self.scheduler == "both" else self.scheduler

    def nodes_of(self, scheduler: str) -> int:
        """Count the compute nodes that a scheduler (`slurm`, `kubernetes`, `training`) can come to have."""
        return sum(pool.range.max for pool in self.pools.values() if self.scheduler_of(pool) == scheduler)
