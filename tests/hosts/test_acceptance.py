"""Acceptance and what users meet: a busy, limited or broken cluster is described, and what its state now is stands beside an older result."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import spec
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

HELLO = r"""
cd /shared && cat > hello.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d\n", sum);
  MPI_Finalize();
  return 0;
}
C
mpicc -o hello hello.c && srun --nodes=2 --ntasks-per-node=1 ./hello; rm -f hello hello.c
"""
LONG = "--wrap 'sleep 600'"


def accepted(stack: Deployment) -> dict[str, list[dict[str, Any]]]:
    """Run the acceptance program where `up` left it, and give its checks by name."""
    view = json.dumps(spec.slurm_view(spec.from_record(stack.outputs()["spec"])))
    document = json.loads(stack.inside("login-0", "sh", "-c", "cd /usr/lib/clusterwright && exec python3 -m acceptance", stdin=view))
    found: dict[str, list[dict[str, Any]]] = {}
    for check in document["checks"]:
        found.setdefault(check["name"], []).append(check)
    assert document["ok"] == (not any(check["verdict"] in ("fail", "error") for check in document["checks"]))
    return found


@contextlib.contextmanager
def changed(stack: Deployment, host: str, begin: str, end: str) -> Iterator[None]:
    """Change something on a host, and put it back."""
    stack.inside_all(host, "sh", "-c", begin)
    try:
        yield
    finally:
        stack.inside_all(host, "sh", "-c", end)


def cancel_all(stack: Deployment) -> None:
    stack.inside("control-0", "scancel", "--user=ada")
    wait_until(lambda: not stack.inside("control-0", "squeue", "--noheader").strip(), awaiting="all jobs to be gone", within_s=SOON_S)
    stack.wait_for_idle(2)


def test_a_user_compiles_an_mpi_program_on_a_login_node_and_runs_it_on_all_nodes(running: Deployment) -> None:
    assert running.ssh(HELLO).split() == ["1", "1"]


def test_shared_storage_is_writable_for_users_who_keep_their_own_files(running: Deployment) -> None:
    assert running.ssh("stat --format='%a %U' /shared /home").splitlines() == ["1777 root", "755 root"]
    assert running.ssh("srun --nodes=2 sh -c 'touch /shared/$(hostname) && rm /shared/$(hostname)' && echo done").strip() == "done"


LIMITS = (
    "sacctmgr --immediate modify qos normal set MaxJobsPerUser=0 MaxSubmitJobsPerUser=0 && "
    "sacctmgr --immediate modify account research set MaxJobs=0 MaxSubmitJobs=0 && sacctmgr --immediate modify account root set GrpJobs=0"
)
NO_LIMITS = (
    "sacctmgr --immediate modify qos normal set MaxJobsPerUser=-1 MaxSubmitJobsPerUser=-1 && "
    "sacctmgr --immediate modify account research set MaxJobs=-1 MaxSubmitJobs=-1 && sacctmgr --immediate modify account root set GrpJobs=-1"
)


def test_limits_of_users_hold_no_acceptance_and_are_shown(running: Deployment) -> None:
    with changed(running, "control-0", LIMITS, NO_LIMITS):
        checks = accepted(running)
    assert [check["verdict"] for check in checks["accounting"]] == ["pass"]
    (user,) = checks["job of a user"]
    assert (user["verdict"], "Limit" in user["detail"]) == ("reported", True)


def test_busy_nodes_are_left_out_and_counted_and_their_jobs_go_on(running: Deployment) -> None:
    job = running.ssh(f"sbatch --parsable --nodelist=train-1 --gpus-per-node=1 {LONG}").strip()
    try:
        wait_until(lambda: running.inside("control-0", "squeue", "--noheader", "--format=%T").split() == ["RUNNING"], awaiting="the job", within_s=SOON_S)
        checks = accepted(running)
        assert [check["measured"] for check in checks["job over all nodes"]] == ["ran on 1 of 2 nodes"]
        assert [check["node"] for check in checks["MPI all-reduce"]] == ["train-0"]
        assert running.inside("control-0", "squeue", "--noheader", f"--jobs={job}", "--format=%T").split() == ["RUNNING"]
    finally:
        cancel_all(running)


def test_a_partition_that_is_down_is_named_with_the_command_that_opens_it(running: Deployment) -> None:
    with changed(running, "control-0", "scontrol update PartitionName=train State=DOWN", "scontrol update PartitionName=train State=UP"):
        (job,) = accepted(running)["job over all nodes"]
    assert (job["verdict"], job["detail"]) == ("fail", "the partition train is DOWN")
    assert "`scontrol update PartitionName=train State=UP`" in job["look_at"]


@pytest.mark.parametrize(
    ("begin", "end", "name", "verdict", "words"),
    [
        ("systemctl stop munge", "systemctl start munge", "Slurm answers", "error", "MUNGE on login-0 does not work"),
        ("mv /var/lib/extrausers /var/lib/away", "mv /var/lib/away /var/lib/extrausers", "job of a user", "fail", "this host does not know the user ada"),
    ],
    ids=["MUNGE does not run", "users are unknown"],
)
def test_a_broken_login_node_is_a_finding_and_no_traceback(running: Deployment, begin: str, end: str, name: str, verdict: str, words: str) -> None:
    with changed(running, "login-0", begin, end):
        (check, *_) = accepted(running)[name]
    assert (check["verdict"], words in check["detail"]) == (verdict, True), check
    assert check["look_at"]


def test_accounting_that_does_not_answer_is_a_finding_beside_the_others(running: Deployment) -> None:
    with changed(running, "control-0", "systemctl stop slurmdbd", "systemctl start slurmdbd"):
        checks = accepted(running)
    assert [check["verdict"] for check in checks["accounting"]] == ["error"]
    assert [check["verdict"] for check in checks["MPI all-reduce"]] == ["pass"]


def test_a_node_that_was_drained_since_is_shown_and_makes_acceptance_run_again(running: Deployment) -> None:
    drain, resume = "scontrol update NodeName=train-1 State=DRAIN Reason=bars", "scontrol update NodeName=train-1 State=RESUME"
    with changed(running, "control-0", drain, resume):
        shown = running.clusterwright("summary").stdout
        assert "is up, but 1 of 2 nodes takes no jobs" in shown
        assert "out of date: train-1 is drained (bars, by root at " in shown
        assert running.preview_changes() == {"update": 1}
        done = running.clusterwright("up")
        assert done.returncode == 1
        assert f"`{resume}`" in done.stdout, "what ends it"
    running.up()
    assert running.preview_changes() == {}
    assert "Checked 20" in running.clusterwright("summary").stdout
