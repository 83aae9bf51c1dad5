"""The files that a host has before it first runs. Pure."""

import base64
import dataclasses
import ipaddress

from ..node_expectations import PLACE as EXPECTED
from .config import HostConfig, HostKeys

SETTINGS = "/etc/clusterwright/node.env"
"""Read by the boot program (playbooks/roles/boot)."""
MUNGE_KEY = "/etc/clusterwright/secrets/munge.key"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
AUTHORIZED_KEYS = "/root/.ssh/authorized_keys"
FSTAB = "/etc/fstab"
EXPORTS = "/etc/exports.d/clusterwright.exports"
LUSTRE = "/etc/modprobe.d/clusterwright-lnet.conf"
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


def table(config: HostConfig) -> tuple[File, ...]:
    """Write the lines of fstab(5) that the first boot doesn't mount: systemd waits for a disk that is attached later and makes a file system on an empty one; what is late comes by and by."""
    rows = [mount.fields for mount in config.mounts if mount.is_disk or mount.is_late]
    return (File(FSTAB, "".join(f"{' '.join(row)}\n" for row in rows).encode()),) if rows else ()


def exports(config: HostConfig) -> tuple[File, ...]:
    """Write exports(5) of the folders that the host exports over NFS."""
    rows = [f"{folder} {config.clients}({_EXPORT_OPTIONS})\n" for folder in config.exports]
    return (File(EXPORTS, "".join(rows).encode()),) if rows else ()


def lustre(config: HostConfig) -> tuple[File, ...]:
    """Name the interface over which Lustre's module reaches its servers, before anything loads the module: it is the one with an address of this network.

    Source: Lustre Operations Manual, "Setting the LNet Module ip2nets Parameter".
    """
    if not config.lustre_network:
        return ()
    return (File(LUSTRE, f'options lnet ip2nets="tcp {_octets(ipaddress.IPv4Network(config.lustre_network))}"\n'.encode()),)


def _octets(network: ipaddress.IPv4Network) -> str:
    """Write a network as Lustre matches addresses: each octet is a number, a range (`[8-15]`), or any (`*`)."""
    ends = zip(network.network_address.packed, network.broadcast_address.packed, strict=True)
    return ".".join("*" if (first, last) == (0, 255) else str(first) if first == last else f"[{first}-{last}]" for first, last in ends)
