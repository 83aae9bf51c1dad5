"""The autoscaler of Kubernetes: what pods need, where they could run, which hosts start and end, and what is done when a step fails or is cut off."""

import dataclasses
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from components.elastic import table as fleet_table
from components.elastic.act import Unreachable
from components.elastic.decide.answers import Answer, Refusal
from components.elastic.kubernetes import cluster, decide, fit, model, program
from components.elastic.kubernetes.decide import End, Mark, Memory, Start, Stop
from components.elastic.memory import Launch
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


@pytest.mark.parametrize(("text", "value"), [("500m", 0.5), ("2", 2.0), ("1Ki", 1024.0), ("16Gi", 16.0 * 1024**3), ("1e3", 1000.0), ("2M", 2e6)])
def test_quantities_are_read_as_kubernetes_writes_them(text: str, value: float) -> None:
    assert model.quantity(text) == value


@pytest.mark.parametrize("text", ["", "lots", "1Q", "Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        model.quantity(text)


def test_a_pod_wants_its_containers_together_or_its_largest_init_container() -> None:
    def container(cpu: str, **others: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **others}

    beside = container("100m", restartPolicy="Always")
    wants = model.requests({"containers": [container("1"), container("1")], "initContainers": [beside, container("3")], "overhead": {"cpu": "1"}})
    assert wants == {"cpu": pytest.approx(4.1), "pods": 1.0}


@pytest.mark.parametrize(
    ("spec", "may"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"nodeSelector": {"other": "a"}}, False),
    ],
)
def test_a_node_selector_is_held_against_labels(spec: dict[str, Any], may: bool) -> None:
    assert fit.allows(spec, {"zone": "a"}, ()) is may


@pytest.mark.parametrize(
    ("operator", "key", "values", "may"),
    [
        ("In", "zone", ["a", "b"], True),
        ("In", "zone", ["b"], False),
        ("NotIn", "zone", ["a"], False),
        ("Exists", "zone", [], True),
        ("DoesNotExist", "zone", [], False),
        ("Gt", "size", ["3"], True),
        ("Lt", "size", ["3"], False),
        ("Near", "zone", ["a"], False),
    ],
)
def test_required_affinity_is_held_against_labels(operator: str, key: str, values: list[str], may: bool) -> None:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}}
    assert fit.allows(spec, {"zone": "a", "size": "4"}, ()) is may


@pytest.mark.parametrize(
    ("toleration", "may"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_a_taint_bars_pods_that_do_not_tolerate_it(toleration: dict[str, str], may: bool) -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    assert fit.allows({"tolerations": [toleration]}, {}, [taint]) is may


def test_a_gang_gets_as_many_nodes_as_it_needs_and_no_more() -> None:
    assert started(decided([pod("a"), pod("b")])[0]) == {"train": ("train-0", "train-1")}
    assert started(decided([pod("a", gpus=4), pod("b", gpus=4)])[0]) == {"train": ("train-0",)}


def test_pods_that_wait_for_something_else_start_nothing() -> None:
    assert decided([pod("a", waits=False)])[0] == []  # the scheduler has not looked yet
    assert decided([pod("a", gpus=9)])[0] == []
    assert decided([pod("a", nodeSelector={"clusterwright.io/pool": "other"})])[0] == []
    assert decided([{**of_daemon("d", ""), "status": pod("d")["status"]}])[0] == []


def test_hosts_that_come_are_counted() -> None:
    assert decided([pod("a")], instances=[instance("train-0", at=990.0)])[0] == []
    assert started(decided([pod("a"), pod("b")], instances=[instance("train-0")])[0]) == {"train": ("train-1",)}


def test_a_node_that_has_just_come_takes_the_pods_it_came_for_and_later_the_scheduler_knows_better() -> None:
    there = [instance("train-0")]
    _, memory = decided([], [node("train-0")], there, now=1000.0)
    assert started(decided([pod("a")], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {}
    busy = pod("x", node="train-0", gpus=8)
    assert started(decided([busy, pod("a")], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {"train": ("train-1",)}
    half = pod("x", node="train-0", gpus=4)
    assert started(decided([half, pod("a", gpus=4)], [node("train-0")], there, memory=memory, now=1010.0)[0]) == {}
    assert started(decided([half, pod("a", gpus=4)], [node("train-0")], there, memory=memory, now=1040.0)[0]) == {"train": ("train-1",)}


def test_one_pod_for_each_host_gets_one_host_for_each_pod() -> None:
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}}
    assert started(decided([pod("a", gpus=1, affinity=apart), pod("b", gpus=1, affinity=apart)])[0]) == {"train": ("train-0", "train-1")}


def test_the_minimum_always_runs_and_never_goes() -> None:
    of = table(row(minimum=1))
    assert started(decided(of=of)[0]) == {"train": ("train-0",)}
    memory = Memory(idle={"train-0": 0.0})
    assert decided([], [node("train-0")], [instance("train-0")], memory=memory, of=of)[0] == []


def test_a_pool_of_several_machines_keeps_its_limit() -> None:
    of = table(row("a", pool="train", count=1, pool_most=1), row("b", pool="train", count=1, pool_most=1))
    templates = {one.name: program.template(TOLD, None) for one in of.node_sets}
    seen = model.read([pod("a"), pod("b")], ())
    steps, _ = decide.decide(of, templates, kubernetes=seen, cloud=Cloud(()), memory=Memory(), now=0.0, idle_s=IDLE_S)
    assert started(steps) == {"a": ("a-0",)}


def test_idle_nodes_go_and_others_stay() -> None:
    there, nodes = [instance("train-0"), instance("train-1")], [node("train-0"), node("train-1")]
    pods = [of_daemon("f0", "train-0"), of_daemon("f1", "train-1"), pod("x", node="train-1")]
    steps, memory = decided(pods, nodes, there, now=1000.0)
    assert steps == []
    assert decided(pods, nodes, there, memory=memory, now=1000.0 + IDLE_S - 1)[0] == []
    steps, _ = decided(pods, nodes, there, memory=memory, now=1000.0 + IDLE_S)
    assert [(step.node, step.instance) for step in steps] == [("train-0", "i-train-0")]
    kept = [node("train-0", unschedulable=True), node("train-1")]  # by an administrator
    assert decided(pods, kept, there, memory=memory, now=1000.0 + IDLE_S)[0] == []


def test_outdated_nodes_go_as_soon_as_they_are_idle() -> None:
    steps, _ = decided([], [node("train-0")], [instance("train-0", is_outdated=True)])
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    steps, _ = decided([], [node("train-0", annotations={model.STARTED_FROM: "of before"})], [instance("train-0")])
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    assert decided([pod("x", node="train-0")], [node("train-0")], [instance("train-0", is_outdated=True)])[0] == []


def test_an_outdated_node_that_always_runs_is_replaced() -> None:
    of = table(row(minimum=1))
    steps, memory = decided([], [node("train-0")], [instance("train-0", is_outdated=True)], of=of)
    assert steps == [Stop("train-0", "i-train-0", "outdated")]
    assert started(decided(memory=memory, of=of)[0]) == {"train": ("train-0",)}
    assert decided([pod("x", node="train-0")], [node("train-0")], [instance("train-0", is_outdated=True)], of=of)[0] == []


def test_hosts_beyond_a_smaller_maximum_go_when_they_are_idle_and_count_until_then() -> None:
    of = table(row(count=1))
    busy, idle = [pod("x", node="train-3")], [node("train-3")]
    assert decided([], idle, [instance("train-3")], of=of)[0] == [Stop("train-3", "i-train-3", "outdated")]
    assert decided(busy, idle, [instance("train-3")], of=of)[0] == []
    assert started(decided([*busy, pod("a")], idle, [instance("train-3")], of=of)[0]) == {}  # the fleet would refuse it
    steps, memory = decided([], [], [instance("train-3")], of=of)  # it has not joined
    assert ([(type(step), step.node, step.instance) for step in steps], memory.pauses) == ([(End, "train-3", "i-train-3")], {})


def test_nodes_beyond_a_smaller_maximum_are_forgotten_with_their_hosts_and_those_of_others_stay() -> None:
    of = table(row(count=1))
    assert decided([], [node("train-3")], [], of=of)[0] == [End("train-3", "", "its host is gone")]
    for other in (node("train-3", annotations={}), node("fixed-3"), node("train-a")):
        assert decided([], [other], [], of=of)[0] == []


def test_a_stop_that_was_cut_off_is_gone_on_with_at_each_of_its_steps() -> None:
    stopping = node("train-0", annotations={model.STARTED_FROM: program.mark(TOLD), model.STOPPING: "idle"}, unschedulable=True)
    assert decided([], [stopping], [instance("train-0")])[0] == [Stop("train-0", "i-train-0", "idle")]
    assert decided([], [stopping], [])[0] == [End("train-0", "", "its host is gone")]


def test_a_dead_host_is_ended_and_its_node_forgotten_so_that_its_pods_move() -> None:
    steps, memory = decided([pod("x", node="train-0")], [node("train-0", is_ready=False)], [instance("train-0", life=Life.ENDED)])
    assert steps == [End("train-0", "i-train-0", "its host has ended")]
    assert memory.pauses == {}
    steps, memory = decided([], [], [instance("train-0", life=Life.ENDED)])  # it died before it was a node
    assert ([type(step) for step in steps], [*memory.pauses]) == ([End], ["train"])


def test_a_host_that_does_not_join_is_replaced_after_a_pause_that_grows() -> None:
    waits, there = [pod("a")], [instance("train-0")]
    _, memory = decided(waits, instances=there, now=0.0)
    steps, memory = decided(waits, instances=there, memory=memory, now=BOOT_S + 1)
    assert [type(step) for step in steps] == [End]
    assert [one.name for one in memory.pauses["train"].pods] == ["a"]
    until = memory.pauses["train"].until
    assert decided(waits, memory=memory, now=until - 1)[0] == []
    steps, again = decided(waits, memory=memory, now=until)
    assert started(steps) == {"train": ("train-0",)}
    second = again.paused("train", "again", (), until).pauses["train"]
    assert second.until - until == 2 * (until - (BOOT_S + 1))
    _, recovered = decided([pod("a", node="train-0")], [node("train-0")], there, memory=again, now=until + 1)
    assert "train" not in recovered.pauses


def test_a_node_that_the_scheduler_does_not_use_is_not_started_again_and_again() -> None:
    waits, there = [pod("a")], [instance("train-0")]
    for before in (decided(waits, now=-9.0), decided(waits, [], there, now=-9.0)):  # this process started it, or saw it come
        _, memory = decided(waits, [node("train-0")], there, memory=before[1], now=0.0)
        steps, memory = decided(waits, [node("train-0")], there, memory=memory, now=IDLE_S)
        assert [type(step) for step in steps] == [Stop]
        assert decided(waits, memory=memory, now=IDLE_S + 5)[0] == []


def test_a_node_that_has_run_pods_goes_without_a_pause() -> None:
    there, here = [instance("train-0")], [node("train-0")]
    _, memory = decided([pod("a")], now=0.0)
    _, memory = decided([pod("a", node="train-0")], here, there, memory=memory, now=10.0)
    _, memory = decided([], here, there, memory=memory, now=20.0)
    steps, memory = decided([], here, there, memory=memory, now=20.0 + IDLE_S)
    assert ([type(step) for step in steps], memory.pauses) == ([Stop], {})


def test_nodes_that_were_there_before_this_process_go_without_a_pause() -> None:
    """It can't know whether they have run pods."""
    there = [instance("train-0")]
    _, memory = decided([], [node("train-0", is_ready=False)], there, now=-9.0)  # a moment of silence is no start
    _, memory = decided([], [node("train-0")], there, memory=memory, now=0.0)
    steps, memory = decided([], [node("train-0")], there, memory=memory, now=IDLE_S)
    assert ([type(step) for step in steps], memory.pauses) == ([Stop], {})
    steps, memory = decided([], [node("train-0", is_ready=False)], [instance("train-0", life=Life.ENDED)])
    assert ([type(step) for step in steps], memory.pauses) == ([End], {})


def test_a_node_that_has_come_gets_its_labels_once() -> None:
    launch = model.launch_token("of before", unique="a1b2")
    assert decided([], [node("train-0", annotations={})], [instance("train-0", launch=launch)])[0] == [Mark("train-0", "train", "of before")]


def test_where_hosts_share_a_machine_a_node_offers_what_the_control_plane_sees_of_it() -> None:
    control = model.read((), [node("kubernetes-0", gpus=0)]).nodes["kubernetes-0"]
    offers = program.template(TOLD, control).offers
    assert (offers["cpu"], offers[GPU]) == (1.9, 8.0)
    assert program.template({**TOLD, "node": {**TOLD["node"], "shares_machine": False}}, control).offers["cpu"] == 2.0


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
