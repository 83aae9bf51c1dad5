"""How amounts, hardware, names and recorded values are written for people. Pure."""

import datetime as dt
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from blueprints import catalog, message_text
from blueprints.spec import IN_DOMAINS, POLICY_ENFORCER, Expectation, Fabric, Gpus, Kubernetes, Late, Machine, NodeSet

NAMED_AT_MOST = 4
"""Names in one place; of more, the first ones and how many more."""
MIB_PER_GIB = 1024
GIB_PER_TIB = 1024
DOUBTFUL = "~"
"""Stands before a price of medium or low confidence."""
NAMING = ("name", "profile", "product", "type", "what", "hosts")
"""Fields of a recorded thing that say which one it is."""


def size(gib: float) -> str:
    """Write a size in the largest unit that it fills (powers of 1024), with two digits after the point at most."""
    for unit, factor in (("PiB", GIB_PER_TIB * GIB_PER_TIB), ("TiB", GIB_PER_TIB), ("GiB", 1)):
        if gib >= factor:
            return f"{_short(gib / factor)} {unit}"
    return f"{gib * MIB_PER_GIB:.0f} MiB"


def _short(number: float) -> str:
    return f"{number:,.2f}".rstrip("0").rstrip(".")


def gpu_memory(gpus: Gpus) -> str:
    """Write the memory of one GPU as its vendor names it, which is the same on every target; empty when no source has it."""
    if gpus.memory_gib is None:
        return ""
    known = catalog.accelerators().get(gpus.type)
    return f"{known.nominal_gb(gpus.memory_gib)} GB" if known else f"{gpus.memory_gib:g} GiB"


def counted(number: int, units: str) -> str:
    """Write a number with its unit, which is given in the plural if it has one (`vcpus`, `GiB`)."""
    return f"{number:,} {units.removesuffix('s') if number == 1 else units}"


def moment(at: dt.datetime) -> str:
    """Write a time in UTC."""
    return f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def collective(name: str) -> str:
    """Write a collective's name as its users do (`all-gather`)."""
    return name.replace("_", "-")


def money(low: float | None, high: float | None, *, sign: str = "") -> str:
    """Write a sum of money, or the least and the most of it; to the hundredth, whatever its size."""
    if low is None or high is None:
        return "unknown"
    least, most = f"{sign}{low:,.2f}", f"{sign}{high:,.2f}"
    return most if least == most else f"{least} to {most}"


def unit_price(usd: float, *, sign: str = "") -> str:
    """Write what one of something costs: small prices differ in their last digits."""
    return f"{sign}{usd:,.4f}" if usd < 1 else f"{sign}{usd:,.2f}"


def named(names: Iterable[str]) -> str:
    """List names, of many the first ones and how many more."""
    known = list(names)
    return some(known, most=NAMED_AT_MOST if len(known) <= NAMED_AT_MOST else NAMED_AT_MOST - 1)


def brief(value: Any) -> str:
    """Write a recorded value in a few words."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, dict):
        inner = next((value[field] for field in NAMING if value.get(field)), None)
        return brief(inner) if inner else f"{len(value)} values"
    if isinstance(value, list | tuple):
        return named([brief(one) for one in value]) if value else "none"
    return message_text.quoted(value)[1:-1]


# --- Hardware ---------------------------------------------------------------------------------------------------------------


def count(number: float) -> str:
    return f"{number:,}"


def titled(name: str) -> str:
    return name[:1].upper() + name[1:]


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def between(least: int, most: int) -> str:
    return count(most) if least == most else f"{least:,} to {most:,}"


def message(size_bytes: int) -> str:
    return size(size_bytes / (1 << 30))


def throughput(mbs: float) -> str:
    """Write MB/s (powers of 1000), as clouds state them."""
    return f"{mbs:,.0f} MB/s"


def bandwidth(gbs: float) -> str:
    return f"{gbs:g} GB/s"


def rate(gbps: float) -> str:
    return f"{_rate(gbps / 1000)} Tb/s" if gbps >= 1000 else f"{_rate(gbps)} Gb/s"


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}".removesuffix(".0")


def gpu(gpus: Gpus) -> str:
    return f"{gpus.type.upper()} {gpu_memory(gpus)}".rstrip()


def machine(entry: Machine) -> str:
    """Say what one host has beside GPUs."""
    return f"{plural(entry.cpus, 'CPU')}, {size(entry.memory_mib / 1024)}"


def mig(gpus: Gpus) -> str:
    return ", ".join(f"{one.per_gpu} × {one.profile}" for one in gpus.mig)


def interfaces(entry: Machine) -> str:
    """Count the network interfaces of one host by kind; empty when none are known."""
    titles = catalog.interface_titles()
    kinds = sorted(titles.get(nic.kind, nic.kind) for nic in entry.nics)
    counted = [(len(list(same)), kind) for kind, same in groupby(kinds)]
    return " + ".join(f"{number} × {kind}" for number, kind in sorted(counted))


def capacity(node_set: NodeSet) -> str:
    bought = node_set.capacity
    words = [bought.kind, bought.id or "", f"at most {bought.max_run}" if bought.max_run else ""]
    return " ".join(word for word in words if word)


def placement(node_set: NodeSet) -> str:
    return {"packed": "packed closely", "spread": "spread", "given": "placed by the capacity", IN_DOMAINS: "in NVLink domains"}.get(node_set.placement, "")


def fabric(entry: Fabric) -> str:
    return f"{rate(entry.gbps_per_gpu)} per GPU, {plural(entry.nics, 'interface')} a node"


def expectation(expected: Expectation) -> str:
    """Say what a collective must reach."""
    typical = f"{bandwidth(expected.typical_gbs)} typical{measured(expected)}, " if expected.typical_gbs is not None else ""
    doubt = " (provisional)" if expected.provisional else ""
    return f"{typical}{bandwidth(expected.floor_gbs)} at least{lowered(expected)}{doubt}"


def lowered(expected: Expectation) -> str:
    """Say that the blueprint lowered a floor, where it did."""
    return f" (lowered by the blueprint from {expected.lowered_from_gbs:g})" if expected.lowered_from_gbs is not None else ""


def measured(expected: Expectation) -> str:
    """Say what a typical rate was measured on, where that is another number of nodes than it is expected of."""
    words = measurement(expected)
    return f" ({words})" if words else ""


def measurement(expected: Expectation) -> str:
    """Do as `measured`, without brackets. A figure for more nodes than it was measured on is extrapolated."""
    nodes = expected.measured_nodes
    if nodes is None or nodes == expected.nodes:
        return ""
    return f"extrapolated from {plural(nodes, 'node')}" if expected.extrapolated_from else f"measured on {plural(nodes, 'node')}"


def known(value: str | Late) -> str:
    """Write a value, or that it is not known yet."""
    return "known later" if isinstance(value, Late) else value


def policy_enforcement(kubernetes: Kubernetes) -> str:
    """Say what keeps pods of one account from those of others."""
    if kubernetes.enforces_policies:
        return f"enforced on nodes by the add-on {POLICY_ENFORCER}"
    return f"not enforced: {kubernetes.pod_network} ignores them, and pods of all accounts reach each other"


def kwok_nodes(kubernetes: Kubernetes) -> str:
    """Say which nodes exist in the API alone."""
    named = [f"{counted(one.count, 'nodes')} of {one.name}, like those of {one.pool}" for one in kubernetes.kwok_nodes]
    return f"{message_text.listed(named)}; simulated: they exist in the API alone, and nothing runs in their pods"


def secondary_networks(kubernetes: Kubernetes) -> str:
    """Say in which networks pods can ask for an interface, and which addresses they get there."""
    return message_text.listed(f"{one.name} (addresses of pods {one.pods})" for one in kubernetes.secondary_networks)


def some(words: Iterable[str], *, most: int) -> str:
    """List words with commas; of a long list the first ones and how many more there are."""
    given = list(words)
    more = len(given) - most
    return ", ".join(given) if more <= 0 else f"{', '.join(given[:most])} and {more} more"
