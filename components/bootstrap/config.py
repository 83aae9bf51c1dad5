"""What a host needs before it first runs, as plain data: its role, controllers, file systems and keys. Pure.

Two modules render it. `cloud_init` writes user data for images that run cloud-init. `files` lists files, which a target writes onto the host's disk (containers of this machine) or, over SSH, onto the
host itself.
"""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class FstabEntry:
    """A file system as fstab(5) has it."""

    source: str
    target: str
    kind: str
    options: tuple[str, ...]
    is_late: bool = False
    """Whether another host of the cluster serves it, which may come after this one."""

    @property
    def is_disk(self) -> bool:
        return self.source.startswith("/dev/")

    @property
    def fields(self) -> list[str]:
        return [self.source, self.target, self.kind, ",".join(self.options), "0", "0"]


@dataclasses.dataclass(frozen=True, slots=True)
class HostConfig:
    """What the hosts of one group need. Nothing in it is secret."""

    role: str
    cluster: str
    group: str
    controllers: tuple[str, ...]
    """Addresses or hostnames. Addresses need no name service."""
    admin_key: str
    """OpenSSH public key that finishing logs in with as root."""
    mounts: tuple[FstabEntry, ...] = ()
    scratch: str | None = None
    """Where the host mounts its own disks, which are empty after every start."""
    exports: tuple[str, ...] = ()
    """Folders that the host exports over NFS."""
    clients: str = ""
    """Network that may mount the exported folders."""
    expected: str = ""
    """What a compute node must have before it takes jobs (`components/node_expectations.py`)."""
    lustre_network: str = ""
    """Network of the interface over which the host reaches Lustre, where it has several; empty: Lustre chooses."""
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """More variables of /etc/clusterwright/node.env, which only this target has."""


@dataclasses.dataclass(frozen=True, slots=True)
class HostKeys:
    """Keys that the hosts of one group have from the beginning. Secret."""

    munge: str
    """Base64; empty on hosts without Slurm."""
    host: str = ""
    """OpenSSH private key that all hosts of the group answer with; empty: each host makes its own."""
