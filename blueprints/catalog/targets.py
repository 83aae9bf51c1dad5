"""Targets: where a blueprint can land, what each place offers and what it calls it."""

import dataclasses
import fnmatch
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..capacity_kind import CapacityKind
from . import files
from .offerings import Offering, offering


@dataclasses.dataclass(frozen=True, slots=True)
class ControlSize:
    """The machine of the scheduler's own hosts, for clusters up to a size."""

    size: str
    nodes_max: int | None
    """None: any number."""
    machines: Mapping[str, str]
    """Processor architecture → machine."""


@dataclasses.dataclass(frozen=True, slots=True)
class Managed:
    """The cloud's own services beside those that run schedulers, by name; empty: there is none."""

    database: str
    load_balancer: str


@dataclasses.dataclass(frozen=True, slots=True)
class Networks:
    """How the network of a stack is divided."""

    default_prefix: int
    """Of the network that is chosen where none is asked for."""
    for_each_interface: bool
    """True: every interface of a host is in a subnet of its own, in a network of its own; False: all are in the cluster's."""
    public_subnets: int
    """For load balancers and the way out."""
    public_addresses: int
    """What each of these must hold."""
    endpoints: int
    """Services of the cloud that get an endpoint inside the network when the blueprint asks for it: each takes an address."""
    zones: Mapping[str, int]
    """In how many zones a service (`control`, `database`, `kubernetes`) wants subnets; one where it isn't named."""
    source: str
    as_of: str
    one_network_for: tuple[str, ...] = ()
    """Kinds of interfaces whose subnets share one network, where others have one each."""
    profile: str = ""
    """The kind of network (network profile) that these interfaces need; empty: any network does."""
    shared_network: str = ""
    """The full name of a network that another project shares (`{project}`, `{name}`); empty: there are none."""
    shared_subnet: str = ""
    """The same of a subnet (`{project}`, `{region}`, `{name}`)."""
    shared_role: str = ""
    """The role that lets others use it."""
    range_beside_subnets: bool = False
    """The blueprint must also name the range of the hosts' existing subnet: user data and firewall rules contain it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tunnel:
    """A service of the cloud that carries SSH to hosts without a public address."""

    service: str
    permission: str
    """What whoever connects must be allowed."""
    role: str
    """The role that has this permission."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostReports:
    """Of which instances the cloud takes reports that their host is broken."""

    machines: tuple[str, ...]
    """Patterns."""
    capacity: tuple[CapacityKind, ...]

    def takes(self, machine: str, capacity: CapacityKind) -> bool:
        return capacity in self.capacity and any(fnmatch.fnmatchcase(machine, pattern) for pattern in self.machines)


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why a target refuses a key, and what to write instead."""

    why: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """What of a blueprint this version heeds on a target."""

    software: tuple[str, ...]
    """The software profiles that it can provision; what the playbooks can't install yet is planned only."""
    keys: tuple[str, ...]
    """Keys of the language that it heeds, by their path without names (`pools.partition.max_time`); each with all below it."""
    values: Mapping[str, tuple[Any, ...]]
    """Keys of which it heeds only these values."""
    ignored: tuple[str, ...]
    """Keys that are about what the target doesn't have."""
    kubernetes_control_max: int = 1
    """The most hosts of a Kubernetes control plane that it provisions."""
    refused: Mapping[str, Refusal] = dataclasses.field(default_factory=dict)
    """Keys that it refuses: without what they ask for, data would be less safe, or nothing could be provisioned."""
    planned_machines: tuple[str, ...] = ()
    """Machines that it plans and can't provision, with any profile."""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    name: str
    title: str
    hosts: str
    """Where hosts come from: `cloud` (the stack creates them), `site` (they exist already), `here` (they run on this machine)."""
    cpu_machines: Mapping[str, tuple[str, ...]]
    """Processor architecture → patterns of the machines for pools without an accelerator."""
    networks: Networks | None
    """None where the stack's network isn't divided."""
    host_memory_mib: Mapping[str, int]
    """`control`, `access`, `compute` → memory that such a host takes of this machine; empty where hosts are machines of their own."""
    default_region: str
    """Empty: the target has no regions."""
    regions: tuple[str, ...]
    """Those that the catalogue lists; machines name more of them."""
    zone_pattern: str
    """What follows a region's name in the name of a zone, as a regular expression; empty: there are no zones."""
    architectures: tuple[str, ...]
    default_software: Mapping[str, str]
    """Processor architecture → software profile."""
    offerings: Mapping[str, tuple[Offering, ...]]
    """Scheduler → the ways in which it runs here; the first one is meant where the blueprint names none."""
    managed: Managed
    storage: Mapping[str, str]
    """Kind of storage → class that is meant when none is named."""
    capacity: tuple[CapacityKind, ...]
    """The kinds of purchase; none where nothing is bought."""
    control_sizes: tuple[ControlSize, ...]
    control_source: str
    login_machines: Mapping[str, str]
    """Processor architecture → machine; empty: the target leaves it to the site."""
    addresses_reserved_per_subnet: int
    subnet_prefix_widest: int
    subnet_prefix_narrowest: int
    name_limits: Mapping[str, int]
    """Kind of resource → the longest name it may have. The target's folder shortens longer ones."""
    limits: Mapping[str, int]
    built: Mapping[str, Built]
    """The offerings that this version can provision here, with what it heeds; none: the target is planned only."""
    local_zone_pattern: str
    """What follows a region's name in the name of a zone outside of its availability zones, as a regular expression; empty: there are none."""
    local_zone_limits: str
    """What such a zone lacks, with the source."""
    builds_images: bool
    places_domains: bool
    """Nodes of machines that NVLink joins start in the domain of their number: the first of a node set share the first one."""
    """Images of software profiles are built by hosts in the cluster's own network, which fetch packages there."""
    bucket_scheme: str
    """What the address of a bucket begins with (`s3`); empty: the target has no buckets."""
    tag_value: str
    """What a tag's value may be, as a regular expression; empty: anything."""
    tags_max: int | None
    apis: Mapping[str, tuple[str, ...]]
    """What needs them (`cluster`: every cluster; a kind of storage; `database`: a managed one) → APIs that an account has to enable; empty: all are enabled."""
    pair_storage: str
    """The class of storage on which two controllers of Slurm keep what they share, each file system in its smallest size; empty: nothing is sold for it."""
    tunnel: Tunnel | None
    """What carries SSH to hosts without a public address; None: the cloud has nothing."""
    host_reports: HostReports | None
    """None: the cloud repairs no host that somebody reports."""
    os_login: str
    """The cloud's service that decides who logs in to hosts; empty: it has none."""
    enable_apis: str
    """The command that enables APIs, with `{apis}` and `{account}`."""
    read_access: str
    """What lets credentials read all that a stack has; empty: nothing is known, or nobody is asked."""
    source: str
    as_of: str
    note: str

    @property
    def has_images(self) -> bool:
        """Whether hosts start from images, so that a pool can have one of its own; a site's hosts have their systems already."""
        return self.hosts == "cloud"

    @property
    def is_built(self) -> bool:
        return bool(self.built)

    def built_for(self, offerings: Iterable[str]) -> Built:
        """Give what this version heeds of a cluster whose schedulers these offerings run.

        It heeds a key that one of the offerings heeds. All of them have to install a software profile, and a key means nothing where it means nothing to all.

        Raises:
            KeyError: this version can't provision one of the offerings here.
        """
        found = [self.built[name] for name in offerings]
        return Built(
            software=_in_all([one.software for one in found]),
            keys=tuple(dict.fromkeys(key for one in found for key in one.keys)),
            values={key: tuple(dict.fromkeys(value for one in found for value in one.values.get(key, ()))) for entry in found for key in entry.values},
            ignored=_in_all([one.ignored for one in found]),
            kubernetes_control_max=max((one.kubernetes_control_max for one in found), default=1),
            refused={key: refusal for one in found for key, refusal in one.refused.items()},
            planned_machines=tuple(dict.fromkeys(machine for one in found for machine in one.planned_machines)),
        )

    @property
    def built_schedulers(self) -> tuple[str, ...]:
        """The schedulers that this version can provision here in some way."""
        return tuple(dict.fromkeys(offering(name).scheduler for name in self.built))

    def control_size(self, nodes: int) -> ControlSize | None:
        """Choose the scheduler's machine for a cluster; None: the target leaves it to the site."""
        return next((size for size in self.control_sizes if size.nodes_max is None or nodes <= size.nodes_max), None)

    def is_local_zone(self, name: str) -> bool:
        """Say whether a zone is none of the region's availability zones, but a smaller place elsewhere."""
        return bool(self.local_zone_pattern) and re.fullmatch(rf"[a-z]+(-[a-z]+)+-?[0-9]+{self.local_zone_pattern}", name) is not None

    def region_of(self, zone: str) -> str | None:
        """Give the region that a zone is in; None: it isn't the name of a zone of a region."""
        if not self.zone_pattern:
            return None
        match = re.fullmatch(rf"(?P<region>[a-z]+(-[a-z]+)+-?[0-9]+){self.zone_pattern}", zone)
        return match["region"] if match else None


_ORIGIN = ("source", "as_of")


def target_names() -> tuple[str, ...]:
    """List the targets."""
    return tuple(files.mapping("targets"))


@functools.cache
def machine_target() -> str:
    """Name the target whose hosts are on this machine. It needs no account, and takes the place of an unknown target, so that the rest of a blueprint is checked."""
    return next(name for name, entry in files.mapping("targets").items() if entry["hosts"] == "here")


@functools.cache
def target(name: str) -> Target:
    """Give one target.

    Raises:
        KeyError: there is none of this name.
    """
    entry = dict(files.mapping("targets")[name])
    prefix = entry.pop("subnet_prefix")
    memory = entry.get("host_memory_mib", {})
    read: dict[str, Any] = {
        "networks": _networks(**entry["networks"]) if "networks" in entry else None,
        "cpu_machines": {architecture: tuple(patterns) for architecture, patterns in entry["cpu_machines"].items()},
        "host_memory_mib": {role: size for role, size in memory.items() if role not in _ORIGIN},
        "capacity": tuple(CapacityKind(word) for word in entry["capacity"]),
        "managed": Managed(**entry["managed"]),
        "offerings": {scheduler: tuple(offering(one) for one in names) for scheduler, names in entry["offerings"].items()},
        "control_sizes": tuple(ControlSize(size["size"], size.get("nodes_max"), size["machines"]) for size in entry["control_sizes"]),
        "subnet_prefix_widest": prefix["widest"],
        "subnet_prefix_narrowest": prefix["narrowest"],
        "built": {name: _built(**one) for name, one in entry["built"].items()},
        "local_zone_pattern": entry.get("local_zone_pattern", ""),
        "local_zone_limits": entry.get("local_zone_limits", ""),
        "builds_images": entry.get("builds_images", False),
        "places_domains": entry.get("places_domains", False),
        "bucket_scheme": entry.get("bucket_scheme", ""),
        "tag_value": entry.get("tag_value", ""),
        "tags_max": entry.get("tags_max"),
        "apis": {user: tuple(names) for user, names in entry.get("apis", {}).items()},
        "pair_storage": entry.get("pair_storage", ""),
        "tunnel": Tunnel(**entry["tunnel"]) if "tunnel" in entry else None,
        "host_reports": _host_reports(**entry["host_reports"]) if "host_reports" in entry else None,
        "os_login": entry.get("os_login", ""),
        "enable_apis": entry.get("enable_apis", ""),
        "read_access": entry.get("read_access", ""),
    }
    lists = {field: tuple(entry[field]) for field in ("regions", "architectures")}
    return Target(name=name, **{**entry, **lists, **read})


def _host_reports(*, machines: Sequence[str], capacity: Sequence[str]) -> HostReports:
    return HostReports(tuple(machines), tuple(map(CapacityKind, capacity)))


def _networks(*, one_network_for: Sequence[str] = (), **known: Any) -> Networks:
    return Networks(**known, one_network_for=tuple(one_network_for))


def _built(
    *,
    software: list[str],
    keys: list[str],
    values: Mapping[str, list[Any]],
    ignored: list[str],
    kubernetes_control_max: int = 1,
    refused: Mapping[str, Mapping[str, str]] | None = None,
    planned_machines: Sequence[str] = (),
) -> Built:
    refusals = {key: Refusal(**said) for key, said in (refused or {}).items()}
    return Built(
        tuple(software),
        tuple(keys),
        {key: tuple(some) for key, some in values.items()},
        tuple(ignored),
        kubernetes_control_max,
        refusals,
        tuple(planned_machines),
    )


def _in_all(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(entry for entry in lists[0] if all(entry in one for one in lists)) if lists else ()
