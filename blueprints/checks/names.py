"""Lengths of resource names (`<cluster>-<what>`), and tags."""

import re
from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document, Path
from . import lookup

_ERROR = finding.Level.ERROR
_KINDS = {
    "load_balancer": "a load balancer",
    "pcs_cluster": "a PCS cluster",
    "eks_cluster": "an EKS cluster",
    "gke_cluster": "a GKE cluster",
    "gke_node_pool": "a GKE node pool",
    "database": "a database",
    "resource": "a resource",
    "iam_role": "an IAM role",
    "placement_group": "a placement group",
    "resource_policy": "a placement policy",
}
"""Kinds of resources, keyed as in the targets' limits."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find resource names that exceed the cloud's limits, and tags that the cloud refuses."""
    target = lookup.target_of(cluster)
    if target is None or not lookup.is_bought(cluster):
        return
    reported: set[Path] = set()
    for kind, name, path in [] if target.cuts_names else _resources(cluster):
        limit = target.name_limits.get(kind)
        if limit is None or len(name) <= limit or path in reported:
            continue
        reported.add(path)
        what = f"the resource name `{name}` has {len(name)} characters"
        why = f"{target.title} allows {limit} for the name of {_KINDS[kind]}; every resource name starts with the cluster's name"
        yield finding.Finding(_ERROR, Code.RESOURCE_NAME_LENGTH, source.where_key(*path), what, why, f"shorten the names by {len(name) - limit} characters")
    yield from _tags(cluster, target, source)


def _resources(cluster: spec.ClusterSpec) -> Iterator[tuple[str, str, Path]]:
    """List the kind, name and path of the resources to create, with kinds as in the target's limits."""
    if cluster.access.count and cluster.login.load_balancer:
        yield "load_balancer", f"{cluster.name}-login", ("name",)
    if cluster.slurm and cluster.slurm.control is None:
        yield "pcs_cluster", cluster.name, ("name",)
    if cluster.kubernetes:
        yield "eks_cluster", cluster.name, ("name",)
        yield "gke_cluster", cluster.name, ("name",)
    if cluster.slurm and cluster.slurm.database.placement == "managed":
        yield "database", f"{cluster.name}-accounting", ("name",)
    for node_set in cluster.node_sets:
        path = ("pools", node_set.pool)
        yield "resource", f"{cluster.name}-{node_set.hosts.hostname(max(0, node_set.hosts.count - 1))}", path
        yield "iam_role", f"{cluster.name}-{node_set.pool}-node", path
        if node_set.partition is None:
            yield "gke_node_pool", node_set.hosts.prefix, path
        if node_set.placement == "packed":
            yield "placement_group", f"{cluster.name}-{node_set.hosts.prefix}", path
            yield "resource_policy", f"{cluster.name}-{node_set.hosts.prefix}", path
    for entry in cluster.storage:
        yield "resource", f"{cluster.name}-{entry.name}", ("storage", entry.name)


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
