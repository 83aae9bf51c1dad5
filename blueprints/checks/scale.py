"""Limits of schedulers and services: nodes, security group rules, machines in placement groups."""

import ipaddress
from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR = finding.Level.ERROR
_TITLES = {"slurm": "Slurm", "kubernetes": "Kubernetes"}


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find more nodes than a scheduler supports, more networks than a security group has rules, more disks than a controller attaches, and machines that placement groups don't support."""
    for scheduler, title in _TITLES.items():
        sets = [node_set for node_set in cluster.node_sets if node_set.scheduler == scheduler]
        nodes = sum(node_set.hosts.count for node_set in sets)
        most = catalog.limit(scheduler, "nodes")
        if most is not None and nodes > most.value:
            what = f"{title} would have {nodes} nodes"
            why = f"it supports at most {most.value}, including elastic nodes that do not run ({catalog.source(most.source).where})"
            yield finding.Finding(_ERROR, Code.NODES_TOO_MANY, source.where_key("pools"), what, why, "write fewer nodes, or several clusters")
    target = lookup.target_of(cluster)
    if target is None or not lookup.is_bought(cluster):
        return
    yield from _rules(blueprint, target, source)
    yield from _disks(blueprint, target, source)
    for node_set in cluster.node_sets:
        machine, kind = node_set.hosts.machine.name, node_set.capacity.kind
        if node_set.placement == "packed" and (said := catalog.unpacked_by(target.name, machine, kind)):
            bought = f" bought as `{kind}`" if not catalog.unpacked_by(target.name, machine, CapacityKind.ON_DEMAND) else ""
            what = f"nodes of {machine}{bought} can't share a placement group"
            why = f"{target.title} does not support this machine{bought} in placement groups ({catalog.source(said).where})"
            where = source.where("pools", node_set.pool, "placement")
            yield finding.Finding(_ERROR, Code.PLACEMENT_UNSUPPORTED, where, what, why, "remove `placement`, or choose another machine")


def _rules(blueprint: language.Blueprint, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of allowed networks with the limit of rules of a security group: each network needs one rule, and the group of the load balancer or the login nodes has no others."""
    allowed, most = tuple(dict.fromkeys(blueprint.access.allowed_cidrs)), catalog.limit(target.name, "security_group_rules")
    if most is None or len(allowed) <= most.value or not blueprint.access.login_nodes:
        return
    what = f"`access.allowed_cidrs` has {len(allowed)} networks"
    why = f"each network needs a rule, and {target.title} allows {most.value} in one security group ({catalog.source(most.source).where})"
    yield finding.Finding(_ERROR, Code.RULES_TOO_MANY, source.where("access", "allowed_cidrs", most.value), what, why, _fewer(allowed, most.value))


def _disks(blueprint: language.Blueprint, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of disks that the controller exports with the number that it can attach."""
    disks, most = [name for name, entry in blueprint.storage.items() if entry.kind == "block"], catalog.limit(target.name, "controller_disks")
    if most is None or len(disks) <= most.value:
        return
    what = f"the controller would attach {len(disks)} disks for file systems of the kind `block`"
    why = f"{target.title} has device names for {most.value} ({catalog.source(most.source).where})"
    remedy = "put several folders on one disk, or choose `nfs` or `lustre`"
    yield finding.Finding(_ERROR, Code.DISKS_TOO_MANY, source.where_key("storage", disks[most.value]), what, why, remedy)


def _fewer(networks: tuple[str, ...], most: int) -> str:
    """Write the same networks with fewer entries, if that is possible."""
    merged = [str(one) for one in ipaddress.collapse_addresses(map(ipaddress.IPv4Network, networks))]
    if len(merged) <= most:
        return f"write the same addresses as {len(merged)} networks: [{', '.join(merged)}]"
    return "write fewer, larger networks, or let users connect through a VPN with few addresses of its own"
