"""Reservations and blocks of the account, compared with the pools that use them."""

import datetime as dt
from collections.abc import Iterator

from .. import catalog, durations, finding, message_text, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..document import Document
from ..language import values
from .account import Answers, Reservation, given_subnets, hosts_zone, reservation_group

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_TITLES = {CapacityKind.RESERVED: "a reservation", CapacityKind.BLOCK: "a capacity block"}
_MINUTE_S = 60
_WORKING = ("active", "scheduled", "pending")
"""States in which a reservation has capacity, or will have it."""


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find reservations and blocks that don't exist, have ended, are in another zone, or don't fit their pool."""
    if not answers.knows("reservations"):
        return
    zone = hosts_zone(cluster, answers)
    for node_set in cluster.node_sets:
        capacity = node_set.capacity
        where = source.where("pools", node_set.pool, "capacity", "id")
        if capacity.kind in _TITLES and capacity.id is not None and reservation_group(cluster, capacity.id) is not None:
            yield _group(capacity.id, where, cluster, answers)
        if capacity.kind not in _TITLES or capacity.id is None or capacity.id not in answers.reservations:
            continue
        found = answers.reservations[capacity.id]
        if found is None:
            what = f"{capacity.id} does not exist in {cluster.network.region}"
            why = "the account has no such reservation there; it may belong to another account or region, or be cancelled"
            yield finding.Finding(_ERROR, Code.RESERVATION_UNKNOWN, where, what, why, "choose one that `clusterwright lookup reservations` lists")
            continue
        for level, what, why, remedy in _faults(node_set, found, zone, cluster, answers.account):
            yield finding.Finding(level, Code.RESERVATION_UNFIT, where, what, why, remedy)
        zone = zone or found.zone  # all reservations must be in one zone
    yield from _shared(cluster, source, answers)
    yield from _long_jobs(cluster, source, answers)


def _group(group: str, where: finding.Position, cluster: spec.ClusterSpec, answers: Answers) -> finding.Finding:
    owner = (catalog.identifier_parts(cluster.target, "pools.capacity.id", group) or {}).get("account", answers.account)
    if owner != answers.account:
        what = f"{group} belongs to the account {owner}, and the credentials belong to {answers.account}"
        why = "an account can use only its own reservation groups"
        return finding.Finding(_ERROR, Code.RESERVATION_UNFIT, where, what, why, f"name a group of {answers.account}, or use credentials of {owner}")
    what = f"`check --live` does not check the contents of the reservation group {group}"
    return finding.Finding(
        _WARNING, Code.RESERVATION_UNFIT, where, what, "a group can have several reservations", "check in the cloud's console that they fit the pool"
    )


def _shared(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Compare the nodes of all pools that share a reservation with its size; `_faults` reports pools that don't fit alone."""
    sharing: dict[str, list[spec.NodeSet]] = {}
    for node_set in cluster.node_sets:
        if node_set.capacity.kind in _TITLES and node_set.capacity.id is not None:
            sharing.setdefault(node_set.capacity.id, []).append(node_set)
    for name, sets in sharing.items():
        found, nodes = answers.reservations.get(name), sum(one.hosts.count for one in sets)
        if found is None or len(sets) < 2 or nodes <= found.total or any(one.hosts.count > found.total for one in sets):
            continue
        always = sum(one.always for one in sets)
        what = f"{name} has {found.total} machines, and {message_text.listed(one.pool for one in sets)} together can have {nodes} nodes"
        why = f"{always} of them always run" if always > found.total else "the cloud refuses nodes beyond its size"
        where = source.where("pools", sets[-1].pool, "capacity", "id")
        level = _ERROR if always > found.total else _WARNING
        yield finding.Finding(level, Code.RESERVATION_UNFIT, where, what, why, "write fewer nodes, or enlarge the reservation")


def _long_jobs(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Compare the time limit of a partition with the remaining time of its reservation."""
    for node_set, partition in cluster.slurm_node_sets:
        found = answers.reservations.get(node_set.capacity.id or "")
        limit_s = durations.seconds(partition.max_time)
        if found is None or not found.ends or found.state not in _WORKING or limit_s is None:
            continue
        begins = max(dt.datetime.fromisoformat(one) for one in (answers.asked, found.starts or answers.asked))
        left_s = int((dt.datetime.fromisoformat(found.ends) - begins).total_seconds())
        if 0 < left_s < limit_s:
            what = f"the time limit of the partition {partition.name} is `{partition.max_time}`, and {found.id} ends at {found.ends}"
            why = "Slurm never starts a job that may run past the end of its nodes, and assumes `max_time` for a job without its own limit"
            where = source.where("pools", node_set.pool, "partition", "max_time")
            remedy = f"write `max_time: {values.time_limit(str(left_s // 60))}` or less" if left_s >= _MINUTE_S else "end the jobs before it"
            yield finding.Finding(_WARNING, Code.RESERVATION_UNFIT, where, what, why, remedy)


def _faults(
    node_set: spec.NodeSet, found: Reservation, zone: str | None, cluster: spec.ClusterSpec, account: str
) -> Iterator[tuple[finding.Level, str, str, str]]:
    wanted, kind = node_set.hosts.machine.name, node_set.capacity.kind
    other = f"choose one for {wanted}, or write `machine: {found.machine}`"
    if not found.is_shared:
        what = f"{found.id} belongs to another account, which doesn't share it with {account}"
        yield _ERROR, what, "an account starts nodes only in its own reservations and in those that are shared with it", "ask its owner to share it"
    if found.machine != wanted:
        yield _ERROR, f"{found.id} is for {found.machine}, and the pool {node_set.pool} has {wanted}", "a reservation has machines of one type", other
    if zone is None and not given_subnets(cluster):
        what, why = f"{found.id} is in {found.zone}, and the blueprint names no zone", "nodes in another zone can't use it"
        yield _WARNING, what, why, f"write `targets.{cluster.target}.network.zones: [{found.zone}]`"
    elif zone is not None and found.zone != zone:
        what = f"{found.id} is in {found.zone}, and the hosts run in {zone}"
        why = "nodes of a cluster run in one zone: a fabric does not span zones, and a reservation has capacity in its own zone only"
        yield _ERROR, what, why, f"write `targets.{cluster.target}.network.zones: [{found.zone}]`, or use it in another cluster"
    if found.kind != kind:
        what = f"{found.id} is {_TITLES[found.kind]}, and the pool {node_set.pool} uses it as {_TITLES[kind]}"
        yield _ERROR, what, "the cloud starts their nodes in different ways", f"write `capacity: {{kind: {found.kind}, id: {found.id}}}`"
    if found.needs_block and kind is CapacityKind.RESERVED:
        what = f"{found.id} is densely deployed, and the pool {node_set.pool} names no block of it"
        why = f"it takes only instances that are bound to it, and nodes of {wanted} are so only in a block that is named"
        yield _ERROR, what, why, "add one of its blocks to `id`: `…/reservationBlocks/BLOCK`"
    if found.state not in _WORKING:
        yield _ERROR, f"{found.id} is {found.state}", "it has no capacity any more", "choose one that `clusterwright lookup reservations` lists"
    elif found.state != "active":
        yield (
            _WARNING,
            f"{found.id} is {found.state}, and starts at {found.starts}",
            "the cloud starts no nodes in it until then",
            "provision the cluster then, or let jobs wait in the queue",
        )
    most = node_set.hosts.count
    if found.total < most:
        what = f"{found.id} has {found.total} machines, and the pool {node_set.pool} can have {most} nodes"
        yield _ERROR, what, "the cloud refuses nodes beyond its size", f"write at most `nodes: {found.total}`, or enlarge the reservation"
    elif found.free < node_set.always:
        what = f"{found.id} has {found.free} free of {found.total} machines, and the pool {node_set.pool} needs {node_set.always} immediately"
        yield _WARNING, what, "other clusters, or this one, already use the rest", "check in the cloud's console who uses it"
    if found.ends and found.state in _WORKING:
        yield _NOTE, f"{found.id} ends at {found.ends}", "the cloud then terminates its nodes, with the jobs on them", "end the jobs before it"
