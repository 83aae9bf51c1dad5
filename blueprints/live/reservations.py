"""Reservations and blocks: whether they are what the pools take them for."""

import datetime as dt
from collections.abc import Iterator

from .. import catalog, finding, message_text, spec
from ..codes import Code
from ..document import Document
from ..language import values
from .account import GROUP, Answers, Reservation, given_subnets, hosts_zone

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE
_TITLES = {"reserved": "a reservation", "block": "a capacity block"}
_MINUTE_S = 60
_WORKING = ("active", "scheduled", "pending")
"""States in which a reservation gives its machines, or will."""


def check(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Find reservations and blocks that aren't there, are over, lie elsewhere or are for something else."""
    if not answers.knows("reservations"):
        return
    zone = hosts_zone(cluster, answers)
    for node_set in cluster.node_sets:
        capacity = node_set.capacity
        where = source.where("pools", node_set.pool, "capacity", "id")
        if capacity.kind in _TITLES and capacity.id is not None and capacity.id.startswith(GROUP):
            yield _group(capacity.id, where, cluster, answers)
        if capacity.kind not in _TITLES or capacity.id is None or capacity.id not in answers.reservations:
            continue
        found = answers.reservations[capacity.id]
        if found is None:
            what = f"there is no {capacity.id} in {cluster.network.region}"
            why = "the account has none of this name there; it may be another account's or region's, or was given back"
            yield finding.Finding(_ERROR, Code.RESERVATION_UNKNOWN, where, what, why, "`clusterwright lookup reservations` lists those that there are")
            continue
        for level, what, why, remedy in _faults(node_set, found, zone, cluster):
            yield finding.Finding(level, Code.RESERVATION_UNFIT, where, what, why, remedy)
        zone = zone or found.zone  # a second one must be where the first is
    yield from _shared(cluster, source, answers)
    yield from _long_jobs(cluster, source, answers)


def _group(group: str, where: finding.Position, cluster: spec.ClusterSpec, answers: Answers) -> finding.Finding:
    forms = catalog.identifier_forms(cluster.target)
    owner = next((parts["account"] for form in forms if (parts := form.parts(group)) and "account" in parts), answers.account)
    if owner != answers.account:
        what = f"{group} belongs to the account {owner}, and these credentials to {answers.account}"
        why = "an account starts nodes from groups of its own"
        return finding.Finding(_ERROR, Code.RESERVATION_UNFIT, where, what, why, f"name a group of {answers.account}, or use credentials of {owner}")
    what = f"{group} is a group, and `check --live` doesn't read what is in it"
    return finding.Finding(_WARNING, Code.RESERVATION_UNFIT, where, what, "a group can hold several reservations", "check in the cloud's console that they fit")


def _shared(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Compare the nodes of all pools of one purchase with what it holds; pools that don't fit alone are reported by themselves."""
    sharing: dict[str, list[spec.NodeSet]] = {}
    for node_set in cluster.node_sets:
        if node_set.capacity.kind in _TITLES and node_set.capacity.id is not None:
            sharing.setdefault(node_set.capacity.id, []).append(node_set)
    for name, sets in sharing.items():
        found, nodes = answers.reservations.get(name), sum(one.hosts.count for one in sets)
        if found is None or len(sets) < 2 or nodes <= found.total or any(one.hosts.count > found.total for one in sets):
            continue
        always = sum(one.always for one in sets)
        what = f"{name} holds {found.total} machines, and {message_text.listed(one.pool for one in sets)} can have {nodes} nodes of it together"
        why = f"{always} of them always run" if always > found.total else "nodes beyond it are refused while the others run"
        where = source.where("pools", sets[-1].pool, "capacity", "id")
        level = _ERROR if always > found.total else _WARNING
        yield finding.Finding(level, Code.RESERVATION_UNFIT, where, what, why, "ask for fewer nodes, or enlarge it")


def _long_jobs(cluster: spec.ClusterSpec, source: Document, answers: Answers) -> Iterator[finding.Finding]:
    """Compare the longest job of a partition with the time for which its nodes will be there."""
    for node_set, partition in cluster.slurm_node_sets:
        found = answers.reservations.get(node_set.capacity.id or "")
        limit_s = values.seconds(partition.max_time)
        if found is None or not found.ends or found.state not in _WORKING or limit_s is None:
            continue
        begins = max(dt.datetime.fromisoformat(one) for one in (answers.asked, found.starts or answers.asked))
        left_s = int((dt.datetime.fromisoformat(found.ends) - begins).total_seconds())
        if 0 < left_s < limit_s:
            what = f"jobs of the partition {partition.name} may run for `{partition.max_time}`, and {found.id} ends at {found.ends}"
            why = "Slurm never starts a job that can run into the end of its nodes; one that names no time is taken to need all of `max_time`"
            where = source.where("pools", node_set.pool, "partition", "max_time")
            remedy = f"write `max_time: {values.time_limit(str(left_s // 60))}` or less" if left_s >= _MINUTE_S else "let jobs end before"
            yield finding.Finding(_WARNING, Code.RESERVATION_UNFIT, where, what, why, remedy)


def _faults(node_set: spec.NodeSet, found: Reservation, zone: str | None, cluster: spec.ClusterSpec) -> Iterator[tuple[finding.Level, str, str, str]]:
    wanted, kind = node_set.hosts.machine.name, node_set.capacity.kind
    other = f"take one for {wanted}, or write `machine: {found.machine}`"
    if found.machine != wanted:
        yield _ERROR, f"{found.id} is for {found.machine}, and the pool {node_set.pool} has {wanted}", "one is for machines of one type", other
    if zone is None and not given_subnets(cluster):
        what, why = f"{found.id} lies in {found.zone}, and the blueprint names no zone", "nodes that are started elsewhere never get any of it"
        yield _WARNING, what, why, f"write `targets.{cluster.target}.network.zones: [{found.zone}]`"
    elif zone is not None and found.zone != zone:
        what = f"{found.id} lies in {found.zone}, and the hosts run in {zone}"
        why = "nodes of a cluster run in one zone: a fabric never reaches from one to another, and a reservation only gives nodes where it lies"
        yield _ERROR, what, why, f"write `targets.{cluster.target}.network.zones: [{found.zone}]`, or make a cluster of it"
    if found.kind != kind:
        what = f"{found.id} is {_TITLES[found.kind]}, and the pool {node_set.pool} takes it for {_TITLES[kind]}"
        yield _ERROR, what, "the two are asked for in different ways", f"write `capacity: {{kind: {found.kind}, id: {found.id}}}`"
    if found.state not in _WORKING:
        yield _ERROR, f"{found.id} is {found.state}", "it gives no nodes any more", "`clusterwright lookup reservations` lists those that there are"
    elif found.state != "active":
        yield (
            _WARNING,
            f"{found.id} is {found.state}, and begins at {found.starts}",
            "until then it gives no nodes",
            "provision the cluster then, or leave jobs waiting",
        )
    most = node_set.hosts.count
    if found.total < most:
        what = f"{found.id} holds {found.total} machines, and the pool {node_set.pool} can have {most} nodes"
        yield _ERROR, what, "nodes beyond it are never given", f"write `nodes: {found.total}` at most, or enlarge it"
    elif found.free < node_set.always:
        what = f"of {found.total} machines of {found.id} {found.free} are free, and the pool {node_set.pool} needs {node_set.always} at once"
        yield _WARNING, what, "others use them, or this cluster does already", "see who uses it in the cloud's console"
    if found.ends and found.state in _WORKING:
        yield _NOTE, f"{found.id} ends at {found.ends}", "its nodes end with it, and the jobs on them", "let jobs end before"
