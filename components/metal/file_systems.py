"""The file systems that hosts of a site mount: the site's own, and folders that the first controller exports. Pure."""

from collections.abc import Mapping
from typing import Any

from blueprints import mount_sources
from blueprints.spec import ClusterSpec, FileSystem

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
    return {"host": _first_controller(cluster), "folders": folders, "clients": _clients(cluster)} if folders else None


def _existing(one: FileSystem) -> dict[str, Any]:
    source = one.source or ""
    found = mount_sources.read(source, mount=one.mount)
    if found is None:
        raise UnknownSource(f"storage.{one.name}.source is `{source}`; it has one of the forms {', '.join(mount_sources.FORMS)}")
    return {"name": one.name, "target": one.mount, "source": source, "kind": found.kind, "options": list(found.options)}


def _exported(one: FileSystem, cluster: ClusterSpec) -> dict[str, Any]:
    server, folder = _first_controller(cluster), _folder(one)
    source = f"{_address(cluster, server)}:{folder}"
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


def _clients(cluster: ClusterSpec) -> list[str]:
    return sorted({_address(cluster, name) for group in cluster.host_groups for name in group.hostnames})


def _address(cluster: ClusterSpec, name: str) -> str:
    hosts: Mapping[str, Any] = cluster.site.by_name if cluster.site else {}
    return str(hosts[name].address) if name in hosts else name
