"""Which nodes have GPUs free for acceptance, and what it says where too few have."""

from typing import Any

import pytest

from components.kubernetes import acceptance_jobs, free_gpus, labels

POOL = acceptance_jobs.PoolInputs("train", ("train-0", "train-1", "train-2"), gpus=8, always=3)


def node(name: str, *, ready: bool = True, cordoned: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": {"name": name}, "spec": {"unschedulable": cordoned}, "status": {"conditions": conditions, "allocatable": {labels.GPU: "8"}}}


def pod(on: str, gpus: int, *, phase: str = "Running", namespace: str = "research") -> dict[str, Any]:
    containers = [{"name": "a"}, {"name": "b", "resources": {"limits": {labels.GPU: str(gpus)}}}]
    spec = {"nodeName": on, "containers": containers}
    return {"metadata": {"name": "pod", "namespace": namespace}, "spec": spec, "status": {"phase": phase}}


NODES = [*map(node, POOL.nodes), node("other-0")]


@pytest.mark.parametrize(
    ("nodes", "pods", "free"),
    [
        (NODES, [], {"train-0": 8, "train-1": 8, "train-2": 8}),
        (NODES, [pod("train-0", 8), pod("train-1", 2), pod("train-1", 3), pod("other-0", 8)], {"train-0": 0, "train-1": 3, "train-2": 8}),
        (NODES, [pod("train-0", 8, phase="Succeeded"), pod("train-1", 8, namespace=acceptance_jobs.NAMESPACE), pod("", 8)], dict.fromkeys(POOL.nodes, 8)),
        ([node("train-0", ready=False), node("train-1", cordoned=True), node("train-2")], [], {"train-2": 8}),
    ],
    ids=["idle", "held", "held by nobody else", "out of service"],
)
def test_gpus_are_free_that_no_pod_of_others_holds(nodes: list[dict[str, Any]], pods: list[dict[str, Any]], free: dict[str, int]) -> None:
    assert free_gpus.by_node(nodes, pods, POOL.nodes) == free


@pytest.mark.parametrize(
    ("free", "gpus", "why"),
    [
        ({"train-0": 0, "train-1": 8, "train-2": 8}, 8, ""),
        ({"train-0": 2, "train-1": 2, "train-2": 0}, 2, ""),
        (
            {"train-0": 2, "train-1": 8, "train-2": 0},
            8,
            "jobs hold GPUs of train-0, train-2: 1 of the 2 nodes that the check uses have 8 GPUs free",
        ),
        ({"train-1": 0}, 2, "jobs hold GPUs of train-1; train-0, train-2 take no pods: 0 of the 2 nodes that the check uses have 2 GPUs free"),
    ],
)
def test_a_check_names_the_nodes_that_leave_it_no_room(free: dict[str, int], gpus: int, why: str) -> None:
    assert free_gpus.lacking(free, POOL, gpus) == why


def test_a_check_without_room_is_reported_and_fails_nothing() -> None:
    found = acceptance_jobs.not_judged("train", "gang of pods", "2 pods", "jobs hold GPUs of train-0")
    assert (found["verdict"], found["measured"], found["detail"]) == ("reported", "not tried", "jobs hold GPUs of train-0")
