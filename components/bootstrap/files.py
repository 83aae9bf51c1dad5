"""The files that a host has before it first runs. Pure."""

import base64
import dataclasses

from ..node_expectations import PLACE as EXPECTED
from .config import HostConfig, HostKeys

SETTINGS = "/etc/clusterwright/node.env"
"""Read by the boot program (playbooks/roles/boot)."""
MUNGE_KEY = "/etc/clusterwright/secrets/munge.key"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
AUTHORIZED_KEYS = "/root/.ssh/authorized_keys"
FSTAB = "/etc/fstab"
EXPORTS = "/etc/exports.d/clusterwright.exports"
_EXPORT_OPTIONS = "rw,sync,no_root_squash,no_subtree_check"


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    path: str
    content: bytes
    mode: int = 0o644


def complete(config: HostConfig, keys: HostKeys) -> tuple[File, ...]:
    """List all files of a host that has no other way to get its keys, for those who write its disk; its file systems are mounted by them, too."""
    found = [
        *([File(MUNGE_KEY, base64.b64decode(keys.munge), mode=0o400)] if keys.munge else ()),
        settings(config),
        File(AUTHORIZED_KEYS, f"{config.admin_key}\n".encode(), mode=0o600),
        *expected(config),
    ]
    if keys.host:
        found.append(File(HOST_KEY, keys.host.encode(), mode=0o600))
    return tuple(found)


def settings(config: HostConfig) -> File:
    """Write what the boot program needs to know of the host."""
    variables = {
        "CLUSTERWRIGHT_ROLE": config.role,
        "CLUSTERWRIGHT_CLUSTER": config.cluster,
        "CLUSTERWRIGHT_GROUP": config.group,
        "CLUSTERWRIGHT_CONTROLLERS": ",".join(config.controllers),
        **config.settings,
    }
    return File(SETTINGS, "".join(f"{name}={value}\n" for name, value in variables.items()).encode())


def expected(config: HostConfig) -> tuple[File, ...]:
    """Write what the start guard requires of a compute node; nothing for other hosts."""
    return (File(EXPECTED, config.expected.encode()),) if config.expected else ()


def disks(config: HostConfig) -> tuple[File, ...]:
    """Write the lines of fstab(5) for disks: systemd waits for a disk that is attached later and makes a file system on an empty one."""
    rows = [mount.fields for mount in config.mounts if mount.is_disk]
    return (File(FSTAB, "".join(f"{' '.join(row)}\n" for row in rows).encode()),) if rows else ()


def exports(config: HostConfig) -> tuple[File, ...]:
    """Write exports(5) of the folders that the host exports over NFS."""
    rows = [f"{folder} {config.clients}({_EXPORT_OPTIONS})\n" for folder in config.exports]
    return (File(EXPORTS, "".join(rows).encode()),) if rows else ()
