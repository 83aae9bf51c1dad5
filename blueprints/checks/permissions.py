"""Permissions of controllers: the size of the policy that lets them start nodes and use buckets."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_QUOTES = 3
"""Of each text in a list: two quotes and a comma."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find machines, buckets and reservations whose names need more room than a role's policies have."""
    target = lookup.target_of(cluster)
    size = catalog.policy_size(target.name) if target is not None else None
    if target is None or size is None or not cluster.slurm_node_sets or not cluster.controllers:
        return
    parts = _parts(cluster, size)
    letters = size.base + sum(parts.values())
    if letters <= size.limit:
        return
    largest = max(parts, key=lambda name: parts[name])
    what = f"the permissions of the controllers need about {letters} characters, {parts[largest]} of them for {largest}"
    why = f"{target.title} allows {size.limit} characters in the policies of one role ({catalog.source(size.source).where})"
    where, remedy = {
        "buckets": (source.where_key("storage"), "mount fewer buckets; folders of one bucket need no permissions of their own"),
        "machines": (source.where_key("pools"), "use fewer machine types, or several clusters"),
        "groups of reservations": (source.where_key("pools"), "put the reservations into fewer groups, or use several clusters"),
    }[largest]
    yield finding.Finding(finding.Level.ERROR, Code.POLICY_TOO_LARGE, where, what, why, remedy)


def _parts(cluster: spec.ClusterSpec, size: catalog.PolicySize) -> dict[str, int]:
    """Count the characters of each list in the policy, from above."""
    started = [node_set for node_set in cluster.node_sets if node_set.scheduler == "slurm"]
    machines = {node_set.hosts.machine.name for node_set in started}
    buckets = [one for one in cluster.storage if one.kind == "object"]
    keys = {one.key for one in buckets if one.key}
    bought = {node_set.capacity.id for node_set in started if node_set.capacity.id}
    groups = {name for name in bought if "group" in (catalog.identifier_parts(cluster.target, "pools.capacity.id", name) or {})}
    return {
        "machines": sum(size.machine_copies * (len(name) + _QUOTES) for name in machines),
        "buckets": size.bucket * len(buckets) + (size.buckets if buckets else 0) + sum(size.key + len(key) for key in keys) + (size.keys if keys else 0),
        "groups of reservations": sum(len(group) + _QUOTES for group in groups) + (size.groups if groups else 0),
    }
