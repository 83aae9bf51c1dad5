"""Addresses of services of type LoadBalancer: they are free ones of the hosts' network, or nobody reaches them."""

import ipaddress
from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import host_addresses

_KEY = ("kubernetes", "load_balancer_cidr")
_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_USUAL_PREFIX, _FEWEST_PARTS = 27, 4
"""A half or a quarter of the hosts' network would hold hosts."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find addresses that overlap with those of hosts, pods or services, lie in no network of the nodes, or are nobody's to give."""
    kubernetes = cluster.kubernetes
    if kubernetes is None or kubernetes.control is None:
        return
    is_installed = any(one.name == spec.METALLB for one in kubernetes.addons)
    if not kubernetes.load_balancer_cidr:
        if is_installed:
            what, why = "the add-on metallb has no addresses to give", "services of type LoadBalancer wait for an address until somebody adds an IPAddressPool"
            yield finding.Finding(
                _WARNING,
                Code.LOAD_BALANCER_EMPTY,
                source.where("kubernetes", "addons", spec.METALLB),
                what,
                why,
                "write `load_balancer_cidr`, or remove `metallb`",
            )
        return
    if not is_installed:
        what, why = "`load_balancer_cidr` needs the add-on metallb, which is left out", "without it services of type LoadBalancer never get an address"
        remedy = "remove `metallb: false`, or remove `load_balancer_cidr`"
        yield finding.Finding(_ERROR, Code.ADDON_NEEDED, source.where("kubernetes", "addons", spec.METALLB), what, why, remedy)
    yield from _ranges(cluster, kubernetes, source)


def _ranges(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, source: Document) -> Iterator[finding.Finding]:
    wanted, hosts = ipaddress.IPv4Network(kubernetes.load_balancer_cidr), cluster.network.cidr
    for title, cidr in (("the range of pods", kubernetes.pod_cidr), ("the range of services", kubernetes.service_cidr)):
        if wanted.overlaps(ipaddress.IPv4Network(cidr)):
            what, why = f"the addresses of load balancers {wanted} overlap with {title} {cidr}", "addresses in there exist inside the cluster only"
            yield finding.Finding(_ERROR, Code.KUBERNETES_RANGES, source.where(*_KEY), what, why, _remedy(cluster))
            return
    if hosts and not wanted.subnet_of(ipaddress.IPv4Network(hosts)):
        what = f"the addresses of load balancers {wanted} are not in the hosts' network {hosts}"
        why = "a node answers for such an address on its own network (ARP), so that others never find one outside of it"
    elif taken := _taken(cluster, kubernetes, wanted):
        what, why = f"the addresses of load balancers {wanted} contain {taken}", "two that answer for one address take each other's packets"
    else:
        return
    yield finding.Finding(_ERROR, Code.LOAD_BALANCER_RANGE, source.where(*_KEY), what, why, _remedy(cluster))


def _taken(cluster: spec.ClusterSpec, kubernetes: spec.Kubernetes, wanted: ipaddress.IPv4Network) -> str:
    """Name an address of the range that something has, or can come to have; empty: all are free, as far as the blueprint knows."""
    network = cluster.network
    edges = {}
    if network.cidr:
        whole = ipaddress.IPv4Network(network.cidr)
        edges = {str(one): kind for one in (whole[0], whole[-1]) if (kind := host_addresses.kind(str(one), whole))}
    known = {
        **{address: f"{kind} of the hosts' network" for address, kind in edges.items()},
        network.gateway: "the gateway",
        network.balancer_address: "that of the login nodes",
        kubernetes.endpoint.partition(":")[0]: "that of the API server",
        **({address: f"that of {owner}" for address, owner in host_addresses.owners(cluster.site.hosts).items()} if cluster.site else {}),
    }
    for address, whose in known.items():
        if address and host_addresses.is_in(address, wanted):
            return f"{address}, {whose}"
    for group in cluster.host_groups:
        if group.first_address:
            first = int(ipaddress.IPv4Address(group.first_address))
            found = max(first, int(wanted[0]))
            if found <= min(first + group.count - 1, int(wanted[-1])):
                return f"{ipaddress.IPv4Address(found)}, that of {group.hostname(found - first)}"
    return ""


def _remedy(cluster: spec.ClusterSpec) -> str:
    """Name a part at the end of the hosts' network, where the last addresses of pools are far."""
    if not cluster.network.cidr:
        return "write free addresses of the hosts' network"
    network = ipaddress.IPv4Network(cluster.network.cidr)
    parts = 1 << max(0, _USUAL_PREFIX - network.prefixlen)
    if parts < _FEWEST_PARTS:
        return f"write free addresses of {network}"
    start = int(network[0]) + (parts - 2 << 32 - _USUAL_PREFIX)
    return f"write free addresses of {network}, such as `{ipaddress.IPv4Network((start, _USUAL_PREFIX))}`"
