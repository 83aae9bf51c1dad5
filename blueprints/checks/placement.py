"""Where nodes stand to each other: placement groups and NVLink domains."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find pools larger than one group of near nodes, placements against the fabric, and domains that are partly filled."""
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if pool.placement == "spread" and (pool.fabric == "required" or any(node_set.fabric for node_set in node_sets)):
            what = f"the pool {name} wants its nodes far apart, and a fast network between them"
            why = "collectives wait for the slowest link, and nodes that stand far apart have the most hops between them"
            where = source.where("pools", name, "placement")
            remedy = "write `placement: auto`, or `fabric: none` if its jobs don't span nodes"
            yield finding.Finding(_WARNING, Code.PLACEMENT_AGAINST_FABRIC, where, what, why, remedy)
        for node_set in node_sets:
            yield from _groups(name, node_set, cluster, source)


def _groups(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    nodes = node_set.hosts.count
    if machine is None:
        return
    if machine.domain_nodes is not None:
        rest = nodes % machine.domain_nodes
        if rest and nodes > 1:
            what = f"of {nodes} nodes of {machine.name}, {rest} are in an NVLink domain that isn't filled"
            why = f"{machine.domain_nodes} nodes share one domain, and are sold or built as a whole"
            remedy = f"write a multiple of {machine.domain_nodes} nodes if you get whole domains"
            yield finding.Finding(finding.Level.NOTE, Code.DOMAIN_PARTIAL, source.where_key("pools", name, "nodes"), what, why, remedy)
    elif node_set.placement == "packed" and machine.compact_nodes is not None and nodes > machine.compact_nodes:
        groups = -(-nodes // machine.compact_nodes)
        what = f"the {nodes} nodes of {node_set.hosts.name} don't fit into one placement"
        why = f"{machine.compact_nodes} nodes of {machine.name} can stand together; these need {groups} groups, and between groups the network is slower"
        remedy = f"make pools of {machine.compact_nodes} nodes at most, or write `placement: none`"
        where = source.where_key("pools", name, "nodes")
        yield finding.Finding(_WARNING, Code.PLACEMENT_TOO_LARGE, where, what, why, remedy)
