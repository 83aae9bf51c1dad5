"""Which racks have room for a gang, as acceptance counts it."""

from typing import Any

import pytest

from components.kubernetes import labels, racks

RACKS = {"a-0": "r1", "a-1": "r1", "a-2": "r1", "b-0": "r2", "b-1": "r2", "c-0": ""}


def pod(node: str, *, gpus: int = 8, phase: str = "Running") -> dict[str, Any]:
    requests = {"resources": {"requests": {labels.GPU: str(gpus)}}} if gpus else {}
    return {"spec": {"nodeName": node, "containers": [{"name": "first"}, {"name": "second", **requests}]}, "status": {"phase": phase}}


def test_the_rack_of_a_node_is_the_label_that_kueue_reads() -> None:
    nodes = [{"metadata": {"name": name, "labels": {labels.RACK: rack} if rack else None}} for name, rack in RACKS.items()]
    assert racks.of_nodes(nodes, [*RACKS][1:]) == {name: rack for name, rack in RACKS.items() if name != "a-0"}


@pytest.mark.parametrize(
    ("pods", "idle"),
    [
        ([], 3),
        ([pod("a-0")], 2),
        ([pod("a-0"), pod("a-1"), pod("b-0")], 1),
        ([pod("a-0", gpus=0), pod("a-1", phase="Succeeded"), pod("a-2", phase="Failed")], 3),
        ([pod("a-0", phase="Pending", gpus=1), pod("a-0", gpus=1)], 2),
        ([pod(name) for name in RACKS if name != "c-0"], 0),
    ],
)
def test_the_rack_with_most_nodes_without_gpus_in_use_counts(pods: list[dict[str, Any]], idle: int) -> None:
    """A node without a rack is in none, though it is idle."""
    assert racks.most_idle(RACKS, pods, RACKS) == idle


def node(name: str, *, ready: str = "True", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def taint(key: str, effect: str) -> list[dict[str, str]]:
    return [{"key": key, "value": "yes", "effect": effect}]


def test_nodes_that_take_no_pods_are_no_room() -> None:
    tolerations = [{"operator": "Equal", **one} for one in taint("gpu", "NoSchedule")]
    nodes = [
        node("a-0", ready="Unknown"),
        node("a-1", unschedulable=True),
        node("a-2", taints=taint("other", "NoExecute")),
        node("b-0", taints=taint("gpu", "NoSchedule")),
        node("c-0", taints=taint("other", "PreferNoSchedule")),
    ]
    assert racks.usable(nodes, tolerations) == {"b-0", "c-0"}
    assert racks.most_idle(RACKS, [], racks.usable(nodes, tolerations)) == 1


@pytest.mark.parametrize(
    ("look", "is_right", "is_final"),
    [
        (racks.Look(2, ("r1", "r1")), True, True),
        (racks.Look(2, ("r1", "r1"), most_idle=0), True, True),
        (racks.Look(2, ("r1", "r2")), False, True),
        (racks.Look(2, (), "no room", most_idle=1), True, True),
        (racks.Look(2, (), "no room", most_idle=2), False, False),
        (racks.Look(2), False, False),
        (racks.Look(2, ("r1",)), False, False),
    ],
    ids=["in one rack", "in the last rack", "spread over racks", "no room", "a rack has room again", "no reason yet", "its second pod starts"],
)
def test_a_gang_runs_in_one_rack_or_waits_with_a_reason_while_none_has_room(look: racks.Look, is_right: bool, is_final: bool) -> None:
    assert (look.is_right, look.is_final) == (is_right, is_final)
