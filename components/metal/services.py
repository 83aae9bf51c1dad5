"""What the hosts of a site run for the cluster, where a cloud has a service for it: a shared address, file systems, dumps of the database, scratch space. Pure."""

from typing import Any

from blueprints.spec import ClusterSpec, Slurm

from .. import host_folders
from . import file_systems

DUMPS = f"{host_folders.STATE}/dumps"


def described(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any]:
    """Describe the services as the playbooks read them; those that the cluster has none of are left out."""
    known = {
        "mounts": [*file_systems.mounts(cluster), *file_systems.state(cluster, slurm)],
        "exports": file_systems.exports(cluster),
        "access": access(cluster),
        "dumps": dumps(cluster, slurm) if slurm.database.placement == "embedded" else None,
        "scratch": {one.hosts.name: one.scratch_mount for one in slurm.node_sets if one.scratch_mount},
    }
    return {name: value for name, value in known.items() if value}


def access(cluster: ClusterSpec) -> dict[str, Any] | None:
    """Describe the address that the login hosts share; None: users log in at the first login host's own."""
    hosts = file_systems.addresses(cluster, cluster.access)
    address = cluster.network.balancer_address
    if not hosts or not address or address in hosts.values():
        return None
    own = [cluster.network.cidr] if cluster.network.cidr else file_systems.clients(cluster)
    return {"address": address, "hosts": hosts, "allowed": [*own, *cluster.login.allowed_cidrs]}


def dumps(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any]:
    """Describe where dumps of the database go: beside the state that two controllers share, else on the first controller's disk."""
    shared = file_systems.state_folder(cluster, slurm)
    return {"folder": f"{shared}/dumps", "within": file_systems.state_mount(cluster, slurm)} if shared else {"folder": DUMPS}
