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
    assert racks.most_idle(RACKS, pods) == idle
