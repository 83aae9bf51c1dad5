"""Networks in which pods ask for a further interface: their nodes have it, and nobody else has the addresses."""

import ipaddress
import re
from collections.abc import Iterator

from .. import finding, hostlist, language, spec
from ..codes import Code
from ..document import Document
from . import host_addresses

_KEY = ("kubernetes", "secondary_networks")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
"""Source: Kubernetes, "Object Names and IDs" (RFC 1123 label names)."""
_INFINIBAND_MAC = 59
"""Letters of a hardware address of 20 bytes."""
_Fault = tuple[str, str, str]
"""What, why, remedy."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find networks that no pod could use, and addresses that others have."""
    kubernetes = cluster.kubernetes
    for one in kubernetes.secondary_networks if kubernetes else ():
        if fault := _fault(cluster, kubernetes, one):
            yield finding.Finding(finding.Level.ERROR, Code.SECONDARY_NETWORK, source.where(*_KEY, one.name), *fault)


def _fault(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes | None, one: spec.SecondaryNetwork) -> _Fault | None:
    if not _OBJECT_NAME.fullmatch(one.name):
        why = "it becomes the name of an object of Kubernetes: lower-case letters, digits and hyphens"
        return f"pods can't ask for the network {one.name}", why, "give the interface such a name in the inventory, such as `rail0`"
    if kubernetes and cluster.site and (fault := _of_hosts(kubernetes, cluster.site, one)):
        return fault
    wanted, whole = ipaddress.IPv4Network(one.pods), ipaddress.IPv4Network(one.cidr)
    remedy = f"write free addresses of {one.cidr}" if one.cidr != one.pods else "write free addresses of the interface's network"
    if not wanted.subnet_of(whole):
        return f"the addresses of pods {one.pods} are not in {one.cidr}, the network of {one.name}", "nodes and pods there find each other by ARP", remedy
    if not one.first:
        return f"{one.pods} holds no address that a pod can have", host_addresses.NOT_OF_A_HOST, remedy
    if kubernetes and (taken := _taken(cluster, kubernetes, one, wanted)):
        return (
            f"the addresses of pods {one.pods} in the network {one.name} contain {taken}",
            "two that answer for one address take each other's packets",
            remedy,
        )
    return None


def _of_hosts(kubernetes: spec.Kubernetes, site: spec.Site, one: spec.SecondaryNetwork) -> _Fault | None:
    """Find pools of which some nodes lack the interface, and interfaces that carry no Ethernet."""
    pools: dict[str, list[str]] = {}
    for node_set in kubernetes.node_sets:
        pools.setdefault(node_set.pool, []).extend(node_set.hosts.hostnames)
    having = {host.name: interface for host in site.hosts for interface in host.interfaces if interface.name == one.name}
    remedy = f"add {one.name} to `interfaces` of these hosts in the inventory"
    for pool, names in pools.items():
        lacking = [name for name in names if name not in having]
        if 0 < len(lacking) < len(names):
            why = "a pod of the pool starts on any of its nodes, and needs the interface there"
            return f"{hostlist.compress(lacking)} of pool {pool} {'has' if len(lacking) == 1 else 'have'} no interface {one.name}", why, remedy
    of_nodes = [having[name] for names in pools.values() for name in names if name in having]
    if not of_nodes:
        return f"no node has an interface {one.name}", "pods get their own interface on top of one that their node has", remedy
    if any(interface.partition_key or len(interface.mac) == _INFINIBAND_MAC for interface in of_nodes):
        why = "pods get an interface with a hardware address of its own (macvlan), which InfiniBand doesn't have"
        return f"{one.name} is an interface of InfiniBand", why, "remove it; jobs use InfiniBand through the node's own devices"
    networks = sorted({str(ipaddress.IPv4Interface(interface.address).network) for interface in of_nodes if interface.address})
    if len(networks) > 1:
        why = "pods get addresses of one network, whichever node they run on"
        return f"nodes have {one.name} in several networks: {', '.join(networks)}", why, "give the interface one network on all nodes, or remove it here"
    return None


def _taken(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, one: spec.SecondaryNetwork, wanted: ipaddress.IPv4Network) -> str:
    """Name what has addresses of the range; empty: all are free, as far as the blueprint knows."""
    ranges = {"the range of pods": kubernetes.pod_cidr, "the range of services": kubernetes.service_cidr, "the hosts' network": cluster.network.cidr}
    others = {f"the network {other.name}": other.pods for other in kubernetes.secondary_networks if other.name < one.name}
    for title, cidr in {**ranges, **others}.items():
        if cidr and wanted.overlaps(ipaddress.IPv4Network(cidr)):
            return f"addresses of {title} {cidr}"
    for address, owner in host_addresses.owners(cluster.site.hosts).items() if cluster.site else ():
        if host_addresses.is_in(address, wanted):
            return f"{address}, that of {owner}"
    return ""
