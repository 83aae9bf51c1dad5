"""Pools: number of nodes, size of nodes, and handling of failed nodes."""

from collections.abc import Iterator, Sequence

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find ranges with a minimum above the maximum, nodes that can't be replaced, hosts that can't be reported, and machines smaller than requested."""
    for name, pool in blueprint.pools.items():
        if pool.range.min > pool.range.max:
            what = f"the pool {name} has at least {pool.range.min} nodes and at most {pool.range.max}"
            where = source.where("pools", name, "nodes", "min")
            yield finding.Finding(finding.Level.ERROR, Code.NODE_RANGE, where, what, "the minimum exceeds the maximum", "swap the two, or correct one")
        target = lookup.target_of(cluster)
        if target is not None and pool.health.on_failure == "replace" and target.hosts == "site":
            what = f"failed nodes of the pool {name} can't be replaced"
            why = f"the machines of {target.title} are your own, and clusterwright can't create another one"
            where = source.where("pools", name, "health", "on_failure")
            remedy = f"write `drain` or `reboot` under `targets.{target.name}`"
            yield finding.Finding(finding.Level.WARNING, Code.REPLACE_OWNED, where, what, why, remedy)
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        yield from _reports(name, pool, node_sets, cluster, source)
        for node_set in node_sets:
            yield from _size(name, pool, node_set, cluster, source)


def _reports(name: str, pool: language.Pool, node_sets: Sequence[spec.NodeSet], cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find pools whose broken hosts are to be reported to a cloud that takes no reports of any of them."""
    target = lookup.target_of(cluster)
    taken = target.host_reports if target else None
    if pool.health.on_failure != "report" or taken is None or any(taken.takes(one.hosts.machine.name, one.capacity.kind) for one in node_sets):
        return
    have = message_text.listed(sorted({f"{one.hosts.machine.name} ({one.capacity.kind.value})" for one in node_sets}))
    what = f"{target.title if target else ''} takes no report of a broken host of the pool {name}: {have}"
    why = f"it takes those of {message_text.listed(taken.machines)}, bought as {message_text.listed(one.value for one in taken.capacity)}"
    where = source.where("pools", name, "health", "on_failure")
    yield finding.Finding(finding.Level.ERROR, Code.HOSTS_UNREPORTED, where, what, why, "write `repair`, which replaces such a node without a report")


def _size(name: str, pool: language.Pool, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Compare the requested processors and memory of each node with its machine."""
    machine = node_set.hosts.machine
    if lookup.machine_of(cluster, machine.name) is None:
        return
    if pool.cpus_per_node is not None and 0 < machine.cpus < pool.cpus_per_node:
        what = f"the nodes of {name} are {machine.name} with {machine.cpus} processors, and the pool requests {pool.cpus_per_node}"
        yield _smaller(what, source.where("pools", name, "cpus_per_node"))
    if pool.memory is not None and 0 < machine.memory_mib < values.memory_mib(pool.memory):
        what = f"the nodes of {name} are {machine.name} with {machine.memory_mib / 1024:g} GiB of memory, and the pool requests {pool.memory}"
        yield _smaller(what, source.where("pools", name, "memory"))


def _smaller(what: str, where: finding.Position) -> finding.Finding:
    why = "jobs that need the requested size would never start there"
    remedy = "request what the machine has, or name a larger one; write values for one target under `targets`"
    return finding.Finding(finding.Level.WARNING, Code.MACHINE_SMALLER, where, what, why, remedy)
