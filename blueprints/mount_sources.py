"""What `source` of an existing file system names, where a site's own servers have it: NFS, Lustre, CephFS, WekaFS, or a folder. Pure."""

import dataclasses
import re

NFS, LUSTRE, CEPH, WEKA, BIND, PRESENT = "nfs", "lustre", "ceph", "wekafs", "bind", "present"
"""Kinds for mount(8); `bind` mounts a folder of each host at another place, `present` is mounted by the site itself and only verified."""

FORMS = (
    "`server:/export` (NFS)",
    "`10.0.0.5@o2ib:/name` (Lustre, whose names have 8 characters at most)",
    "`user@.name=/` or `monitor:6789:/` (CephFS)",
    "`backend/name` (WekaFS)",
    "`/folder` of each host",
)
"""All forms, for messages."""

_HOST = r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:]+\])"
_NETWORK_ID = rf"{_HOST}@[a-z]+[a-z0-9]*"
_PATTERNS = (
    # lustre(8), mount.lustre(8): network ids of the management servers, `:` between failover partners, `,` between networks of one server.
    (LUSTRE, re.compile(rf"{_NETWORK_ID}(?:[:,]{_NETWORK_ID})*:/[A-Za-z0-9_-]{{1,8}}(?:/.*)?")),
    # mount.ceph(8): user, fsid (or none, from ceph.conf), name of the file system; or, as in older releases, monitors with their port.
    (CEPH, re.compile(r"[A-Za-z0-9_.-]+@[0-9a-f-]*\.[A-Za-z0-9_.-]+=/.*")),
    (CEPH, re.compile(rf"{_HOST}:\d+(?:,{_HOST}:\d+)*:/.*")),
    (NFS, re.compile(rf"{_HOST}:/.*")),
    # docs.weka.io, "Mount a filesystem using the stateless mount mode": backends, then the name of the file system.
    (WEKA, re.compile(rf"{_HOST}(?:,{_HOST})*/[A-Za-z0-9_.-]+")),
    (BIND, re.compile(r"/.*")),
)

_OPTIONS = {
    # nfs(5): `hard` never gives up in the middle of a file; `retry=0`: whoever mounts tries again.
    NFS: ("hard", "retry=0"),
    # Lustre Operations Manual, "Mounting a Client": `flock` for MPI-IO and databases.
    LUSTRE: ("flock",),
    CEPH: ("noatime",),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    kind: str
    options: tuple[str, ...]
    """For mount(8), beside those that every network file system gets."""


def read(source: str, *, mount: str) -> Source | None:
    """Say what a source names; None: no known form.

    Args:
        mount: where hosts mount it. A folder that is its own mount point is mounted by the site.
    """
    if source == mount:
        return Source(PRESENT, ())
    kind = next((kind for kind, pattern in _PATTERNS if pattern.fullmatch(source)), None)
    return Source(kind, _OPTIONS.get(kind, ())) if kind else None
