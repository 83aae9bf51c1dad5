"""Pools: how many nodes, how large they are, and what is done about those that fail."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find ranges that end before they begin, nodes that nobody can replace, and machines smaller than what is asked for."""
    for name, pool in blueprint.pools.items():
        if pool.range.min > pool.range.max:
            what = f"the pool {name} has {pool.range.min} nodes at least and {pool.range.max} at most"
            where = source.where("pools", name, "nodes", "min")
            yield finding.Finding(finding.Level.ERROR, Code.NODE_RANGE, where, what, "no number of nodes is both", "swap the two, or correct one")
        target = lookup.target_of(cluster)
        if target is not None and pool.health.on_failure == "replace" and target.hosts == "site":
            what = f"nodes of the pool {name} are to be replaced when they fail"
            why = f"the machines of {target.title} are there already, and nobody gives another one"
            where = source.where("pools", name, "health", "on_failure")
            remedy = f"write `drain` or `reboot` under `targets.{target.name}`"
            yield finding.Finding(finding.Level.WARNING, Code.REPLACE_OWNED, where, what, why, remedy)
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        for node_set in node_sets:
            yield from _size(name, pool, node_set, cluster, source)


def _size(name: str, pool: language.Pool, node_set: spec.NodeSet, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Compare what a pool asks of each node with the machine: on a target with machines of its own nothing else heeds it."""
    machine = node_set.hosts.machine
    if lookup.machine_of(cluster, machine.name) is None:
        return
    if pool.cpus_per_node is not None and 0 < machine.cpus < pool.cpus_per_node:
        what = f"the nodes of {name} are {machine.name} with {machine.cpus} processors, and the pool asks for {pool.cpus_per_node}"
        yield _smaller(what, source.where("pools", name, "cpus_per_node"))
    if pool.memory is not None and 0 < machine.memory_mib < values.memory_mib(pool.memory):
        what = f"the nodes of {name} are {machine.name} with {machine.memory_mib / 1024:g} GiB of memory, and the pool asks for {pool.memory}"
        yield _smaller(what, source.where("pools", name, "memory"))


def _smaller(what: str, where: finding.Position) -> finding.Finding:
    why = "a machine is what it is: jobs that need all that is asked for would never start there"
    remedy = "ask for what the machine has, or name a larger one; write what differs on one target under `targets`"
    return finding.Finding(finding.Level.WARNING, Code.MACHINE_SMALLER, where, what, why, remedy)
