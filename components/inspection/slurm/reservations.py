"""Reservations: those that somebody made, those of maintenance windows, and those that keep jobs off capacity that ends. Pure."""

import datetime as dt
from collections.abc import Iterator, Mapping

from blueprints import maintenance_windows, spec
from blueprints.finding import Finding
from blueprints.finding.subject import ObjectKind, SchedulerObject
from components import registry
from components.maintenance import reserve

from ..codes import Code
from ..finding import drift

OWN = "clusterwright-lease-"
"""How reservations begin with which the elastic program keeps jobs off nodes whose capacity ends."""
SETTLES = dt.timedelta(minutes=15)
"""The controller's timer looks at the windows every five minutes: for so long, a window that has just ended leaves the next one to be reserved."""


def findings(live: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Name the reservations that neither the elastic program nor a maintenance window made."""
    for name, fields in sorted(live.items()):
        if name.startswith((OWN, maintenance_windows.PREFIX)):
            continue
        what = f"a reservation keeps {fields.get('Nodes', 'nodes')} from ordinary jobs until {fields.get('EndTime', 'it is deleted')}"
        remedy = f"`scontrol delete reservation={name}` when it is over"
        yield drift(Code.RESERVATION, SchedulerObject(ObjectKind.RESERVATION, name), what, remedy=remedy, actual=fields.get("Users") or fields.get("Accounts"))


def windows(cluster: spec.ClusterSpec, live: Mapping[str, Mapping[str, str]], moment: dt.datetime) -> Iterator[Finding]:
    """Find maintenance windows that are not reserved, and reservations of windows that the blueprint doesn't have.

    Args:
        moment: when Slurm was asked, in UTC.
    """
    now, before = (reserve.wanted(cluster.maintenance, one) for one in (moment, moment - SETTLES))
    for name, one in now.items():
        if name in before and name not in live:
            what = f"Slurm has no reservation for the maintenance window from {one.start:%Y-%m-%d %H:%M} UTC: jobs may run into it"
            remedy = (
                "`journalctl -u clusterwright-maintenance` on the controller shows why; a stack that an earlier version brought up needs `clusterwright up`"
            )
            yield drift(Code.WINDOW_UNRESERVED, SchedulerObject(ObjectKind.RESERVATION, name), what, remedy=remedy, desired=f"{one.start:%Y-%m-%d %H:%M}")
    for name in sorted(live):
        if name.startswith(maintenance_windows.PREFIX) and name not in {**now, **before}:
            what = f"a reservation for a maintenance window that the blueprint doesn't have keeps {live[name].get('Nodes', 'nodes')} from jobs"
            yield drift(Code.RESERVATION, SchedulerObject(ObjectKind.RESERVATION, name), what, remedy=f"`scontrol delete reservation={name}`")


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
