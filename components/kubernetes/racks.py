"""Which racks have room for a gang that asks for one of them: what acceptance expects of Kueue's topology-aware scheduling. Pure."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from . import labels, readiness

ENDED = ("Succeeded", "Failed")


def of_nodes(nodes: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, str]:
    """Give the rack of each node of a pool, by the label that Kueue reads; empty: it has none."""
    wanted = set(names)
    return {one["metadata"]["name"]: (one["metadata"].get("labels") or {}).get(labels.RACK, "") for one in nodes if one["metadata"]["name"] in wanted}


def usable(nodes: Iterable[Mapping[str, Any]], tolerations: Sequence[Mapping[str, str]]) -> set[str]:
    """Name the nodes that take pods: ready, and with neither a cordon nor a taint that the pods don't tolerate."""
    tolerated = {(one["key"], one["value"], one["effect"]) for one in tolerations}
    return {one["metadata"]["name"] for one in nodes if readiness.condition(one, "Ready") == "True" and not _is_closed(one.get("spec") or {}, tolerated)}


def most_idle(racks: Mapping[str, str], pods: Sequence[Mapping[str, Any]], among: Collection[str]) -> int:
    """Count the nodes without a pod that has GPUs, in the rack that has most of them.

    Args:
        among: the nodes that take pods.
    """
    busy = {one["spec"].get("nodeName") for one in pods if one["status"].get("phase") not in ENDED and _has_gpus(one)}
    idle = [rack for node, rack in racks.items() if rack and node in among and node not in busy]
    return max((idle.count(rack) for rack in set(idle)), default=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Look:
    """What one look at a gang that asks for one rack found."""

    nodes: int
    """How many pods it has, each on a node of its own."""
    racks: tuple[str, ...] = ()
    """The rack of each pod that runs."""
    reason: str = ""
    """Why it waits, as Kueue tells it."""
    most_idle: int = 0

    @property
    def runs(self) -> bool:
        return len(self.racks) == self.nodes

    @property
    def has_room(self) -> bool:
        return self.most_idle >= self.nodes

    @property
    def is_right(self) -> bool:
        """Say whether Kueue keeps its promise. Jobs of users come and go, so that both may be right at any time."""
        return len(set(self.racks)) == 1 if self.runs else bool(self.reason) and not self.has_room

    @property
    def is_final(self) -> bool:
        """Say whether no later look can find otherwise: a gang that waits while a rack has room may run in a moment."""
        return self.runs or self.is_right


def _is_closed(spec: Mapping[str, Any], tolerated: set[tuple[str, str, str]]) -> bool:
    taints = ((one["key"], one.get("value") or "", one["effect"]) for one in spec.get("taints") or ())
    return bool(spec.get("unschedulable")) or any(one not in tolerated and one[2] != "PreferNoSchedule" for one in taints)


def _has_gpus(pod: Mapping[str, Any]) -> bool:
    return any(int((one.get("resources") or {}).get("requests", {}).get(labels.GPU, 0)) for one in pod["spec"]["containers"])
