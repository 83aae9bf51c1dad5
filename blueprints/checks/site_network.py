"""Address translation and name service that the controllers of a site provide for nodes, and the address that several hosts of a Kubernetes control plane share."""

import ipaddress
from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from ..language import addresses
from . import host_addresses

_WHERE = ("control", "address")
_FREE = "write a free address of the hosts' network into `control.address`"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find controllers without an address that nodes can use, and an address that is another host's, or has no effect."""
    site = cluster.site
    if site is None:
        return
    if cluster.kubernetes and cluster.kubernetes.control and cluster.kubernetes.control.count > 1 and cluster.kubernetes.control.members:
        yield from _of_control_plane(cluster, site, cluster.kubernetes.control, source)
        return
    wanted = [f"network.{name}: control" for name, is_wanted in (("nat", site.nat), ("dns", site.dns)) if is_wanted]
    if not wanted:
        if site.address:
            if cluster.kubernetes and cluster.kubernetes.control:
                why, remedy = "the API server answers at the only host's own address", "remove it, or name three hosts in `control.hosts`"
            else:
                why = "it is the address of address translation and name service, which the site provides for this cluster"
                remedy = "remove it, or write `network: {nat: control, dns: control}`"
            yield _finding("`control.address` has no effect", why, remedy, source, finding.Level.WARNING)
        return
    key = wanted[0].partition(":")[0].split(".")
    if cluster.controllers > 1 and not site.address:
        what = f"`{wanted[0]}` needs an address that moves between the controllers"
        why = "nodes have one way out and one name server: with the address of one controller, both are lost with it"
        yield finding.Finding(finding.Level.ERROR, Code.CONTROL_ADDRESS, source.where(*key), what, why, _FREE)
        return
    named = [host.name for host in site.hosts if not addresses.is_ipv4(host.address)]
    ways = [name for name in named if name in _controllers(cluster)]
    if ways or (named and (site.dns or not cluster.network.cidr)):
        if ways:
            what, why = (
                f"the inventory has no IPv4 address of {ways[0]}, through which nodes reach other networks",
                "routes and name servers are addresses, not names",
            )
        elif site.dns:
            what, why = f"the inventory has no IPv4 address of {named[0]}", "the controllers answer nodes with the addresses of the cluster's hosts"
        else:
            what, why = (
                f"the inventory has no IPv4 address of {named[0]}",
                "without `network.cidr`, controllers translate the addresses of the cluster's hosts alone",
            )
        yield finding.Finding(
            finding.Level.ERROR, Code.CONTROL_ADDRESS, source.where(*key), what, why, f"write the address of {[*ways, *named][0]} into the inventory"
        )
    if site.address:
        yield from _address(cluster, site, source, is_several=cluster.controllers > 1)


def _of_control_plane(cluster: spec.ClusterSpec, site: spec.Site, control: spec.HostGroup, source: Document) -> Iterator[finding.Finding]:
    if not site.address:
        what = f"the {control.count} hosts of the control plane have no address that they share"
        why = "nodes and users ask the API server at one address, which must not be lost with one host"
        yield finding.Finding(finding.Level.ERROR, Code.CONTROL_ADDRESS, source.where("control", "hosts"), what, why, _FREE)
        return
    yield from _address(cluster, site, source, is_several=True)


def _address(cluster: spec.ClusterSpec, site: spec.Site, source: Document, *, is_several: bool) -> Iterator[finding.Finding]:
    owner = host_addresses.owners(site.hosts).get(site.address)
    is_own = owner is not None and owner.is_host and owner.host in _controllers(cluster)
    if site.address == cluster.network.balancer_address:
        what, why = f"`control.address` is {site.address}, the address of the login nodes", "each of the two moves between hosts of its own"
        yield _finding(what, why, _FREE, source)
    elif owner is not None and (is_several or not is_own):
        what, why = (
            f"`control.address` is {site.address}, the address of the host {owner}",
            "the address moves between the controllers, so no host can have it as its own",
        )
        yield _finding(what, why, _FREE, source)
    elif cluster.network.cidr and ipaddress.IPv4Address(site.address) not in ipaddress.IPv4Network(cluster.network.cidr):
        what = f"`control.address` is {site.address}, which is outside of the cluster's network {cluster.network.cidr}"
        why = "a host answers at an address of its own network only, and others reach it there without a router between"
        yield _finding(what, why, _FREE, source)
    elif cluster.network.cidr and (kind := host_addresses.kind(site.address, ipaddress.IPv4Network(cluster.network.cidr))):
        what = f"`control.address` is {site.address}, {kind} of the cluster's network {cluster.network.cidr}"
        yield _finding(what, host_addresses.NOT_OF_A_HOST, _FREE, source)


def _finding(what: str, why: str, remedy: str, source: Document, level: finding.Level = finding.Level.ERROR) -> finding.Finding:
    return finding.Finding(level, Code.CONTROL_ADDRESS, source.where(*_WHERE), what, why, remedy)


def _controllers(cluster: spec.ClusterSpec) -> tuple[str, ...]:
    return cluster.slurm.control.hostnames if cluster.slurm and cluster.slurm.control else ()
