"""A blueprint that is changed while nodes run: the engine neither ends them nor stops because of them, and nothing that they use keeps the stack from going. Plain Pulumi, on the simulated cloud."""

from pathlib import Path
from typing import Any

import pytest

from tests.components.aws.standing import Standing
from tests.simcloud.aws.client import REGION, SimulatedCloud

pytestmark = pytest.mark.engine

BLUEPRINT = "starter"
ZONES = {"network.zones": [f"{REGION}a", f"{REGION}b"]}
MORE = {"kind": "nfs", "mount": "/more", "protect": False, "on_delete": "delete"}
FAST = {"kind": "lustre", "mount": "/fast", "size": "1200 GiB", "protect": False, "on_delete": "delete"}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nodes are bought another way": ({"pools.train.placement": "packed"}, {"pools__train__capacity": "spot"}),
    "nodes that were bought beforehand": (
        {"pools.train.placement": "packed", "network.zones": [f"{REGION}b"]},
        {"pools__train__placement": None, "pools__train__capacity": {"kind": "reserved", "id": "cr-0123456789abcdef0"}},
    ),
    "another machine": ({}, {"pools__train__accelerator": "a10g"}),
    "two controllers": (ZONES, {"control__highly_available": True}),
    "one controller": (ZONES | {"control.highly_available": True}, {"control__highly_available": False}),
    "a managed database": (ZONES, {"accounting__database": "managed"}),
    "a database of one's own": (ZONES | {"accounting.database": "managed"}, {"accounting__database": "embedded"}),
    "no balancer": ({}, {"access__load_balancer": False}),
    "other people": ({}, {"access__allowed_cidrs": ["10.0.0.0/8"]}),
    "endpoints inside": ({}, {"network__private_endpoints": True}),
    "no endpoints inside": ({"network.private_endpoints": True}, {"network__private_endpoints": False}),
    "a file system": ({}, {"storage__fast": FAST}),
    "a file system less": ({"storage.more": MORE}, {"storage__more": None}),
    "files that stay": ({}, {"storage__home__on_delete": "keep"}),
    "labels": ({}, {"tags": {"team": "research"}}),
}
"""What stands before, and what is changed; None takes it out."""
STAYING = {"files that stay": ["efs.FileSystem"]}
"""What the end of the stack leaves, as it was told to."""


def changed(stack: Standing, change: dict[str, Any]) -> None:
    for path in [path.replace("__", ".") for path, value in change.items() if value is None]:
        for key in [key for key in stack.overrides if key == path or key.startswith(f"{path}.")]:
            del stack.overrides[key]
    stack.change(**{path: value for path, value in change.items() if value is not None})
    stack.up()


def strategy(cloud: SimulatedCloud, instance: str) -> str | None:
    """Give the strategy of the placement group that an instance stands in."""
    (placement,) = [one["api"]["Placement"] for one in cloud.things("ec2.Instance") if one.id == instance]
    groups = {group.id: str(group["strategy"]) for group in cloud.things("ec2.PlacementGroup")}
    return groups[placement["GroupName"]] if "GroupName" in placement else None


def test_nodes_stand_where_they_were_started_when_their_pool_is_placed_another_way(tmp_path: Path, cloud: SimulatedCloud) -> None:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, **{"pools.train.placement": "packed"}) as stack:
        stack.up()
        packed = stack.start_node()
        assert strategy(cloud, packed) == "cluster"

        changed(stack, {"pools__train__placement": "spread"})
        assert stack.nodes() == {packed: True}, "it runs on and is made anew when it is idle"
        stack.elastic().terminate([packed])
        spread = stack.start_node()
        assert (strategy(cloud, spread), stack.nodes()) == ("spread", {spread: False})

        changed(stack, {"pools__train__placement": "packed"})
        assert stack.nodes() == {spread: True}, "nor does it stand in the way of what it was before"
        stack.destroy()
        assert cloud.things() == []


@pytest.mark.soak
@pytest.mark.parametrize("what", CHANGES)
def test_nodes_run_on_while_the_blueprint_is_changed(tmp_path: Path, cloud: SimulatedCloud, what: str) -> None:
    before, change = CHANGES[what]
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, **before) as stack:
        stack.up()
        node = stack.start_node()
        changed(stack, change)
        assert stack.nodes().keys() == {node}
        assert stack.changes() == {}
        stack.destroy()
        assert [one.kind for one in cloud.things()] == STAYING.get(what, [])
