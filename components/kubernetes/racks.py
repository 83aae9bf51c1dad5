"""Which racks have room for a gang that asks for one of them: what acceptance expects of Kueue's topology-aware scheduling. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import labels

ENDED = ("Succeeded", "Failed")


def of_nodes(nodes: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, str]:
    """Give the rack of each node of a pool, by the label that Kueue reads; empty: it has none."""
    wanted = set(names)
    return {one["metadata"]["name"]: (one["metadata"].get("labels") or {}).get(labels.RACK, "") for one in nodes if one["metadata"]["name"] in wanted}


def most_idle(racks: Mapping[str, str], pods: Sequence[Mapping[str, Any]]) -> int:
    """Count the nodes without a pod that has GPUs, in the rack that has most of them."""
    busy = {one["spec"].get("nodeName") for one in pods if one["status"].get("phase") not in ENDED and _has_gpus(one)}
    idle = [rack for node, rack in racks.items() if rack and node not in busy]
    return max((idle.count(rack) for rack in set(idle)), default=0)


def _has_gpus(pod: Mapping[str, Any]) -> bool:
    return any(int((one.get("resources") or {}).get("requests", {}).get(labels.GPU, 0)) for one in pod["spec"]["containers"])
