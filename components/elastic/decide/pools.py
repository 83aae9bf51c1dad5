"""Maximum number of nodes of a pool, all its node sets together: a pool of several machine types has more names than nodes."""

from collections.abc import Collection, Mapping

from ..memory import Memory
from ..model import OURS, Cloud, Life, Slurm
from ..table import Table


def limits(table: Table) -> Mapping[str, int]:
    """Return the maximum of each pool whose node sets don't state it themselves."""
    return {node_set.pool: node_set.pool_most for node_set in table.node_sets if node_set.pool_most is not None}


def taken(table: Table, pool: str, *, slurm: Slurm, cloud: Cloud, memory: Memory, apart_from: Collection[str] = ()) -> frozenset[str]:
    """Return the nodes of a pool that count: nodes that are on or starting, nodes about to start, nodes with an instance (also a terminating one), and always-running nodes.

    Args:
        apart_from: nodes whose state in Slurm does not count, because the caller decides it.
    """
    names = {name for node_set in table.node_sets if node_set.pool == pool for name in node_set.nodes}
    always = {name for node_set in table.node_sets if node_set.pool == pool for name in node_set.nodes[: node_set.minimum]}
    live = {instance.node for instance in cloud.instances if instance.life is Life.LIVE}
    launched = {name for launch in memory.launches for name in launch.nodes}
    on = set()
    for name in names.difference(apart_from):
        node = slurm.nodes.get(name)
        # A refused node is down and powering down, and never had an instance.
        is_going = node is not None and (node.is_off or node.is_stopping or (node.is_starting and node.is_down))
        if node and (not is_going or node.has_jobs or (node.is_off and "power_up" in node.flags)):
            on.add(name)
    return frozenset(always | ((live | launched) & names) | on)


def full(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory) -> Mapping[str, str]:
    """Return the pools that have reached their maximum → reason for Slurm."""
    found = {}
    for pool, most in limits(table).items():
        if len(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory)) >= most:
            found[pool] = reason(pool, most)
    return found


def over(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory) -> frozenset[str]:
    """Return the pools that would exceed their maximum if all waiting requests succeeded."""
    return frozenset(pool for pool, most in limits(table).items() if len(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory)) > most)


class Room:
    """Remaining nodes of the pools while a request is processed."""

    def __init__(self, table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory, apart_from: Collection[str]):
        self._most, self._owners = limits(table), table.owners()
        self._taken = {pool: set(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory, apart_from=apart_from)) for pool in self._most}

    def refusal(self, nodes: Collection[str]) -> str | None:
        """Return the pool that would exceed its maximum."""
        for pool, most in self._most.items():
            added = {node for node in nodes if self._owners[node].pool == pool}
            if added and len(added | self._taken[pool]) > most:
                return reason(pool, most)
        return None

    def take(self, nodes: Collection[str]) -> None:
        for node in nodes:
            if (pool := self._owners[node].pool) in self._taken:
                self._taken[pool].add(node)


def reason(pool: str, most: int) -> str:
    return f"{OURS}pool {pool} has its {most} nodes already"
