"""A network that is there already, and its subnets."""

import ipaddress
from collections.abc import Iterator, Sequence

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from .account import Answers, Network, Subnet, given_subnets

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_LOOK = "`clusterwright lookup subnets` lists those that there are"


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find a network that isn't there or resolves no names, and subnets that are too small, elsewhere, or without a way out."""
    network = cluster.network
    if network.existing is None:
        return
    if answers.knows("network"):
        yield from _network(cluster, source, answers.network)
    if answers.knows("subnets"):
        yield from _subnets(cluster, source, answers)


def _network(cluster: spec.ClusterSpec, source: Document, found: Network | None) -> Iterator[finding.Finding]:
    where = source.where("network", "existing")
    existing, cidr = cluster.network.existing, cluster.network.cidr
    if found is None:
        what = f"there is no {existing} in {cluster.network.region}"
        why = "the account has no network of this name there"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, where, what, why, _LOOK)
        return
    if not found.names_resolve:
        what = f"names that the cloud gives don't resolve in {existing}"
        why = "hosts mount file systems and find services by such names"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, where, what, why, "switch on DNS resolution and DNS hostnames of the network")
    if cidr and not any(ipaddress.IPv4Network(cidr).subnet_of(ipaddress.IPv4Network(one)) for one in found.cidrs):
        what = f"{cidr} is no part of {existing}, which has {message_text.listed(found.cidrs)}"
        why = "subnets are cut out of their network"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, source.where("network", "cidr"), what, why, "write a free range of these")


def _subnets(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    zones: list[str] = []
    for number, wanted in enumerate(given_subnets(cluster)):
        where = source.where("network", "subnets", number)
        found = answers.subnets.get(wanted.name)
        if found is None:
            what = f"there is no {wanted.name} in {cluster.network.region}"
            yield finding.Finding(_ERROR, Code.SUBNET_UNFIT, where, what, "the account has no subnet of this name there", _LOOK)
            continue
        for level, what, why, remedy in _faults(cluster, wanted, found, zones):
            yield finding.Finding(level, Code.SUBNET_UNFIT, where, what, why, remedy)
        zones.append(found.zone)


def _faults(cluster: spec.ClusterSpec, wanted: spec.Subnet, found: Subnet, before: Sequence[str]) -> Iterator[tuple[finding.Level, str, str, str]]:
    """Compare one subnet with what stands in it.

    Args:
        before: zones of the subnets before it.
    """
    network = cluster.network
    if found.network != network.existing:
        what = f"{found.id} is part of {found.network}, not of {network.existing}"
        yield _ERROR, what, "all that the cluster makes is in one network", "name subnets of it, or their own network as `existing`"
    target = catalog.target(cluster.target)
    size = ipaddress.IPv4Network(found.cidr).num_addresses - target.addresses_reserved_per_subnet
    if wanted.needed > size:
        what = f"{found.id} has {size} addresses for hosts, and the cluster can come to need {wanted.needed}"
        yield _ERROR, what, f"it is {found.cidr}, of which the cloud keeps {target.addresses_reserved_per_subnet}", "name a larger one, or ask for fewer nodes"
    elif wanted.needed > found.free:
        what = f"of {size} addresses of {found.id} {found.free} are free, and the cluster can come to need {wanted.needed}"
        yield _WARNING, what, "others have the rest, or this cluster does already", "name another, or see who has them"
    named = network.zones[len(before)] if len(before) < len(network.zones) else None
    if named is not None and found.zone != named:
        what = f"{found.id} is in {found.zone}, and the blueprint names {named}"
        yield _ERROR, what, "a subnet lies in one zone, and so do the hosts in it", f"name a subnet in {named}, or write `{found.zone}` in its place"
    elif found.zone in before:
        what = f"{found.id} is in {found.zone}, as one before it"
        yield _ERROR, what, "what wants a second subnet wants it in another zone", "name one in another zone"
    if wanted.role == "cluster" and not before and network.egress == "nat" and found.way_out != "nat":
        what = f"hosts in {found.id} have no way to the Internet"
        if found.way_out == "internet":
            why = "its way out is for hosts with public addresses, and these have none: EC2 gives instances with several interfaces none at all"
        else:
            why = "its routes lead to no gateway"
        yield _ERROR, what, why, "name a subnet whose routes lead to an address translation (NAT gateway) or to the site's own way out"
