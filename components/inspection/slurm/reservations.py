"""Reservations: those that somebody made, and those that keep jobs off capacity that ends. Pure."""

from collections.abc import Iterator, Mapping

from blueprints import spec
from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject
from components import registry

from ..codes import Code
from ..finding import drift

OWN = "clusterwright-lease-"
"""How reservations begin with which the elastic program keeps jobs off nodes whose capacity ends."""


def findings(live: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Name the reservations that are not the elastic program's."""
    for name, fields in sorted(live.items()):
        if name.startswith(OWN):
            continue
        what = f"a reservation keeps {fields.get('Nodes', 'nodes')} from ordinary jobs until {fields.get('EndTime', 'it is deleted')}"
        remedy = f"`scontrol delete reservation={name}` when it is over"
        yield drift(Code.RESERVATION, SchedulerObject(ObjectKind.RESERVATION, name), what, remedy=remedy, actual=fields.get("Users") or fields.get("Accounts"))


def leases(cluster: spec.ClusterSpec, live: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Find blocks of capacity without a reservation at their end; the elastic program makes one when it first sees the block."""
    target = registry.discovery(cluster.target)
    if target is None or not target.leases_end:
        return
    for node_set in cluster.slurm.node_sets if cluster.slurm else ():
        name, capacity = f"{OWN}{node_set.hosts.name}", node_set.capacity
        is_leased = capacity.kind is spec.CapacityKind.BLOCK and capacity.id and node_set.hosts.count
        if is_leased and node_set.partition and name not in live:
            what = f"Slurm has no reservation {name}: jobs may start that outlive the capacity {capacity.id} and are killed when it ends"
            remedy = "`journalctl -t clusterwright-elastic` on the controller shows why it could not be made"
            subject = SchedulerObject(ObjectKind.RESERVATION, name)
            yield drift(Code.LEASE_UNRESERVED, subject, what, remedy=remedy, desired="from the end of the capacity on")
