"""Holds: node sets that are out of service for a while, so that the scheduler chooses the next one."""

import dataclasses
import datetime as dt

from ..memory import Hold, Memory
from ..model import OURS
from ..table import NodeSet, Table

CAPACITY_HOLD_S = 600.0  # as long as ParallelCluster's default, insufficient_capacity_timeout
LONGEST_HOLD_S = 3600.0
IN_A_ROW_WITHIN_S = 1800.0
"""A refusal this long after the end of a hold counts as the first one again."""
MOST_FAILED_BOOTS = 10  # as ParallelCluster's protected_failure_count
MOST_FAILED_LAUNCHES = 3
"""Nodes that fail together may have one short-lived cause."""
TRIAL_AFTER_S = 3600.0
LONGEST_TRIAL_S = 86_400.0
"""A node set whose nodes don't boot is tried with one node after one hour, then two …, at least once a day."""


def active(memory: Memory, node_set: NodeSet, now: float) -> Hold | None:
    """Return the hold that forbids requests now; a hold without an end lets a trial through when it is due."""
    hold = standing(memory, node_set, now)
    return None if hold is None or is_due(hold, now) else hold


def standing(memory: Memory, node_set: NodeSet, now: float) -> Hold | None:
    """Return the hold that keeps jobs off the node set. A hold without an end ends when a node boots, or when the failed template is replaced."""
    hold = memory.holds.get(node_set.name)
    if hold is None:
        return None
    if hold.until is None:
        return hold if hold.template == node_set.template else None
    return hold if now < hold.until else None


def is_due(hold: Hold, now: float) -> bool:
    """Return whether a trial node of the set is due."""
    return hold.until is None and now >= _trial_at(hold)


def _trial_at(hold: Hold) -> float:
    return hold.since + TRIAL_AFTER_S if hold.trial_at is None else hold.trial_at


def refused(memory: Memory, node_set: NodeSet, why: str, now: float) -> Memory:
    """Remember a shortage of this machine; each refusal in a row doubles the hold."""
    earlier = memory.holds.get(node_set.name)
    if later := _later(memory, node_set, now + CAPACITY_HOLD_S, now):
        return later
    is_again = earlier is not None and earlier.until is not None and now < earlier.until + IN_A_ROW_WITHIN_S
    times = earlier.times + 1 if earlier and is_again else 1
    if earlier and earlier.until is not None and now < earlier.until:
        times = earlier.times  # several jobs met the same shortage
    until = now + min(CAPACITY_HOLD_S * 2 ** (times - 1), LONGEST_HOLD_S)
    return memory.with_hold(node_set.name, Hold(f"{OURS}{node_set.name} is held until {clock(until)}: {why}", now, until, times))


def waiting(memory: Memory, node_set: NodeSet, why: str, *, until: float, now: float) -> Memory:
    """Remember that no capacity is available before a known time."""
    if later := _later(memory, node_set, until, now):
        return later
    return memory.with_hold(node_set.name, Hold(f"{OURS}{node_set.name} is held until {clock(until)}: {why}", now, until))


def _later(memory: Memory, node_set: NodeSet, moment: float, now: float) -> Memory | None:
    """Postpone a trial of a hold without an end, which a shorter hold must not replace."""
    hold = standing(memory, node_set, now)
    if hold is None or hold.until is not None:
        return None
    return memory.with_hold(node_set.name, dataclasses.replace(hold, trial_at=max(_trial_at(hold), moment)))


def are_too_many(memory: Memory, node_set: NodeSet) -> bool:
    """Return whether too many nodes failed to boot for further requests."""
    nodes, launches = memory.failed_boots.get(node_set.name, 0), memory.failed_launches.get(node_set.name, 0)
    return nodes >= MOST_FAILED_BOOTS and launches >= MOST_FAILED_LAUNCHES


def broken(memory: Memory, node_set: NodeSet, now: float) -> Memory:
    """Remember that nodes of this set don't boot; each time in a row doubles the time until the next trial."""
    earlier = standing(memory, node_set, now)
    times = earlier.times + 1 if earlier and earlier.until is None else 1
    trial_at = now + min(TRIAL_AFTER_S * 2 ** (times - 1), LONGEST_TRIAL_S)
    count = memory.failed_boots.get(node_set.name, 0)
    reason = (
        f"{OURS}{node_set.name} is held: {count} nodes in a row did not boot (the last one, {memory.last_failures.get(node_set.name, 'unknown')}); "
        "look at `clusterwright-elastic status`, "
        f"then `clusterwright-elastic release {node_set.name}`"
    )
    return memory.with_hold(node_set.name, Hold(reason, now, None, times, template=node_set.template, trial_at=trial_at))


def booted(memory: Memory, node_set: NodeSet) -> Memory:
    """Forget earlier failures: a node of the set is up."""
    hold = memory.holds.get(node_set.name)
    if hold and hold.until is None:
        return released(memory, node_set.name)
    return _without_failures(memory, node_set.name)


def released(memory: Memory, name: str) -> Memory:
    """Forget a node set's hold and its cause."""
    holds = {node_set: hold for node_set, hold in memory.holds.items() if node_set != name}
    return _without_failures(dataclasses.replace(memory, holds=holds), name)


def _without_failures(memory: Memory, name: str) -> Memory:
    boots = {node_set: count for node_set, count in memory.failed_boots.items() if node_set != name}
    launches = {node_set: count for node_set, count in memory.failed_launches.items() if node_set != name}
    last = {node_set: why for node_set, why in memory.last_failures.items() if node_set != name}
    return dataclasses.replace(memory, failed_boots=boots, failed_launches=launches, last_failures=last)


def forgotten(memory: Memory, table: Table, now: float) -> Memory:
    """Forget holds that ended long ago, and those of a template that was replaced since."""
    for name, hold in memory.holds.items():
        node_set = table.by_name(name)
        is_replaced = hold.until is None and node_set is not None and standing(memory, node_set, now) is None
        if node_set is None or is_replaced:
            memory = released(memory, name)
        elif hold.until is not None and now >= hold.until + IN_A_ROW_WITHIN_S:
            memory = dataclasses.replace(memory, holds={one: kept for one, kept in memory.holds.items() if one != name})
    return memory


def clock(moment: float) -> str:
    """Format a time, short enough for Slurm's reasons."""
    return dt.datetime.fromtimestamp(moment, tz=dt.UTC).strftime("%d %b %H:%M UTC")
