"""Host names that collide with each other or with names of pools."""

from collections.abc import Iterator, Mapping

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document

_ERROR = finding.Level.ERROR


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find pools with the name of a host, and pools whose hosts would have the same names."""
    groups = {group.prefix: group for group in reversed(cluster.host_groups) if not group.members}
    named = {name: group.name for group in cluster.host_groups if group.members for name in group.hostnames}
    for pool in dict.fromkeys(node_set.pool for node_set in cluster.node_sets):
        owner = _owner(pool, groups) or named.get(pool)
        if owner is not None:
            what = f"the pool `{pool}` has the name of a host"
            why = f"`{pool}` is a host of {owner}, and a group and a host can't have the same name in the Ansible inventory"
            where = source.where_key("pools", pool)
            yield finding.Finding(
                _ERROR, Code.POOL_LIKE_HOST, where, what, why, f"rename the pool{'' if pool in named else ' so that it does not end in a number'}"
            )
    for name, group in named.items():
        owner = _owner(name, groups)
        if owner is not None:
            what = f"the host `{name}` of {group} has the name of a host that clusterwright names itself"
            why = f"the hosts of {owner} are named by their number, `{name}` among them"
            where = source.where_key(*(("pools", group) if group in blueprint.pools else (group,)), "hosts")
            yield finding.Finding(_ERROR, Code.HOST_PREFIX, where, what, why, f"name the hosts of {owner}, too")
    yield from _prefixes(cluster, source)


def _owner(name: str, groups: Mapping[str, spec.HostGroup]) -> str | None:
    prefix, hyphen, number = name.rpartition("-")
    if not hyphen or not number.isdigit() or str(int(number)) != number:
        return None
    group = groups.get(prefix)
    return group.name if group is not None and int(number) < group.count else None


def _prefixes(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    owners: dict[str, list[str]] = {}
    for node_set in cluster.node_sets:
        if not node_set.hosts.members:
            owners.setdefault(node_set.hosts.prefix, []).append(node_set.pool)
    for prefix, pools in owners.items():
        if len(pools) < 2:
            continue
        what = f"hosts of {message_text.listed(pools)} would have the same names, `{prefix}-0` and so on"
        why = "the node sets of a pool with several machines have its name and a letter at the end"
        named_so = prefix if prefix in pools else pools[-1]
        yield finding.Finding(_ERROR, Code.HOST_PREFIX, source.where_key("pools", named_so), what, why, f"rename the pool `{named_so}`")
