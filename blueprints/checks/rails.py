"""Interfaces of existing hosts: their networks, next hops, routes and MTU. Hosts with the same fault are one finding."""

import dataclasses
import functools
import ipaddress
import itertools
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Self

from .. import finding, hostlist, language, spec
from ..codes import Code
from ..document import Document
from ..language import addresses
from . import host_addresses
from .inventory import Places

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
MOST_MTU = 9_216
"""The largest MTU that Ethernet switches of fabrics carry (NVIDIA Spectrum, Arista, SONiC: 9216 is their usual `jumbo` MTU)."""
_ALONE = 32

_Fault = tuple[Code, finding.Level, str, str, str, str]
"""Code, level, key, what (with a place for hosts and interface), why, remedy."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Network:
    """A network in numbers: thousands of hosts have tens of thousands of addresses, and `ipaddress` takes its time for each."""

    first: int
    last: int
    length: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a network, or the network of an interface's address (`10.40.0.11/24`)."""
        address, _, length = text.partition("/")
        size = 1 << (32 - int(length))
        first = _number(address) // size * size
        return cls(first, first + size - 1, int(length))

    def overlaps(self, other: "_Network") -> bool:
        return self.first <= other.last and other.first <= self.last

    def __contains__(self, address: str) -> bool:
        return self.first <= _number(address) <= self.last

    def __str__(self) -> str:
        return f"{ipaddress.IPv4Address(self.first)}/{self.length}"


def _number(address: str) -> int:
    return int.from_bytes(socket.inet_aton(address), "big")


_route_network = functools.lru_cache(maxsize=256)(_Network.of)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find interfaces that would take traffic from the hosts' own network, that lead nowhere, or whose packets are dropped on the way."""
    if cluster.site is None:
        return
    yield from _priorities(cluster.site, source)
    own = _Network.of(cluster.network.cidr) if cluster.network.cidr else None
    usual = _usual_mtu(cluster.site.hosts)
    found: dict[tuple[str, _Fault], list[str]] = {}
    for host in cluster.site.hosts:
        networks = {one.name: _Network.of(one.address) for one in host.interfaces if one.address}
        do_overlap = _do_overlap(networks)
        for interface in host.interfaces:
            network = networks.get(interface.name)
            faults = [
                *_in_own(host, interface, network, own),
                *_unusable(interface, network),
                *_next_hops(interface, network),
                *_routes(interface, own),
                *_mtu(interface, usual),
                *_partition(interface, cluster.site),
            ]
            for fault in (*faults, *(_overlaps(interface, networks) if do_overlap else ())):
                found.setdefault((interface.name, fault), []).append(host.name)
    places = Places(blueprint, source)
    for (name, (code, level, key, what, why, remedy)), hosts in found.items():
        subject = f"{name} of {hostlist.compress(hosts)}"
        yield finding.Finding(level, code, places.of(hosts[0], "interfaces", name, key), what.format(subject), why, remedy)


def _priorities(site: spec.Site, source: Document) -> Iterator[finding.Finding]:
    """Find RoCE packets and congestion notifications that a NIC can't tell apart. Source: dcb-app(8), `dscp-prio` (one priority for each DSCP)."""
    roce = site.roce
    if roce is None or roce.dscp != roce.cnp_dscp or roce.priority == roce.cnp_priority:
        return
    what = f"RoCE packets and congestion notifications have the DSCP {roce.dscp}, and the priorities {roce.priority} and {roce.cnp_priority}"
    why = "a NIC gives all packets of one DSCP the same priority"
    written = next((key for key in ("cnp_dscp", "dscp") if source.at("inventory", "roce", key) is not None), "cnp_priority")
    usual = language.Roce()
    other = usual.cnp_dscp if roce.dscp != usual.cnp_dscp else usual.dscp
    remedy = f"write another `cnp_dscp`, such as {other}, or `cnp_priority: {roce.priority}`"
    yield finding.Finding(_ERROR, Code.ROCE_PRIORITIES, source.where("inventory", "roce", written), what, why, remedy)


def _in_own(host: spec.SiteHost, interface: spec.SiteInterface, network: _Network | None, own: _Network | None) -> Iterator[_Fault]:
    if own and network and network.overlaps(own) and interface.address.split("/")[0] != host.address:
        why = "hosts would answer what reaches them in their own network through the rail"
        yield Code.RAIL_NETWORK, _ERROR, "address", f"{{}} is in {network}, which overlaps the hosts' own network {own}", why, "choose another network"


def _unusable(interface: spec.SiteInterface, network: _Network | None) -> Iterator[_Fault]:
    """Find addresses that stand for the network itself or for all of its hosts. Networks of /31 have none of both (RFC 3021)."""
    if network is None:
        return
    if network.length == _ALONE and not interface.gateway and not interface.routes:
        why = "a network of /32 has one address, so that the rail reaches no other one unless a program on the host adds routes"
        yield (
            Code.ADDRESS_UNUSABLE,
            _WARNING,
            "address",
            "{} is alone in its network, a /32",
            why,
            "write the length of the prefix that the rail's switches have",
        )
    elif network.length <= host_addresses.LONGEST_PREFIX_WITH_BOTH and (kind := _kind(_number(interface.address.partition("/")[0]), network)):
        remedy = f"choose other addresses, or write a shorter prefix than /{network.length} if the rail's network is larger"
        yield (
            Code.ADDRESS_UNUSABLE,
            _ERROR,
            "address",
            f"the address of {{}} is {kind} of its network, a /{network.length}",
            host_addresses.NOT_OF_A_HOST,
            remedy,
        )


def _kind(address: int, network: _Network) -> str | None:
    return {network.first: host_addresses.NETWORK, network.last: host_addresses.BROADCAST}.get(address)


def _do_overlap(networks: Mapping[str, _Network]) -> bool:
    """Say whether two networks of a host overlap without being the same."""
    ordered = sorted(networks.values(), key=lambda network: network.first)
    return any(one != other and one.overlaps(other) for one, other in itertools.pairwise(ordered))


def _overlaps(interface: spec.SiteInterface, networks: Mapping[str, _Network]) -> Iterator[_Fault]:
    network = networks.get(interface.name)
    for name, other in networks.items():
        if network and name < interface.name and other != network and other.overlaps(network):
            why = "the narrower network takes the packets of the wider one; rails may share a whole network, or none"
            yield Code.RAIL_NETWORK, _ERROR, "address", f"{{}} is in {network}, which overlaps {other} of {name}", why, "correct the length of the prefixes"


def _next_hops(interface: spec.SiteInterface, network: _Network | None) -> Iterator[_Fault]:
    hops = [("gateway", interface.gateway), *(("routes", route.via) for route in interface.routes)]
    for key, hop in hops:
        if not hop:
            continue
        if network is None:
            why = "the host asks on the rail for the next hop, and needs an address there for that"
            yield Code.RAIL_NEXT_HOP, _ERROR, key, f"{{}} has the next hop {hop} and no address", why, "write the interface's `address`"
        elif hop not in network:
            why = f"the host finds next hops in the rail's own network {network} only"
            yield (
                Code.RAIL_NEXT_HOP,
                _ERROR,
                key,
                f"{{}} has the next hop {hop} outside of its network",
                why,
                "correct the next hop, or the length of the prefix",
            )
        elif hop == interface.address.split("/")[0]:
            yield (
                Code.RAIL_NEXT_HOP,
                _ERROR,
                key,
                "{} has its own address as next hop",
                "packets would never leave the host",
                "write the address of the switch or router",
            )


def _routes(interface: spec.SiteInterface, own: _Network | None) -> Iterator[_Fault]:
    for route in interface.routes:
        to = _route_network(route.to)
        if own and to.overlaps(own):
            why = "SSH, Slurm and storage would leave by the rail; nobody could log in any more"
            yield Code.RAIL_ROUTE_CUTS, _ERROR, "routes", f"{{}} has a route to {to}, which holds hosts of {own}", why, "write the networks of the fabric only"


def _mtu(interface: spec.SiteInterface, usual: Mapping[str, int]) -> Iterator[_Fault]:
    is_infiniband = bool(interface.partition_key) or len(interface.mac) > addresses.ETHERNET_LETTERS
    if interface.mtu > MOST_MTU and not is_infiniband:
        why = f"switches carry {MOST_MTU} bytes at most, and drop larger packets silently"
        yield Code.RAIL_MTU, _WARNING, "mtu", f"{{}} has the MTU {interface.mtu}", why, f"write at most {MOST_MTU}, and the same at the switches"
    most = usual.get(interface.name, interface.mtu)
    if interface.mtu and interface.mtu != most:
        why = f"the rail of most hosts has {most}: packets of that size would not reach these"
        yield Code.RAIL_MTU, _WARNING, "mtu", f"{{}} has the MTU {interface.mtu}", why, f"write {most} here, or the same everywhere"


def _partition(interface: spec.SiteInterface, site: spec.Site) -> Iterator[_Fault]:
    if interface.partition_key and (site.roce or len(interface.mac) == addresses.ETHERNET_LETTERS):
        why = "`inventory.roce` says that the fabric is Ethernet" if site.roce else f"{interface.mac} is the hardware address of an Ethernet interface"
        remedy = (
            "remove `partition_key`; on an InfiniBand fabric, remove `inventory.roce`"
            if site.roce
            else "remove it, or write the 20 bytes of the InfiniBand interface"
        )
        yield Code.PARTITION_KEY_ON_ETHERNET, _ERROR, "partition_key", f"{{}} has the partition key {interface.partition_key}", why, remedy


def _usual_mtu(hosts: tuple[spec.SiteHost, ...]) -> Mapping[str, int]:
    """Give the MTU that most hosts have, by the interface's name; in doubt the larger one."""
    counted: dict[str, Counter[int]] = {}
    for host in hosts:
        for interface in host.interfaces:
            if interface.mtu:
                counted.setdefault(interface.name, Counter())[interface.mtu] += 1
    return {name: _most_frequent(counts) for name, counts in counted.items()}


def _most_frequent(counts: Counter[int]) -> int:
    most = max(counts.values())
    return max(mtu for mtu, count in counts.items() if count == most)
