"""What takes addresses of the hosts' subnets beside hosts: file systems, a managed database, private endpoints, the builder of images."""

from .. import catalog, spec
from .context import Context

_DATABASE, _BUILDER = 1, 1
"""A database answers at one address, in whichever zone it is; images are built one after another."""


def in_first_zone(context: Context, networks: catalog.Networks, cluster: spec.ClusterSpec) -> int:
    """Count the addresses that the hosts' own subnet must hold beside those of hosts."""
    endpoints = networks.endpoints if context.blueprint.network.private_endpoints else 0
    has_database = cluster.slurm is not None and cluster.slurm.database.placement == "managed"
    balancer = _has_balancer_among_hosts(context, networks)
    file_systems = sum(addresses.count(entry.size_gib) for entry, addresses in _file_systems(context, cluster))
    return file_systems + endpoints + _DATABASE * has_database + _BUILDER * context.target.builds_images + int(balancer)


def in_further_zone(context: Context, cluster: spec.ClusterSpec) -> int:
    """Count the addresses that file systems take in each further zone."""
    return sum(addresses.each for _, addresses in _file_systems(context, cluster) if addresses.each_zone)


def _has_balancer_among_hosts(context: Context, networks: catalog.Networks) -> bool:
    """Say whether the load balancer answers in the hosts' subnet: in a network that is there already, no public subnets are made for it."""
    access = context.blueprint.access
    return access.load_balancer and access.login_nodes > 0 and networks.public_subnets > 0 and context.blueprint.network.existing is not None


def _file_systems(context: Context, cluster: spec.ClusterSpec) -> list[tuple[spec.FileSystem, catalog.Addresses]]:
    """Give the file systems that are made in the hosts' subnets."""
    known = catalog.storage_classes(context.target.name)
    classes = [(entry, known.get(entry.storage_class)) for entry in cluster.storage]
    return [(entry, one.addresses) for entry, one in classes if one is not None and one.addresses is not None]
