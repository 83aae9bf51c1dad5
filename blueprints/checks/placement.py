"""Placement of nodes: placement groups and NVLink domains."""

from collections.abc import Iterator

from .. import finding, hostlist, language, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document
from . import lookup

_WARNING, _NOTE = finding.Level.WARNING, finding.Level.NOTE


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find pools larger than one placement group, placements that slow the fabric down, and partly filled NVLink domains."""
    ids = [pool.bought.id for pool in blueprint.pools.values()]
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if pool.placement == "spread" and (pool.fabric == "required" or any(node_set.fabric for node_set in node_sets)):
            what = f"the pool {name} spreads its nodes, and a fabric connects them"
            why = "collectives wait for the slowest link, and spread nodes have the most hops between them"
            where = source.where("pools", name, "placement")
            remedy = "write `placement: auto`, or `fabric: none` if its jobs don't span nodes"
            yield finding.Finding(_WARNING, Code.PLACEMENT_AGAINST_FABRIC, where, what, why, remedy)
        loose = next((node_set for node_set in node_sets if _is_loose(node_set, cluster)), None)
        if pool.placement == "none" and loose is not None:
            what = f"the nodes of {name} run anywhere in their zone, and {loose.fabric.title if loose.fabric else 'a fabric'} connects them"
            why = "the fabric is slower between distant nodes, and collectives wait for the slowest link"
            where = source.where("pools", name, "placement")
            remedy = "remove `placement`, so that nodes with a fabric share a placement group; or write `fabric: none` if its jobs don't span nodes"
            yield finding.Finding(_WARNING, Code.PLACEMENT_AGAINST_FABRIC, where, what, why, remedy)
        for node_set in node_sets:
            yield from _domains(name, pool, node_set, cluster, source, is_shared=pool.bought.id is not None and ids.count(pool.bought.id) > 1)
            yield from _unknown_domains(name, node_set, cluster, source)
            yield from _groups(name, node_set, cluster, source)
            yield from _spread(name, node_set, cluster, source)


def _is_loose(node_set: spec.NodeSet, cluster: spec.ClusterSpec) -> bool:
    """Whether nodes with a fabric could share a placement group and don't. Reservations and blocks bring their own placement."""
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    if node_set.fabric is None or machine is None or not lookup.is_bought(cluster) or node_set.capacity.kind.is_bought_ahead or machine.domain_sizes:
        return False
    return node_set.hosts.count > 1 and (machine.compact_nodes is None or node_set.hosts.count <= machine.compact_nodes)


def _domains(
    name: str, pool: language.Pool, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document, *, is_shared: bool
) -> Iterator[finding.Finding]:
    """Compare the number of nodes with the sizes of NVLink domains: a block has whole domains."""
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    nodes = node_set.hosts.count
    if machine is None or not machine.domain_sizes:
        return
    smallest = min(machine.domain_sizes)
    sizes = " or ".join(str(size) for size in sorted(machine.domain_sizes))
    where = source.where_key("pools", name, "nodes")
    is_block = node_set.capacity.kind is CapacityKind.BLOCK
    if is_block and is_shared:  # purchases.py checks all pools of the block together
        return
    if is_block and (nodes % smallest or (pool.bought.id is not None and nodes not in machine.domain_sizes)):
        what = f"no block of {machine.name} has {nodes} nodes" if pool.bought.id else f"blocks of {machine.name} can't add up to {nodes} nodes"
        why = f"the cloud sells them as whole NVLink domains of {sizes} nodes"
        remedy = f"write {sizes} nodes" + ("; write another pool for another block" if pool.bought.id else ", or a sum of these")
        yield finding.Finding(finding.Level.ERROR, Code.BLOCK_SIZE, where, what, why, remedy)
    elif not is_block and nodes % smallest and nodes > 1:
        what = f"{nodes % smallest} of {nodes} nodes of {machine.name} are in a partly filled NVLink domain"
        why = f"{sizes} nodes share one domain{', which is sold as a whole' if lookup.is_bought(cluster) else ''}"
        remedy = f"write a multiple of {smallest} nodes if you {'get' if lookup.is_bought(cluster) else 'have'} whole domains"
        yield finding.Finding(_NOTE, Code.DOMAIN_PARTIAL, where, what, why, remedy)


def _unknown_domains(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find nodes of which Slurm doesn't learn which ones NVLink joins: it knows the racks of the inventory."""
    size, nodes = node_set.hosts.machine.domain_nodes, node_set.hosts.count
    if node_set.placement == spec.IN_DOMAINS and node_set.partition is not None and not node_set.partition.exclusive:
        what = f"jobs on nodes of {name} may share a node, and then one of them gets no NVLink between machines"
        why = "the daemon that joins a job's nodes (IMEX) knows the nodes of one job at a time"
        yield finding.Finding(_WARNING, Code.DOMAIN_SHARED, source.where_key("pools", name), what, why, f"write `pools.{name}.partition.exclusive: true`")
    if size is None or nodes < 2 or node_set.partition is None or node_set.placement == spec.IN_DOMAINS:
        return
    what, where = f"Slurm doesn't know which nodes of {name} share an NVLink domain", source.where_key("pools", name)
    target = lookup.target_of(cluster)
    if cluster.site is None and target is not None and target.hosts == "site":
        why = "NVLink joins the machines of a rack, and no inventory names their racks"
        yield finding.Finding(_NOTE, Code.DOMAIN_UNKNOWN, where, what, why, "name the hosts in `inventory.hosts`, each with its `rack`")
        return
    if cluster.site is None:
        if nodes > size:
            why = f"{size} nodes share one, and only a running instance tells in which it is; this version doesn't ask it, so a job can get nodes of several domains"
            yield finding.Finding(_NOTE, Code.DOMAIN_UNKNOWN, where, what, why, f"write pools of {size} nodes, each with the identifier of its own domain")
        return
    racks = {host.name: host.rack for host in cluster.site.hosts}
    without = [host for host in node_set.hosts.hostnames if not racks.get(host)]
    if without:
        why = f"the inventory names no rack of {hostlist.compress(without)}, and NVLink joins the machines of a rack"
        yield finding.Finding(_WARNING, Code.DOMAIN_UNKNOWN, where, what, why, "write `rack` for each host in `inventory.hosts`")
    for rack in sorted({racks[host] for host in node_set.hosts.hostnames if racks.get(host)}):
        count = sum(racks.get(host) == rack for one in cluster.node_sets if one.hosts.machine.domain_nodes for host in one.hosts.hostnames)
        if count > size:
            why = f"the inventory has {count} of them in rack {rack}, and NVLink joins {size} at most"
            yield finding.Finding(_WARNING, Code.DOMAIN_UNKNOWN, where, what, why, "write one name in `rack` for the machines of one NVLink domain")


def _groups(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    machine = lookup.machine_of(cluster, node_set.hosts.machine.name)
    nodes = node_set.hosts.count
    if machine is None or machine.domain_sizes:
        return
    if node_set.placement == "packed" and machine.compact_nodes is not None and nodes > machine.compact_nodes:
        groups = -(-nodes // machine.compact_nodes)
        what = f"the {nodes} nodes of {node_set.hosts.name} don't fit into one placement group"
        why = f"{machine.compact_nodes} nodes of {machine.name} fit into one group; these need {groups} groups, and the network between groups is slower"
        remedy = f"write pools of at most {machine.compact_nodes} nodes, or `placement: none`"
        where = source.where_key("pools", name, "nodes")
        yield finding.Finding(_WARNING, Code.PLACEMENT_TOO_LARGE, where, what, why, remedy)


def _spread(name: str, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Compare the number of spread nodes with the target's limit: nodes that always run must be within it, and nodes beyond it never start."""
    target = lookup.target_of(cluster)
    most = target.limits.get("spread_nodes_max") if target else None
    if target is None or most is None or node_set.placement != "spread" or node_set.hosts.count <= most:
        return
    level = finding.Level.ERROR if node_set.always > most else _WARNING
    what = f"only {most} of the {node_set.hosts.count} nodes of {node_set.hosts.name} can run at one time"
    why = f"`placement: spread` spreads them, and {target.title} allows {most} nodes of a spread group in one zone"
    remedy = f"write at most {most} nodes, or `placement: none`"
    yield finding.Finding(level, Code.PLACEMENT_SPREAD, source.where_key("pools", name, "nodes"), what, why, remedy)
