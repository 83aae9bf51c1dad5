"""Questions to the account of a cluster, and its answers. Pure: the target's own folder asks (components/aws/account)."""

import dataclasses
from collections.abc import Mapping

from .. import catalog, spec
from ..plan import quotas


@dataclasses.dataclass(frozen=True, slots=True)
class Questions:
    """What a cluster needs to know about its account."""

    target: str
    region: str
    cluster: str
    stack: str
    machines: tuple[str, ...]
    quotas: tuple[str, ...]
    """Quota codes of the catalogue."""
    network: str | None
    """An existing network."""
    subnets: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()
    """Operating systems and architectures of the software profile's images."""
    apis: tuple[str, ...] = ()
    """APIs of the cloud that the account must have enabled."""
    profile: str = ""
    """The kind of network that the fabric needs; empty: any network does."""
    zonal_storage: tuple[str, ...] = ()
    """Classes of storage whose service is in some zones alone."""
    permissions: tuple[str, ...] = ()
    """What the credentials must be allowed beside what creates the cluster."""


@dataclasses.dataclass(frozen=True, slots=True)
class Zone:
    name: str
    is_local: bool
    """A local zone, not one of the region's availability zones."""
    is_usable: bool
    """The zone is available, and the account may use it."""
    state: str
    """The cloud's own term (`available`, `not-opted-in`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    id: str
    machine: str
    zone: str
    kind: spec.CapacityKind
    """`RESERVED` or `BLOCK`."""
    state: str
    """The cloud's own term (`active`, `scheduled`, `expired`)."""
    total: int
    free: int
    starts: str = ""
    """ISO 8601; empty: immediately."""
    is_shared: bool = True
    """False: it belongs to another account, which doesn't share it with this one."""
    ends: str = ""
    """ISO 8601; empty: until its owner cancels it."""
    needs_block: bool = False
    """It takes only machines that end with it, which nodes of such a pool are where its identifier names a block."""


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    id: str
    cidrs: tuple[str, ...]
    """Empty: a network has no ranges of its own."""
    names_resolve: bool
    """DNS names that the cloud assigns inside the network resolve."""
    taken: tuple[tuple[str, str], ...] = ()
    """Subnets of others, with their ranges; where the cloud's networks have no ranges of their own, a new subnet must be beside these."""
    way_out: str | None = None
    """As of a subnet; None: it is decided for each subnet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    id: str
    network: str
    zone: str
    cidr: str
    free: int
    way_out: str
    """Egress: `nat` (through NAT or a gateway of the site), `internet` (for hosts with public addresses only), `none`."""
    name: str = ""
    profile: str = ""
    """The kind of its network, where that is for certain interfaces only."""
    is_usable: bool = True
    """False: another project owns it, and doesn't let this account's credentials use it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    id: str
    is_enabled: bool
    can_encrypt: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    id: str
    is_available: bool
    state: str
    network: str | None
    """None: unknown."""
    zones: tuple[str, ...] | None
    """Zones with a mount target; None: the whole network can reach it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    id: str
    arch: str
    is_available: bool
    name: str = ""
    made: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class OfferedMachine:
    """A machine as the cloud describes it."""

    name: str
    arch: tuple[str, ...]
    vcpus: int
    memory_gib: float
    gpus: int
    cards: int | None = None
    """Network cards; None: the cloud doesn't say."""
    fabric_nics: int | None = None
    """The maximum number of interfaces that carry the fabric; None: the cloud doesn't say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """A limit on resources of one kind in the region, and how many other stacks use."""

    what: str
    code: str
    limit: float | None
    taken: int


@dataclasses.dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the account. A named resource that doesn't exist is None."""

    account: str
    who: str
    asked: str
    """Time of the answers, ISO 8601."""
    region_state: str
    """`enabled` (the default), `disabled`, `unknown`, `unasked` (the account lacks the API that would answer)."""
    zones: tuple[Zone, ...] = ()
    offered: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Machine → zones."""
    machines: Mapping[str, OfferedMachine] = dataclasses.field(default_factory=dict)
    """Machines that any zone of the region offers."""
    quotas: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    rooms: tuple[Room, ...] = ()
    network: Network | None = None
    subnets: Mapping[str, Subnet | None] = dataclasses.field(default_factory=dict)
    neighbours: tuple[str, ...] = ()
    """Machines in the hosts' existing subnet that are not the stack's; nothing on targets where addresses let no machine into folders."""
    reservations: Mapping[str, Reservation | None] = dataclasses.field(default_factory=dict)
    keys: Mapping[str, Key | None] = dataclasses.field(default_factory=dict)
    file_systems: Mapping[str, FileSystem | None] = dataclasses.field(default_factory=dict)
    images: Mapping[str, Image | None] = dataclasses.field(default_factory=dict)
    buckets: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Whether a bucket with the name exists in any account."""
    bases: Mapping[tuple[str, str], Image | None] = dataclasses.field(default_factory=dict)
    """Operating system and architecture → the base image."""
    apis: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Whether the account has an API enabled."""
    fabric_zones: frozenset[str] = frozenset()
    """Zones with the kind of network that the fabric needs."""
    storage_zones: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Class of storage → zones of the region in which its service is."""
    permissions: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Whether the credentials have a permission."""
    unanswered: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Question → why it has no answer; ignore the field of such a question."""

    def knows(self, question: str) -> bool:
        return question not in self.unanswered


def questions(cluster: spec.ClusterSpec, *, stack: str) -> Questions:
    """Collect the questions for a cluster."""
    network, given = cluster.network, given_subnets(cluster)
    images = {one.image for one in cluster.node_sets if isinstance(one.image, str) and _is_identifier(cluster, "pools.image", one.image)}
    machines = {group.machine.name: group.machine.arch for group in cluster.host_groups}
    known = catalog.machines(cluster.target)
    return Questions(
        target=cluster.target,
        region=network.region,
        cluster=cluster.name,
        stack=stack,
        machines=tuple(sorted(name for name in machines if name in known)),
        quotas=tuple(sorted({need.code for need in quotas.needed(cluster)})),
        network=network.existing,
        subnets=tuple(subnet.name for subnet in given),
        reservations=tuple(sorted({one.id for one in held(cluster).values() if one.id and reservation_group(cluster, one.id) is None})),
        keys=tuple(sorted({one.key for one in cluster.storage if one.key})),
        file_systems=tuple(sorted({found for one in cluster.storage if (found := file_system_id(cluster, one))})),
        images=tuple(sorted(images)),
        buckets=tuple(sorted({bucket_name(one.exchange.bucket) for one in cluster.storage if one.exchange})),
        systems=tuple(sorted({(cluster.software.os, arch) for arch in machines.values()})),
        apis=_apis(cluster),
        profile=profile(cluster),
        zonal_storage=tuple(sorted(zonal_storage(cluster))),
        permissions=(known_tunnel.permission,) if cluster.login.tunnel and (known_tunnel := catalog.target(cluster.target).tunnel) else (),
    )


def zonal_storage(cluster: spec.ClusterSpec) -> frozenset[str]:
    """Name the classes of the cluster's new file systems whose service is in some zones alone, and says in which."""
    classes = catalog.storage_classes(cluster.target)
    return frozenset(one.storage_class for one in cluster.storage if one.storage_class and classes[one.storage_class].peered)


def profile(cluster: spec.ClusterSpec) -> str:
    """Name the kind of network that the cluster's fabric needs; empty: any network does."""
    known = catalog.target(cluster.target).networks
    kinds = {subnet.serves.rpartition("-")[0] for subnet in cluster.network.subnets if subnet.role == "fabric"}
    return known.profile if known and kinds & {*known.one_network_for} else ""


def _apis(cluster: spec.ClusterSpec) -> tuple[str, ...]:
    """Name the APIs that a cluster needs: those of every cluster, of its file systems, of a managed accounting database, of a tunnel and of OS Login."""
    known = catalog.target(cluster.target).apis
    is_managed = cluster.slurm is not None and cluster.slurm.database.placement == "managed"
    users = [
        "cluster",
        *(one.kind for one in cluster.storage if one.source is None),
        *(["database"] if is_managed else []),
        *(["tunnel"] if cluster.login.tunnel else []),
        *(["os_login"] if cluster.login.os_login else []),
    ]
    shared = catalog.target(cluster.target).pair_storage
    if shared and cluster.slurm is not None and cluster.slurm.control is not None and cluster.slurm.control.count > 1:
        users.append(catalog.storage_class(cluster.target, shared).kind)
    return tuple(sorted({api for user in users for api in known.get(user, ())}))


def given_subnets(cluster: spec.ClusterSpec) -> tuple[spec.Subnet, ...]:
    """Return the existing subnets, the hosts' subnet first."""
    network = cluster.network
    named = [one for one in network.subnets if network.existing is not None and not isinstance(one.cidr, str)]
    forms = [form for form in catalog.identifier_forms(cluster.target) if "network.subnets" in form.keys]
    return tuple(one for one in named if any(form.parts(one.name) is not None for form in forms))


def held(cluster: spec.ClusterSpec) -> Mapping[str, spec.Capacity]:
    """Return the capacity of each pool with a reservation or block."""
    return {one.pool: one.capacity for one in cluster.node_sets if one.capacity.kind.is_bought_ahead}


def bucket_name(place: str) -> str:
    """Return the bucket name of a bucket URI (`s3://name/prefix`)."""
    return place.partition("://")[2].partition("/")[0]


def reservation_group(cluster: spec.ClusterSpec, identifier: str) -> str | None:
    """Return the name of a reservation group; None for the identifier of one reservation or block."""
    return (catalog.identifier_parts(cluster.target, "pools.capacity.id", identifier) or {}).get("group")


def file_system_id(cluster: spec.ClusterSpec, entry: spec.FileSystem) -> str | None:
    """Return the id of an existing file system of the cloud; None for file systems to create and for other servers."""
    return (catalog.identifier_parts(cluster.target, "storage.source", entry.source or "") or {}).get("file_system")


def _is_identifier(cluster: spec.ClusterSpec, key: str, text: str) -> bool:
    return catalog.identifier_parts(cluster.target, key, text) is not None


def hosts_zone(cluster: spec.ClusterSpec, answers: Answers) -> str | None:
    """Return the zone of the hosts; None if it is not decided yet."""
    given = given_subnets(cluster)
    subnet = answers.subnets.get(given[0].name) if given else None
    if given and (subnet is None or subnet.zone):
        return subnet.zone if subnet else None
    return cluster.network.zones[0] if cluster.network.zones else None
