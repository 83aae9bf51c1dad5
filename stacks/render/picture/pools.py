"""Compute nodes: how many there are, a card for each pool, and the rails between them. Pure."""

from collections.abc import Sequence

from blueprints.spec import CapacityKind, ClusterSpec, NodeSet

from .. import formatting, pool_sizes
from . import locations
from .parts import Domain, Item, Rails, Role

MOST_LISTED = 3
"""Machines of a pool."""
_KINDS = {"slurm": "Slurm partition", "kubernetes": "Kubernetes nodes", "training": "Workers of training jobs"}


def pools(spec: ClusterSpec) -> tuple[Item, ...]:
    """Make one card for each pool, those on the same fabric side by side, those without one last."""
    items = [_pool(name, sets) for name, sets in pool_sizes.by_pool(spec).items()]
    order = [entry.key for entry in rails(spec)]
    return tuple(sorted(items, key=lambda item: order.index(item.rails) if item.rails else len(order)))


def _pool(name: str, sets: Sequence[NodeSet]) -> Item:
    first = sets[0]
    machine = first.hosts.machine
    always = min(sum(one.always for one in sets), first.hosts.count)
    elastic = any(one.is_elastic for one in sets)
    head = f"{formatting.between(always, first.hosts.count)} × {machine.name}"
    lines = [head, *(f"or {one.hosts.machine.name}" for one in sets[1:MOST_LISTED]), *_hardware(first), *_purchase(first)]
    return Item(
        key=f"pool-{name}",
        role=Role.COMPUTE,
        kind=_KINDS[first.scheduler],
        title=name,
        lines=tuple(line for line in lines if line),
        simulated=bool(machine.gpus and machine.gpus.simulated),
        elastic=elastic,
        domain=_domain(first, always),
        rails=first.fabric.name if first.fabric else None,
    )


def _hardware(node_set: NodeSet) -> list[str]:
    machine = node_set.hosts.machine
    each = f"each {formatting.machine(machine)}"
    if machine.gpus is None:
        return [each, _interfaces(node_set)]
    total = f"{formatting.plural(pool_sizes.gpus_of(node_set), 'GPU')}: {formatting.gpu(machine.gpus)}"
    slices = f"each GPU cut into {formatting.mig(machine.gpus)}" if machine.gpus.mig else ""
    return [total, each, _interfaces(node_set), slices]


def _interfaces(node_set: NodeSet) -> str:
    machine = node_set.hosts.machine
    rate = formatting.rate(machine.network_gbps) if machine.network_gbps else ""
    return ", ".join(part for part in (formatting.interfaces(machine), rate) if part)


def _purchase(node_set: NodeSet) -> list[str]:
    bought = "" if node_set.capacity.kind is CapacityKind.OWNED else formatting.capacity(node_set)
    return [", ".join(word for word in (bought, formatting.placement(node_set)) if word)]


def _domain(node_set: NodeSet, always: int) -> Domain | None:
    machine, most = node_set.hosts.machine, node_set.hosts.count
    if machine.gpus is None:
        return None
    width = min(machine.domain_nodes or 1, most)
    times = formatting.between(-(-always // width), -(-most // width))
    return Domain(width, machine.gpus.count, times, named=machine.domain_nodes is not None)


def more(spec: ClusterSpec, left: Sequence[Item]) -> Item:
    """Make one card for all pools that have none of their own."""
    names = {item.title for item in left}
    sets = [sets for name, sets in pool_sizes.by_pool(spec).items() if name in names]
    most = sum(max(one.hosts.count for one in several) for several in sets)
    total = sum(max(pool_sizes.gpus_of(one) for one in several) for several in sets)
    return Item("more-pools", Role.COMPUTE, "Pools", f"{len(left)} more", (formatting.plural(most, "node"), formatting.plural(total, "GPU")))


def rails(spec: ClusterSpec) -> tuple[Rails, ...]:
    """Give each fabric once, in the order of the pools."""
    found: dict[str, Rails] = {}
    subnets = locations.rail_subnets(spec)
    for node_set in spec.node_sets:
        fabric = node_set.fabric
        if fabric is None or fabric.name in found:
            continue
        per_node = node_set.hosts.machine.gpus.count if node_set.hosts.machine.gpus else 1
        expected = fabric.expected
        lines = [
            formatting.fabric(fabric),
            f"{formatting.collective(expected.collective)} over {formatting.plural(expected.nodes, 'node')}: {formatting.expectation(expected)}"
            if expected
            else "",
            f"{formatting.plural(len(subnets), 'subnet')}: {formatting.known(subnets[0].cidr)} to {formatting.known(subnets[-1].cidr)}"
            if len(subnets) > 1
            else "",
        ]
        found[fabric.name] = Rails(fabric.name, fabric.title, max(1, min(fabric.nics, per_node)), tuple(line for line in lines if line))
    return tuple(found.values())
