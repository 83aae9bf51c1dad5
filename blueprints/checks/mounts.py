"""Mount points against each other and against what needs them."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR = finding.Level.ERROR
_HOME = "/home"
_SOURCE_LETTERS, _OPTIONS_LETTERS = 60, 24
"""Of what is made, the longest name (a file system's in DNS); and what the rest of a line about a mount comes to, compressed."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find mount points that two file systems want, or that lie inside another, and users without shared homes."""
    owners: dict[str, str] = {}
    for name, entry in blueprint.storage.items():
        where = source.where("storage", name, "mount")
        if entry.mount in owners:
            what = f"{entry.mount} is the mount point of both {owners[entry.mount]} and {name}"
            yield finding.Finding(_ERROR, Code.MOUNT_DUPLICATE, where, what, "the later one would hide the earlier", "give one of them another mount point")
        else:
            owners[entry.mount] = name
    yield from _nested(owners, source)
    yield from _scratch(owners, blueprint, source)
    yield from _room(cluster, blueprint, source)
    if blueprint.users and blueprint.scheduler != "kubernetes" and _HOME not in owners and _HOME not in _written_mounts(source):
        what = "there are users, and no file system is mounted at /home"
        why = "a job that runs on another host than its user logged in to would find no home folder there"
        remedy = "add under storage: `home: {kind: nfs, mount: /home}`"
        yield finding.Finding(_ERROR, Code.HOME_MISSING, source.where_key("users"), what, why, remedy)


def _nested(owners: dict[str, str], source: Document) -> Iterator[finding.Finding]:
    for inner, name in owners.items():
        steps = inner.split("/")
        outer = next((mount for length in range(2, len(steps)) if (mount := "/".join(steps[:length])) in owners), None)
        if outer is not None:
            what = f"{inner} lies inside {outer}, where {owners[outer]} is mounted"
            why = "the order of mounts would decide what is seen there, and without the outer one the inner would be gone too"
            where = source.where("storage", name, "mount")
            yield finding.Finding(_ERROR, Code.MOUNT_NESTED, where, what, why, "mount them side by side")


def _room(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Compare all mounts together with what a host can be told of before its first boot."""
    target = lookup.target_of(cluster)
    most = target.limits.get("mounts_letters_max") if target else None
    if target is None or most is None:
        return
    letters = sum(len(entry.mount) + len(entry.source or " " * _SOURCE_LETTERS) + _OPTIONS_LETTERS for entry in blueprint.storage.values())
    if letters > most:
        what = f"these are {len(blueprint.storage)} file systems, and all that hosts must know to mount them comes to some {letters} letters"
        why = f"a host on {target.title} is told of its mounts before its first boot, where there is room for {most}"
        remedy = "mount fewer file systems, at shorter paths; one can hold what several do now, in folders"
        yield finding.Finding(_ERROR, Code.MOUNTS_TOO_LONG, source.where_key("storage"), what, why, remedy)


def _scratch(owners: dict[str, str], blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Compare the nodes' own disks with shared file systems, and against homes, which must be the same everywhere."""
    for name, pool in blueprint.pools.items():
        if pool.scratch is None:
            continue
        mount = pool.scratch.mount
        where = source.where("pools", name, "scratch", "mount")
        clash = next((shared for shared in owners if shared == mount or _is_inside(shared, mount) or _is_inside(mount, shared)), None)
        if clash is not None:
            what = f"the nodes of {name} mount their own disks at {mount}, and {owners[clash]} is mounted at {clash}"
            why = "one of the two would hide the other, or lie inside it"
            yield finding.Finding(_ERROR, Code.MOUNT_SCRATCH, where, what, why, "give one of them another mount point")
        elif mount == _HOME or _is_inside(mount, _HOME):
            what = f"the nodes of {name} mount their own disks at {mount}"
            why = "homes are the same on every host, and what is on a node's own disks is gone after every start"
            yield finding.Finding(_ERROR, Code.MOUNT_SCRATCH, where, what, why, "mount it at /scratch")


def _is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer}/")


def _written_mounts(source: Document) -> set[object]:
    """Collect mount points as written, those of refused file systems included, about which something else is said already."""
    written = source.at("storage")
    entries = written.values() if isinstance(written, dict) else ()
    return {entry["mount"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("mount"), str)}
