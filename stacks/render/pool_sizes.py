"""How many nodes and GPUs a cluster can have at most: of a pool with several machines, its maximum counts once. Pure."""

from blueprints.spec import ClusterSpec, NodeSet


def nodes(spec: ClusterSpec) -> int:
    """Count the compute nodes."""
    return sum(max(one.hosts.count for one in sets) for sets in by_pool(spec).values())


def gpus(spec: ClusterSpec) -> int:
    """Count the GPUs."""
    return sum(max(gpus_of(one) for one in sets) for sets in by_pool(spec).values())


def gpus_of(node_set: NodeSet) -> int:
    machine = node_set.hosts.machine
    return machine.gpus.count * node_set.hosts.count if machine.gpus else 0


def by_pool(spec: ClusterSpec) -> dict[str, list[NodeSet]]:
    """Group the node sets by the pool that they come from."""
    grouped: dict[str, list[NodeSet]] = {}
    for node_set in spec.node_sets:
        grouped.setdefault(node_set.pool, []).append(node_set)
    return grouped
