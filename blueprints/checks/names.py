"""Names of hosts that no instance can have, and tags that a cloud refuses. `up` shortens all other names that would be too long."""

import re
from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR = finding.Level.ERROR


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find names of hosts that exceed the cloud's limit, and tags that the cloud refuses."""
    target = lookup.target_of(cluster)
    if target is None or not lookup.is_bought(cluster):
        return
    yield from _hostnames(cluster, target, source)
    yield from _tags(cluster, target, source)


def _hostnames(cluster: spec.ClusterSpec, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """A host reads its name from its instance's, so that nothing may shorten it. The names of hosts follow from their pool's."""
    limit = target.name_limits.get("hostname")
    reported: set[str] = set()
    for node_set in cluster.node_sets:
        name, pool = node_set.hosts.hostname(max(0, node_set.hosts.count - 1)), node_set.pool
        if limit is not None and len(name) > limit and pool not in reported:
            reported.add(pool)
            what = f"the host name `{name}` has {len(name)} characters"
            why = f"names of instances on {target.title} leave {limit} characters to it; hosts are named after their pool"
            remedy = f"shorten the pool's name by {len(name) - limit} {'character' if len(name) - limit == 1 else 'characters'}"
            yield finding.Finding(_ERROR, Code.RESOURCE_NAME_LENGTH, source.where_key("pools", pool), what, why, remedy)


def _tags(cluster: spec.ClusterSpec, target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    if target.tags_max is not None and len(cluster.tags) > target.tags_max:
        what = f"the blueprint has {len(cluster.tags)} tags"
        why = f"{target.title} allows {target.tags_max}, besides the tags that clusterwright adds"
        yield finding.Finding(_ERROR, Code.TAG_REFUSED, source.where_key("tags"), what, why, "remove some")
    for key, value in cluster.tags:
        if target.tag_value and not re.fullmatch(target.tag_value, value):
            what = f"{message_text.quoted(value)} is not a valid tag value on {target.title}"
            why = f"tag values there match {target.tag_value}"
            remedy = f"change the value, or write another one under `targets.{target.name}.tags`"
            yield finding.Finding(_ERROR, Code.TAG_REFUSED, source.where("tags", key), what, why, remedy)
