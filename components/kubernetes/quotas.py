"""How many GPUs, processors and how much memory of a pool each account owns, and how much it may borrow. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence

from blueprints.spec import Account, NodeSet, accounts_of_jobs


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """What the nodes of one pool have together."""

    pool: str
    gpus: int
    cpus: int
    memory_mib: int
    nodes: int


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    """What an account has of one pool."""

    owned: int
    most: int
    """With what others don't use."""


def capacities(node_sets: Sequence[NodeSet]) -> tuple[Capacity, ...]:
    """Add up the node sets of each pool, pools without GPUs first: a job that needs none is given nodes of these."""
    found: dict[str, Capacity] = {}
    for one in node_sets:
        machine, count = one.hosts.machine, one.pool_most or one.hosts.count
        before = found.get(one.pool, Capacity(one.pool, 0, 0, 0, 0))
        found[one.pool] = Capacity(
            one.pool,
            before.gpus + count * (machine.gpus.count if machine.gpus else 0),
            before.cpus + count * machine.cpus,
            before.memory_mib + count * machine.memory_mib,
            before.nodes + count,
        )
    return tuple(sorted(found.values(), key=lambda one: one.gpus > 0))


def weights(accounts: Sequence[Account]) -> dict[str, float]:
    """Give each leaf's part of the cluster: shares divide what their parent has, as in Slurm's fair tree."""
    by_name = {one.name: one for one in accounts}
    children: dict[str | None, list[Account]] = {}
    for one in accounts:
        children.setdefault(one.parent if one.parent in by_name else None, []).append(one)
    chosen = [one.name for one in accounts_of_jobs(accounts)]
    found = dict.fromkeys(chosen, 0.0)

    def descend(parent: str | None, part: float) -> None:
        below = children.get(parent, [])
        own = by_name[parent].share if parent in chosen and parent is not None else 0
        whole = sum(max(1, one.share) for one in below) + own
        if parent is not None and parent in chosen:
            found[parent] = part * own / whole if below else part
        for one in below:
            descend(one.name, part * max(1, one.share) / whole)

    descend(None, 1.0)
    return found


def divide(capacity: int, accounts: Sequence[Account], *, caps: Mapping[str, int | None]) -> dict[str, Quota]:
    """Divide a capacity among the leaves of a tree of accounts by their shares. Nobody owns more than its cap; what that leaves goes to the others.

    Args:
        caps: account → the most that it may use; None: no limit.
    Returns:
        account → quota; all that is owned together is the capacity, unless all accounts are capped.
    """
    parts = weights(accounts)
    limits = {name: capacity if (cap := caps.get(name)) is None else min(cap, capacity) for name in parts}
    owned = dict.fromkeys(limits, 0)
    left = capacity
    while left > 0 and (open_ones := [name for name in limits if owned[name] < limits[name]]):
        whole = sum(parts[name] for name in open_ones) or 1.0
        given = {name: min(limits[name] - owned[name], int(left * parts[name] / whole)) for name in open_ones}
        if not any(given.values()):  # fewer than one for each: those first that are furthest below their part
            given = dict.fromkeys(sorted(open_ones, key=lambda name: (owned[name] - capacity * parts[name] / whole, name))[:left], 1)
        for name, more in given.items():
            owned[name] += more
            left -= more
    return {name: Quota(owned[name], limits[name]) for name in limits}


def of_pool(capacity: Capacity, accounts: Sequence[Account]) -> dict[str, dict[str, Quota]]:
    """Give what each account has of a pool: account → `gpus`, `cpus`, `memory_mib` → quota. A limit of nodes is one of all three."""
    by_nodes = {one.name: one.most_nodes / capacity.nodes if one.most_nodes is not None and capacity.nodes else 1.0 for one in accounts}
    most_gpus = {one.name: capacity.gpus if one.most_gpus is None else one.most_gpus for one in accounts}
    found: dict[str, dict[str, Quota]] = {name: {} for name in weights(accounts)}
    for resource, whole in (("gpus", capacity.gpus), ("cpus", capacity.cpus), ("memory_mib", capacity.memory_mib)):
        caps = {name: min(int(whole * min(1.0, part)), most_gpus[name] if resource == "gpus" else whole) for name, part in by_nodes.items()}
        for name, quota in divide(whole, accounts, caps=caps).items():
            found[name][resource] = quota
    return found
