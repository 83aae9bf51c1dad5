"""Machines: what can be had on each target, as the clouds' own records describe it."""

import dataclasses
import functools
from collections.abc import Mapping

from .. import spec
from ..capacity_kind import CapacityKind
from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class MachineType(spec.Hardware):
    """A type of machines as its vendor describes it; `spec.Machine` is what one host of a cluster has, `live.account.OfferedMachine` what an account says."""

    target: str
    vcpus: int
    """0: unknown; `sockets * cores_per_socket * threads_per_core` otherwise."""
    memory_gib: float
    """0: unknown."""
    accelerator: str | None
    """A key of accelerators.yaml."""
    gpus: int
    """Whole GPUs; machines with a part of one are not listed."""
    gpu_memory_gib: float | None
    """Of each GPU, as the cloud reports it (AWS in GiB, the others in their nominal GB)."""
    cards: int
    """Network cards; what is no card of its own (Google's NICs, ports of bare metal) counts as one each."""
    interfaces_per_card: tuple[int, ...]
    """How many interfaces each card takes; empty: unknown."""
    fabric: str | None
    """A key of fabrics.yaml: what carries GPU traffic between nodes."""
    fabric_nics: int
    fabric_nic_gbps: float
    nic_layout: str
    """A key of layouts.yaml."""
    scratch_disks: int
    """0: none, or their number is unknown."""
    regions: tuple[str, ...]
    """Regions known to offer it; empty: unknown."""
    capacity: tuple[CapacityKind, ...]
    """The kinds it is sold in; empty for what is owned."""
    compact_nodes: int | None
    """The most nodes that one placement group or policy takes; None: no known limit."""
    domain_sizes: tuple[int, ...]
    """The numbers of nodes that NVLink domains come with, each a multiple of the smallest; empty: no domain is wider than a node."""
    source: str
    as_of: str
    note: str

    @property
    def domain_nodes(self) -> int | None:
        """The nodes of the widest NVLink domain; None: no domain is wider than a node."""
        return max(self.domain_sizes, default=None)


@functools.cache
def machines(target: str) -> Mapping[str, MachineType]:
    """Give a target's machines by name, in the order of the file; none for a target without a table."""
    if not files.has_table(f"machines/{target}"):
        return {}
    return {row["name"]: _machine(target, row) for row in files.table(f"machines/{target}")}


def machine(target: str, name: str) -> MachineType:
    """Give one machine.

    Raises:
        KeyError: the target has none of this name.
    """
    return machines(target)[name]


def _machine(target: str, row: Mapping[str, str]) -> MachineType:
    return MachineType(
        name=row["name"],
        target=target,
        arch=row["arch"],
        vcpus=int(row["vcpus"]),
        sockets=int(row["sockets"]),
        cores_per_socket=int(row["cores_per_socket"]),
        threads_per_core=int(row["threads_per_core"]),
        memory_gib=float(row["memory_gib"]),
        accelerator=row["accelerator"] or None,
        gpus=int(row["gpus"]),
        gpu_memory_gib=_number(row["gpu_memory_gib"]),
        network_gbps=_number(row["network_gbps"]),
        cards=int(row["cards"]),
        interfaces_per_card=_per_card(row["interfaces_per_card"]),
        fabric=row["fabric"] or None,
        fabric_nics=int(row["fabric_nics"]),
        fabric_nic_gbps=float(row["fabric_nic_gbps"]),
        nic_layout=row["nic_layout"],
        scratch_gib=float(row["scratch_gib"]),
        scratch_disks=int(row["scratch_disks"]),
        regions=tuple(row["regions"].split()),
        capacity=tuple(CapacityKind(word) for word in row["capacity"].split()),
        compact_nodes=_count(row["compact_nodes"]),
        domain_sizes=tuple(int(size) for size in row["domain_nodes"].split()),
        source=row["source"],
        as_of=row["as_of"],
        note=row["note"],
    )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _count(cell: str) -> int | None:
    return int(cell) if cell else None


def _per_card(cell: str) -> tuple[int, ...]:
    """Read `2x32` (two interfaces on each of 32 cards) or `4` (one card)."""
    if not cell:
        return ()
    interfaces, _, cards = cell.partition("x")
    return (int(interfaces),) * int(cards or 1)
