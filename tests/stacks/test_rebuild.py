"""What a rebuild decides: which hosts, in which order, what happens to jobs and to nodes that somebody else drained, and what it refuses."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from blueprints.load import load
from blueprints.spec import ClusterSpec
from components import errors, this_machine
from components.aws import rebuild as on_aws
from components.elastic import slurm
from components.elastic.model import Node
from stacks.cli import main
from stacks.errors import Problem
from stacks.rebuild import order, plan
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


def instance(node: str, **more: Any) -> dict[str, Any]:
    return {"type": "aws:ec2/instance:Instance", "urn": f"urn::{node}", "inputs": {"tags": {"clusterwright:node": node}}, **more}


def test_on_aws_the_engine_replaces_the_instances_of_the_hosts() -> None:
    recorded = [instance("login-0"), instance("control-0"), instance("control-0", urn="urn::old", delete=True), {"type": "aws:ec2/vpc:Vpc", "urn": "urn::vpc"}]
    assert on_aws.Rebuild().replaced(["control-0"], recorded) == ("urn::control-0",)
    on_aws.Rebuild().check("test", ["control-0"], recorded)
    with pytest.raises(errors.RebuildRefused, match="records no instance of login-1"):
        on_aws.Rebuild().check("test", ["login-1"], recorded)
