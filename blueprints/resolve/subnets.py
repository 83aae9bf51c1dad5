"""Subnets of a cloud network, and their addresses."""

import dataclasses
import ipaddress
from collections import Counter
from collections.abc import Sequence

from .. import addresses, catalog, spec
from ..codes import Code
from . import network, place, used_addresses
from .context import Context

_SHORTEST_PREFIX = 10
"""`addresses.default_network` chooses networks from a /10."""
_PUBLIC, _FABRIC = "public", "fabric"
_SHOWN_PARTS = 4
"""Subnets that a message lists."""


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A required subnet, before it has addresses."""

    name: str
    role: str
    zone: int
    """Index of its zone."""
    needed: int
    grows: bool
    """Whether it gets a share of the network's free addresses."""


def divided(context: Context, cluster: spec.ClusterSpec, *, own_hosts: int) -> spec.Network:
    """Divide the network into subnets with room for the maximum number of hosts."""
    asked, node_sets = context.blueprint.network, cluster.node_sets
    base = dataclasses.replace(network.unaddressed(context), region=context.region, zones=asked.zones)
    parts = _parts(context, cluster, own_hosts=own_hosts)
    if asked.existing is not None and asked.subnets:
        return dataclasses.replace(base, cidr=asked.cidr or "", subnets=_given(context, parts, node_sets))
    whole = _network(context, parts) if asked.cidr is not None or asked.existing is None else None
    cut = addresses.divide(whole, _blocks(context, parts)) if whole else ()
    subnets = []
    for number, part in enumerate(parts):
        cidr: str | spec.Late = str(cut[number]) if cut else spec.Late(f"free addresses of {asked.existing or 'the network'}")
        usable = network.usable(context.target, cut[number].prefixlen) if cut else None
        subnets.append(spec.Subnet(part.name, part.role, cidr, place.zone(context, part.zone, node_sets), needed=part.needed, usable=usable))
    return dataclasses.replace(base, cidr=str(whole) if whole else "", subnets=tuple(subnets))


def _parts(context: Context, cluster: spec.ClusterSpec, *, own_hosts: int) -> tuple[Part, ...]:
    """List the subnets that hosts and services require."""
    networks = context.target.networks
    if networks is None:
        return ()
    carried = Counter({(network.CLUSTER, 0): own_hosts + used_addresses.in_first_zone(context, networks, cluster)})
    for node_set in cluster.node_sets:
        carried.update({key: count * node_set.hosts.count for key, count in _by_subnet(node_set.hosts.machine.nics, networks).items()})
    services = _services(context, cluster)
    nodes = Part("cluster", network.CLUSTER, 0, carried.pop((network.CLUSTER, 0)), grows=True)
    zones = max([1, *(networks.zones.get(service, 1) for service in services)])
    further = [
        Part(f"cluster-{number + 1}", network.CLUSTER, number, len(services) + used_addresses.in_further_zone(context, cluster), grows=False)
        for number in range(1, zones)
    ]
    is_way_out = context.blueprint.network.existing is None
    public = [Part(f"public-{number + 1}", _PUBLIC, number, networks.public_addresses, grows=False) for number in range(networks.public_subnets * is_way_out)]
    fabric = [Part(f"{kind}-{number}", _FABRIC, 0, needed, grows=True) for (kind, number), needed in sorted(carried.items())]
    # Subnets of services come last: adding a second controller or a database later moves no existing subnet.
    return (nodes, *public, *further, *fabric)


def _by_subnet(nics: Sequence[spec.Nic], networks: catalog.Networks) -> Counter[tuple[str, int]]:
    """Count the addresses that one node uses in each subnet."""
    if not networks.for_each_interface or not nics:
        return Counter({(network.CLUSTER, 0): sum(nic.addresses for nic in nics) or 1})
    found = Counter({(network.CLUSTER, 0): nics[0].addresses})
    seen: Counter[str] = Counter()
    for nic in nics[1:]:
        seen[nic.kind] += 1
        if nic.addresses:
            found[nic.kind, seen[nic.kind]] = nic.addresses
    return found


def _services(context: Context, cluster: spec.ClusterSpec) -> list[str]:
    """List the services that also have addresses in further zones, on clouds with zonal subnets."""
    found = {
        "control": cluster.controllers > 1 and len(context.blueprint.network.zones) > 1,
        "database": cluster.slurm is not None and cluster.slurm.database.placement == "managed",
        "kubernetes": cluster.kubernetes is not None,
    }
    return [name for name, is_there in found.items() if is_there]


def _network(context: Context, parts: Sequence[Part]) -> ipaddress.IPv4Network:
    """Return the requested network if the subnets fit into it, else a default one by the stack's name."""
    target, networks = context.target, context.target.networks
    widest = max(_SHORTEST_PREFIX, target.subnet_prefix_widest)
    needed = addresses.prefix_holding([block.least for block in _blocks(context, parts)])
    prefix = min(needed, networks.default_prefix if networks else needed)
    hosts = sum(part.needed for part in parts)
    if prefix < widest:
        prefix = widest
        what = f"{hosts} addresses in {len(parts)} subnets don't fit into a network of {target.title}"
        why = f"their sizes, rounded up to powers of 2, need a /{needed}, and the largest network is a /{prefix}"
        context.error(Code.CLUSTER_TOO_LARGE, "pools", what=what, why=why, remedy=network.FEWER)
    default = addresses.default_network(context.stack, prefix)
    asked = context.blueprint.network.cidr
    if asked is None:
        return default
    given = ipaddress.IPv4Network(asked)
    instead = f"write for example `{default}`, or remove the key"
    is_fit = network.check_private(context, given, instead)
    if given.prefixlen < target.subnet_prefix_widest:
        why = f"the largest network of {target.title} is a /{target.subnet_prefix_widest}"
        context.error(Code.CIDR_SIZE, "network", "cidr", what=f"a /{given.prefixlen} is not a valid size for the hosts' network", why=why, remedy=instead)
        is_fit = False
    elif given.prefixlen > needed:
        holds = 1 << (32 - given.prefixlen)
        why = f"it has {holds} addresses, and its subnets ({_counted(parts)}) need a /{needed}, including addresses that the cloud reserves and rounding to powers of 2"
        around = ipaddress.IPv4Network((given.network_address, max(needed, widest)), strict=False)
        remedy = f"write `{around}` or a larger network, or remove the key" if around.is_private else instead
        context.error(Code.CIDR_TOO_SMALL, "network", "cidr", what=f"{given} is too small for the cluster", why=why, remedy=remedy)
        is_fit = False
    return given if is_fit else default


def _counted(parts: Sequence[Part]) -> str:
    shown = ", ".join(f"{part.name} {part.needed}" for part in parts[:_SHOWN_PARTS])
    return shown if len(parts) <= _SHOWN_PARTS else f"{shown} and {len(parts) - _SHOWN_PARTS} more"


def _blocks(context: Context, parts: Sequence[Part]) -> list[addresses.Block]:
    return [addresses.Block(_least(context.target, part.needed), part.grows) for part in parts]


def _least(target: catalog.Target, needed: int) -> int:
    """Return the smallest power of 2 that is a valid subnet size for this number of hosts."""
    size = needed + target.addresses_reserved_per_subnet
    return max(1 << (32 - target.subnet_prefix_narrowest), 1 << (size - 1).bit_length())


def _given(context: Context, parts: Sequence[Part], node_sets: tuple[spec.NodeSet, ...]) -> tuple[spec.Subnet, ...]:
    """Assign the subnets of an existing network: the hosts' first, then those of services and fabric in order."""
    names = context.blueprint.network.subnets
    if missing := parts[len(names) :]:
        what = f"the blueprint names {len(names)} subnets, and the cluster needs {len(parts)}"
        why = f"subnets are missing for {_counted(missing)}: the list has the hosts' subnet, those of services in further zones, and one for each further interface"
        context.error(Code.SUBNETS_MISSING, "network", "subnets", what=what, why=why, remedy="name all of them, in this order, or remove `subnets`")
    found = []
    host = network.host_project(context)
    for number, written in enumerate(names):
        name = written
        if host and "/" not in written and context.target.networks:
            name = context.target.networks.shared_subnet.format(project=host, region=context.region, name=written)
        part = parts[number] if number < len(parts) else Part(name, network.CLUSTER, number, 0, grows=False)
        cidr = spec.Late(f"the addresses of {name}")
        room = _room(context, part) if number == 0 else None
        interface = part.name if part.role == _FABRIC else ""
        found.append(spec.Subnet(name, part.role, cidr, place.zone(context, part.zone, node_sets), needed=part.needed, usable=room, interface=interface))
    return tuple(found)


def _room(context: Context, part: Part) -> int | None:
    """Count the addresses of the hosts' existing subnet; None where the blueprint need not name its range."""
    networks, given = context.target.networks, context.blueprint.network.cidr
    if networks is None or not networks.range_beside_subnets or given is None:
        return None
    range_ = ipaddress.IPv4Network(given)
    room = network.usable(context.target, range_.prefixlen)
    network.check_private(context, range_, "write the range of the hosts' subnet")
    if part.needed > room:
        what, why = f"the hosts' subnet {given} is too small for the cluster", f"it has {room} addresses for hosts, and they can need {part.needed}"
        context.error(Code.CIDR_TOO_SMALL, "network", "cidr", what=what, why=why, remedy="name a larger subnet, or fewer nodes")
    return room
