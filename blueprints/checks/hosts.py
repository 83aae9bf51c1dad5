"""Names of pools against names of hosts."""

from collections.abc import Iterator

from .. import document, finding, spec
from ..codes import Code


def check(cluster: spec.ClusterSpec, source: document.Document) -> Iterator[finding.Finding]:
    """Find pools that are named like a host: the inventory would have a group and a host of one name."""
    for node_set in cluster.node_sets:
        owner = _owner(node_set.pool, cluster)
        if owner is not None:
            what = f"the pool `{node_set.pool}` has the name of a host"
            why = f"`{node_set.pool}` is a host of {owner}, and the inventory can't tell a group from a host of the same name"
            where = source.where_key("pools", node_set.pool)
            yield finding.Finding(finding.Level.ERROR, Code.POOL_LIKE_HOST, where, what, why, "rename the pool, with a letter at its end")


def _owner(name: str, cluster: spec.ClusterSpec) -> str | None:
    prefix, hyphen, number = name.rpartition("-")
    if not hyphen or not number.isdigit() or str(int(number)) != number:
        return None
    return next((group.name for group in cluster.host_groups if group.prefix == prefix and int(number) < group.count), None)
