"""Which nodes of a pool have GPUs that no job holds: acceptance tries these, and judges nothing by nodes that are busy."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..elastic.kubernetes import model
from . import acceptance_jobs, labels
from .api import Api


def of_pool(api: Api, pool: acceptance_jobs.PoolInputs) -> dict[str, int]:
    """Give the free GPUs of a pool's nodes now, those with most of them first."""
    found = by_node(api.list("v1", "Node"), api.list("v1", "Pod"), pool.nodes)
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def no_room(api: Api, pool: acceptance_jobs.PoolInputs) -> str:
    """Say why a gang over all GPUs of some nodes can't run now; empty: it can."""
    return lacking(of_pool(api, pool), pool, pool.gpus)


def by_node(nodes: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, int]:
    """Give the GPUs that no pod of others holds on nodes that take pods. Pure."""
    known = model.read(pods, nodes)
    held: Counter[str] = Counter()
    for pod in known.pods:
        if pod.namespace != acceptance_jobs.NAMESPACE:
            held[pod.node] += int(pod.wants.get(labels.GPU, 0))
    fit = {name: node for name in names if (node := known.nodes.get(name)) and node.is_ready and not node.is_cordoned}
    return {name: int(node.allocatable.get(labels.GPU, 0)) - held[name] for name, node in fit.items()}


def lacking(free: Mapping[str, int], pool: acceptance_jobs.PoolInputs, gpus: int) -> str:
    """Say why fewer nodes than a check uses have some GPUs free; empty: enough have. Pure."""
    fitting = [name for name, count in free.items() if count >= gpus]
    if len(fitting) >= pool.used:
        return ""
    busy = [name for name in pool.nodes if name in free and name not in fitting]
    closed = [name for name in pool.nodes if name not in free] if not pool.is_elastic else []
    whys = [f"jobs hold GPUs of {', '.join(busy)}" if busy else "", f"{', '.join(closed)} take no pods" if closed else ""]
    return f"{'; '.join(filter(None, whys)) or 'no node runs'}: {len(fitting)} of the {pool.used} nodes that the check uses have {gpus} GPUs free"
