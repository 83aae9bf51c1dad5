"""Reservations and blocks: sharing between pools, size, placement, and jobs that run longer than their nodes."""

from collections.abc import Iterator, Mapping

from .. import catalog, durations, finding, language, message_text, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_DAY_S = 24 * 3600


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find reservations and blocks that don't fit their pools, spread nodes in a reservation, and time limits longer than nodes run."""
    target = lookup.target_of(cluster)
    if target is None or not lookup.is_bought(cluster):
        return
    by_pool = {name: node_sets for name, _, node_sets in lookup.pools_of(cluster, blueprint)}
    shared: dict[str, list[str]] = {}
    for name, pool in blueprint.pools.items():
        if pool.bought.id is not None and name in by_pool:
            shared.setdefault(pool.bought.id, []).append(name)
    for identifier, names in shared.items():
        if len(names) > 1:
            yield from _shared(identifier, names, blueprint, by_pool, source)
        yield from _size(identifier, names, blueprint, by_pool, target, source)
    for name, pool in blueprint.pools.items():
        yield from _placement(name, pool, by_pool.get(name, ()), source)
        yield from _times(name, pool, by_pool.get(name, ()), target, source)


def _shared(
    identifier: str, names: list[str], blueprint: language.Blueprint, by_pool: Mapping[str, tuple[spec.NodeSet, ...]], source: Document
) -> Iterator[finding.Finding]:
    """Compare pools that share a reservation or block: it has machines of one type and one kind of capacity."""
    first, first_machines = names[0], _machines(by_pool[names[0]])
    for name in names[1:]:
        kinds = (blueprint.pools[first].bought.kind, blueprint.pools[name].bought.kind)
        machines = _machines(by_pool[name])
        where = source.where("pools", name, "capacity", "id")
        if kinds[0] != kinds[1]:
            what = f"{message_text.quoted(identifier)} is `{kinds[0]}` capacity in the pool {first}, and `{kinds[1]}` in {name}"
            why = "an identifier belongs to either a reservation or a block, and the cloud starts their nodes in different ways"
            yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "write the kind that the console shows in both pools")
        elif machines != first_machines:
            what = f"{first} and {name} share {message_text.quoted(identifier)}, and their machines differ: {first_machines[0]} and {machines[0]}"
            why = "a reservation or a block has machines of one type"
            yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "write a different `id` in each pool, or the same machine in both")


def _size(
    identifier: str,
    names: list[str],
    blueprint: language.Blueprint,
    by_pool: Mapping[str, tuple[spec.NodeSet, ...]],
    target: catalog.Target,
    source: Document,
) -> Iterator[finding.Finding]:
    """Compare the nodes of all pools of a block with the maximum size of a block, and with the sizes of NVLink domains."""
    if any(blueprint.pools[name].bought.kind is not CapacityKind.BLOCK for name in names):
        return
    nodes = sum(blueprint.pools[name].range.max for name in names)
    last = names[-1]
    where = source.where_key("pools", last, "nodes")
    most = catalog.limit(target.name, "block_instances")
    if most is not None and nodes > most.value:
        what = f"{message_text.listed(names)} {'have' if len(names) > 1 else 'has'} {nodes} nodes in {message_text.quoted(identifier)}"
        why = f"one block has at most {most.value} instances ({catalog.source(most.source).where})"
        yield finding.Finding(
            _ERROR, Code.BLOCK_TOO_LARGE, where, what, why, f"write at most {most.value} nodes for each block, and another pool for each further block"
        )
    machine = catalog.machines(target.name).get(_machines(by_pool[last])[0])
    sizes = machine.domain_sizes if machine is not None else ()
    if len(names) > 1 and sizes and nodes not in sizes:
        what = f"{message_text.listed(names)} have {nodes} nodes together in {message_text.quoted(identifier)}"
        why = f"a block of this machine is a whole NVLink domain of {' or '.join(str(size) for size in sorted(sizes))} nodes"
        yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "write node counts that add up to one domain")


def _placement(name: str, pool: language.Pool, node_sets: tuple[spec.NodeSet, ...], source: Document) -> Iterator[finding.Finding]:
    if pool.placement != "spread" or pool.bought.kind is not CapacityKind.RESERVED or any(one.placement == spec.IN_DOMAINS for one in node_sets):
        return
    what = f"the pool {name} spreads its nodes, and its capacity is a reservation"
    why = "a reservation does not reserve a spread placement: the cloud can refuse a node although the reservation has a free one"
    where = source.where("pools", name, "placement")
    yield finding.Finding(_WARNING, Code.PLACEMENT_UNRESERVED, where, what, why, "remove `placement`, or write `capacity: on-demand`")


def _times(name: str, pool: language.Pool, node_sets: tuple[spec.NodeSet, ...], target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the time limit of a partition with the longest time that its nodes run."""
    partition = next((node_set.partition for node_set in node_sets if node_set.partition is not None), None)
    longest = _longest_run_s(pool, target)
    if partition is None or longest is None:
        return
    seconds = durations.seconds(partition.max_time)
    if seconds is None and pool.bought.kind is CapacityKind.BLOCK:  # BLOCK_WITHOUT_LIMIT reports it
        return
    if seconds is None or seconds > longest:
        limit = values.time_limit(str(longest // 60))
        what = f"the time limit of the partition {name} is `{partition.max_time}`, and its nodes run for at most {limit}"
        why = "the cloud then terminates the nodes, with the jobs on them"
        where = source.where("pools", name, "partition", "max_time")
        yield finding.Finding(_WARNING, Code.JOBS_OUTLAST_NODES, where, what, why, f"write `partition: {{max_time: {limit}}}` or less")


def _longest_run_s(pool: language.Pool, target: catalog.Target) -> int | None:
    if pool.bought.kind not in target.capacity:
        return None
    if pool.bought.kind is CapacityKind.FLEX:
        seconds = durations.seconds(pool.bought.max_run) if pool.bought.max_run else None
        least, most = target.limits.get("flex_seconds_min", 0), target.limits.get("flex_seconds_max", 0)
        return seconds if seconds is not None and least <= seconds <= most else None
    days = catalog.limit(target.name, "block_days") if pool.bought.kind is CapacityKind.BLOCK else None
    return days.value * _DAY_S if days else None


def _machines(node_sets: tuple[spec.NodeSet, ...]) -> tuple[str, ...]:
    return tuple(sorted(node_set.hosts.machine.name for node_set in node_sets))
