"""Elastic pools with real jobs: hosts come when a job wants them, go when nobody does, and are replaced when they die; the service that has them serves its own controller only."""

import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.local.elastic import fleet as service
from components.local.machine import command, record, sweep
from components.local.machine import host as hosts
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts

IDLE_WITHIN_S = 180  # a minute idle (target.py), Slurm's own look every few seconds, and the stop
IDLE_S = 10
REPLACED_WITHIN_S = 300  # the program's look every 30 s, the stop, and the boot


@pytest.fixture
def stack(elastic_pool: Deployment) -> Deployment:
    return elastic_pool


@contextlib.contextmanager
def idle_time(stack: Deployment, seconds: int) -> Iterator[None]:
    """Let idle hosts go after seconds: waiting for the cluster's own minute would prove nothing more."""

    def configure(value: int) -> None:
        slurm(stack, "sed", "--in-place", f"s/^SuspendTime=.*/SuspendTime={value}/", "/etc/slurm/slurm.conf")
        wait_until(lambda: reconfigured(stack), awaiting="slurmctld to read its configuration", within_s=SOON_S)

    before = int(slurm(stack, "sed", "--quiet", "s/^SuspendTime=//p", "/etc/slurm/slurm.conf"))
    configure(seconds)
    try:
        yield
    finally:
        configure(before)


def reconfigured(stack: Deployment) -> bool:
    """Say whether slurmctld answered in time; on a loaded machine it may not, and is asked again."""
    with contextlib.suppress(command.CommandFailed):
        slurm(stack, "scontrol", "reconfigure")
        return True
    return False


def slurm(stack: Deployment, *argv: str) -> str:
    return stack.inside("control-0", *argv).strip()


def state(stack: Deployment, job: str) -> str:
    """The job's state; a job that ended otherwise than well is waited for no longer."""
    said = slurm(stack, "squeue", "--noheader", f"--jobs={job}", "--format=%T", "--states=all")
    assert said not in ("FAILED", "NODE_FAIL", "CANCELLED"), said
    return said


def elastic(stack: Deployment, *words: str) -> str:
    """Run the program in the controller, as its root does."""
    return slurm(stack, "systemd-run", "--quiet", "--wait", "--pipe", "clusterwright-elastic", *words)


def log(stack: Deployment) -> str:
    return slurm(stack, "journalctl", "--no-pager", "--output=cat", "--identifier=clusterwright-elastic") + slurm(
        stack, "journalctl", "--no-pager", "--output=cat", "--unit=clusterwright-elastic.service"
    )


def test_nothing_stands_before_a_job_wants_it(stack: Deployment) -> None:
    assert stack.standing("train") == set()
    assert {check["name"]: check["verdict"] for check in stack.outputs()["acceptance"]} == {"nodes on demand": "reported"}


def test_a_job_of_two_nodes_starts_two_hosts(stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --wait --nodes=2 --gpus-per-node=8 --wrap 'srun hostname'").strip()
    assert stack.ssh(f"sort slurm-{job}.out").split() == ["train-0", "train-1"]
    assert stack.standing("train") == {"train-0", "train-1"}
    assert "launch train-[0-1] for job" in log(stack)


@pytest.mark.soak
def test_nodes_that_slurm_reboots_or_that_are_powered_off_inside_return_to_service(stack: Deployment) -> None:
    with idle_time(stack, IDLE_WITHIN_S):
        stack.ssh("srun --nodes=2 true")
        before = {name: hosts.boot_mark(stack.host(name)) for name in ("train-0", "train-1")}
        slurm(stack, "scontrol", "reboot", "ASAP", "nextstate=RESUME", "train-0")
        stack.inside_all("train-1", "systemctl", "poweroff")
        wait_until(lambda: all(hosts.boot_mark(stack.host(name)) != mark for name, mark in before.items()), awaiting="other boots", within_s=SOON_S)
        assert stack.ssh("srun --nodes=2 hostname | sort").split() == ["train-0", "train-1"]
        assert slurm(stack, "sinfo", "--noheader", "--list-reasons") == "", "the nodes are in service"


LONG_UNLESS_REQUEUED = "[ ${SLURM_RESTART_COUNT:-0} -gt 0 ] || sleep 600; srun hostname"
"""What a job does that is there however late it is interrupted."""


def test_a_node_is_rebuilt_and_its_job_runs_again(stack: Deployment) -> None:
    job = stack.ssh(f"sbatch --parsable --requeue --nodes=1 --wrap '{LONG_UNLESS_REQUEUED}'").strip()
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to run", within_s=120)
    node = slurm(stack, "squeue", "--noheader", f"--jobs={job}", "--format=%N")
    first = record.read(stack.host(node).launch)
    done = stack.clusterwright("rebuild", node, "--requeue", "--yes")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"job {job} of ada" in done.stdout
    assert "it is put back into the queue" in done.stdout
    assert record.read(stack.host(node).launch) != first, "another host of the name runs"
    wait_until(lambda: state(stack, job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    assert slurm(stack, "sinfo", "--noheader", "--list-reasons") == "", "the node is in service"


def test_idle_hosts_go(stack: Deployment) -> None:
    with idle_time(stack, IDLE_S):
        wait_until(lambda: not stack.standing("train"), awaiting="idle hosts to go", within_s=IDLE_WITHIN_S)
    assert stack.preview_changes() == {}, "hosts that come and go are no drift"


@pytest.mark.soak
def test_a_node_that_slurm_itself_drains_is_made_anew_and_a_person_s_stays(stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'sleep 20'").strip()
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to run", within_s=120)
    slurm(stack, "scontrol", "update", "nodename=train-0", "state=drain", "reason=ada looks at the fans")
    # Signed as slurmctld signs its own, in words that nobody has listed.
    told = ("scontrol", "update", "nodename=train-1", "state=drain", "reason=something is broken")
    slurm(stack, "systemd-run", "--quiet", "--wait", "--pipe", "--uid=slurm", *told)
    wait_until(lambda: state(stack, job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    wait_until(lambda: stack.standing("train") == {"train-0"}, awaiting="the drained node to be switched off", within_s=IDLE_WITHIN_S)
    assert "Slurm drained it: something is broken" in log(stack)
    wait_until(
        lambda: slurm(stack, "sinfo", "--noheader", "--nodes=train-1", "--format=%T") == "idle~", awaiting="the node to be fit for use", within_s=IDLE_WITHIN_S
    )
    slurm(stack, "scontrol", "update", "nodename=train-0", "state=resume")
    wait_until(lambda: not stack.standing("train"), awaiting="idle hosts to go", within_s=IDLE_WITHIN_S)


@pytest.mark.soak
def test_a_host_that_dies_under_a_job_is_replaced_and_the_job_runs(stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --nodes=2 --requeue --wrap 'sleep 60; srun hostname'").strip()
    wait_until(lambda: state(stack, job) == "RUNNING", awaiting="the job to run", within_s=120)
    before = stack.host("train-1").launch
    first = record.read(before)
    stack.cut_power("train-1")
    wait_until(lambda: "its instance is gone" in log(stack), awaiting="the loss to be seen", within_s=REPLACED_WITHIN_S)
    wait_until(lambda: state(stack, job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    assert sorted(stack.ssh(f"cat slurm-{job}.out").split()[-2:]) == ["train-0", "train-1"]
    assert record.read(before) != first, "it runs on another host of the name"


@pytest.mark.soak
def test_without_capacity_the_job_waits_with_a_reason_and_starts_when_there_is_some(stack: Deployment) -> None:
    wait_until(lambda: not stack.standing("train"), awaiting="idle hosts to go", within_s=IDLE_WITHIN_S)
    shortage = stack.names.elastic / service.SHORTAGE
    record.write(shortage, {"train": 1})
    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'srun hostname'").strip()
    wait_until(lambda: "no capacity" in slurm(stack, "sinfo", "--noheader", "--format=%E"), awaiting="the node set to be held", within_s=REPLACED_WITHIN_S)
    assert stack.standing("train") == set(), "half of a job is none of it"
    assert state(stack, job) == "PENDING"
    held = json.loads(elastic(stack, "status", "--json"))["node_sets"][0]["held"]
    assert "this machine has room for 1 more hosts of train" in held["reason"]
    shortage.unlink()
    elastic(stack, "release", "train")
    wait_until(lambda: state(stack, job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)


# Who may ask


def ask(question: dict[str, Any], *, at: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(at)
        connection.sendall(json.dumps(question).encode() + b"\n")
        answer: dict[str, Any] = json.loads(connection.makefile("rb").readline())
    return answer


ASK = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("/var/lib/clusterwright/elastic/socket")
connection.sendall(sys.argv[1].encode() + b"\\n")
print(connection.makefile().readline())
"""


def ask_inside(stack: Deployment, question: dict[str, Any], *options: str) -> dict[str, Any]:
    said = slurm(stack, "systemd-run", "--quiet", "--wait", "--pipe", *options, "python3", "-c", ASK, json.dumps(question))
    answer: dict[str, Any] = json.loads(said)
    return answer


def test_the_service_serves_nobody_but_its_controller(stack: Deployment) -> None:
    with contextlib.chdir(stack.names.door):  # a socket's path is short
        refused = ask({"do": "list"}, at="socket")
    assert "is not a controller" in refused["error"], "root of the machine itself is not a controller either"
    assert "is not a controller" in ask_inside(stack, {"do": "list"}, "--uid=nobody")["error"]
    assert "instances" in ask_inside(stack, {"do": "list"}, "--uid=slurm")
    assert not stack.host("login-0").root.joinpath("var/lib/clusterwright/elastic/socket").exists(), "no other host has it mounted"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"do": "launch", "node_set": "control", "nodes": ["control-0"], "token": "x", "whole": True}, "no elastic pool control"),
        ({"do": "launch", "node_set": "train", "nodes": ["login-0"], "token": "x", "whole": True}, "not in elastic pool train"),
        ({"do": "launch", "node_set": "train", "nodes": ["train-2"], "token": "x", "whole": True}, "not in elastic pool train"),
        ({"do": "launch", "node_set": "train", "nodes": ["train-../../etc"], "token": "x", "whole": True}, "not in elastic pool train"),
        ({"do": "launch", "node_set": "train", "nodes": "train-0", "token": "x"}, "not a list of strings"),
        ({"do": "rm"}, "this service knows no request"),
    ],
)
def test_the_service_refuses_what_is_not_its_own(stack: Deployment, question: dict[str, Any], said: str) -> None:
    before = stack.leaders()
    assert said in ask_inside(stack, question)["error"]
    assert {name for name in stack.leaders() if not name.startswith("train-")} == {name for name in before if not name.startswith("train-")}


def test_hosts_that_are_not_of_a_pool_cannot_be_ended(stack: Deployment) -> None:
    identity = json.loads(stack.host("login-0").record.read_text())["incarnation"]
    assert ask_inside(stack, {"do": "terminate", "instances": [identity]}) == {}
    assert "login-0" in stack.leaders()


def test_a_dead_service_is_drift_and_mended(stack: Deployment) -> None:
    os.kill(json.loads(stack.names.service_record.read_text())["pid"], signal.SIGKILL)
    assert stack.preview_changes().get("update", 0) >= 1
    stack.up()
    assert "instances" in ask_inside(stack, {"do": "list"})


@pytest.mark.soak
def test_nodes_that_always_run_stand_after_up_and_down_leaves_nothing(tmp_path: Path) -> None:
    with deployment("test-minimum", tmp_path, set={"pools.train.nodes": {"min": 1, "max": 3}}) as stack:
        stack.up()
        assert "train-0" in stack.standing("train")
        verdicts = {check["name"]: (check["node"], check["verdict"]) for check in stack.outputs()["acceptance"]}
        assert verdicts["node state"] == ("train-0", "pass")
        stack.cut_power("train-0")
        wait_until(
            lambda: "train-0" in stack.leaders() and slurm(stack, "sinfo", "--noheader", "--nodes=train-0", "--format=%T") == "idle",
            awaiting="the minimum to stand again",
            within_s=REPLACED_WITHIN_S,
        )
        stack.down()
        assert sweep.left_behind(stack.names) == ()
        assert f"components.local.elastic {stack.stack}" not in command.run("ps", "-eo", "args")
