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


def accepted(stack: Deployment, **changes: Any) -> dict[str, list[dict[str, Any]]]:
    """Run the acceptance program where `up` left it, and give its checks by name.

    Args:
        changes: what the view has beside the stack's own.
    """
    view = json.dumps({**spec.acceptance_view(spec.from_record(stack.outputs()["spec"])), **changes})
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


FABRIC = {
    "fabric": {
        "title": "InfiniBand NDR",
        "nics": 8,
        "log_line": "NET/IB",
        "bad_log_lines": ["NET/Socket"],
        "direct": True,
        "environment": {"NCCL_IB_QPS_PER_CONNECTION": "4"},
        "environment_script": "",
    },
    "collectives": [
        {"collective": "all_reduce", "size_bytes": 8 << 30, "nodes": nodes, "typical_gbs": typical, "warn_gbs": warn, "floor_gbs": floor, **rest}
        for nodes, typical, warn, floor in ((1, 479, 455, 430), (2, 467, 444, 420))
        for rest in ({"provisional": False, "source": "skypilot-infiniband", "note": ""},)
    ],
}
"""What acceptance demands of two nodes with eight H100 and InfiniBand each (blueprints/catalog/fabrics.yaml)."""
HARDWARE = {
    "nics": 8,
    "network": "IB",
    "busbw": {"all_reduce": {"1": 478.9, "2": 467.4}},
    "log": ["NET/IB : Using {list} [RO]; OOB eth0:192.0.2.1<0>", "Using network IB"],
}
UNFIT = {"test": "memory", "gpu": 3, "severity": 2, "category": 10, "id": 5, "words": "GPU 3 has 1 volatile DBEs"}
DESCRIPTION = "/etc/clusterwright/simulated-fabric.json"


@contextlib.contextmanager
def described(stack: Deployment, **faults: Any) -> Iterator[None]:
    """Describe the nodes' simulated hardware; `train_1={...}` puts faults into one node."""
    for node in ("train-0", "train-1"):
        stack.inside(node, "tee", DESCRIPTION, stdin=json.dumps({**HARDWARE, "faults": faults.get(node.replace("-", "_"), {})}))
    try:
        yield
    finally:
        stack.inside_all("train-0", "rm", "-f", DESCRIPTION)
        stack.inside_all("train-1", "rm", "-f", DESCRIPTION)


def shown(checks: dict[str, list[dict[str, Any]]], name: str) -> list[tuple[str, str, str]]:
    return [(check["node"], check["measured"], check["verdict"]) for check in checks[name]]


def test_collectives_run_through_slurm_and_healthy_simulated_hardware_passes(running: Deployment) -> None:
    with described(running):
        checks = accepted(running, fabrics={"train": FABRIC}, diagnostics={"train": 1})
    assert shown(checks, "GPU diagnostics") == [("train-[0-1]", "passed: software", "pass")]
    assert shown(checks, "collective busbw") == [("train-[0-1]", "478.9", "pass"), ("train-[0-1]", "467.4", "pass")]
    assert shown(checks, "collective transport") == [("train-[0-1]", "NET/IB", "pass")]
    assert {check["verdict"] for check in checks["collective values"]} == {"pass"}
    assert all("simulated" in check["detail"] for check in checks["collective busbw"] + checks["GPU diagnostics"])


@pytest.mark.parametrize(
    ("faults", "name", "found"),
    [
        ({"nics": 7}, "collective transport", ("train-1", "7 of 8 NICs", "fail")),
        ({"socket": True}, "collective transport", ("train-1", "plain TCP (NET/Socket)", "fail")),
        ({"direct": False}, "collective transport", ("train-1", "without GPUDirect RDMA", "fail")),
        ({"rail": 0.5}, "collective busbw", ("train-[0-1]", "233.7", "fail")),
        ({"throttled": 0.65}, "collective busbw", ("train-1", "311.28", "fail")),
        ({"wrong_values": 3}, "collective values", ("train-1", "6 wrong values", "fail")),
        ({"dcgm": [UNFIT]}, "GPU diagnostics", ("train-1", "memory of GPU 3: GPU 3 has 1 volatile DBEs", "fail")),
        ({"dcgm_engine": False}, "GPU diagnostics", ("train-1", "not judged", "warn")),
        ({"crash": "unhandled system error"}, "collective busbw", ("train-1", "no result", "fail")),
    ],
    ids=[
        "seven NICs",
        "plain TCP",
        "no GPUDirect RDMA",
        "a slow rail",
        "a throttled GPU",
        "wrong values",
        "a GPU that DCGM calls unfit",
        "no engine of DCGM",
        "a crash",
    ],
)
@pytest.mark.soak
def test_a_fault_of_one_node_is_found_with_its_reason(running: Deployment, faults: dict[str, Any], name: str, found: tuple[str, str, str]) -> None:
    with described(running, train_1=faults):
        checks = accepted(running, fabrics={"train": FABRIC}, diagnostics={"train": 2})
    assert found in shown(checks, name)


def test_a_gate_decides_what_fails(running: Deployment) -> None:
    with described(running, train_1={"rail": 0.5}):
        checks = accepted(running, fabrics={"train": FABRIC}, gate=["nodes", "gpus", "jobs"])
    assert ("train-[0-1]", "233.7", "warn") in shown(checks, "collective busbw")


def test_every_node_writes_to_shared_storage_and_reads_what_another_one_wrote(running: Deployment) -> None:
    checks = accepted(running)
    assert shown(checks, "storage values") == [("train-[0-1]", f"0 wrong blocks on {mount}", "pass") for mount in ("/home", "/shared")]
    assert {check["verdict"] for name in ("storage write", "storage read", "storage metadata") for check in checks[name]} == {"reported"}
    assert running.ssh("ls -A /shared ~ | grep acceptance; true") == "", "nothing is left"


def test_a_figure_of_the_product_is_a_floor(running: Deployment) -> None:
    (check, *_) = [
        one for one in accepted(running, file_systems={"/shared": {"kind": "lustre", "throughput_mbs": 1e9}})["storage write"] if "/shared" in one["expected"]
    ]
    assert (check["expected"], check["verdict"] in ("pass", "warn", "fail")) == ("/shared: 80 MB/s at least", True)


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
    assert [(check["verdict"], check["detail"]) for check in checks["MPI all-reduce"] if check["verdict"] != "pass"] == []


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


def test_acceptance_on_demand_runs_leaves_a_record_and_says_by_its_status_what_it_found(running: Deployment) -> None:
    passed = running.clusterwright("accept", "--pool", "train", "--json")
    assert (passed.returncode, json.loads(passed.stdout)["ok"], json.loads(passed.stdout)["pools"]) == (0, True, ["train"])
    with changed(running, "control-0", "scontrol update PartitionName=train State=DOWN", "scontrol update PartitionName=train State=UP"):
        failed = running.clusterwright("accept")
    assert failed.returncode == 1
    assert "job over all nodes (train-[0-1]): does not start, fail" in failed.stdout
    kept = json.loads(running.clusterwright("accept", "--history", "--json").stdout)
    assert [(one["pools"], one["ok"]) for one in kept][-2:] == [(["train"], True), ([], False)]
    assert running.clusterwright("accept", "--pool", "trane").returncode == 2
