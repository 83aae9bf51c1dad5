"""Pods, nodes, instances and a fleet table, as tests of the autoscaler of Kubernetes need them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from components.elastic import table as fleet_table
from components.elastic.kubernetes import decide, model, program
from components.elastic.kubernetes.decide import Memory, Start
from components.elastic.model import Cloud, Instance, Life

IDLE_S, BOOT_S = 60.0, 300.0
GPU = "nvidia.com/gpu"
TOLD: dict[str, Any] = {
    "files": [],
    "node": {
        "labels": {"clusterwright.io/pool": "train"}, "taints": [], "taint_words": "", "cpus": 2, "memory_mib": 2048, "gpus": 8, "gpu_resource": GPU,
        "shares_machine": True,
    },
}  # fmt: skip


def row(name: str = "train", *, count: int = 2, minimum: int = 0, **others: Any) -> dict[str, Any]:
    return {
        "name": name, "pool": name, "prefix": name, "count": count, "minimum": minimum, "partition": None, "machine": "local",
        "capacity": {"kind": "owned"}, "boot_timeout_s": BOOT_S, "launch_template_version": "t1", **others,
    }  # fmt: skip


def table(*rows: dict[str, Any]) -> fleet_table.Table:
    record = {"version": 1, "target": "local", "cluster": "c", "stack": "s", "node_sets": [*(rows or (row(),))], "idle_s": IDLE_S}
    return fleet_table.read(record, of_kubernetes=True)


def pod(name: str, *, node: str = "", gpus: int = 8, waits: bool | None = None, **spec: Any) -> dict[str, Any]:
    is_waiting = not node if waits is None else waits
    refused = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}] if is_waiting else []
    container = {"name": "main", "resources": {"limits": {GPU: str(gpus)}} if gpus else {}}
    return {
        "metadata": {"namespace": "research", "name": name, "uid": name},
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
        "status": {"phase": "Pending" if is_waiting else "Running", "conditions": refused},
    }


def of_daemon(name: str, node: str) -> dict[str, Any]:
    found = pod(name, node=node, gpus=0)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [{"kind": "DaemonSet", "name": "flannel"}]}}


def node(name: str, *, is_ready: bool = True, gpus: int = 8, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    marked = {model.STARTED_FROM: program.mark(TOLD)} if annotations is None else dict(annotations)
    offers = {"cpu": "1900m", "memory": "2Gi", "pods": "110", GPU: str(gpus)}
    ready = {"type": "Ready", "status": "True" if is_ready else "Unknown"}
    metadata = {"name": name, "labels": {"clusterwright.io/pool": name.rpartition("-")[0]}, "annotations": marked}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": [ready], "allocatable": offers}}


def instance(name: str, *, life: Life = Life.LIVE, at: float = 0.0, is_outdated: bool = False, launch: str = "") -> Instance:
    return Instance(f"i-{name}", name, life, at, "10.0.0.1", launch, is_outdated=is_outdated)


def decided(
    pods: Sequence[dict[str, Any]] = (),
    nodes: Sequence[dict[str, Any]] = (),
    instances: Sequence[Instance] = (),
    *,
    memory: Memory | None = None,
    now: float = 1000.0,
    of: fleet_table.Table | None = None,
) -> tuple[list[Any], Memory]:
    known = of or table()
    templates = {one.name: program.template({**TOLD, "node": {**TOLD["node"], "labels": {"clusterwright.io/pool": one.pool}}}, None) for one in known.node_sets}
    templates = {name: dataclasses.replace(one, mark=program.mark(TOLD)) for name, one in templates.items()}
    seen = model.read(pods, nodes)
    steps, after = decide.decide(known, templates, kubernetes=seen, cloud=Cloud(tuple(instances)), memory=memory or Memory(), now=now, idle_s=IDLE_S)
    return [*steps], after


def started(steps: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    return {step.node_set: step.nodes for step in steps if isinstance(step, Start)}
