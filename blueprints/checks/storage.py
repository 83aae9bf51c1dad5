"""Mount points against each other and against what needs them."""

from collections.abc import Iterator

from .. import document, finding, spec
from ..codes import Code

_ERROR = finding.Level.ERROR


def check(cluster: spec.ClusterSpec, source: document.Document) -> Iterator[finding.Finding]:
    """Find mount points that two file systems want, or that lie inside another, and users without shared homes."""
    owners: dict[str, str] = {}
    for entry in cluster.storage:
        where = source.where("storage", entry.name, "mount")
        if entry.mount in owners:
            what = f"{entry.mount} is the mount point of both {owners[entry.mount]} and {entry.name}"
            yield finding.Finding(_ERROR, Code.MOUNT_DUPLICATE, where, what, "the later one would hide the earlier", "give one of them another mount point")
        else:
            owners[entry.mount] = entry.name
    yield from _nested(owners, source)
    if cluster.users and "/home" not in owners and "/home" not in _written_mounts(source):
        what = "there are users, and no file system is mounted at /home"
        why = "a job that runs on another host than its user logged in to would find no home folder there"
        remedy = "add under storage: `home: {kind: nfs, mount: /home}`"
        yield finding.Finding(_ERROR, Code.HOME_MISSING, source.where_key("users"), what, why, remedy)


def _nested(owners: dict[str, str], source: document.Document) -> Iterator[finding.Finding]:
    for inner, name in owners.items():
        outer = next((mount for mount in owners if inner.startswith(f"{mount}/")), None)
        if outer is not None:
            what = f"{inner} lies inside {outer}, where {owners[outer]} is mounted"
            why = "the order of mounts would decide what is seen there, and without the outer one the inner would be gone too"
            where = source.where("storage", name, "mount")
            yield finding.Finding(_ERROR, Code.MOUNT_NESTED, where, what, why, "mount them side by side")


def _written_mounts(source: document.Document) -> set[object]:
    """Collect mount points as written, those of refused file systems included, about which something else is said already."""
    written = source.at("storage")
    entries = written.values() if isinstance(written, dict) else ()
    return {entry["mount"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("mount"), str)}
