"""Where nodes stand to each other: placement groups and NVLink domains."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING = finding.Level.WARNING
_BRINGS_PLACEMENT = ("reserved", "block")


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find pools larger than one group of near nodes, placements against the fabric, and domains that are partly filled."""
    ids = [pool.bought.id for pool in blueprint.pools.values()]
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if pool.placement == "spread" and (pool.fabric == "required" or any(node_set.fabric for node_set in node_sets)):
            what = f"the pool {name} wants its nodes far apart, and a fast network between them"
            why = "collectives wait for the slowest link, and nodes far apart have the most hops between them"
            where = source.where("pools", name, "placement")
            remedy = "write `placement: auto`, or `fabric: none` if its jobs don't span nodes"
            yield finding.Finding(_WARNING, Code.PLACEMENT_AGAINST_FABRIC, where, what, why, remedy)
        loose = next((node_set for node_set in node_sets if _is_loose(node_set, cluster)), None)
        if pool.placement == "none" and loose is not None:
            what = f"the nodes of {name} run anywhere in their zone, and {loose.fabric.title if loose.fabric else 'a fabric'} joins them"
            why = "between places far from each other the fabric is slower, and collectives wait for the slowest link"
            where = source.where("pools", name, "placement")
            remedy = "leave `placement` out, which packs nodes that a fabric joins; or write `fabric: none` if jobs don't span nodes"
            yield finding.Finding(_WARNING, Code.PLACEMENT_AGAINST_FABRIC, where, what, why, remedy)
        for node_set in node_sets:
            yield from _domains(name, pool, node_set, cluster, source, is_shared=pool.bought.id is not None and ids.count(pool.bought.id) > 1)
            yield from _groups(name, node_set, cluster, source)
            yield from _spread(name, node_set, cluster, source)


def _is_loose(node_set: spec.NodeSet, cluster: spec.ClusterSpec) -> bool:
    """Say whether nodes that a fabric joins could stand together, and don't: what was bought beforehand brings its place, and more than one placement holds can't."""
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    if node_set.fabric is None or machine is None or not lookup.is_bought(cluster) or node_set.capacity.kind in _BRINGS_PLACEMENT or machine.domain_sizes:
        return False
    return node_set.hosts.count > 1 and (machine.compact_nodes is None or node_set.hosts.count <= machine.compact_nodes)


def _domains(
    name: str, pool: language.Pool, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document, *, is_shared: bool
) -> Iterator[finding.Finding]:
    """Compare the number of nodes with the domains that they come in: what is bought as a block, comes in whole ones."""
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    nodes = node_set.hosts.count
    if machine is None or not machine.domain_sizes:
        return
    smallest = min(machine.domain_sizes)
    sizes = " or ".join(str(size) for size in sorted(machine.domain_sizes))
    where = source.where_key("pools", name, "nodes")
    is_block = node_set.capacity.kind == "block"
    if is_block and is_shared:  # compared together with the other pools of the block
        return
    if is_block and (nodes % smallest or (pool.bought.id is not None and nodes not in machine.domain_sizes)):
        what = f"no block of {machine.name} has {nodes} nodes" if pool.bought.id else f"blocks of {machine.name} never come to {nodes} nodes"
        why = f"they are sold as whole NVLink domains of {sizes} nodes"
        remedy = f"write {sizes} nodes" + ("; a further block is a pool of its own" if pool.bought.id else ", or a sum of these")
        yield finding.Finding(finding.Level.ERROR, Code.BLOCK_SIZE, where, what, why, remedy)
    elif not is_block and nodes % smallest and nodes > 1:
        what = f"of {nodes} nodes of {machine.name}, {nodes % smallest} are in an NVLink domain that isn't filled"
        why = f"{sizes} nodes share one domain, and are sold or built as a whole"
        remedy = f"write a multiple of {smallest} nodes if you get whole domains"
        yield finding.Finding(finding.Level.NOTE, Code.DOMAIN_PARTIAL, where, what, why, remedy)


def _groups(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    nodes = node_set.hosts.count
    if machine is None or machine.domain_sizes:
        return
    if node_set.placement == "packed" and machine.compact_nodes is not None and nodes > machine.compact_nodes:
        groups = -(-nodes // machine.compact_nodes)
        what = f"the {nodes} nodes of {node_set.hosts.name} don't fit into one placement"
        why = f"{machine.compact_nodes} nodes of {machine.name} fit into one group; these need {groups} groups, and between groups the network is slower"
        remedy = f"make pools of {machine.compact_nodes} nodes at most, or write `placement: none`"
        where = source.where_key("pools", name, "nodes")
        yield finding.Finding(_WARNING, Code.PLACEMENT_TOO_LARGE, where, what, why, remedy)


def _spread(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Compare the nodes that stand far apart with the most of them that run at one time: those that always stand must fit, and more than fit never start."""
    target = lookup.target_of(cluster)
    most = target.limits.get("spread_nodes_max") if target else None
    if target is None or most is None or node_set.placement != "spread" or node_set.hosts.count <= most:
        return
    level = finding.Level.ERROR if node_set.always > most else _WARNING
    what = f"of the {node_set.hosts.count} nodes of {node_set.hosts.name}, {most} can run at one time"
    why = f"they are to run far apart, and {target.title} lets {most} nodes of such a group run in one zone"
    remedy = f"write {most} nodes at most, or `placement: none`"
    yield finding.Finding(level, Code.PLACEMENT_SPREAD, source.where_key("pools", name, "nodes"), what, why, remedy)
