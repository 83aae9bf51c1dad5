"""What will exist: the resolved cluster, concrete and frozen. Every step after `resolve` reads only this.

Values are plain (str, int, bool, tuples, nested dataclasses), so that `as_record` gives JSON that is stable from run to run and free of secrets.
"""

import dataclasses
from typing import Any

SPEC_VERSION = 1
"""Raised when a recorded spec of an older shape can no longer be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one host, all of one type."""

    type: str
    """Slurm's GRES type, the accelerator's name in lower case (`h100`)."""
    count: int
    simulated: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """What one host has. The processor layout is the one Slurm is told (slurm.conf(5): Sockets, CoresPerSocket, ThreadsPerCore)."""

    name: str
    """The catalogue's name (`p5.48xlarge`, `local`)."""
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    gpus: Gpus | None
    exists: bool
    """False when the host is declared larger than what it runs on (a rehearsal): cores and memory are then not confined."""

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core


@dataclasses.dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts that are equal but for their number: `<prefix>-0` … `<prefix>-<count-1>`, with consecutive addresses."""

    name: str
    """`control`, `access`, or the pool's name."""
    role: str
    """`control`, `access` or `compute`: what the software on the host does."""
    prefix: str
    count: int
    first_address: str
    """IPv4 address of host 0; host n has this address plus n."""
    machine: Machine

    def hostname(self, number: int) -> str:
        return f"{self.prefix}-{number}"

    @property
    def hostnames(self) -> tuple[str, ...]:
        return tuple(self.hostname(number) for number in range(self.count))

    @property
    def hostlist(self) -> str:
        """Slurm's bracket form (`train-[0-63]`); one host is written plain."""
        return self.hostname(0) if self.count == 1 else f"{self.prefix}-[0-{self.count - 1}]"


@dataclasses.dataclass(frozen=True, slots=True)
class Partition:
    name: str
    default: bool
    max_time: str
    """Slurm's time format (`1-00:00:00`) or `UNLIMITED`."""


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSet:
    """Compute nodes of one machine type inside one partition; a pool resolves to one or more of these."""

    pool: str
    partition: Partition
    hosts: HostGroup
    features: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    name: str
    kind: str
    """What serves it: `nfs`, `lustre`, …; on the local target every kind is one folder of the machine."""
    mount: str
    protect: bool
    """True: a change that would delete or replace it is refused."""
    simulated: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    name: str
    description: str
    users: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    name: str
    uid: int
    """Also the number of the user's own group."""
    default_account: str
    ssh_keys: tuple[str, ...]
    """OpenSSH public keys. Empty: the stack makes a key pair for this user."""


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    cidr: str
    gateway: str
    balancer_address: str
    """Where the load balancer in front of the login nodes answers."""
    domain: str
    """Suffix of full names (`train-0.starter.internal`)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """The accounting database."""

    placement: str
    """`embedded` (on the controller) or `managed` (the cloud's service)."""
    protect: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Software:
    """One tested set of versions (blueprints/catalog/software)."""

    profile: str
    os: str
    """`debian-13`, `debian-12`, …"""
    suite: str
    """The distribution's archive name (`trixie`)."""
    slurm: str
    """`24.11`, `22.05`: major version, the key of the Slurm templates."""
    tested_on: str
    """Where this set has run: `simulated` (hosts without GPUs) or a machine's name; empty when it never ran."""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterSpec:
    version: int
    name: str
    description: str
    target: str
    scheduler: str
    software: Software
    network: Network
    control: HostGroup
    access: HostGroup
    node_sets: tuple[NodeSet, ...]
    storage: tuple[FileSystem, ...]
    database: Database
    accounts: tuple[Account, ...]
    users: tuple[User, ...]
    simulated: tuple[str, ...]
    """One sentence for each thing that is not the real one; shown wherever a user looks."""

    @property
    def host_groups(self) -> tuple[HostGroup, ...]:
        return (self.control, self.access, *(node_set.hosts for node_set in self.node_sets))


def as_record(spec: ClusterSpec) -> dict[str, Any]:
    """Turn the spec into plain JSON values, for stack outputs and `--json`."""
    return dataclasses.asdict(spec)
