"""Pools: how many nodes, and what is done about those that fail."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find ranges that end before they begin, and nodes that nobody can replace."""
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
