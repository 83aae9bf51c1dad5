"""What the hosts of a site run for the cluster, where a cloud has a service for it: a shared address, file systems, dumps of the database, scratch space. Pure."""

from typing import Any

from blueprints import nvlink_domains
from blueprints.spec import ClusterSpec, Slurm

from .. import host_folders, rest
from . import file_systems

DUMPS = f"{host_folders.STATE}/dumps"
NAT_UNIT, DNS_UNIT = "clusterwright-nat.service", "clusterwright-dns.service"


def described(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any]:
    """Describe the services as the playbooks read them; those that the cluster has none of are left out."""
    known = {
        "mounts": [*file_systems.mounts(cluster), *file_systems.state(cluster, slurm)],
        "exports": file_systems.exports(cluster),
        "access": access(cluster),
        "packages": packages(cluster, slurm),
        "rest_api": rest_api(cluster),
        "nat": nat(cluster, slurm),
        "dns": dns(cluster, slurm),
        "control_address": control_address(cluster, slurm),
        "dumps": dumps(cluster, slurm) if slurm.database.placement == "embedded" else None,
        "nvlink_domains": nvlink_domains.of_racks(cluster),
        "scratch": {one.hosts.name: one.scratch_mount for one in slurm.node_sets if one.scratch_mount},
    }
    return {name: value for name, value in known.items() if value}


def access(cluster: ClusterSpec) -> dict[str, Any] | None:
    """Describe the address that the login hosts share; None: users log in at the first login host's own."""
    hosts = file_systems.addresses(cluster, cluster.access)
    address = cluster.network.balancer_address
    if not hosts or not address or address in hosts.values():
        return None
    return {"address": address, "hosts": hosts, "allowed": [*_own_networks(cluster), *cluster.login.allowed_cidrs]}


def rest_api(cluster: ClusterSpec) -> dict[str, Any] | None:
    """Describe Slurm's REST API on the login hosts; None: the cluster has none."""
    hosts = file_systems.addresses(cluster, cluster.access)
    return rest.described(hosts, is_balanced=access(cluster) is not None) if cluster.login.rest_api and hosts else None


def nat(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any] | None:
    """Describe the way out that the controllers give to nodes; None: the site has one."""
    return _of_controllers(cluster, slurm) if cluster.site and cluster.site.nat else None


def dns(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any] | None:
    """Describe the name service that the controllers provide for nodes; None: the site has one."""
    return {**_of_controllers(cluster, slurm), "domain": cluster.network.domain} if cluster.site and cluster.site.dns else None


def control_address(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any] | None:
    """Describe the address that moves between the controllers, and the units that its holder must run; None: nodes use the only controller's own."""
    site = cluster.site
    if site is None or not site.address or not (site.nat or site.dns):
        return None
    hosts = file_systems.addresses(cluster, slurm.control) if slurm.control else {}
    units = [unit for unit, is_wanted in ((NAT_UNIT, site.nat), (DNS_UNIT, site.dns)) if is_wanted]
    return {"address": site.address, "hosts": hosts, "units": units} if site.address not in hosts.values() else None


def _of_controllers(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any]:
    hosts = file_systems.addresses(cluster, slurm.control) if slurm.control else {}
    asked = cluster.site.address if cluster.site else ""
    return {"address": asked or next(iter(hosts.values()), ""), "hosts": hosts, "inside": _own_networks(cluster)}


def _own_networks(cluster: ClusterSpec) -> list[str]:
    """Give the cluster's network, or the addresses of its hosts where the blueprint names none."""
    return [cluster.network.cidr] if cluster.network.cidr else file_systems.clients(cluster)


def packages(cluster: ClusterSpec, slurm: Slurm) -> dict[str, str] | None:
    """Describe the cache of packages: the first controller has it; None: each server fetches its packages itself."""
    if cluster.site is None or not cluster.site.package_cache or slurm.control is None:
        return None
    first = cluster.site.by_name[slurm.control.hostname(0)]
    return {"host": first.name, "address": first.address}


def dumps(cluster: ClusterSpec, slurm: Slurm) -> dict[str, Any]:
    """Describe where dumps of the database go: beside the state that two controllers share, else on the first controller's disk."""
    shared = file_systems.state_folder(cluster, slurm)
    return {"folder": f"{shared}/dumps", "within": file_systems.state_mount(cluster, slurm)} if shared else {"folder": DUMPS}
