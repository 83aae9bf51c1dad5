"""The autoscaler of Kubernetes at work: one of several, from a waiting gang to no node, and what is done when a step fails or is cut off."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import pytest

from components.elastic.act import Unreachable
from components.elastic.decide.answers import Answer, Refusal
from components.elastic.kubernetes import cluster, decide, model, program
from components.elastic.memory import Launch
from components.elastic.model import Cloud, Instance
from tests.elastic.kubernetes_objects import IDLE_S, TOLD, instance, node, pod, table


@pytest.mark.parametrize(
    ("spec", "may"),
    [
        ({"holderIdentity": "me", "renewTime": "1970-01-01T00:16:40.000000Z", "leaseDurationSeconds": 180}, True),
        ({"holderIdentity": "other", "renewTime": "1970-01-01T00:16:40.000000Z", "leaseDurationSeconds": 180}, False),
        ({"holderIdentity": "other", "renewTime": "1970-01-01T00:10:00.000000Z", "leaseDurationSeconds": 180}, True),
    ],
)
def test_one_of_several_autoscalers_works(spec: dict[str, Any], may: bool) -> None:
    assert cluster.may_lead(spec, "me", now=1000.0) is may


class World:
    """A cluster and a fleet in memory, which do what they are asked."""

    def __init__(self) -> None:
        self.pods: list[dict[str, Any]] = []
        self.nodes: dict[str, dict[str, Any]] = {}
        self.instances: dict[str, Instance] = {}
        self.told: list[dict[str, Any]] = []
        self.warned: list[str] = []
        self.status: Mapping[str, Any] = {}
        self.now, self.refuses, self.is_silent = 1000.0, False, False
        self.leader, self.lost_at = "a", ""
        """Whoever has the lease; and what a node is met with when another one takes it over."""
        self.drained: list[str] = []
        self.arrives: list[dict[str, Any]] = []
        """Pods that are there as soon as a node is cordoned: the scheduler was faster."""

    def view(self, *, is_brief: bool = False) -> Any:
        raise NotImplementedError

    def token(self, why: str) -> str:
        return "abcdef.0123456789abcdef"

    def mark(self, name: str, *, labels: Mapping[str, str], taints: str, told: str) -> None:
        self.nodes[name]["metadata"]["annotations"][model.STARTED_FROM] = told

    def begin_to_stop(self, name: str, why: str) -> None:
        self.nodes[name]["spec"]["unschedulable"] = True
        self.nodes[name]["metadata"]["annotations"][model.STOPPING] = why
        self.pods += self.arrives
        self._lose("begin_to_stop")

    def _lose(self, at: str) -> None:
        if self.lost_at == at:
            self.leader, self.now = "b", self.now + cluster.LEASE_S

    def keep(self, name: str) -> None:
        self.nodes[name]["spec"]["unschedulable"] = False
        del self.nodes[name]["metadata"]["annotations"][model.STOPPING]

    def drain(self, name: str) -> None:
        assert self.nodes[name]["spec"]["unschedulable"]
        self.drained.append(name)
        self._lose("drain")

    def forget(self, name: str) -> None:
        self.nodes.pop(name, None)

    def warn(self, pod: model.Pod, reason: str) -> None:
        self.warned.append(pod.name)

    def publish(self, status: Mapping[str, Any]) -> None:
        self.status = status

    def leads(self, holder: str, *, now: float) -> bool:
        return holder == self.leader


class ClusterOf(World):
    def view(self, *, is_brief: bool = False) -> Any:
        return model.read(self.pods, list(self.nodes.values()))


class FleetOf:
    def __init__(self, world: World):
        self._world = world

    def view(self, *, is_brief: bool = False) -> Cloud:
        if self._world.is_silent:
            raise Unreachable("no answer")
        return Cloud(tuple(self._world.instances.values()))

    def launch(self, launch: Launch, *, told: str = "") -> Answer:
        if self._world.refuses:
            return Answer((), Refusal.CAPACITY, "no room")
        self._world.told.append(json.loads(told))
        self._world.instances |= {name: instance(name, at=self._world.now, launch=launch.token) for name in launch.nodes}
        return Answer(tuple(self._world.instances[name] for name in launch.nodes))

    def terminate(self, instances: list[str]) -> None:
        self._world.instances = {name: one for name, one in self._world.instances.items() if one.id not in instances}


@pytest.fixture
def world() -> ClusterOf:
    return ClusterOf()


@pytest.fixture
def autoscaler(world: ClusterOf) -> program.Autoscaler:
    return program.Autoscaler(table(), {"train": TOLD}, cluster=world, fleet=FleetOf(world), holder="a", clock=lambda: world.now)


def test_from_a_waiting_gang_to_no_node(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    world.pods = [pod("a"), pod("b")]
    autoscaler.look()
    assert set(world.instances) == {"train-0", "train-1"}
    assert [one["token"] for one in world.told] == ["abcdef.0123456789abcdef"]
    world.nodes = {name: node(name, annotations={}) for name in world.instances}
    autoscaler.look()
    assert all(model.STARTED_FROM in one["metadata"]["annotations"] for one in world.nodes.values())
    world.pods = [pod("a", node="train-0"), pod("b", node="train-1")]
    autoscaler.look()
    assert world.status == {"train": {"ready": "train-[0-1]", "coming": ""}}
    world.pods = []
    autoscaler.look()
    world.now += IDLE_S
    autoscaler.look()
    assert (world.instances, world.nodes) == ({}, {})


def test_a_node_that_joins_after_its_pool_was_changed_is_outdated(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    world.pods = [pod("a")]
    autoscaler.look()
    world.pods, world.nodes = [], {"train-0": node("train-0", annotations={})}
    changed = {"train": {**TOLD, "units": ["another.timer"]}}
    other = program.Autoscaler(table(), changed, cluster=world, fleet=FleetOf(world), holder="a", clock=lambda: world.now)
    other.look()
    assert world.nodes["train-0"]["metadata"]["annotations"] == {model.STARTED_FROM: program.mark(TOLD)}
    other.look()
    assert (world.instances, world.nodes) == ({}, {})


def test_a_pod_that_comes_while_its_node_is_to_go_keeps_the_node(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    world.instances, world.nodes = {"train-0": instance("train-0")}, {"train-0": node("train-0")}
    autoscaler.look()
    world.now += IDLE_S
    world.arrives = [pod("late", node="train-0")]
    autoscaler.look()
    assert set(world.instances) == set(world.nodes) == {"train-0"}
    assert not world.nodes["train-0"]["spec"]["unschedulable"]


def test_a_stop_that_is_gone_on_with_keeps_a_node_that_got_a_pod_meanwhile(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    stopping = node("train-0", annotations={model.STARTED_FROM: program.mark(TOLD), model.STOPPING: "idle"}, unschedulable=True)
    world.instances, world.nodes, world.pods = {"train-0": instance("train-0")}, {"train-0": stopping}, [pod("late", node="train-0")]
    autoscaler.look()
    assert set(world.instances) == set(world.nodes) == {"train-0"}
    assert not world.nodes["train-0"]["spec"]["unschedulable"]


def test_a_stop_begins_with_one_write_and_is_taken_back_with_one(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off between two, a node would be cordoned and nobody would know why."""
    asked = tmp_path / "asked"
    program_file = tmp_path / "kubectl"
    program_file.write_text(f'#!/bin/sh\nprintf "%s\\t" "$@" >>{asked}\necho >>{asked}\n')
    program_file.chmod(0o755)
    monkeypatch.setattr(cluster, "PATH", str(tmp_path))
    cluster.Cluster().begin_to_stop("train-0", "idle for 60 s")
    cluster.Cluster().keep("train-0")
    words = [line.rstrip("\t").split("\t") for line in asked.read_text().splitlines()]
    assert [one[:4] for one in words] == [["patch", "node", "train-0", "--type=merge"]] * 2
    assert [json.loads(one[4].removeprefix("--patch=")) for one in words] == [
        {"metadata": {"annotations": {model.STOPPING: "idle for 60 s"}}, "spec": {"unschedulable": True}},
        {"metadata": {"annotations": {model.STOPPING: None}}, "spec": {"unschedulable": None}},
    ]


@pytest.mark.parametrize(("lost_at", "drained"), [("begin_to_stop", []), ("drain", ["train-0"])])
def test_one_that_loses_the_lease_leaves_the_rest_to_the_other(lost_at: str, drained: list[str], world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    names = ("train-0", "train-1")
    world.instances, world.nodes = {name: instance(name) for name in names}, {name: node(name) for name in names}
    autoscaler.look()
    world.now, world.lost_at = world.now + IDLE_S, lost_at
    with pytest.raises(cluster.Unanswered, match="lease"):
        autoscaler.look()
    assert set(world.instances) == set(world.nodes) == set(names)
    assert not world.nodes["train-1"]["spec"].get("unschedulable")
    assert world.drained == drained
    world.pods = [pod("a", gpus=8), pod("b", gpus=8)]
    world.instances, world.nodes = {}, {}
    autoscaler.look()
    assert world.told == []
    # It has the lease again: what it saw before that says nothing.
    world.pods, world.leader, world.lost_at = [], "a", ""
    world.instances, world.nodes = {"train-1": instance("train-1")}, {"train-1": node("train-1")}
    autoscaler.look()
    assert set(world.instances) == {"train-1"}


def test_a_refused_start_is_shown_on_the_pods_and_tried_again_later(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    world.pods, world.refuses = [pod("a")], True
    autoscaler.look()
    assert world.warned == ["a"]
    assert world.status["train"]["failures"] == 1
    world.refuses = False
    autoscaler.look()
    assert world.instances == {}
    world.now += decide.FIRST_PAUSE_S
    autoscaler.look()
    assert set(world.instances) == {"train-0"}


def test_an_unknown_fleet_is_no_empty_one(world: ClusterOf, autoscaler: program.Autoscaler) -> None:
    world.nodes, world.is_silent = {"train-0": node("train-0")}, True
    with pytest.raises(Unreachable):
        autoscaler.look()
    assert set(world.nodes) == {"train-0"}
