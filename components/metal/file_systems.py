"""The file systems that hosts of a site mount: the site's own, and folders that the first controller exports. Pure."""

from collections.abc import Mapping
from typing import Any

from blueprints import mount_sources
from blueprints.spec import ClusterSpec, FileSystem, HostGroup, SiteHost, Slurm

from .. import host_folders

EXPORTED = f"{host_folders.STATE}/exports"
"""Folder of the first controller whose folders it exports. What is in it stays when the stack releases the host, as all of the state does."""


class UnknownSource(ValueError):
    """A source has no form that this version mounts."""


def mounts(cluster: ClusterSpec) -> list[dict[str, Any]]:
    """Describe what the hosts mount, as the role `site_mounts` reads it."""
    return [_existing(one) if one.source else _exported(one, cluster) for one in cluster.storage]


def exports(cluster: ClusterSpec) -> dict[str, Any] | None:
    """Describe what the first controller exports, as the role `nfs_export` reads it; None: nothing."""
    folders = [_folder(one) for one in cluster.storage if not one.source]
    return {"host": _first_controller(cluster), "folders": folders, "clients": clients(cluster)} if folders else None


def state(cluster: ClusterSpec, slurm: Slurm) -> list[dict[str, Any]]:
    """Describe the folder where two controllers keep Slurm's state; one controller has it on its own disk."""
    source = state_folder(cluster, slurm)
    if not source:
        return []
    row = {"name": "state of Slurm", "target": f"{host_folders.STATE}/slurmctld", "source": f"{source}/slurmctld", "kind": mount_sources.BIND}
    return [{**row, "within": state_mount(cluster, slurm), "create": True, "group": "control"}]


def state_folder(cluster: ClusterSpec, slurm: Slurm) -> str:
    """Give the folder on shared storage that controllers alone read; empty: there is none."""
    mount = state_mount(cluster, slurm)
    return f"{mount}/.clusterwright-{cluster.name}" if mount else ""


def state_mount(cluster: ClusterSpec, slurm: Slurm) -> str:
    return next((one.mount for one in cluster.storage if one.name == slurm.state_on), "")


def addresses(cluster: ClusterSpec, group: HostGroup) -> dict[str, str]:
    """Give the hosts of a group with their addresses, in the group's order."""
    hosts: Mapping[str, SiteHost] = cluster.site.by_name if cluster.site else {}
    return {name: hosts[name].address for name in group.hostnames if name in hosts}


def clients(cluster: ClusterSpec) -> list[str]:
    """List the addresses of all hosts of the cluster."""
    return sorted({address for group in cluster.host_groups for address in addresses(cluster, group).values()})


def _existing(one: FileSystem) -> dict[str, Any]:
    source = one.source or ""
    found = mount_sources.read(source, mount=one.mount)
    if found is None:
        raise UnknownSource(f"storage.{one.name}.source is `{source}`; it has one of the forms {', '.join(mount_sources.FORMS)}")
    return {"name": one.name, "target": one.mount, "source": source, "kind": found.kind, "options": list(found.options)}


def _exported(one: FileSystem, cluster: ClusterSpec) -> dict[str, Any]:
    server, folder = _first_controller(cluster), _folder(one)
    source = f"{cluster.site.by_name[server].address if cluster.site else server}:{folder}"
    options = mount_sources.read(source, mount=one.mount)
    return {
        "name": one.name,
        "target": one.mount,
        "source": source,
        "kind": mount_sources.NFS,
        "options": list(options.options if options else ()),
        "exporter": server,
        "folder": folder,
    }


def _folder(one: FileSystem) -> str:
    return f"{EXPORTED}/{one.name}"


def _first_controller(cluster: ClusterSpec) -> str:
    if cluster.slurm is None or cluster.slurm.control is None:
        raise ValueError(f"{cluster.name} has no controller that exports folders")
    return cluster.slurm.control.hostname(0)
