"""The hosts' network: addresses that others use, the way out, subnets that exist, zones."""

import ipaddress
from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_DOCKER = ipaddress.IPv4Network("172.17.0.0/16")
"""Docker gives its containers addresses of this network unless told otherwise (dockerd(8), `--bip`), and a host then can't reach others there."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find networks that share addresses, subnets whose size nobody told, and hosts without a way to what they need."""
    yield from _overlaps(cluster, source)
    if not lookup.is_bought(cluster):
        return
    yield from _subnets(cluster, source)
    network = blueprint.network
    if network.egress == "none" and not network.private_endpoints:
        what = "the hosts have no way to the Internet, and none to the cloud's own services"
        why = "images, secrets, storage and the start of nodes are services of the cloud, which answer on the Internet or at private endpoints"
        where = source.where("network", "egress")
        yield finding.Finding(_ERROR, Code.EGRESS_NONE, where, what, why, "write `private_endpoints: true`, or `egress: nat`")
    target = lookup.target_of(cluster)
    if network.egress == "none" and network.private_endpoints and target is not None and target.builds_images:
        what = "without a way out no image of the software profile can be built"
        why = "a host in this network fetches the profile's packages, and those come from the Internet"
        where = source.where("network", "egress")
        remedy = "write `egress: nat`; hosts stay unreachable from outside"
        yield finding.Finding(_WARNING, Code.EGRESS_FOR_IMAGES, where, what, why, remedy)
    if network.existing is not None and not network.subnets and network.cidr is None:
        what = f"nothing says which addresses of {network.existing} are free"
        why = "what its other subnets take is its owner's knowledge"
        where = source.where("network", "existing")
        remedy = "name subnets that are there, the hosts' first (`subnets: […]`), or a free range that is divided (`cidr: 10.0.16.0/20`)"
        yield finding.Finding(_WARNING, Code.SUBNETS_UNNAMED, where, what, why, remedy)
    if network.subnets and network.existing is None:
        what = "the network has `subnets` and no `existing`"
        why = "subnets that are there belong to a network that is there; in a new one they are made"
        where = source.where_key("network", "subnets")
        yield finding.Finding(_ERROR, Code.SUBNETS_ALONE, where, what, why, "name their network as `existing`, or take them out")
    yield from _zones(cluster, blueprint, source)


def _overlaps(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if not cluster.network.cidr:
        return
    own = ipaddress.IPv4Network(cluster.network.cidr)
    where = source.where("network", "cidr")
    if own.overlaps(_DOCKER) and source.at("network", "cidr") is not None:
        what = f"{own} shares addresses with {_DOCKER}"
        why = "Docker gives these to containers on every host where it runs, and the host then can't reach the others"
        yield finding.Finding(_WARNING, Code.CIDR_OVERLAP, where, what, why, "write another network, such as `10.80.0.0/20`")
    for number, written in enumerate(cluster.login.allowed_cidrs):
        allowed = ipaddress.IPv4Network(written)
        if allowed.is_private and allowed.prefixlen and allowed.overlaps(own) and not allowed.subnet_of(own):
            what = f"{allowed}, from where logging in is allowed, shares addresses with the hosts' own network {own}"
            why = "answers to people with such an address would stay inside the cluster"
            there = source.where("access", "allowed_cidrs", number)
            yield finding.Finding(_WARNING, Code.CIDR_OVERLAP, there, what, why, "write a `network.cidr` outside of it")


def _subnets(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if source.at("network", "subnets") is None:  # they are made, in a network that is there or a new one
        return
    unknown = [subnet for subnet in cluster.network.subnets if subnet.usable is None and subnet.needed]
    for number, subnet in enumerate(unknown):
        name = subnet.cidr if isinstance(subnet.cidr, str) else subnet.name
        what = f"the subnet {name} must have {subnet.needed} free addresses, and how many it has is not known here"
        why = "it exists already, and only the account tells its size"
        where = source.where("network", "subnets", number)
        yield finding.Finding(_NOTE, Code.SUBNET_UNKNOWN, where, what, why, "look at it in the cloud's console before the first node is missing")


def _zones(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    zones = blueprint.network.zones
    target = lookup.target_of(cluster)
    if zones and target is not None and target.is_local_zone(zones[0]):
        what = f"the hosts run in {zones[0]}, which is a local zone"
        why = (
            "EFS has mount targets in availability zones only, and of address translation and load balancers some local zones have one, some none "
            '(EFS User Guide, "Creating mount targets"; Local Zones User Guide, "NAT gateways"); this version puts all of them where the hosts are'
        )
        remedy = "plan with it; to provision it, name an availability zone, or wait for a version that divides a cluster between the two"
        yield finding.Finding(_WARNING, Code.ZONE_LOCAL, source.where("network", "zones", 0), what, why, remedy)
    has_managed_database = cluster.slurm is not None and cluster.slurm.database.placement == "managed"
    # A Kubernetes service keeps its control plane in several zones by itself.
    has_control_plane = cluster.kubernetes is not None and cluster.kubernetes.control is None
    if len(zones) > 1 and not has_managed_database and not has_control_plane and cluster.controllers < 2:
        what = f"compute nodes run in {zones[0]}, and nothing in the other zones"
        why = "nodes of one cluster run together for their fabric and their file systems; other zones are for second controllers and databases"
        where = source.where("network", "zones", 1)
        yield finding.Finding(_NOTE, Code.ZONES_UNUSED, where, what, why, f"leave `{zones[0]}` alone in the list")
    if len(zones) == 1 and cluster.controllers > 1:
        what = f"both controllers run in {zones[0]}"
        why = "when the zone fails, the second controller fails with the first; it helps against the loss of one host only"
        where = source.where("network", "zones")
        yield finding.Finding(_NOTE, Code.ZONE_SINGLE, where, what, why, "name a second zone if the controllers shall survive the loss of one")
