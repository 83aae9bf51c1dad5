"""Node sets that are out of service for a while, so that the scheduler takes the next one."""

import dataclasses
import datetime as dt

from ..memory import Hold, Memory
from ..model import OURS, NodeSet, Table

CAPACITY_HOLD_S = 600.0  # as long as ParallelCluster's default, insufficient_capacity_timeout
LONGEST_HOLD_S = 3600.0
IN_A_ROW_WITHIN_S = 1800.0
"""A refusal so long after the end of a hold is a new story."""
MOST_FAILED_BOOTS = 10  # as ParallelCluster's protected_failure_count


def active(memory: Memory, node_set: NodeSet, now: float) -> Hold | None:
    """Give the node set's hold if it still holds. One without an end ends when what failed is replaced."""
    hold = memory.holds.get(node_set.name)
    if hold is None:
        return None
    if hold.until is None:
        return hold if hold.template == node_set.launch_template_version else None
    return hold if now < hold.until else None


def refused(memory: Memory, node_set: NodeSet, why: str, now: float) -> Memory:
    """Remember that the cloud has nothing of this kind at the moment; each refusal in a row holds twice as long."""
    earlier = memory.holds.get(node_set.name)
    is_again = earlier is not None and earlier.until is not None and now < earlier.until + IN_A_ROW_WITHIN_S
    times = earlier.times + 1 if earlier and is_again else 1
    if earlier and earlier.until is not None and now < earlier.until:
        times = earlier.times  # several jobs met the same shortage
    until = now + min(CAPACITY_HOLD_S * 2 ** (times - 1), LONGEST_HOLD_S)
    return memory.with_hold(node_set.name, Hold(f"{OURS}{node_set.name} is held until {clock(until)}: {why}", now, until, times))


def waiting(memory: Memory, node_set: NodeSet, why: str, *, until: float, now: float) -> Memory:
    """Remember that there is nothing before a known time."""
    return memory.with_hold(node_set.name, Hold(f"{OURS}{node_set.name} is held until {clock(until)}: {why}", now, until))


def broken(memory: Memory, node_set: NodeSet, now: float) -> Memory:
    """Remember that nodes of this set don't come up, whatever is done."""
    count = memory.failed_boots.get(node_set.name, 0)
    reason = (
        f"{OURS}{node_set.name} is held: {count} nodes in a row did not boot (the last one, {memory.last_failures.get(node_set.name, 'unknown')}); "
        "look at `clusterwright-elastic status`, "
        f"then `clusterwright-elastic release {node_set.name}`"
    )
    return memory.with_hold(node_set.name, Hold(reason, now, None, template=node_set.launch_template_version))


def released(memory: Memory, name: str) -> Memory:
    """Forget a node set's hold and what led to it."""
    holds = {node_set: hold for node_set, hold in memory.holds.items() if node_set != name}
    failed = {node_set: count for node_set, count in memory.failed_boots.items() if node_set != name}
    last = {node_set: why for node_set, why in memory.last_failures.items() if node_set != name}
    return dataclasses.replace(memory, holds=holds, failed_boots=failed, last_failures=last)


def forgotten(memory: Memory, table: Table, now: float) -> Memory:
    """Forget holds that ended so long ago that they don't count any more, and those of what was replaced since."""
    for name, hold in memory.holds.items():
        node_set = table.by_name(name)
        is_replaced = hold.until is None and node_set is not None and active(memory, node_set, now) is None
        if node_set is None or is_replaced:
            memory = released(memory, name)
        elif hold.until is not None and now >= hold.until + IN_A_ROW_WITHIN_S:
            memory = dataclasses.replace(memory, holds={one: kept for one, kept in memory.holds.items() if one != name})
    return memory


def clock(moment: float) -> str:
    """Write a time for people; Slurm's reasons have no room for more."""
    return dt.datetime.fromtimestamp(moment, tz=dt.UTC).strftime("%d %b %H:%M UTC")
