"""`clusterwright rebuild` on real hosts: what is rebuilt is new, what has to stay stays, and drift finds nothing afterwards."""

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from blueprints.project import project_root
from components.local.machine import host as hosts
from components.local.machine import sweep
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("test-rebuild", tmp_path_factory.mktemp("rebuild")) as one:
        one.up()
        yield one


def rebuild(stack: Deployment, *words: str) -> str:
    done = stack.clusterwright("rebuild", *words)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def incarnations(stack: Deployment) -> dict[str, str]:
    """Host → its disk."""
    return {one["name"]: one["incarnation"] for group in stack.outputs()["inventory"].values() for one in group}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


def slurm(stack: Deployment, *argv: str) -> str:
    return stack.inside("control-0", *argv).strip()


def test_a_node_with_a_job_is_rebuilt_and_the_job_runs_again(stack: Deployment) -> None:
    before = incarnations(stack)
    stack.inside("train-0", "sh", "-c", "echo broken > /etc/munge/munge.key; echo 'sshd: ALL' > /etc/hosts.deny")
    job = stack.ssh("sbatch --parsable --requeue --nodelist=train-0 --wrap 'sleep 30'").strip()
    wait_until(lambda: slurm(stack, "squeue", "--noheader", f"--jobs={job}", "--format=%T") == "RUNNING", awaiting="the job", within_s=SOON_S)
    said = rebuild(stack, "train-0", "--requeue", "--yes")
    assert f"job {job} of ada" in said
    assert "it is put back into the queue" in said
    assert changed(before, incarnations(stack)) == {"train-0"}
    wait_until(
        lambda: slurm(stack, "sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=State") == "COMPLETED",
        awaiting="the job to run again at once, and to its end",
        within_s=90,
    )
    stack.wait_for_idle(2)
    assert slurm(stack, "sinfo", "--noheader", "--list-reasons") == ""


def test_controller_and_login_node_keep_what_users_rely_on(stack: Deployment) -> None:
    before, key, counted = incarnations(stack), stack.outputs()["login"]["host_key"], slurm(stack, "sacct", "--noheader", "--allocations", "--allusers")
    assert counted
    rebuild(stack, "control-0", "login-0", "--yes")
    assert changed(before, incarnations(stack)) == {"control-0", "login-0"}
    assert stack.outputs()["login"]["host_key"] == key
    assert slurm(stack, "sacct", "--noheader", "--allocations", "--allusers").startswith(counted)
    assert stack.ssh("srun --nodes=2 hostname | sort").split() == ["train-0", "train-1"]


def test_drift_finds_nothing_after_rebuilds(stack: Deployment) -> None:
    stack.wait_for_idle(2)
    done = stack.clusterwright("drift")
    assert done.returncode == 0, done.stdout
    assert stack.preview_changes() == {}


def test_a_rebuild_that_was_killed_goes_on_when_it_is_run_again_and_nobody_else_starts_one_meanwhile(stack: Deployment) -> None:
    before = incarnations(stack)
    job = stack.ssh("sbatch --parsable --nodelist=train-1 --wrap 'sleep 600'").strip()
    wait_until(lambda: slurm(stack, "squeue", "--noheader", f"--jobs={job}", "--format=%T") == "RUNNING", awaiting="the job", within_s=SOON_S)
    argv = ["clusterwright", "rebuild", "--stack", stack.stack, "train-1", "--yes"]
    with subprocess.Popen(argv, cwd=project_root(), env=stack.environment, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout
        next(line for line in waiting.stdout if line.startswith("waiting for a job on train-1"))
        second = stack.clusterwright("rebuild", "train-0", "--yes")
        assert second.returncode == 1
        assert f"process {waiting.pid}" in second.stderr
        assert "rebuild" in second.stderr
        os.kill(waiting.pid, signal.SIGKILL)
    assert slurm(stack, "sinfo", "--noheader", "--nodes=train-1", "--format=%T %E") == "draining clusterwright: rebuild"
    gave_up = stack.clusterwright("rebuild", "train-1", "--wait", "1s", "--yes")
    assert gave_up.returncode == 1
    assert "jobs still run on train-1; nothing was rebuilt" in gave_up.stderr
    assert slurm(stack, "sinfo", "--noheader", "--nodes=train-1", "--format=%E") == "none", "it is back in service"
    slurm(stack, "scancel", job)
    rebuild(stack, "train-1", "--yes")
    assert changed(before, incarnations(stack)) == {"train-1"}


def test_a_host_that_reboots_while_its_stack_is_deleted_leaves_nothing(stack: Deployment) -> None:
    mark = hosts.boot_mark(stack.host("train-0"))
    leader = stack.leaders()["train-0"]
    stack.inside_all("train-0", "systemctl", "reboot", "--force")
    wait_until(lambda: hosts.start_time(leader) != mark, awaiting="the end of the container", within_s=SOON_S)
    assert hosts.is_running(stack.host("train-0")), "it is between two boots"
    stack.down()
    assert sweep.left_behind(stack.names) == ()
