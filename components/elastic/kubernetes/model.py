"""Pods and nodes as the API server has them, and what a node of a set will be. Frozen, without input or output."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

STOPPING = "clusterwright.io/stopping"
"""Annotation of a node that the autoscaler has begun to stop: whoever goes on after it, goes on with that."""
STARTED_FROM = "clusterwright.io/started-from"
"""Annotation: mark of what the node was told when it joined."""
TAINTS = "clusterwright.io/taints"
"""Annotation: the taints that the stack set (playbooks/roles/kubeadm_node)."""
_MIRROR = "kubernetes.io/config.mirror"
_SUFFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SUFFIXES |= {f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", start=1)}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


@dataclasses.dataclass(frozen=True, slots=True)
class Pod:
    namespace: str
    name: str
    uid: str
    node: str
    """Empty while it has none."""
    is_unschedulable: bool
    """The scheduler has looked, and found no node."""
    is_of_node: bool
    """It is there because its node is: of a DaemonSet, or the node's own."""
    spec: Mapping[str, Any] = dataclasses.field(hash=False, compare=False)

    @property
    def wants(self) -> dict[str, float]:
        return requests(self.spec)


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    name: str
    is_ready: bool
    is_cordoned: bool
    labels: Mapping[str, str] = dataclasses.field(hash=False)
    annotations: Mapping[str, str] = dataclasses.field(hash=False)
    allocatable: Mapping[str, float] = dataclasses.field(hash=False)
    taints: Sequence[Mapping[str, Any]] = ()

    @property
    def is_stopping(self) -> bool:
        return STOPPING in self.annotations


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """What a node of a set will be, before there is one."""

    labels: Mapping[str, str] = dataclasses.field(hash=False)
    taints: Sequence[Mapping[str, Any]]
    offers: Mapping[str, float] = dataclasses.field(hash=False)
    mark: str
    """Of all settings that a node gets when it joins: a node with another mark is outdated."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kubernetes:
    """What the API server says at one moment. Pods that have ended are left out."""

    pods: tuple[Pod, ...]
    nodes: Mapping[str, Node] = dataclasses.field(hash=False)


def launch_token(mark: str, *, unique: str) -> str:
    """Name a launch so that it says what its hosts were told: the table may be another one when they have joined. Pure."""
    return f"{mark}-{unique}"


def mark_of(launch: str) -> str:
    """Give the mark of what hosts of a launch were told. Pure."""
    return launch.partition("-")[0]


def quantity(text: object) -> float:
    """Read a quantity (`500m`, `16Gi`).

    Raises:
        ValueError: it is none.
    """
    found = _QUANTITY.fullmatch(str(text))
    if not found or found[2] not in _SUFFIXES:
        raise ValueError(f"{text!r} is no quantity of Kubernetes")
    return round(float(found[1]) * _SUFFIXES[found[2]], 9)


def requests(spec: Mapping[str, Any]) -> dict[str, float]:
    """Give what a pod asks of its node, as the scheduler counts: all containers together, or the largest init container where that is more; and one place for a pod."""
    total: dict[str, float] = {}
    for one in spec.get("containers") or ():
        _add(total, _requested(one))
    beside: dict[str, float] = {}
    most: dict[str, float] = {}
    for one in spec.get("initContainers") or ():
        wanted = _requested(one)
        if one.get("restartPolicy") == "Always":  # it runs beside the containers
            _add(total, wanted)
            _add(beside, wanted)
        else:
            most = {key: max(most.get(key, 0.0), wanted.get(key, 0.0) + beside.get(key, 0.0)) for key in {*most, *wanted}}
    total = {key: max(total.get(key, 0.0), most.get(key, 0.0)) for key in {*total, *most}}
    _add(total, {key: quantity(value) for key, value in (spec.get("overhead") or {}).items()})
    return {**total, "pods": 1.0}


def _requested(container: Mapping[str, Any]) -> dict[str, float]:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}  # a limit alone is a request too
    return {key: quantity(value) for key, value in asked.items()}


def _add(total: dict[str, float], more: Mapping[str, float]) -> None:
    for key, value in more.items():
        total[key] = total.get(key, 0.0) + value


def read(pods: Sequence[Mapping[str, Any]], nodes: Sequence[Mapping[str, Any]]) -> Kubernetes:
    """Read what the API server lists."""
    living = (one for one in pods if one.get("status", {}).get("phase") not in ("Succeeded", "Failed"))
    return Kubernetes(tuple(_pod(one) for one in living), {one["metadata"]["name"]: _node(one) for one in nodes})


def _pod(record: Mapping[str, Any]) -> Pod:
    metadata, spec = record["metadata"], record["spec"]
    owners = [one.get("kind") for one in metadata.get("ownerReferences") or ()]
    conditions = record.get("status", {}).get("conditions") or ()
    refused = any(one["type"] == "PodScheduled" and one["status"] == "False" and one.get("reason") == "Unschedulable" for one in conditions)
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        node=spec.get("nodeName") or "",
        is_unschedulable=refused and not spec.get("nodeName") and "deletionTimestamp" not in metadata,
        is_of_node="DaemonSet" in owners or _MIRROR in (metadata.get("annotations") or {}),
        spec=spec,
    )


def _node(record: Mapping[str, Any]) -> Node:
    metadata, spec, status = record["metadata"], record.get("spec") or {}, record.get("status") or {}
    return Node(
        name=metadata["name"],
        is_ready=any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ()),
        is_cordoned=bool(spec.get("unschedulable")),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        allocatable={key: quantity(value) for key, value in (status.get("allocatable") or {}).items()},
        taints=tuple(spec.get("taints") or ()),
    )
