"""Leases: capacity that was bought for a time. Jobs that would outlive it don't start on it, and the program requests nothing before it starts."""

import dataclasses
from collections.abc import Iterator

from ..memory import Memory
from ..model import OURS, Cloud, Slurm
from ..table import NodeSet, Table
from . import holds
from .steps import Reserve, Step, Unreserve

PREFIX = "clusterwright-lease-"
TAKE_DOWN_S = 300.0
"""Time between the last job's latest end and the end of the lease, for epilogs, copies and power-down."""
SAME_WITHIN_S = 60.0


def reservations(table: Table, slurm: Slurm, cloud: Cloud, now: float) -> Iterator[Step]:
    """Reserve the nodes of each lease from its end on, and delete reservations without a lease."""
    if cloud.leases is None:
        return
    wanted: dict[str, Reserve] = {}
    for name, lease in cloud.leases.items():
        node_set = table.by_name(name)
        if node_set and node_set.count:
            wanted[PREFIX + name] = Reserve(PREFIX + name, node_set.nodes, max(lease.ends - TAKE_DOWN_S, now), _ends(node_set, lease.ends))
    standing = {reservation.name: reservation for reservation in slurm.reservations}
    for name, reservation in standing.items():
        meant = wanted.get(name)
        is_same = (
            meant
            and set(meant.nodes) == set(reservation.nodes)
            and (abs(meant.start - reservation.start) < SAME_WITHIN_S or reservation.start <= now >= meant.start)
        )
        if is_same:
            del wanted[name]
        elif meant and now < reservation.start:
            wanted[name] = dataclasses.replace(meant, is_there=True)
        else:
            # A reservation that has started can't be moved and protects nothing more: the lease was extended, or has ended.
            yield Unreserve(name, "its lease changed or ended")
    yield from wanted.values()


def unprotected(table: Table, slurm: Slurm, cloud: Cloud, now: float) -> tuple[str, ...]:
    """Name the node sets without a reservation for the end of their lease: jobs that outlive the lease may start there."""
    standing = {reservation.name for reservation in slurm.reservations}
    steps = reservations(table, slurm, cloud, now)
    return tuple(step.name.removeprefix(PREFIX) for step in steps if isinstance(step, Reserve) and step.name not in standing)


def held(memory: Memory, table: Table, cloud: Cloud, now: float) -> Memory:
    """Hold node sets whose lease has not started, and those whose lease has ended."""
    for name, lease in (cloud.leases or {}).items():
        node_set = table.by_name(name)
        if node_set is None or holds.active(memory, node_set, now):
            continue
        if now < lease.begins:
            memory = holds.waiting(memory, node_set, f"its capacity {node_set.capacity_id} starts then", until=lease.begins, now=now)
        elif now >= lease.ends - TAKE_DOWN_S:
            memory = holds.waiting(memory, node_set, f"its capacity {node_set.capacity_id} has ended", until=now + holds.LONGEST_HOLD_S, now=now)
    return memory


def _ends(node_set: NodeSet, ends: float) -> str:
    return f"{OURS}capacity {node_set.capacity_id} of {node_set.name} ends {holds.clock(ends)}"
