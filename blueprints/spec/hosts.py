"""Machines, and groups of hosts that are equal but for their number."""

import dataclasses
from typing import Annotated

from .. import hostlist
from . import cost

OTHER_MACHINE = cost.ByPlace("machine")
RENAMED = cost.replaces_nodes("hosts are made under the new name, and those of the old one go")


@dataclasses.dataclass(frozen=True, slots=True)
class MigSlices:
    """Slices of one profile that each GPU is cut into."""

    profile: str
    per_gpu: int


@dataclasses.dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one host, all of one type."""

    type: Annotated[str, OTHER_MACHINE]
    """Slurm's GRES type, the accelerator's name in lower case (`h100`)."""
    count: Annotated[int, OTHER_MACHINE]
    simulated: Annotated[bool, OTHER_MACHINE]
    memory_gib: Annotated[float | None, OTHER_MACHINE] = None
    """Of each GPU; None when no source tells."""
    mig: Annotated[tuple[MigSlices, ...], cost.rolling("a GPU is cut only while nothing uses it: the node is drained and boots again")] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Nic:
    """One network interface of a host."""

    card: int
    device: int
    """Device index on the card."""
    kind: str
    """`ena`, `efa-only`, `gvnic`, `mrdma`, `infiniband`, …"""
    addresses: int
    """IPv4 addresses it takes from the cluster's subnet."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hardware:
    """What the catalogue's entry of a machine and a host of a cluster have in common."""

    name: Annotated[str, OTHER_MACHINE]
    """The catalogue's name (`p5.48xlarge`), `local`, or `site-host` for hosts that only the blueprint describes."""
    sockets: Annotated[int, OTHER_MACHINE]
    """1 where no source tells more: `cores_per_socket` counts all cores then."""
    cores_per_socket: Annotated[int, OTHER_MACHINE]
    """0: unknown."""
    threads_per_core: Annotated[int, OTHER_MACHINE]
    arch: Annotated[str, cost.replaces_nodes("another architecture takes another image, and so another disk")] = dataclasses.field(
        default="x86_64", kw_only=True
    )
    """`x86_64` or `arm64`."""
    network_gbps: Annotated[float | None, OTHER_MACHINE] = dataclasses.field(default=None, kw_only=True)
    """All cards together, at their peak; None: unknown."""
    scratch_gib: Annotated[float, OTHER_MACHINE] = dataclasses.field(default=0.0, kw_only=True)
    """Local NVMe that comes with the machine, all disks together; disks that can be added don't count. 0: none, or unknown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Machine(Hardware):
    """What one host has. The processor layout is the one in slurm.conf(5): Sockets, CoresPerSocket, ThreadsPerCore."""

    memory_mib: Annotated[int, OTHER_MACHINE]
    """0, as is `cores_per_socket`, of a host of the site that the blueprint doesn't describe: the host itself says it when it is configured."""
    gpus: Annotated[Gpus | None, OTHER_MACHINE]
    exists: Annotated[bool, OTHER_MACHINE]
    """False when the host is declared larger than what it runs on (a rehearsal): cores and memory are then not confined."""
    nics: Annotated[tuple[Nic, ...], OTHER_MACHINE] = ()
    domain_nodes: Annotated[int | None, OTHER_MACHINE] = None
    """Machines of one NVLink domain (GB200 NVL72: 18); None: NVLink ends at the machine, if there is any."""

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core


@dataclasses.dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts that are equal but for their number: `<prefix>-0` … `<prefix>-<count-1>` with consecutive addresses, or hosts with names of their own."""

    name: Annotated[str, RENAMED]
    """`control`, `access`, `kubernetes`, the pool's name, or the node set's."""
    role: Annotated[str, cost.replaces_nodes("hosts of another role are replaced")]
    """`control`, `access`, `kubernetes` or `compute`: what the software on the host does."""
    prefix: Annotated[str, RENAMED]
    count: Annotated[int, cost.ByPlace("count")]
    """Of an elastic pool: the most there can be."""
    first_address: Annotated[str, cost.rolling("the hosts boot again with their new addresses")]
    """IPv4 address of host 0; host n has this address plus n. Empty where the cloud gives addresses."""
    machine: Machine
    members: Annotated[str, cost.in_place("hosts that are new to the group are adopted, those that left it are released; the others run on")] = ""
    """The hosts' own names in the group's order, as a Slurm host list (`gpu-[001-016]`). Empty: they are named by their number."""

    def hostname(self, number: int) -> str:
        return hostlist.nth_of_group(self.prefix, number, self.members)

    @property
    def hostnames(self) -> tuple[str, ...]:
        return hostlist.of_group(self.prefix, self.count, self.members)

    @property
    def hostlist(self) -> str:
        """Slurm's bracket form (`train-[0-63]`); one host is written plain."""
        return self.members or hostlist.counted(f"{self.prefix}-", self.count)
