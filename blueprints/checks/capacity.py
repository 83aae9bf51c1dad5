"""Capacity: what each kind requires, and what it excludes."""

from collections.abc import Iterator

from .. import catalog, durations, finding, language, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document
from . import identifiers, lookup

_ERROR = finding.Level.ERROR
_WITH_ID = {CapacityKind.RESERVED: "a reservation", CapacityKind.BLOCK: "a block"}
_DAY_S = 24 * 3600


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find capacity with missing or unused keys, and pools that a kind of capacity can't serve. Owned hosts have no capacity kind."""
    if not lookup.is_bought(cluster):
        return
    limits = {node_set.pool: partition.max_time for node_set, partition in reversed(cluster.slurm_node_sets)}
    for name, pool in blueprint.pools.items():
        yield from _identifier(name, pool, source)
        yield from _zone(name, pool, cluster, source)
        yield from _time(name, pool, cluster, source, is_service=blueprint.scheduler == "training")
        yield from _endless(name, pool, limits.get(name), source)
        kind = pool.bought.kind
        if kind is CapacityKind.BLOCK and pool.is_elastic:
            what = f"the pool {name} is elastic, and its capacity is a block"
            why = "you pay for the whole block until it ends, whether its nodes run or not"
            remedy = f"write `nodes: {pool.range.max}`, the number of nodes of the block"
            yield finding.Finding(_ERROR, Code.BLOCK_ELASTIC, source.where_key("pools", name, "nodes"), what, why, remedy)
        if kind in _WITH_ID and len(set(pool.machines)) > 1:
            what = f"the pool {name} names several machine types, and its capacity is {_WITH_ID[kind]}"
            why = f"{_WITH_ID[kind]} has machines of one type"
            where = source.where_key("pools", name, "machines")
            yield finding.Finding(_ERROR, Code.CAPACITY_MACHINES, where, what, why, "write one pool for each machine type, with its own `id`")


def _identifier(name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    bought = pool.bought
    where = source.where("pools", name, "capacity")
    if bought.kind in _WITH_ID and bought.id is None:
        # A warning, so that a blueprint can be planned before anything is bought.
        what = f"the pool {name} uses {_WITH_ID[bought.kind]}, and its identifier is missing"
        why = "the cloud requires the identifier to start nodes in it; without one you can plan the pool but not provision it"
        remedy = f"write `capacity: {{kind: {bought.kind}, id: …}}`, with the identifier that the cloud's console shows"
        yield finding.Finding(finding.Level.WARNING, Code.CAPACITY_ID_MISSING, where, what, why, remedy)
    elif bought.kind not in _WITH_ID and bought.id is not None:
        what = f"the pool {name} names `{bought.id}`, and its capacity is `{bought.kind}`"
        why = f"an identifier names a reservation or a block; `{bought.kind}` nodes would not use it, and you would still pay for it"
        remedy = "write `kind: reserved` or `kind: block`, or remove `id`"
        yield finding.Finding(_ERROR, Code.CAPACITY_ID_UNUSED, source.where("pools", name, "capacity", "id"), what, why, remedy)


def _zone(name: str, pool: language.Pool, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find reservations and blocks whose zone is unknown. Existing subnets bring their own zones, where a subnet is in one."""
    bought, network = pool.bought, cluster.network
    known = catalog.target(cluster.target).networks
    is_given = network.existing is not None and source.at("network", "subnets") is not None and not (known and known.for_each_interface)
    if bought.kind not in _WITH_ID or bought.id is None or network.zones or is_given or identifiers.zone_of(cluster, bought.id):
        return
    what = f"the zone of `{bought.id}`, the capacity of the pool {name}, is unknown"
    why = "a reservation or block belongs to one zone, and nodes in another zone can't use it"
    remedy = f"write `targets.{cluster.target}.network.zones: […]`, with the zone that the cloud's console shows beside it"
    where = source.where("pools", name, "capacity", "id")
    yield finding.Finding(finding.Level.WARNING, Code.CAPACITY_ZONE_MISSING, where, what, why, remedy)


def _endless(name: str, pool: language.Pool, limit: str | None, source: Document) -> Iterator[finding.Finding]:
    """Find partitions without a time limit on a block: Slurm never starts a job that may run past the end of the block."""
    if pool.bought.kind is not CapacityKind.BLOCK or limit is None or durations.seconds(limit) is not None:
        return
    what = f"jobs of the pool {name} have no time limit, and its capacity block ends"
    why = f"Slurm assumes `max_time: {limit}` for a job without its own limit, and never starts a job that may run past the end of the block"
    remedy = "write `partition: {max_time: 1-00:00:00}`, or any time shorter than the block"
    where = source.where("pools", name, "partition", "max_time")
    yield finding.Finding(finding.Level.WARNING, Code.BLOCK_WITHOUT_LIMIT, where, what, why, remedy)


def _time(name: str, pool: language.Pool, cluster: spec.ClusterSpec, source: Document, *, is_service: bool) -> Iterator[finding.Finding]:
    bought = pool.bought
    where = source.where("pools", name, "capacity", "max_run")
    if bought.kind is not CapacityKind.FLEX:
        if bought.max_run is not None:
            what = f"the pool {name} sets `max_run`, and its capacity is `{bought.kind}`"
            why = "only `flex` nodes have a maximum run time"
            yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, "remove `max_run`, or write `kind: flex`")
        return
    target = lookup.target_of(cluster)
    limits = target.limits if target else {}
    least, most = limits.get("flex_seconds_min"), limits.get("flex_seconds_max")
    seconds = durations.seconds(bought.max_run) if bought.max_run else None
    if bought.max_run is None:
        what = f"the capacity of the pool {name} is `flex`, and `max_run` is missing"
        why = "the cloud provisions flex nodes for the requested time, and terminates them after it"
        remedy = "write `capacity: {kind: flex, max_run: 3-00:00:00}`"
        yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, remedy)
    elif most is not None and least is not None and (seconds is None or not least <= seconds <= most):
        what = f"flex nodes can't run for `{bought.max_run}`"
        why = f"the cloud provisions them for {least // 60} minutes to {most // _DAY_S} days"
        yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, "write a time between the two")
    if pool.range.min and not is_service:  # a service keeps none, and says so itself
        what = f"{pool.range.min} nodes of the pool {name} always run, and their capacity is `flex`"
        why = "the cloud terminates each node after its maximum run time, with the job on it; a new node starts when capacity is available"
        where = source.where_key("pools", name, "nodes")
        remedy = f"write `nodes: {{min: 0, max: {pool.range.max}}}`, so that nodes start for jobs"
        yield finding.Finding(finding.Level.WARNING, Code.FLEX_ALWAYS, where, what, why, remedy)
