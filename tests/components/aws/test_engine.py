"""The target on the simulated cloud, driven by the real engine: up, no changes, a change of each kind, destroy to nothing. Hosts are instances that only pretend, and are finished by nobody."""

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from components.elastic import model
from components.elastic.fleets.aws import Aws
from components.elastic.memory import Launch
from stacks.cli import leaving
from stacks.project import stack_file
from tests.components.aws import programs
from tests.components.aws.standing import Standing
from tests.simcloud import client, images
from tests.simcloud.client import REGION, SimulatedCloud
from tests.simcloud.deployment import STACK

pytestmark = pytest.mark.engine

MORE: Mapping[str, Any] = {"kind": "nfs", "mount": "/more", "protect": False, "on_delete": "delete"}
"""A file system more: hosts learn of it at their first boot, so those that stand are made anew."""
UNKNOWN_LAYOUT = "no record is at hand"
"""What the audit says of machines of which the records of instance types lack the network cards."""
OTHER_COUNTS = {"gb200-nvl72": 54}
"""Numbers of nodes for which the controller is of the same machine; of most blueprints 18. A block has whole racks."""
OTHER_IMAGE = str(list(images.public(REGION))[1]["ImageId"])
LATER = ("gb200-nvl72", "llm-pretraining", "research-shared", "scale-7500", "single-gpu")
"""Blueprints whose lives are for `make soak`."""


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SimulatedCloud]:
    (tmp_path / "cloud").mkdir()
    with client.started(tmp_path / "cloud") as one:
        yield one


@pytest.mark.parametrize("blueprint", [*("starter", "spot-sweep"), *(pytest.param(name, marks=pytest.mark.soak) for name in LATER)])
def test_a_blueprint_lives_from_up_to_destroy(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch, blueprint: str) -> None:
    with Standing.of(tmp_path / "stack", cloud, blueprint) as stack:
        stack.up()
        assert len(cloud.things()) == len(programs.aws(programs.library(blueprint)))
        assert cloud.untagged("clusterwright:stack", "clusterwright:cluster") == []
        assert [finding for finding in cloud.audit() if UNKNOWN_LAYOUT not in finding] == []
        stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")

        _grow(stack)
        _change_in_place(stack, cloud)
        _roll(stack, cloud, monkeypatch)
        _replace(stack, cloud)

        stack.destroy()
        assert [(thing.kind, thing.id) for thing in cloud.things()] == []


@pytest.fixture
def settings_file() -> Iterator[None]:
    """Keep the project folder as it is: the engine, run there, writes how it encrypts beside the settings of other stacks."""
    file = stack_file(STACK)
    if file.exists():
        pytest.skip(f"this checkout has a stack {STACK} of its own")
    yield
    file.unlink(missing_ok=True)


@pytest.mark.usefixtures("settings_file")
def test_nodes_that_run_go_before_what_they_use(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    with Standing.of(tmp_path / "stack", cloud, "starter") as stack:
        for name, value in {**stack.environment, "PATH": f"{client.PLUGIN_FOLDER}{os.pathsep}{os.environ['PATH']}"}.items():
            monkeypatch.setenv(name, value)
        stack.up()
        started = _start_node(stack)
        assert "DependencyViolation" in stack.fails("destroy", "--yes", "--skip-preview", "--target", stack.urn("hosts-security-group"), "--target-dependents")
        stack.up("--refresh")
        foreign = cloud.make("ec2.Vpc", cidrBlock="10.9.0.0/16", tags={"clusterwright:stack": "prod"})

        assert leaving.end_nodes(STACK, stack.resources())
        assert cloud.count("ec2.TerminateInstances") == 1
        assert [one.id for one in cloud.things("ec2.Instance") if one.id == started] == []
        assert not leaving.end_nodes(STACK, stack.resources())
        stack.succeed("destroy", "--refresh", "--yes", "--skip-preview")
        assert [one.id for one in cloud.things()] == [foreign.id]


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
    assert stack.changes() == {"update": ["flow-logs"]}
    stack.up()
    assert cloud.thing("cloudwatch.LogGroup")["retentionInDays"] == 90
    assert _made(cloud) == before


def _roll(stack: Standing, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another image of a pool is another version of its template, and no node is touched by that."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    pool, before = stack.spec.node_sets[0].pool, _made(cloud)
    can_start = not any(UNKNOWN_LAYOUT in finding for finding in cloud.audit())
    nodes = {_start_node(stack): True} if can_start else {}
    stack.change(**{f"pools__{pool}__image": OTHER_IMAGE})
    assert stack.changes() == {"update": [f"{one.hosts.name}-template" for one in stack.spec.node_sets if one.pool == pool]}
    stack.up()
    assert _nodes(stack) == nodes, "what runs stays until it is idle, when the elastic program ends what is outdated"
    _fleet(stack).terminate([*nodes])
    if can_start:
        again = _start_node(stack)
        assert _nodes(stack) == {again: False}
        _fleet(stack).terminate([again])
    assert _made(cloud) == before


def _fleet(stack: Standing) -> Aws:
    return Aws(model.table(stack.fleet()), client=boto3.client("ec2"))


def _start_node(stack: Standing) -> str:
    """Start the first node of the first node set as the program on the controller does."""
    node_set = model.table(stack.fleet()).node_sets[0]
    token = f"version-{node_set.launch_template_version}"
    launch = Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=time.time(), is_whole=False)
    answer = _fleet(stack).launch(launch)
    assert answer.refusal is None, answer.detail
    (started,) = answer.instances
    return started.id


def _nodes(stack: Standing) -> dict[str, bool]:
    """Give the nodes that live: instance → whether it was started from what its node set no longer is."""
    return {one.id: one.is_outdated for one in _fleet(stack).view().instances if one.life is model.Life.LIVE}


def _replace(stack: Standing, cloud: SimulatedCloud) -> None:
    spec = stack.spec
    hosts = [*spec.control.hostnames, *spec.access.hostnames]
    targets = [f"{host}-target" for host in spec.access.hostnames if spec.login.load_balancer]
    disks = ["state-attachment"] if spec.control.count == 1 or spec.database.placement == "embedded" else []
    kept = [one for one in _made(cloud) if one[0] not in ("ec2.Instance", "ec2.VolumeAttachment", "lb.TargetGroupAttachment")]
    stack.change(storage__more=MORE)
    found = {operation: set(names) for operation, names in stack.changes().items()}
    assert found == {
        "create": {"more", "more-file-system", "more-mount-target"},
        "update": {f"{one.hosts.name}-template" for one in spec.node_sets},
        "replace": {*hosts, *targets, *disks},
    }
    stack.up()
    assert set(kept) <= set(_made(cloud)), "data, addresses and names stay"


def _made(cloud: SimulatedCloud) -> list[tuple[str, str]]:
    return [(thing.kind, thing.id) for thing in cloud.things()]
