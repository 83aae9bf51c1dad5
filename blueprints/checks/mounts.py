"""Mount points, compared with each other and with users' homes and the nodes' own disks."""

from collections.abc import Iterator

from .. import finding, language, mount_sources, spec
from ..codes import Code
from ..document import Document
from . import host_addresses, lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_HOME = "/home"
_SOURCE_LETTERS, _OPTIONS_LETTERS = 60, 24
"""The longest DNS name of a created file system; and the rest of a mount's line, compressed."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find duplicate and nested mount points, and users without a shared home."""
    owners: dict[str, str] = {}
    for name, entry in blueprint.storage.items():
        if entry.kind == "object" and blueprint.scheduler == "training":
            continue  # its mount point means nothing to jobs of a service
        where = source.where("storage", name, "mount")
        if entry.mount in owners:
            what = f"{entry.mount} is the mount point of both {owners[entry.mount]} and {name}"
            yield finding.Finding(
                _ERROR, Code.MOUNT_DUPLICATE, where, what, "the second mount would hide the first", "choose another mount point for one of them"
            )
        else:
            owners[entry.mount] = name
    yield from _nested(owners, source)
    yield from _scratch(owners, blueprint, source)
    yield from _room(cluster, blueprint, source)
    yield from _own_servers(cluster, blueprint, source)
    if blueprint.users and blueprint.scheduler not in ("kubernetes", "training") and _HOME not in owners and _HOME not in _written_mounts(source):
        what = "the blueprint has users, and no file system is mounted at /home"
        why = "a user's home folder would exist on the login node but not on the node that runs the job"
        remedy = "add under storage: `home: {kind: nfs, mount: /home}`"
        yield finding.Finding(_ERROR, Code.HOME_MISSING, source.where_key("users"), what, why, remedy)


def _nested(owners: dict[str, str], source: Document) -> Iterator[finding.Finding]:
    for inner, name in owners.items():
        steps = inner.split("/")
        outer = next((mount for length in range(2, len(steps)) if (mount := "/".join(steps[:length])) in owners), None)
        if outer is not None:
            what = f"the mount point {inner} is inside {outer}, where {owners[outer]} is mounted"
            why = "the result would depend on the order of mounts, and the inner mount would fail together with the outer one"
            where = source.where("storage", name, "mount")
            yield finding.Finding(_ERROR, Code.MOUNT_NESTED, where, what, why, "mount them side by side")


def _room(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Compare the size of all mounts with the room in user data."""
    target = lookup.target_of(cluster)
    most = target.limits.get("mounts_letters_max") if target else None
    if target is None or most is None:
        return
    letters = sum(len(entry.mount) + len(entry.source or " " * _SOURCE_LETTERS) + _OPTIONS_LETTERS for entry in blueprint.storage.values())
    if letters > most:
        what = f"the mounts of {len(blueprint.storage)} file systems need about {letters} characters of user data"
        why = f"hosts on {target.title} read their mounts from user data, which has room for {most}"
        remedy = "mount fewer file systems, or use shorter paths; merge several file systems into folders of one"
        yield finding.Finding(_ERROR, Code.MOUNTS_TOO_LONG, source.where_key("storage"), what, why, remedy)


def _own_servers(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find exports of NFS by a host of the cluster, which mounts what it exports like all others. Source: nfs(5); exports(5)."""
    if cluster.site is None:
        return
    owners = host_addresses.owners(cluster.site.hosts)
    names = cluster.site.by_name
    for name, entry in blueprint.storage.items():
        read = mount_sources.read(entry.source, mount=entry.mount) if entry.source else None
        if not entry.source or read is None or read.kind != mount_sources.NFS:
            continue
        server, _, folder = entry.source.rpartition(":/")
        host = owners[server].host if server in owners else server if server in names else None
        if host is None:
            continue
        is_itself = f"/{folder}".rstrip("/") == entry.mount
        what = f"{host} is a host of the cluster, and mounts {name} from itself"
        why = (
            f"its mount at {entry.mount} would hide the folder that it exports"
            if is_itself
            else f"an NFS client that waits for a server on the same host can block both, and every host waits for {name} while {host} restarts"
        )
        remedy = f"write `{name}: {{kind: nfs, mount: {entry.mount}}}`, which the controller exports, or name a server outside of the cluster"
        yield finding.Finding(_ERROR if is_itself else _WARNING, Code.STORAGE_OF_A_HOST, source.where("storage", name, "source"), what, why, remedy)


def _scratch(owners: dict[str, str], blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Compare the mount points of the nodes' own disks with shared file systems and with homes, which must be shared."""
    for name, pool in blueprint.pools.items():
        if pool.scratch is None:
            continue
        mount = pool.scratch.mount
        where = source.where("pools", name, "scratch", "mount")
        clash = next((shared for shared in owners if shared == mount or _is_inside(shared, mount) or _is_inside(mount, shared)), None)
        if clash is not None:
            what = f"the nodes of {name} mount their own disks at {mount}, and {owners[clash]} is mounted at {clash}"
            why = "one mount would hide the other or be inside it"
            yield finding.Finding(_ERROR, Code.MOUNT_SCRATCH, where, what, why, "choose another mount point for one of them")
        elif mount == _HOME or _is_inside(mount, _HOME):
            what = f"the nodes of {name} mount their own disks at {mount}"
            why = "homes must be the same on every host, and a node's own disks are empty after every start"
            yield finding.Finding(_ERROR, Code.MOUNT_SCRATCH, where, what, why, "mount it at /scratch")


def _is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer}/")


def _written_mounts(source: Document) -> set[object]:
    """Collect mount points as written, including those of file systems that other findings refuse."""
    written = source.at("storage")
    entries = written.values() if isinstance(written, dict) else ()
    return {entry["mount"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("mount"), str)}
