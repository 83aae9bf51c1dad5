"""An existing network and its subnets."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from .account import Answers, Network, Subnet, given_subnets

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_NAMED = 5
_LOOK = "choose one that `clusterwright lookup subnets` lists"


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find a network that doesn't exist or has no DNS, and subnets that are too small, in the wrong place, or without egress."""
    network = cluster.network
    if network.existing is None:
        return
    if answers.knows("network"):
        yield from _network(cluster, source, answers.network)
    if answers.knows("subnets"):
        yield from _subnets(cluster, source, answers)
    yield from _neighbours(cluster, source, answers)


def _network(cluster: spec.ClusterSpec, source: Document, found: Network | None) -> Iterator[finding.Finding]:
    where = source.where("network", "existing")
    existing, cidr = cluster.network.existing, cluster.network.cidr
    if found is None:
        what = f"the network {existing} does not exist in {cluster.network.region}"
        why = "the account has no network of this name there"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, where, what, why, _LOOK)
        return
    if not found.names_resolve:
        what = f"the cloud's DNS names don't resolve in {existing}"
        why = "hosts mount file systems and find services by these names"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, where, what, why, "enable DNS resolution and DNS hostnames of the network")
    if cidr and found.cidrs and not any(ipaddress.IPv4Network(cidr).subnet_of(ipaddress.IPv4Network(one)) for one in found.cidrs):
        what = f"{cidr} is not inside {existing}, which has {message_text.listed(found.cidrs)}"
        why = "a subnet uses addresses of its network"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, source.where("network", "cidr"), what, why, "write a free range of these")
    divides = not given_subnets(cluster)
    for name, taken in found.taken if divides else ():
        if cidr and ipaddress.IPv4Network(cidr).overlaps(ipaddress.IPv4Network(taken)):
            what = f"{cidr} shares addresses with {name} of {existing}, which has {taken}"
            why = "two subnets of a network can't have the same addresses"
            yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, source.where("network", "cidr"), what, why, "write a range that no subnet of the network has")
    if divides and cluster.network.egress == "nat" and found.way_out == "none":
        what = f"new subnets of {existing} in {cluster.network.region} can't reach the Internet"
        why = "no router of the network translates the addresses of all subnets, and no route leads to a gateway of the site"
        yield finding.Finding(_ERROR, Code.NETWORK_UNFIT, where, what, why, "add Cloud NAT for all subnets of the network in this region")


def _subnets(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    zones: list[str] = []
    networks: dict[str, str] = {}
    for number, wanted in enumerate(given_subnets(cluster)):
        where = source.where("network", "subnets", number)
        found = answers.subnets.get(wanted.name)
        if found is None:
            what = f"the subnet {wanted.name} does not exist in {cluster.network.region}"
            yield finding.Finding(_ERROR, Code.SUBNET_UNFIT, where, what, "the account has no subnet of this name there", _LOOK)
            continue
        if not found.is_usable:
            known = catalog.target(cluster.target).networks
            role = known.shared_role if known else ""
            what, why = f"{answers.who} may not use the subnet {wanted.name}", f"its project does not grant it the role {role}"
            remedy = (
                f"ask the owner of {cluster.network.host_project} to grant {role} on it to whoever runs `up`, and to the service account of the controllers"
            )
            yield finding.Finding(_ERROR, Code.SUBNET_UNFIT, where, what, why, remedy)
            continue
        for level, what, why, remedy in _faults(cluster, wanted, found, zones):
            yield finding.Finding(level, Code.SUBNET_UNFIT, where, what, why, remedy)
        for what, why, remedy in _of_interfaces(cluster, wanted, found, networks):
            yield finding.Finding(_ERROR, Code.SUBNET_UNFIT, where, what, why, remedy)
        zones.append(found.zone)
        networks.setdefault(found.network, wanted.name)


def _neighbours(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find machines to which the cluster would export its folders."""
    if not answers.neighbours:
        return
    subnet, several = given_subnets(cluster)[0].name, len(answers.neighbours) > 1
    named = [*answers.neighbours[:_NAMED], *([f"{len(answers.neighbours) - _NAMED} more"] if len(answers.neighbours) > _NAMED else [])]
    what = f"{message_text.listed(named)} {'have addresses' if several else 'has an address'} in {subnet}, and {'are' if several else 'is'} not the cluster's"
    why = "the cluster exports folders to all addresses of the subnet, and who is root on such a machine is root in these folders"
    remedy = "name a subnet that the cluster has for itself, or move these machines"
    yield finding.Finding(_WARNING, Code.SUBNET_SHARED, source.where("network", "subnets", 0), what, why, remedy)


def _faults(cluster: spec.ClusterSpec, wanted: spec.Subnet, found: Subnet, before: Sequence[str]) -> Iterator[tuple[finding.Level, str, str, str]]:
    """Compare one subnet with the hosts and services that use it.

    Args:
        before: zones of the subnets before it.
    """
    network = cluster.network
    if not wanted.interface and found.network != _short(network.existing):
        what = f"{found.id} belongs to {found.network}, not to {network.existing}"
        yield _ERROR, what, "all resources of a cluster are in one network", f"name subnets of {network.existing}, or write `existing: {found.network}`"
    target = catalog.target(cluster.target)
    size = ipaddress.IPv4Network(found.cidr).num_addresses - target.addresses_reserved_per_subnet
    if wanted.needed > size:
        what = f"{found.id} has {size} addresses for hosts, and the cluster can need {wanted.needed}"
        yield (
            _ERROR,
            what,
            f"it is {found.cidr}, of which the cloud reserves {target.addresses_reserved_per_subnet}",
            "name a larger subnet, or write fewer nodes",
        )
    elif wanted.needed > found.free:
        what = f"{found.id} has {found.free} free of {size} addresses, and the cluster can need {wanted.needed}"
        yield _WARNING, what, "other resources, or this cluster itself, use the rest", "name another subnet, or free addresses in this one"
    named = network.zones[len(before)] if len(before) < len(network.zones) else None
    if not found.zone:  # the cloud's subnets are in a region
        named = None
    if named is not None and found.zone != named:
        what = f"{found.id} is in {found.zone}, and the blueprint names {named}"
        yield _ERROR, what, "a subnet and its hosts are in one zone", f"name a subnet in {named}, or write `{found.zone}` instead of {named}"
    elif found.zone and found.zone in before:
        what = f"{found.id} is in {found.zone}, like an earlier subnet of the list"
        yield _ERROR, what, "services that need a second subnet need it in another zone", "name a subnet in another zone"
    if wanted.role == "cluster" and not before and network.egress == "nat" and found.way_out != "nat":
        what = f"hosts in {found.id} can't reach the Internet"
        if found.way_out == "internet":
            why = "its Internet gateway requires public addresses, and the cloud assigns none to instances with several network interfaces"
        else:
            why = "no router translates its addresses, and no route of it leads to a gateway of the site"
        yield _ERROR, what, why, "name a subnet with a route to a NAT gateway or to the site's own gateway"
    if wanted.role == "cluster" and target.networks is not None and target.networks.range_beside_subnets and network.cidr and found.cidr != network.cidr:
        what = f"{found.id} has {found.cidr}, and the blueprint names {network.cidr}"
        yield _ERROR, what, "hosts export folders to the range that the blueprint names", f"write `cidr: {found.cidr}`"


def _of_interfaces(cluster: spec.ClusterSpec, wanted: spec.Subnet, found: Subnet, before: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Compare a subnet of further interfaces with the networks that they can be in.

    Args:
        before: network → the subnet before it that is there.
    """
    known = catalog.target(cluster.target).networks
    if not wanted.interface or known is None:
        return
    kind = wanted.interface.rpartition("-")[0]
    zone = cluster.network.zones[0] if cluster.network.zones else ""
    if kind in known.one_network_for:
        profile = f"{zone or 'ZONE'}-{known.profile}"
        if not found.profile.endswith(f"-{known.profile}") or (zone and found.profile != profile):
            what = f"{found.id} is in {found.network}, whose network profile is {found.profile or 'none'}"
            why = f"interfaces of the kind {kind} are in a network with the profile {profile}, in the zone of the nodes"
            yield what, why, "name a subnet of such a network"
    elif found.network in before:
        what = f"{found.id} is in {found.network}, like {before[found.network]}"
        yield what, "each interface of a node is in a network of its own", "name a subnet of another network"


def _short(existing: str | None) -> str:
    """Give the name at the end of a network's full name."""
    return (existing or "").rpartition("/")[2]
