"""What to ask of the account where a cluster will stand, and what it answers. Pure: the target's own folder asks (components/aws/account)."""

import dataclasses
import re
from collections.abc import Mapping

from .. import catalog, spec
from ..plan import quotas


@dataclasses.dataclass(frozen=True, slots=True)
class Questions:
    """What a cluster makes worth asking."""

    target: str
    region: str
    stack: str
    machines: tuple[str, ...]
    quotas: tuple[str, ...]
    """Codes of the catalogue."""
    network: str | None
    """One that is there already."""
    subnets: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()
    """Operating systems and processors that images of the software profile are built for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Zone:
    name: str
    is_local: bool
    """A smaller place elsewhere, none of the region's availability zones."""
    is_usable: bool
    """It works, and the account may use it."""
    state: str
    """In the cloud's words (`available`, `not-opted-in`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    id: str
    machine: str
    zone: str
    kind: str
    """`reserved` or `block`."""
    state: str
    """In the cloud's words (`active`, `scheduled`, `expired`)."""
    total: int
    free: int
    starts: str = ""
    """ISO 8601; empty: at once."""
    ends: str = ""
    """Empty: when its owner gives it back."""


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    id: str
    cidrs: tuple[str, ...]
    names_resolve: bool
    """Names that the cloud gives inside of it resolve."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subnet:
    id: str
    network: str
    zone: str
    cidr: str
    free: int
    way_out: str
    """`nat` (through address translation or a gateway of the site), `internet` (for hosts with public addresses only), `none`."""
    name: str = ""


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
    """None: nothing says where it is reached."""
    zones: tuple[str, ...] | None
    """Where it has mount targets; None: it is reached from all of its network."""


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    id: str
    arch: str
    is_available: bool
    name: str = ""
    made: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """A machine as the cloud describes it."""

    name: str
    arch: tuple[str, ...]
    vcpus: int
    memory_gib: float
    gpus: int
    cards: int
    """Network cards."""
    fabric_nics: int
    """The most interfaces that carry the fabric."""


@dataclasses.dataclass(frozen=True, slots=True)
class Room:
    """How many things of a kind there may be in the region, and how many others have."""

    what: str
    code: str
    limit: float | None
    taken: int


@dataclasses.dataclass(frozen=True, slots=True)
class Answers:
    """What the account said. Things that are named and aren't there are None."""

    account: str
    who: str
    asked: str
    """When, ISO 8601."""
    region_state: str
    """`enabled` (also where nobody said so), `disabled`, `unknown`."""
    zones: tuple[Zone, ...] = ()
    offered: Mapping[str, frozenset[str]] = dataclasses.field(default_factory=dict)
    """Machine → zones."""
    machines: Mapping[str, Machine] = dataclasses.field(default_factory=dict)
    """Those that are offered anywhere in the region."""
    quotas: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    rooms: tuple[Room, ...] = ()
    network: Network | None = None
    subnets: Mapping[str, Subnet | None] = dataclasses.field(default_factory=dict)
    reservations: Mapping[str, Reservation | None] = dataclasses.field(default_factory=dict)
    keys: Mapping[str, Key | None] = dataclasses.field(default_factory=dict)
    file_systems: Mapping[str, FileSystem | None] = dataclasses.field(default_factory=dict)
    images: Mapping[str, Image | None] = dataclasses.field(default_factory=dict)
    buckets: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    """Whether there is one of the name, whoever has it."""
    bases: Mapping[tuple[str, str], Image | None] = dataclasses.field(default_factory=dict)
    """Operating system and processor → the image that others are built on."""
    unanswered: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Question → why it has no answer: what is said of it here means nothing."""

    def knows(self, question: str) -> bool:
        return question not in self.unanswered


_HELD = ("reserved", "block")
GROUP = "arn:"
"""A group of reservations is named by its ARN."""
_FILE_SYSTEM = re.compile(r"fs-[0-9a-f]+")
_IMAGE = re.compile(r"ami-[0-9a-f]+")


def questions(cluster: spec.ClusterSpec, *, stack: str) -> Questions:
    """Say what to ask for a cluster."""
    network, given = cluster.network, given_subnets(cluster)
    images = {one.image for one in cluster.node_sets if isinstance(one.image, str) and _IMAGE.fullmatch(one.image)}
    machines = {group.machine.name: group.machine.arch for group in cluster.host_groups}
    known = catalog.machines(cluster.target)
    return Questions(
        target=cluster.target,
        region=network.region,
        stack=stack,
        machines=tuple(sorted(name for name in machines if name in known)),
        quotas=tuple(sorted({need.code for need in quotas.needed(cluster)})),
        network=network.existing,
        subnets=tuple(subnet.name for subnet in given),
        reservations=tuple(sorted({one.id for one in held(cluster).values() if one.id and not one.id.startswith(GROUP)})),
        keys=tuple(sorted({one.key for one in cluster.storage if one.key})),
        file_systems=tuple(sorted({found for one in cluster.storage if (found := file_system_id(one))})),
        images=tuple(sorted(images)),
        buckets=tuple(sorted({bucket_name(one.exchange.bucket) for one in cluster.storage if one.exchange})),
        systems=tuple(sorted({(cluster.software.os, arch) for arch in machines.values()})),
    )


def given_subnets(cluster: spec.ClusterSpec) -> tuple[spec.Subnet, ...]:
    """Give the subnets that are there already, the hosts' first."""
    network = cluster.network
    return tuple(one for one in network.subnets if network.existing is not None and not isinstance(one.cidr, str) and one.name.startswith("subnet-"))


def held(cluster: spec.ClusterSpec) -> Mapping[str, spec.Capacity]:
    """Give the capacity of each pool that was bought beforehand."""
    return {one.pool: one.capacity for one in cluster.node_sets if one.capacity.kind in _HELD}


def bucket_name(place: str) -> str:
    """Give the bucket of a place in one (`s3://name/prefix`)."""
    return place.partition("://")[2].partition("/")[0]


def file_system_id(entry: spec.FileSystem) -> str | None:
    """Give the id of a file system of the cloud that is there already; None for those that are made, and for servers of somebody's own."""
    found = _FILE_SYSTEM.search(entry.source or "")
    return found[0] if found else None


def hosts_zone(cluster: spec.ClusterSpec, answers: Answers) -> str | None:
    """Give the zone where the hosts will stand; None: nothing decides it yet."""
    given = given_subnets(cluster)
    if given:
        subnet = answers.subnets.get(given[0].name)
        return subnet.zone if subnet else None
    return cluster.network.zones[0] if cluster.network.zones else None
