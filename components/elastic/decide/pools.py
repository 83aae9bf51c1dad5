"""The most nodes of a pool, all its node sets together: a pool of several machine types has more names than it may have nodes."""

from collections.abc import Collection, Mapping

from ..memory import Memory
from ..model import OURS, Cloud, Life, Slurm
from ..table import Table


def limits(table: Table) -> Mapping[str, int]:
    """Give the most nodes of each pool for which its node sets don't say it themselves."""
    return {node_set.pool: node_set.pool_most for node_set in table.node_sets if node_set.pool_most is not None}


def taken(table: Table, pool: str, *, slurm: Slurm, cloud: Cloud, memory: Memory, apart_from: Collection[str] = ()) -> frozenset[str]:
    """Give the nodes of a pool that count: those that are not off or on their way there, those that are about to be started, those with an instance, told to end or not, and those that always run, up or not.

    Args:
        apart_from: nodes whose state in Slurm does not count, because it is what is being decided.
    """
    names = {name for node_set in table.node_sets if node_set.pool == pool for name in node_set.nodes}
    always = {name for node_set in table.node_sets if node_set.pool == pool for name in node_set.nodes[: node_set.minimum]}
    live = {instance.node for instance in cloud.instances if instance.life is Life.LIVE}
    launched = {name for launch in memory.launches for name in launch.nodes}
    on = set()
    for name in names.difference(apart_from):
        node = slurm.nodes.get(name)
        # A node that was refused is down and on its way off, and never had an instance.
        is_going = node is not None and (node.is_off or node.is_stopping or (node.is_starting and node.is_down))
        if node and (not is_going or node.has_jobs or (node.is_off and "power_up" in node.flags)):
            on.add(name)
    return frozenset(always | ((live | launched) & names) | on)


def full(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory) -> Mapping[str, str]:
    """Give the pools that have all the nodes they may have → what Slurm is told of the others."""
    found = {}
    for pool, most in limits(table).items():
        if len(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory)) >= most:
            found[pool] = reason(pool, most)
    return found


def over(table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory) -> frozenset[str]:
    """Give the pools that would have more nodes than they may, were everything there that waits for them."""
    return frozenset(pool for pool, most in limits(table).items() if len(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory)) > most)


class Room:
    """What the pools can still have, while a request is gone through."""

    def __init__(self, table: Table, *, slurm: Slurm, cloud: Cloud, memory: Memory, apart_from: Collection[str]):
        self._most, self._owners = limits(table), table.owners()
        self._taken = {pool: set(taken(table, pool, slurm=slurm, cloud=cloud, memory=memory, apart_from=apart_from)) for pool in self._most}

    def refusal(self, nodes: Collection[str]) -> str | None:
        """Say which pool would get more nodes than it may have."""
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
