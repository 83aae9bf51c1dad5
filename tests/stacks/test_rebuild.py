"""What a rebuild decides: which hosts, in which order, what happens to jobs and to nodes that somebody else drained, and what it refuses."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from blueprints.load import load
from blueprints.spec import ClusterSpec
from components import errors, this_machine
from components.aws import rebuild as on_aws
from components.elastic import slurm
from components.elastic.model import Node
from components.inspection.recorded_cluster import Known, KnownHost
from components.metal import rebuild as on_metal
from components.ssh import remote
from stacks.cli import main
from stacks.errors import Problem
from stacks.rebuild import order, plan, restart
from stacks.rebuild.plan import Host
from stacks.rebuild.scheduler import REASON, RunningJob, Scheduler

RECORDED = {
    "control-0": ("control", "control"),
    "control-1": ("control", "control"),
    "login-0": ("access", "access"),
    "train-0": ("train", "compute"),
    "train-1": ("train", "compute"),
}
JOB = RunningJob(12, "ada", "1:02:03", ("train-0", "train-1"), requeues=True)
SESSION_JOB = RunningJob(13, "bob", "UNLIMITED", ("train-1",), requeues=False)


@pytest.fixture(scope="module")
def cluster() -> ClusterSpec:
    return load("starter", target="local", stack="test", facts=this_machine.facts(), overrides={})


def chosen(
    *words: str,
    cluster: ClusterSpec,
    running: dict[str, str] | None = None,
    recorded: dict[str, tuple[str, str]] | None = None,
    keeps_state: bool = False,
) -> tuple[Host, ...]:
    return plan.choose(words, cluster=cluster, recorded=RECORDED if recorded is None else recorded, running=running or {}, keeps_state=keeps_state)


def nodes(**states: str) -> dict[str, Node]:
    """Give nodes by name, `-` written as `_`: each drained with this reason, or idle."""
    return {name.replace("_", "-"): Node(name.replace("_", "-"), "idle", frozenset({"drain"} if reason else ()), reason) for name, reason in states.items()}


def test_nodes_that_an_autoscaler_starts_and_ends_are_refused() -> None:
    elastic = load("starter-kubernetes", target="local", stack="test", facts=this_machine.facts(), overrides={"pools.train.nodes": {"min": 0, "max": 2}})
    with pytest.raises(Problem, match="can't be rebuilt"):
        chosen("train-0", cluster=elastic, running={"train-0": "train"}, recorded={"kubernetes-0": ("kubernetes", "kubernetes")}, keeps_state=True)


def test_host_lists_name_each_host_once(cluster: ClusterSpec) -> None:
    assert [host.name for host in chosen("train-[0-1]", "train-1", "login-0", cluster=cluster)] == ["train-0", "train-1", "login-0"]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["train-7"], "there is no host train-7"),
        (["balancer", "train-0"], "there is no host balancer"),
        (["train-[0-"], "a host list can't be read"),
    ],
)
def test_hosts_that_the_cluster_does_not_have_are_refused(words: list[str], what: str, cluster: ClusterSpec) -> None:
    with pytest.raises(Problem, match=what.replace("[", r"\[")) as refused:
        chosen(*words, cluster=cluster)
    assert refused.value.status == 2


def test_a_node_that_is_off_is_refused_and_one_that_runs_is_slurms_to_start_again(cluster: ClusterSpec) -> None:
    without = {name: known for name, known in RECORDED.items() if not name.startswith("train")}
    [one] = chosen("train-0", cluster=cluster, recorded=without, running={"train-0": "train"})
    assert one.is_elastic
    with pytest.raises(Problem, match="train-1 is off"):
        chosen("train-[0-1]", cluster=cluster, recorded=without, running={"train-0": "train"})


def test_controllers_are_rebuilt_one_after_the_other_and_after_all_others(cluster: ClusterSpec) -> None:
    decided = plan.plan(chosen("control-[0-1]", "train-0", "login-0", cluster=cluster), nodes=nodes(train_0=""), jobs=())
    assert [host.name for host in decided.together] == ["train-0", "login-0"]
    assert [host.name for host in decided.controllers] == ["control-1", "control-0"]


@pytest.mark.parametrize("is_several", [True, False])
def test_hosts_of_a_kubernetes_control_plane_are_rebuilt_one_by_one_and_the_only_one_where_its_state_stays(is_several: bool) -> None:
    chosen_values = {"control.highly_available": is_several}
    of_kubernetes = load("starter-kubernetes", target="local", stack="test", facts=this_machine.facts(), overrides=chosen_values)
    recorded = {f"kubernetes-{number}": ("kubernetes", "kubernetes") for number in range(3 if is_several else 1)}
    if not is_several:
        with pytest.raises(Problem, match="kubernetes-0 can't be rebuilt"):
            chosen("kubernetes-0", cluster=of_kubernetes, recorded=recorded)
        only = plan.only_state(of_kubernetes)
        decided = plan.plan(chosen("kubernetes-0", cluster=of_kubernetes, recorded=recorded, keeps_state=True), nodes={}, jobs=())
        [line] = plan.lines(decided, requeues=False, controllers=0, only_state=only)
        assert (only, "but for the cluster's state" in line) == ("kubernetes-0", True)
        return
    decided = plan.plan(chosen("kubernetes-[0-2]", cluster=of_kubernetes, recorded=recorded), nodes={}, jobs=())
    assert plan.only_state(of_kubernetes) is None
    assert (decided.together, [host.name for host in decided.controllers]) == ((), ["kubernetes-2", "kubernetes-1", "kubernetes-0"])
    assert all("joins them again" in line for line in plan.lines(decided, requeues=False, controllers=0))


def test_only_nodes_that_the_rebuild_drained_return_to_service(cluster: ClusterSpec) -> None:
    decided = plan.plan(chosen("train-[0-1]", cluster=cluster), nodes=nodes(train_0="bad disk", train_1=REASON), jobs=())
    assert decided.drained == ("train-1",), "an interrupted rebuild drained it"
    assert decided.kept == {"train-0": "bad disk"}
    assert any("out of service (bad disk), and stays so" in line for line in plan.lines(decided, requeues=False, controllers=1))


def test_a_pool_is_whole_when_all_of_its_hosts_are_rebuilt(cluster: ClusterSpec) -> None:
    assert plan.whole_pools(chosen("train-[0-1]", cluster=cluster), cluster) == ("train",)
    assert plan.whole_pools(chosen("train-0", "login-0", cluster=cluster), cluster) == ()


@pytest.mark.parametrize(("requeues", "sayings"), [(False, ["waits", "waits", "waits"]), (True, ["put back", "put back", "waits"])])
def test_each_job_is_shown_with_what_happens_to_it(requeues: bool, sayings: list[str], cluster: ClusterSpec) -> None:
    decided = plan.plan(chosen("train-[0-1]", cluster=cluster), nodes=nodes(train_0="", train_1=""), jobs=[JOB, SESSION_JOB])
    shown = [line for line in plan.lines(decided, requeues=requeues, controllers=1) if "job" in line]
    assert all(saying in line for saying, line in zip(sayings, shown, strict=True))
    assert plan.waiting([JOB, SESSION_JOB]) == "waiting for 2 jobs on train-[0-1] to end: 12 of ada (at most 1:02:03 left), 13 of bob (no time limit)"


@dataclasses.dataclass
class Controller:
    """A controller that answers as Slurm 24.11 does: it has jobs for so many looks, and keeps what it was asked to do."""

    looks: int
    requeues: bool = True
    asked: list[str] = dataclasses.field(default_factory=list)

    def run(self, argv: Sequence[str]) -> str:
        words = [word for word in argv if word != "env" and not word.isupper() and "=%s" not in word and "LC_ALL" not in word]
        if words[0] == "squeue":
            return self._jobs(words)
        if words[:4] == ["scontrol", "--oneliner", "show", "nodes"]:
            return f"NodeName=train-0 State={'MIXED+DRAIN' if self.asked[-1:] and 'DRAIN' in self.asked[-1] else 'MIXED'} Reason={REASON} [root@1]\n"
        if words[:2] == ["scontrol", "update"] or words[1] == "requeue":
            self.asked.append(" ".join(words[1:]))
            self.looks = min(self.looks, 1) if words[1] == "requeue" else self.looks
        return ""

    def _jobs(self, words: list[str]) -> str:
        if any("%L" in word for word in words):
            self.looks -= 1
        if self.looks < 0:
            return ""
        if any("%N" in word for word in words):
            return "12|RUNNING|train-0\n"
        return "12|ada|1:00\n" if any("%L" in word for word in words) else f"12                  1     {int(self.requeues)}     \n"


def decided(cluster: ClusterSpec) -> plan.Plan:
    return plan.plan(chosen("train-0", cluster=cluster), nodes=nodes(train_0=""), jobs=[JOB])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "LOOK_EVERY_S", 0.0)


@pytest.mark.usefixtures("quick")
def test_nodes_are_drained_and_their_jobs_waited_for(cluster: ClusterSpec) -> None:
    said: list[str] = []
    controller: Any = Controller(looks=3)
    order.empty(decided(cluster), Scheduler(controller), requeues=False, wait_s=None, say=said.append)
    assert controller.asked == [f"update nodename=train-0 state=DRAIN reason={REASON}"]
    assert said == ["waiting for a job on train-0 to end: 12 of ada (at most 1:00 left)"], "once, however often it looks"


@pytest.mark.usefixtures("quick")
def test_a_job_is_requeued_once(cluster: ClusterSpec) -> None:
    controller: Any = Controller(looks=9)
    requeued = order.empty(decided(cluster), Scheduler(controller), requeues=True, wait_s=None, say=lambda _: None)
    assert [job.id for job in requeued] == [12]
    assert controller.asked[1:] == ["requeue 12"]


@pytest.mark.usefixtures("quick")
def test_nodes_are_back_in_service_when_jobs_last_too_long(cluster: ClusterSpec) -> None:
    controller: Any = Controller(looks=9, requeues=False)
    with pytest.raises(Problem, match="jobs still run on train-0; nothing was rebuilt"):
        order.empty(decided(cluster), Scheduler(controller), requeues=True, wait_s=0.0, say=lambda _: None)
    assert controller.asked == [f"update nodename=train-0 state=DRAIN reason={REASON}", "update nodename=train-0 state=RESUME"]


@pytest.mark.usefixtures("quick")
def test_a_node_that_was_returned_to_service_meanwhile_is_not_resumed(cluster: ClusterSpec) -> None:
    class Returned(Controller):
        def run(self, argv: Sequence[str]) -> str:
            return "NodeName=train-0 State=MIXED\n" if "nodes" in argv else super().run(argv)

    controller: Any = Returned(looks=9)
    with pytest.raises(Problem, match="jobs still run on train-0"):
        order.empty(decided(cluster), Scheduler(controller), requeues=False, wait_s=0.0, say=lambda _: None)
    assert controller.asked == [f"update nodename=train-0 state=DRAIN reason={REASON}"], "Slurm refuses to resume a node that is in service"


def test_a_refusal_of_slurm_is_a_page(cluster: ClusterSpec) -> None:
    class Refusing(Controller):
        def run(self, argv: Sequence[str]) -> str:
            raise slurm.Unanswered("slurm_update error: Invalid node name specified")

    controller: Any = Refusing(looks=1)
    with pytest.raises(Problem, match="Slurm did not set train-0 to DRAIN") as refused:
        Scheduler(controller).drain(["train-0"])
    assert "Invalid node name" in refused.value.why


@pytest.mark.parametrize("word", ["1", "1w", "soon"])
def test_a_wait_without_unit_is_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(["rebuild", "train-0", "--wait", word])
    assert ended.value.code == 2
    assert "such as 90s, 30m or 1h" in capsys.readouterr().err


# Elastic nodes: Slurm terminates and starts them, and the elastic program works beside the rebuild


class Pool:
    """Slurm and the instances of an elastic pool. `then` is what happens before each look, one after the other."""

    def __init__(self, **states: str):
        self.states = {name.replace("_", "-"): state for name, state in states.items()}
        self.instances: dict[str, str] | None = {name: f"i-{name}" for name in self.states}
        self.asked: list[str] = []
        self.then: list[Callable[[], object]] = []

    def run(self, argv: Sequence[str]) -> str:
        words = [word for word in argv if word != "env" and "=%s" not in word and "LC_ALL" not in word]
        if words[:3] == ["scontrol", "--oneliner", "show"]:
            if self.then:
                self.then.pop(0)()
            return "".join(f"NodeName={name} State={state} Reason={REASON} [root@1]\n" for name, state in self.states.items())
        assert words[:2] == ["scontrol", "update"], words
        self.asked.append(" ".join(word.partition("=")[2] for word in words[2:]))
        return ""

    def becomes(self, name: str, state: str, *, instance: str | None = None) -> None:
        self.states[name] = state
        self.instances = (
            {**(self.instances or {}), name: instance} if instance else {one: known for one, known in (self.instances or {}).items() if one != name}
        )

    @property
    def rebuilt(self) -> restart.Instances:
        return restart.Instances({name: f"i-{name}" for name in self.states}, lambda: self.instances)


def elastic_plan(cluster: ClusterSpec, *names: str, drained: Sequence[str] | None = None) -> plan.Plan:
    hosts = [Host(name, "train", "compute", is_elastic=True) for name in names]
    kept = {name: "bad disk" for name in names if drained is not None and name not in drained}
    return plan.plan(hosts, nodes=nodes(**{name.replace("-", "_"): kept.get(name, "") for name in names}), jobs=())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(restart, "POWERED_WITHIN_S", 2.0)


@pytest.mark.usefixtures("at_once")
def test_slurm_terminates_an_elastic_node_and_starts_it_again(cluster: ClusterSpec) -> None:
    pool: Any = Pool(train_0="IDLE+CLOUD+DRAIN")
    pool.then = [
        lambda: None,
        lambda: pool.becomes("train-0", "IDLE+CLOUD+DRAIN+POWERING_DOWN"),
        lambda: pool.becomes("train-0", "IDLE+CLOUD+DRAIN+POWERED_DOWN"),
        lambda: pool.becomes("train-0", "IDLE+CLOUD+POWERED_DOWN"),
        lambda: pool.becomes("train-0", "IDLE+CLOUD+POWERING_UP", instance="i-new"),
        lambda: pool.becomes("train-0", "IDLE+CLOUD+NOT_RESPONDING", instance="i-new"),
        lambda: pool.becomes("train-0", "IDLE+CLOUD", instance="i-new"),
    ]
    said: list[str] = []
    looked = iter([{"train-0": "i-train-0"}, {"train-0": "i-train-0"}, {}])
    restart.restart(elastic_plan(cluster, "train-0"), Scheduler(pool), restart.Instances({"train-0": "i-train-0"}, lambda: next(looked)), say=said.append)
    assert pool.asked == ["train-0 POWER_DOWN", "train-0 IDLE", "train-0 POWER_UP"], "once each, however often it looks"
    assert said == ["Slurm terminates train-0", "Slurm starts train-0"]
    assert pool.then == [], "it has waited until the node answered"


@pytest.mark.usefixtures("at_once")
def test_a_node_that_the_elastic_program_has_restarted_meanwhile_is_not_terminated_again(cluster: ClusterSpec) -> None:
    pool: Any = Pool(train_0="IDLE+CLOUD+DRAIN", train_1="ALLOCATED+CLOUD")
    pool.becomes("train-1", "ALLOCATED+CLOUD", instance="i-new")
    pool.then = [
        lambda: pool.becomes("train-0", "IDLE+CLOUD+DRAIN", instance="i-train-0"),
        lambda: pool.becomes("train-0", "ALLOCATED+CLOUD", instance="i-newer"),
    ]
    looked = iter([pool.instances, {"train-0": "i-newer", "train-1": "i-new"}])
    instances = restart.Instances({"train-0": "i-train-0", "train-1": "i-train-1"}, lambda: next(looked))
    restart.restart(elastic_plan(cluster, "train-0", "train-1"), Scheduler(pool), instances, say=lambda _: None)
    assert pool.asked == ["train-0 POWER_DOWN"], "it was never seen to be off, and is another instance"


@pytest.mark.usefixtures("at_once")
def test_a_node_that_somebody_else_drained_is_terminated_and_not_started(cluster: ClusterSpec) -> None:
    pool: Any = Pool(train_0="IDLE+CLOUD+DRAIN")
    looked = iter([{"train-0": "i-train-0"}, None, {}])
    instances = restart.Instances({"train-0": "i-train-0"}, lambda: next(looked))
    restart.restart(elastic_plan(cluster, "train-0", drained=()), Scheduler(pool), instances, say=lambda _: None)
    assert pool.asked == ["train-0 POWER_DOWN"]
    assert [*looked] == [], "while the cloud does not answer, the instance counts as there"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(("is_ended", "awaiting"), [(False, "for Slurm to terminate train-0"), (True, "for train-0 to register with Slurm")])
def test_a_node_that_does_not_end_or_start_is_said(is_ended: bool, awaiting: str, cluster: ClusterSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restart, "POWERED_WITHIN_S", 0.0)
    pool: Any = Pool(train_0="IDLE+CLOUD+DRAIN+POWERING_DOWN")
    if is_ended:
        pool.instances = {}
    with pytest.raises(Problem, match=awaiting):
        restart.restart(elastic_plan(cluster, "train-0"), Scheduler(pool), pool.rebuilt, say=lambda _: None)
    assert pool.asked == [], "it is on its way down already"


def test_jobs_of_a_node_that_was_rebuilt_meanwhile_are_not_waited_for(cluster: ClusterSpec) -> None:
    pool: Any = Pool(train_0="ALLOCATED+CLOUD", train_1="ALLOCATED+CLOUD+DRAIN")
    decided = elastic_plan(cluster, "train-0", "train-1")
    assert restart.awaited(decided, Scheduler(pool), pool.rebuilt) == ("train-0", "train-1"), "somebody returned train-0 to service as it was"
    pool.becomes("train-0", "ALLOCATED+CLOUD", instance="i-new")
    assert restart.awaited(decided, Scheduler(pool), pool.rebuilt) == ("train-1",)


def instance(node: str, **more: Any) -> dict[str, Any]:
    return {"type": "aws:ec2/instance:Instance", "urn": f"urn::{node}", "inputs": {"tags": {"clusterwright:node": node}}, **more}


def test_on_aws_the_engine_replaces_the_instances_of_the_hosts() -> None:
    recorded = [instance("login-0"), instance("control-0"), instance("control-0", urn="urn::old", delete=True), {"type": "aws:ec2/vpc:Vpc", "urn": "urn::vpc"}]
    assert on_aws.Rebuild().replaced(["control-0"], recorded) == ("urn::control-0",)
    on_aws.Rebuild().check("test", {"control-0": "control"}, recorded)
    with pytest.raises(errors.RebuildRefused, match="records no instance of login-1"):
        on_aws.Rebuild().check("test", {"login-1": "access"}, recorded)


# Servers: their owner installs them again


def test_nodes_and_login_hosts_of_bare_metal_are_handed_over_and_controllers_are_refused() -> None:
    on_metal.Rebuild().check("lab", {"gpu-001": "compute", "login-1": "access"}, [])
    with pytest.raises(errors.RebuildRefused, match=r"head-\[1-2\] can't be rebuilt") as refused:
        on_metal.Rebuild().check("lab", {"head-1": "control", "gpu-001": "compute", "head-2": "kubernetes"}, [])
    assert "docs/metal.md" in refused.value.remedy


@pytest.mark.parametrize(
    ("names", "nodes_are"),
    [(["train-0"], "train-0 has no jobs and is out"), (["train-0", "train-1", "login-0"], "train-[0-1] have no jobs and are out"), (["login-0"], "")],
)
def test_the_owner_of_servers_is_told_what_to_do(names: list[str], nodes_are: str, cluster: ClusterSpec) -> None:
    hosts = chosen(*names, cluster=cluster)
    shown = "\n".join(plan.lines(plan.plan(hosts, nodes={}, jobs=()), requeues=False, controllers=1, by_owner=True))
    assert "you install it again" in shown
    assert "disk is deleted" not in shown
    said = "\n".join(plan.next_steps(hosts, stack="lab", blueprint="lab.yaml", can_return="train-1" not in names))
    assert ("Without a new system" in said) == (names == ["train-0"])
    assert nodes_are in said
    assert ("out of service" in said) == bool(nodes_are)
    assert "clusterwright lookup hosts lab.yaml " in said
    assert "clusterwright up --stack lab " in said


@pytest.mark.usefixtures("quick")
def test_nodes_of_servers_stay_out_of_service_until_they_register_again(cluster: ClusterSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    class Host(Controller):
        def __init__(self, name: str):
            super().__init__(looks=0)
            self.name = name

        def run(self, argv: Sequence[str]) -> str:
            words = [word for word in argv if word != "env" and "=%s" not in word and "LC_ALL" not in word]
            ran.append(f"{self.name}: {' '.join(words)}")
            if self.name == "train-1":
                raise errors.HostUnanswered("No route to host")
            return super().run(argv)

    monkeypatch.setattr(remote, "session", lambda host, *, private_key: contextlib.nullcontext(Host(host.name)))
    hosts = tuple(KnownHost(name, group, role, "192.0.2.1", "disk", "key") for name, (group, role) in RECORDED.items() if name != "control-1")
    known = Known(cluster, hosts, "", "", "", {}, (), None, ())
    decided = plan.plan(chosen("train-[0-1]", cluster=cluster), nodes=nodes(train_0="", train_1="bad disk"), jobs=())
    orders = order.Order("lab", known, (), decided, ("train",), {}, by_owner=True)
    order.carry_out(orders, requeues=False, wait_s=None, say=lambda _: None)
    changed = [line for line in ran if "update" in line or "systemctl" in line]
    assert changed == [
        f"control-0: scontrol update nodename=train-0 state=DRAIN reason={REASON}",
        "train-0: systemctl disable --now slurmd.service",
        "train-1: systemctl disable --now slurmd.service",
        f"control-0: scontrol update nodename=train-0 state=DOWN reason={REASON}",
        "control-0: scontrol update nodename=train-0 state=UNDRAIN",
    ], "a host without a system does not stop the others, and what somebody else drained stays drained"
