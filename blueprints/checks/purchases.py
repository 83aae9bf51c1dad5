"""Reservations and blocks: pools that share one, their size, the place that they bring, and jobs that run longer than their nodes."""

from collections.abc import Iterator, Mapping

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_DAY_S = 24 * 3600


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find purchases that their pools can't fit together, nodes far apart in one, and jobs that outlast their nodes."""
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
        yield from _placement(name, pool, source)
        yield from _times(name, pool, by_pool.get(name, ()), target, source)


def _shared(
    identifier: str, names: list[str], blueprint: language.Blueprint, by_pool: Mapping[str, tuple[spec.NodeSet, ...]], source: Document
) -> Iterator[finding.Finding]:
    """Compare pools that name one purchase: it holds machines of one type, bought in one way."""
    first, first_machines = names[0], _machines(by_pool[names[0]])
    for name in names[1:]:
        kinds = (blueprint.pools[first].bought.kind, blueprint.pools[name].bought.kind)
        machines = _machines(by_pool[name])
        where = source.where("pools", name, "capacity", "id")
        if kinds[0] != kinds[1]:
            what = f"the pool {first} takes {message_text.quoted(identifier)} for `{kinds[0]}` capacity, and {name} for `{kinds[1]}`"
            why = "a purchase is either a reservation or a block, and the cloud starts nodes of each in its own way"
            yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "write the kind that the console shows in both pools")
        elif machines != first_machines:
            what = f"{first} and {name} share {message_text.quoted(identifier)}, and their machines differ: {first_machines[0]} and {machines[0]}"
            why = "a reservation or a block holds machines of one type"
            yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "name the purchase of each pool, or give both the same machine")


def _size(
    identifier: str,
    names: list[str],
    blueprint: language.Blueprint,
    by_pool: Mapping[str, tuple[spec.NodeSet, ...]],
    target: catalog.Target,
    source: Document,
) -> Iterator[finding.Finding]:
    """Compare the nodes of all pools of a block with the most that a block can have, and with the domains that it comes in."""
    if any(blueprint.pools[name].bought.kind != "block" for name in names):
        return
    nodes = sum(blueprint.pools[name].range.max for name in names)
    last = names[-1]
    where = source.where_key("pools", last, "nodes")
    most = catalog.limit(target.name, "block_instances")
    if most is not None and nodes > most.value:
        what = f"{message_text.listed(names)} {'have' if len(names) > 1 else 'has'} {nodes} nodes in {message_text.quoted(identifier)}"
        why = f"one block has {most.value} instances at most ({catalog.source(most.source).where})"
        yield finding.Finding(
            _ERROR, Code.BLOCK_TOO_LARGE, where, what, why, f"write {most.value} nodes at most for each block, and a pool for each further one"
        )
    machine = catalog.machines(target.name).get(_machines(by_pool[last])[0])
    sizes = machine.domain_sizes if machine is not None else ()
    if len(names) > 1 and sizes and nodes not in sizes:
        what = f"{message_text.listed(names)} have {nodes} nodes together in {message_text.quoted(identifier)}"
        why = f"a block of this machine is a whole NVLink domain of {' or '.join(str(size) for size in sorted(sizes))} nodes"
        yield finding.Finding(_ERROR, Code.PURCHASE_SHARED, where, what, why, "divide the nodes of one domain between the pools")


def _placement(name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    if pool.placement != "spread" or pool.bought.kind != "reserved":
        return
    what = f"the nodes of {name} are to be far apart, and come from a reservation"
    why = "a reservation keeps machines, and no places in a group of nodes far apart: the cloud can refuse a node although the reservation has one"
    where = source.where("pools", name, "placement")
    yield finding.Finding(_WARNING, Code.PLACEMENT_UNRESERVED, where, what, why, "leave `placement` out, or buy these nodes on demand")


def _times(name: str, pool: language.Pool, node_sets: tuple[spec.NodeSet, ...], target: catalog.Target, source: Document) -> Iterator[finding.Finding]:
    """Compare the longest job of a partition with the longest that its nodes run."""
    partition = next((node_set.partition for node_set in node_sets if node_set.partition is not None), None)
    longest = _longest_run_s(pool, target)
    if partition is None or longest is None:
        return
    seconds = values.seconds(partition.max_time)
    if seconds is None and pool.bought.kind == "block":  # said by itself: no job without a limit starts there
        return
    if seconds is None or seconds > longest:
        limit = values.time_limit(str(longest // 60))
        what = f"jobs of the partition {name} may run for `{partition.max_time}`, and its nodes run for {limit} at most"
        why = "the cloud ends the nodes then, with the jobs on them"
        where = source.where("pools", name, "partition", "max_time")
        yield finding.Finding(_WARNING, Code.JOBS_OUTLAST_NODES, where, what, why, f"write `partition: {{max_time: {limit}}}` or less")


def _longest_run_s(pool: language.Pool, target: catalog.Target) -> int | None:
    if pool.bought.kind not in target.capacity:
        return None
    if pool.bought.kind == "flex":
        seconds = values.seconds(pool.bought.max_run) if pool.bought.max_run else None
        least, most = target.limits.get("flex_seconds_min", 0), target.limits.get("flex_seconds_max", 0)
        return seconds if seconds is not None and least <= seconds <= most else None
    days = catalog.limit(target.name, "block_days") if pool.bought.kind == "block" else None
    return days.value * _DAY_S if days else None


def _machines(node_sets: tuple[spec.NodeSet, ...]) -> tuple[str, ...]:
    return tuple(sorted(node_set.hosts.machine.name for node_set in node_sets))
