"""What will exist: the resolved cluster, concrete and frozen. Every step after `resolve` reads only this.

Values are plain (str, int, float, bool, None, tuples, nested dataclasses), so that `as_record` gives JSON that is stable from run to run and free of secrets.
"""

import dataclasses
from typing import Any

from . import hostlist

SPEC_VERSION = 2
"""Raised when a recorded spec of an older shape can no longer be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Late:
    """A value that only the account or the running cluster can tell, and that was not looked up."""

    what: str
    """What it is, for `plan` (`the newest image of profile ubuntu-24.04-aws`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class MigSlices:
    """Slices of one profile that each GPU is cut into."""

    profile: str
    per_gpu: int


@dataclasses.dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one host, all of one type."""

    type: str
    """Slurm's GRES type, the accelerator's name in lower case (`h100`)."""
    count: int
    simulated: bool
    memory_gib: float | None = None
    """Of each GPU; None when no source tells."""
    mig: tuple[MigSlices, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Nic:
    """One network interface of a host."""

    card: int
    device: int
    """Device index on the card."""
    kind: str
    """`ena`, `efa-only`, `gvnic`, `mrdma`, `infiniband`, …"""
    addresses: int
    """IPv4 addresses it takes from the cluster's subnet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """What one host has. The processor layout is the one Slurm is told (slurm.conf(5): Sockets, CoresPerSocket, ThreadsPerCore)."""

    name: str
    """The catalogue's name (`p5.48xlarge`), `local`, or `site-host` for hosts that only the blueprint tells of."""
    sockets: int
    cores_per_socket: int
    """0, as is `memory_mib`, of a host of the site of which nobody told: it is asked when it is set up."""
    threads_per_core: int
    memory_mib: int
    gpus: Gpus | None
    exists: bool
    """False when the host is declared larger than what it runs on (a rehearsal): cores and memory are then not confined."""
    arch: str = "x86_64"
    network_gbps: float | None = None
    """All interfaces together, at their peak; None when no source tells."""
    nics: tuple[Nic, ...] = ()
    scratch_gib: float = 0.0
    """Local NVMe, all disks together."""
    domain_nodes: int | None = None
    """Machines of one NVLink domain (GB200 NVL72: 18); None: NVLink ends at the machine, if there is any."""

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core


@dataclasses.dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts that are equal but for their number: `<prefix>-0` … `<prefix>-<count-1>`, with consecutive addresses."""

    name: str
    """`control`, `access`, `kubernetes`, the pool's name, or the node set's."""
    role: str
    """`control`, `access`, `kubernetes` or `compute`: what the software on the host does."""
    prefix: str
    count: int
    """Of an elastic pool: the most there can be."""
    first_address: str
    """IPv4 address of host 0; host n has this address plus n. Empty where the cloud gives addresses."""
    machine: Machine

    def hostname(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    @property
    def hostnames(self) -> tuple[str, ...]:
        return tuple(self.hostname(number) for number in range(self.count))

    @property
    def hostlist(self) -> str:
        """Slurm's bracket form (`train-[0-63]`); one host is written plain."""
        return hostlist.counted(f"{self.prefix}-", self.count)


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


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """Files that come from or go to object storage."""

    bucket: str
    import_files: bool
    export_files: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    name: str
    kind: str
    """What serves it: `nfs`, `lustre`, …; on the local target every kind is one folder of the machine."""
    mount: str
    protect: bool
    """True: a change that would delete or replace it is refused."""
    simulated: bool
    product: str = ""
    """The cloud's name for it (`FSx for Lustre`)."""
    storage_class: str = ""
    """The catalogue's key."""
    size_gib: float | None = None
    """None: what there is (a bucket, a folder, one that exists)."""
    throughput_mbs_per_tib: int | None = None
    throughput_mbs: float | None = None
    """All of it together, MB/s (powers of 1000), as the cloud states it; None when no source tells."""
    durability: str = "persistent"
    on_delete: str = "keep"
    backup_days: int = 0
    encrypted: bool = True
    key: str | None = None
    source: str | None = None
    """What is mounted, of one that exists already."""
    exchange: Exchange | None = None
    user_quota_gib: float | None = None
    group_quota_gib: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    name: str
    description: str
    users: tuple[str, ...]
    parent: str | None = None
    share: int = 1
    most_gpus: int | None = None
    most_nodes: int | None = None
    most_jobs: int | None = None
    qos: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Qos:
    name: str
    priority: int
    max_time: str
    gpus_per_user: int | None
    jobs_per_user: int | None
    preempts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: int
    """Also the number of the user's own group."""
    default_account: str
    ssh_keys: tuple[str, ...]
    """OpenSSH public keys. Empty: the stack makes a key pair for this user."""
    accounts: tuple[str, ...] = ()
    """Further ones that jobs may name."""
    admin: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    """A part of the cluster's network."""

    name: str
    role: str
    """`cluster` (hosts), `public` (load balancers and the way out), `fabric` (one of the GPU networks)."""
    cidr: str | Late
    zone: str | Late
    needed: int
    """Addresses that the blueprint's hosts can come to need."""
    usable: int | None
    """Addresses that the cloud leaves free in it; None when the network exists and was not looked up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    cidr: str
    """Empty where the network is there already and was not looked up."""
    gateway: str
    balancer_address: str
    """Where the load balancer in front of the login nodes answers. Empty where the cloud gives it."""
    domain: str
    """Suffix of full names (`train-0.starter.internal`)."""
    region: str = ""
    zones: tuple[str, ...] = ()
    """The compute nodes' first. Empty: not known before the capacity is."""
    existing: str | None = None
    subnets: tuple[Subnet, ...] = ()
    egress: str = "nat"
    private_endpoints: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Login:
    """Who may log in, and how."""

    load_balancer: bool = True
    allowed_cidrs: tuple[str, ...] = ()
    ldap_uri: str | None = None
    ldap_base: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """The accounting database."""

    placement: str
    """`embedded` (on the controller) or `managed` (the cloud's service)."""
    protect: bool
    product: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Software:
    """One tested set of versions (blueprints/catalog/software)."""

    profile: str
    os: str
    """`debian-13`, `debian-12`, …"""
    suite: str
    """The distribution's archive name (`trixie`)."""
    slurm: str
    """`24.11`, `22.05`: major version, the key of the Slurm templates."""
    tested_on: str
    """Where this set has run: `simulated` (hosts without GPUs) or a machine's name; empty when it never ran."""
    arch: str = "x86_64"
    kubernetes: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    """Kernel, driver, CUDA, NCCL and so on, by name; what no source tells is left out."""
    origins: tuple[tuple[str, str], ...] = ()
    """What proves parts that come from outside of the distribution's archive (checksums, a key's fingerprint), and where they are, by the names of the roles' variables."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kubernetes:
    """The Kubernetes control plane."""

    product: str
    """The cloud's service (`EKS`, `GKE`), or `hosts`."""
    version: str
    hosts: HostGroup | None


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
    version: int
    name: str
    description: str
    target: str
    scheduler: str
    software: Software
    network: Network
    control: HostGroup
    """Slurm's controllers; none (`count` 0) when the cloud runs Slurm or nothing does."""
    access: HostGroup
    node_sets: tuple[NodeSet, ...]
    storage: tuple[FileSystem, ...]
    database: Database
    accounts: tuple[Account, ...]
    users: tuple[User, ...]
    simulated: tuple[str, ...]
    """One sentence for each thing that is not the real one; shown wherever a user looks."""
    qos: tuple[Qos, ...] = ()
    kubernetes: Kubernetes | None = None
    managed_scheduler: str | None = None
    """The cloud's Slurm service; None: controllers are hosts."""
    services: tuple[Service, ...] = ()
    login: Login = Login()
    maintenance: tuple[Window, ...] = ()
    monitoring: Monitoring = Monitoring()
    acceptance: tuple[str, ...] = ("nodes", "gpus", "jobs", "accounting", "collectives", "storage")
    """Tests that must pass."""
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def host_groups(self) -> tuple[HostGroup, ...]:
        kubernetes = (self.kubernetes.hosts,) if self.kubernetes and self.kubernetes.hosts else ()
        groups = (self.control, self.access, *kubernetes, *(node_set.hosts for node_set in self.node_sets))
        return tuple(group for group in groups if group.count)

    @property
    def slurm_node_sets(self) -> tuple[tuple[NodeSet, Partition], ...]:
        return tuple((node_set, node_set.partition) for node_set in self.node_sets if node_set.partition)


def as_record(spec: ClusterSpec) -> dict[str, Any]:
    """Turn the spec into plain JSON values, for stack outputs and `--json`."""
    return dataclasses.asdict(spec)
