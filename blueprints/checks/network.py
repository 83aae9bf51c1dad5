"""The hosts' network: overlapping addresses, egress, existing subnets, zones."""

import ipaddress
from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_DOCKER = ipaddress.IPv4Network("172.17.0.0/16")
"""The default network of Docker's bridge (dockerd(8), `--bip`); a host that runs Docker can't reach other hosts with these addresses."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find overlapping networks, existing subnets of unknown size, and hosts without the egress that they need."""
    yield from _overlaps(cluster, source)
    if not lookup.is_bought(cluster):
        return
    yield from _subnets(cluster, source)
    network = blueprint.network
    if network.egress == "none" and not network.private_endpoints:
        what = "the hosts can reach neither the Internet nor the cloud's own services"
        why = "hosts need the cloud's services for secrets, storage and the start of nodes; these answer on the Internet or at private endpoints"
        where = source.where("network", "egress")
        yield finding.Finding(_ERROR, Code.EGRESS_NONE, where, what, why, "write `private_endpoints: true`, or `egress: nat`")
    target = lookup.target_of(cluster)
    if network.egress == "none" and network.private_endpoints and target is not None and target.builds_images:
        what = "clusterwright can't build an image of the software profile without egress"
        why = "the build host runs in this network and downloads the profile's packages from the Internet"
        where = source.where("network", "egress")
        remedy = "write `egress: nat`; NAT accepts no connections from outside"
        yield finding.Finding(_WARNING, Code.EGRESS_FOR_IMAGES, where, what, why, remedy)
    needs_range = target is not None and target.networks is not None and target.networks.range_beside_subnets
    if network.existing is not None and not network.subnets and network.cidr is None:
        what = f"the free addresses of {network.existing} are unknown"
        why = "an existing network may have other subnets"
        where = source.where("network", "existing")
        free = "a free range that clusterwright divides (`cidr: 10.0.16.0/20`)"
        subnets = "existing subnets, the hosts' subnet first (`subnets: […]`)"
        remedy = f"name {free}, or {subnets} with the range of the hosts' subnet as `cidr`" if needs_range else f"name {subnets}, or {free}"
        yield finding.Finding(_ERROR if needs_range else _WARNING, Code.SUBNETS_UNNAMED, where, what, why, remedy)
    elif network.existing is not None and network.subnets and network.cidr is None and needs_range:
        what = f"the addresses of {network.subnets[0]} are unknown"
        why = "hosts export folders to the range of the hosts' subnet, and only the account knows it"
        remedy = "write the range of this subnet as `cidr`, as `clusterwright lookup subnets` shows it"
        yield finding.Finding(_ERROR, Code.SUBNETS_UNNAMED, source.where("network", "subnets", 0), what, why, remedy)
    if network.subnets and network.existing is None:
        what = "the network has `subnets` and no `existing`"
        why = "existing subnets belong to an existing network; in a new network clusterwright creates the subnets"
        where = source.where_key("network", "subnets")
        yield finding.Finding(_ERROR, Code.SUBNETS_ALONE, where, what, why, "name their network as `existing`, or remove them")
    yield from _zones(cluster, blueprint, source)


def _overlaps(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if not cluster.network.cidr:
        return
    own = ipaddress.IPv4Network(cluster.network.cidr)
    where = source.where("network", "cidr")
    if own.overlaps(_DOCKER) and source.at("network", "cidr") is not None:
        what = f"{own} shares addresses with {_DOCKER}"
        why = "Docker uses this range for its containers, so a host that runs Docker can't reach other hosts in it"
        yield finding.Finding(_WARNING, Code.CIDR_OVERLAP, where, what, why, "write another network, such as `10.80.0.0/20`")
    for number, written in enumerate(cluster.login.allowed_cidrs):
        allowed = ipaddress.IPv4Network(written)
        if allowed.is_private and allowed.prefixlen and allowed.overlaps(own) and not allowed.subnet_of(own):
            what = f"the allowed network {allowed} overlaps with the hosts' own network {own}"
            why = "replies to clients in the overlap would stay inside the cluster"
            there = source.where("access", "allowed_cidrs", number)
            yield finding.Finding(_WARNING, Code.CIDR_OVERLAP, there, what, why, "write a `network.cidr` outside the allowed network")


def _subnets(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if source.at("network", "subnets") is None:  # clusterwright creates them, in an existing or a new network
        return
    unknown = [(number, subnet) for number, subnet in enumerate(cluster.network.subnets) if subnet.usable is None and subnet.needed]
    for number, subnet in [one for one in unknown if not one[1].interface]:
        name = subnet.cidr if isinstance(subnet.cidr, str) else subnet.name
        what = f"the subnet {name} must have {subnet.needed} free addresses, and its size is unknown"
        yield _unknown(what, source.where("network", "subnets", number))
    further = [one for one in unknown if one[1].interface]
    if further:
        most = max(subnet.needed for _, subnet in further)
        what = f"the {len(further)} subnets of further interfaces must have up to {most} free addresses each, and their sizes are unknown"
        yield _unknown(what, source.where("network", "subnets", further[0][0]))


def _unknown(what: str, where: finding.Position) -> finding.Finding:
    why = "the subnet exists already, and its size is known only in the account"
    return finding.Finding(_NOTE, Code.SUBNET_UNKNOWN, where, what, why, "check its free addresses in the cloud's console, or run `check --live`")


def _zones(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    zones = blueprint.network.zones
    target = lookup.target_of(cluster)
    if zones and target is not None and target.is_local_zone(zones[0]):
        what = f"the hosts run in {zones[0]}, which is a local zone"
        why = f"{target.local_zone_limits}; this version creates all of them in the zone of the hosts"
        remedy = "name an availability zone to provision the cluster; with a local zone you can plan it"
        yield finding.Finding(_WARNING, Code.ZONE_LOCAL, source.where("network", "zones", 0), what, why, remedy)
    has_managed_database = cluster.slurm is not None and cluster.slurm.database.placement == "managed"
    # A managed Kubernetes service runs its control plane in several zones.
    has_control_plane = cluster.kubernetes is not None and cluster.kubernetes.control is None
    if len(zones) > 1 and not has_managed_database and not has_control_plane and cluster.controllers < 2:
        what = f"compute nodes run in {zones[0]}, and the other zones are unused"
        why = "nodes of one cluster run in one zone for their fabric and file systems; only second controllers and databases use other zones"
        where = source.where("network", "zones", 1)
        yield finding.Finding(_NOTE, Code.ZONES_UNUSED, where, what, why, f"keep only `{zones[0]}` in the list")
    if len(zones) == 1 and cluster.controllers > 1:
        what = f"both controllers run in {zones[0]}"
        why = "a failure of the zone stops both controllers; the second one helps only if a single host fails"
        where = source.where("network", "zones")
        yield finding.Finding(_NOTE, Code.ZONE_SINGLE, where, what, why, "name a second zone if the controllers must survive the failure of a zone")
