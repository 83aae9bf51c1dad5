"""Figures and hardware in words, the same in picture and report."""

from collections.abc import Iterable
from itertools import groupby

from blueprints.spec import Expectation, Fabric, Gpus, Late, Machine, NodeSet

from . import formatting

_KINDS = {
    "efa": "EFA",
    "efa-only": "EFA",
    "ena": "ENA",
    "gvnic": "gVNIC",
    "idpf": "IDPF",
    "irdma": "iRDMA",
    "mrdma": "RDMA",
    "infiniband": "InfiniBand",
    "roce": "RoCE",
    "ethernet": "Ethernet",
}
"""Kinds of network interfaces, as their makers write them."""


def count(number: float) -> str:
    return f"{number:,}"


def titled(name: str) -> str:
    return name[:1].upper() + name[1:]


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def between(least: int, most: int) -> str:
    return count(most) if least == most else f"{least:,} to {most:,}"


def message(size_bytes: int) -> str:
    return formatting.size(size_bytes / (1 << 30))


def throughput(mbs: float) -> str:
    """Write MB/s (powers of 1000), as clouds state them."""
    return f"{mbs:,.0f} MB/s"


def bandwidth(gbs: float) -> str:
    return f"{gbs:g} GB/s"


def rate(gbps: float) -> str:
    return f"{_short(gbps / 1000)} Tb/s" if gbps >= 1000 else f"{_short(gbps)} Gb/s"


def gpu(gpus: Gpus) -> str:
    return f"{gpus.type.upper()} {formatting.gpu_memory(gpus)}".rstrip()


def machine(entry: Machine) -> str:
    """Say what one host has beside GPUs."""
    return f"{plural(entry.cpus, 'CPU')}, {formatting.size(entry.memory_mib / 1024)}"


def mig(gpus: Gpus) -> str:
    return ", ".join(f"{one.per_gpu} × {one.profile}" for one in gpus.mig)


def interfaces(entry: Machine) -> str:
    """Count the network interfaces of one host by kind; empty when none are known."""
    kinds = sorted(_KINDS.get(nic.kind, nic.kind) for nic in entry.nics)
    counted = [(len(list(same)), kind) for kind, same in groupby(kinds)]
    return " + ".join(f"{number} × {kind}" for number, kind in sorted(counted))


def capacity(node_set: NodeSet) -> str:
    bought = node_set.capacity
    words = [bought.kind, bought.id or "", f"at most {bought.max_run}" if bought.max_run else ""]
    return " ".join(word for word in words if word)


def placement(node_set: NodeSet) -> str:
    return {"packed": "packed closely", "spread": "spread", "given": "placed by the capacity"}.get(node_set.placement, "")


def fabric(entry: Fabric) -> str:
    return f"{rate(entry.gbps_per_gpu)} per GPU, {plural(entry.nics, 'interface')} a node"


def expectation(expected: Expectation) -> str:
    """Say what a collective must reach."""
    typical = f"{bandwidth(expected.typical_gbs)} typical{measured(expected)}, " if expected.typical_gbs is not None else ""
    doubt = " (provisional)" if expected.provisional else ""
    return f"{typical}{bandwidth(expected.floor_gbs)} at least{doubt}"


def measured(expected: Expectation) -> str:
    """Say on how many nodes a typical rate was measured, where these are others than it is expected of."""
    nodes = expected.measured_nodes
    return "" if nodes is None or nodes == expected.nodes else f" (measured on {plural(nodes, 'node')})"


def known(value: str | Late) -> str:
    """Write a value, or that it is not known yet."""
    return "known later" if isinstance(value, Late) else value


def some(words: Iterable[str], *, most: int) -> str:
    """List words with commas; of a long list the first ones and how many more there are."""
    given = list(words)
    more = len(given) - most
    return ", ".join(given) if more <= 0 else f"{', '.join(given[:most])} and {more} more"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}".removesuffix(".0")
