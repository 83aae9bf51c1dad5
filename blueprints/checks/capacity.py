"""How nodes are bought: what each kind needs, and what goes with it."""

from collections.abc import Iterator

from .. import finding, language, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import identifiers, lookup

_ERROR = finding.Level.ERROR
_WITH_ID = {"reserved": "a reservation", "block": "a block"}
_DAY_S = 24 * 3600


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find capacity without what it needs, with what it doesn't have, and for pools that it can't serve. Owned hosts are bought in no way."""
    if not lookup.is_bought(cluster):
        return
    for name, pool in blueprint.pools.items():
        yield from _identifier(name, pool, source)
        yield from _zone(name, pool, cluster, source)
        yield from _time(name, pool, cluster, source)
        yield from _endless(name, pool, cluster, source)
        kind = pool.bought.kind
        if kind == "block" and pool.is_elastic:
            what = f"the pool {name} grows and shrinks, and its capacity is a block"
            why = "a block is paid as a whole from its first day to its last, whether its nodes run or not"
            remedy = f"write `nodes: {pool.range.max}`, the number of nodes of the block"
            yield finding.Finding(_ERROR, Code.BLOCK_ELASTIC, source.where_key("pools", name, "nodes"), what, why, remedy)
        if kind in _WITH_ID and len(set(pool.machines)) > 1:
            what = f"the pool {name} names several machines, and its capacity is {_WITH_ID[kind]}"
            why = f"{_WITH_ID[kind]} is for machines of one type"
            where = source.where_key("pools", name, "machines")
            yield finding.Finding(_ERROR, Code.CAPACITY_MACHINES, where, what, why, "make a pool of each machine, with its own `id`")


def _identifier(name: str, pool: language.Pool, source: Document) -> Iterator[finding.Finding]:
    bought = pool.bought
    where = source.where("pools", name, "capacity")
    if bought.kind in _WITH_ID and bought.id is None:
        # A warning, so that a blueprint can be planned before anything is bought.
        what = f"the pool {name} is bought by {_WITH_ID[bought.kind]}, and nothing says by which"
        why = "the cloud gives its nodes only to those who name it; until then you can plan the pool, not provision it"
        remedy = f"write `capacity: {{kind: {bought.kind}, id: …}}`, with the identifier that the cloud's console shows"
        yield finding.Finding(finding.Level.WARNING, Code.CAPACITY_ID_MISSING, where, what, why, remedy)
    elif bought.kind not in _WITH_ID and bought.id is not None:
        what = f"the pool {name} names `{bought.id}`, and buys its nodes as `{bought.kind}`"
        why = "an identifier names a reservation or a block; nodes that are bought otherwise would leave it unused, and it is paid for all the same"
        remedy = "write `kind: reserved` or `kind: block`, or take `id` out"
        yield finding.Finding(_ERROR, Code.CAPACITY_ID_UNUSED, source.where("pools", name, "capacity", "id"), what, why, remedy)


def _zone(name: str, pool: language.Pool, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find capacity that stands in a zone which nobody told; subnets that are there already are in zones of their own."""
    bought, network = pool.bought, cluster.network
    is_given = network.existing is not None and source.at("network", "subnets") is not None
    if bought.kind not in _WITH_ID or bought.id is None or network.zones or is_given or identifiers.zone_of(cluster, bought.id):
        return
    what = f"nothing says in which zone `{bought.id}` is, from which the pool {name} gets its nodes"
    why = "a reservation or a block lies in one zone, and nodes that are started in another never get any of it"
    remedy = f"write `targets.{cluster.target}.network.zones: […]`, with the zone that the cloud's console shows beside it"
    where = source.where("pools", name, "capacity", "id")
    yield finding.Finding(finding.Level.WARNING, Code.CAPACITY_ZONE_MISSING, where, what, why, remedy)


def _endless(name: str, pool: language.Pool, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find jobs without a limit on a block: the scheduler keeps its end free, and never starts a job that may run into it."""
    limits = [partition.max_time for node_set, partition in cluster.slurm_node_sets if node_set.pool == name]
    if pool.bought.kind != "block" or not limits or values.seconds(limits[0]) is not None:
        return
    what = f"jobs of the pool {name} may run without end, and its nodes end with a block of capacity"
    why = f"a job that doesn't say how long it runs is taken to need all of `max_time: {limits[0]}`; Slurm never starts one that runs into the end of the block"
    remedy = "write `partition: {max_time: 1-00:00:00}`, or any time shorter than the block"
    where = source.where("pools", name, "partition", "max_time")
    yield finding.Finding(finding.Level.WARNING, Code.BLOCK_WITHOUT_LIMIT, where, what, why, remedy)


def _time(name: str, pool: language.Pool, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    bought = pool.bought
    where = source.where("pools", name, "capacity", "max_run")
    if bought.kind != "flex":
        if bought.max_run is not None:
            what = f"the pool {name} says how long its nodes run, and buys them as `{bought.kind}`"
            why = "only `flex` nodes end after a time; with another kind nothing reads it"
            yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, "take `max_run` out, or write `kind: flex`")
        return
    target = lookup.target_of(cluster)
    limits = target.limits if target else {}
    least, most = limits.get("flex_seconds_min"), limits.get("flex_seconds_max")
    seconds = values.seconds(bought.max_run) if bought.max_run else None
    if bought.max_run is None:
        what = f"the pool {name} is bought as `flex` and doesn't say for how long"
        why = "flex nodes are given for a time that is asked for, and end after it"
        remedy = "write `capacity: {kind: flex, max_run: 3-00:00:00}`"
        yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, remedy)
    elif most is not None and least is not None and (seconds is None or not least <= seconds <= most):
        what = f"flex nodes can't run for `{bought.max_run}`"
        why = f"the cloud gives them for {least // 60} minutes to {most // _DAY_S} days"
        yield finding.Finding(_ERROR, Code.FLEX_TIME, where, what, why, "write a time within these")
    if pool.range.min:
        what = f"{pool.range.min} nodes of the pool {name} always run, and are bought as `flex`"
        why = "each ends when its time is over, with the job on it, and starts again when the cloud has one to give"
        where = source.where_key("pools", name, "nodes")
        remedy = f"write `nodes: {{min: 0, max: {pool.range.max}}}`, so that they come for jobs"
        yield finding.Finding(finding.Level.WARNING, Code.FLEX_ALWAYS, where, what, why, remedy)
