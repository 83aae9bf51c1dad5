"""Addresses in the hosts' subnets that other resources use: file systems, a managed database, private endpoints, the image builder."""

from .. import catalog, spec
from .context import Context

_DATABASE, _BUILDER = 1, 1
"""A database has one address in its zone; only one image is built at a time."""


def in_first_zone(context: Context, networks: catalog.Networks, cluster: spec.ClusterSpec) -> int:
    """Count the addresses that other resources use in the hosts' subnet."""
    endpoints = networks.endpoints if context.blueprint.network.private_endpoints else 0
    has_database = cluster.slurm is not None and cluster.slurm.database.placement == "managed"
    balancer = _has_balancer_among_hosts(context, networks)
    file_systems = sum(addresses.count(entry.size_gib) for entry, addresses in _file_systems(context, cluster))
    return file_systems + endpoints + _DATABASE * has_database + _BUILDER * context.target.builds_images + int(balancer)


def in_further_zone(context: Context, cluster: spec.ClusterSpec) -> int:
    """Count the addresses that file systems use in each further zone."""
    return sum(addresses.each for _, addresses in _file_systems(context, cluster) if addresses.each_zone)


def _has_balancer_among_hosts(context: Context, networks: catalog.Networks) -> bool:
    """Whether the load balancer is in the hosts' subnet: clusterwright creates no public subnets in an existing network."""
    access = context.blueprint.access
    return access.load_balancer and access.login_nodes > 0 and networks.public_subnets > 0 and context.blueprint.network.existing is not None


def _file_systems(context: Context, cluster: spec.ClusterSpec) -> list[tuple[spec.FileSystem, catalog.Addresses]]:
    """List the file systems with addresses in the hosts' subnets."""
    known = catalog.storage_classes(context.target.name)
    classes = [(entry, known.get(entry.storage_class)) for entry in cluster.storage]
    return [(entry, one.addresses) for entry, one in classes if one is not None and one.addresses is not None]
