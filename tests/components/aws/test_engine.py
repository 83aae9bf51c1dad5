"""The target on the simulated cloud, driven by the real engine: up, no changes, a change of each kind, destroy to nothing. Hosts are instances that only pretend, and are finished by nobody."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.blueprints import hand_made
from tests.components.aws import programs
from tests.components.aws.standing import Standing
from tests.simcloud.aws import images
from tests.simcloud.aws.client import REGION, SimulatedCloud

pytestmark = pytest.mark.engine

MORE: Mapping[str, Any] = {"kind": "nfs", "mount": "/more", "protect": False, "on_delete": "delete"}
"""A file system more: hosts learn of it at their first boot, so those that stand are made anew."""
UNKNOWN_LAYOUT = "no record is at hand"
"""What the audit says of machines of which the records of instance types lack the network cards."""
OTHER_COUNTS = {"gb200-nvl72": 54}
"""Numbers of nodes for which the controller is of the same machine; of most blueprints 18. A block has whole racks."""
OTHER_IMAGE = str(list(images.public(REGION))[1]["ImageId"])
LATER = ("gb200-nvl72", "llm-pretraining", "research-shared", "scale-7500", "single-gpu", "spot-sweep")
"""Blueprints whose lives are for `make soak`."""


@pytest.mark.parametrize("blueprint", ["starter", *(pytest.param(name, marks=pytest.mark.soak) for name in LATER)])
def test_a_blueprint_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch, blueprint: str) -> None:
    with Standing.of(tmp_path / "stack", cloud, blueprint) as stack:
        stack.up()
        assert len(cloud.things()) == len(programs.aws(programs.library(blueprint)))
        assert cloud.untagged("clusterwright:stack", "clusterwright:cluster") == []
        assert [finding for finding in cloud.audit() if UNKNOWN_LAYOUT not in finding] == []
        stack.up("--refresh", "--expect-no-changes")

        _grow(stack)
        _change_in_place(stack, cloud)
        _roll(stack, cloud, monkeypatch)
        _replace(stack, cloud)

        stack.destroy()
        assert [(thing.kind, thing.id) for thing in cloud.things()] == []


def _grow(stack: Standing) -> None:
    """Another number of nodes is nothing to the engine but a number in the table."""
    node_set = stack.spec.node_sets[0]
    if stack.blueprint == "starter":
        stack.change(**{f"pools__{node_set.pool}__nodes": {"min": 0, "max": 7500}})
        assert stack.changes() == {"update": ["control-0"]}, "a larger controller for more nodes, and not a resource more"
    count = OTHER_COUNTS.get(stack.blueprint, 18)
    stack.change(**{f"pools__{node_set.pool}__nodes": count if node_set.capacity.kind == "block" else {"min": 0, "max": count}})
    assert stack.changes() == {}, "nodes are no resources"


def _change_in_place(stack: Standing, cloud: SimulatedCloud) -> None:
    before = _made(cloud)
    stack.change(monitoring__retention_days=90)
    of_database = ["accounting-errors"] if hand_made.slurm(stack.spec).database.placement == "managed" else []
    assert stack.up_changes() == {"update": [*of_database, "flow-logs", "image-logs"]}
    assert {log["retentionInDays"] for log in cloud.things("cloudwatch.LogGroup")} == {90}
    assert _made(cloud) == before


def _roll(stack: Standing, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another image of a pool is another version of its template, and no node is touched by that."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    pool, before = stack.spec.node_sets[0].pool, _made(cloud)
    can_start = not any(UNKNOWN_LAYOUT in finding for finding in cloud.audit())
    nodes = {stack.start_node(): True} if can_start else {}
    stack.change(**{f"pools__{pool}__image": OTHER_IMAGE})
    assert stack.up_changes() == {"update": [f"{one.hosts.name}-template" for one in stack.spec.node_sets if one.pool == pool]}
    assert stack.nodes() == nodes, "what runs stays until it is idle, when the elastic program ends what is outdated"
    stack.elastic().terminate([*nodes])
    if can_start:
        again = stack.start_node()
        assert stack.nodes() == {again: False}
        stack.elastic().terminate([again])
    assert _made(cloud) == before


def _replace(stack: Standing, cloud: SimulatedCloud) -> None:
    spec = stack.spec
    hosts = [*hand_made.controllers(spec).hostnames, *spec.access.hostnames]
    targets = [f"{host}-target" for host in spec.access.hostnames if spec.login.load_balancer]
    own = "state" if spec.controllers == 1 else "accounting" if hand_made.slurm(spec).database.placement == "embedded" else None
    disks = [f"{own}-attachment"] if own else []
    kept = [one for one in _made(cloud) if one[0] not in ("ec2.Instance", "ec2.VolumeAttachment", "lb.TargetGroupAttachment")]
    stack.change(storage__more=MORE)
    found = {operation: set(names) for operation, names in stack.up_changes().items()}
    assert found == {
        "create": {"more", "more-file-system", "more-mount-target"},
        "update": {f"{one.hosts.name}-template" for one in spec.node_sets},
        "replace": {*hosts, *targets, *disks},
    }
    assert set(kept) <= set(_made(cloud)), "data, addresses and names stay"


def _made(cloud: SimulatedCloud) -> list[tuple[str, str]]:
    return [(thing.kind, thing.id) for thing in cloud.things()]
