"""Jobs on real Slurm get their fabric's variables. No fabric is on this machine: the stack's own spec gets variables that a fabric would set, and the roles configure the controller from it."""

import json
import shlex
import threading
from collections.abc import Iterator

import pytest

from components.finish import group
from components.inspection import record
from components.provider.kind import Work
from stacks.drift import repair
from tests.hosts.deployment import Deployment
from tests.hosts.test_acceptance import accepted, changed

pytestmark = pytest.mark.hosts

ENVIRONMENT = {"FI_EFA_USE_HUGE_PAGE": "0", "LD_LIBRARY_PATH": "/opt/fabric/lib", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
SHOW = "sh -c " + shlex.quote(f"env | grep -E '^({'|'.join(ENVIRONMENT)})='; true")
ALL = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
BATCH = "sbatch --quiet --wait --nodes=2 --ntasks-per-node=1 --output=out.txt"
FILE = "/var/lib/clusterwright/cluster/jobs/environment"


def configured(stack: Deployment, environment: dict[str, str]) -> None:
    """Configure the controller from the recorded spec with these variables."""
    exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack)
    recorded = dict(repair.recorded_groups(record.read(json.loads(exported.stdout)))["control"])
    view = json.loads(json.dumps(recorded["spec"]))
    for node_set in view["slurm"]["node_sets"]:
        node_set.update({"environment": environment} if environment else {})
    work = Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=300, purpose="environment of jobs")
    outcome = group.finish_again({**recorded, "spec": view}, ["control-0"], work)
    assert outcome.ok, outcome
    stack.wait_for_idle(2)


@pytest.fixture(scope="module")
def with_fabric(running: Deployment) -> Iterator[Deployment]:
    configured(running, ENVIRONMENT)
    try:
        yield running
    finally:
        configured(running, {})


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (f"srun --nodes=2 --ntasks-per-node=1 {SHOW}", sorted(ALL * 2)),
        (f"srun --nodes=1 {SHOW}", []),
        (f"CLUSTERWRIGHT_FABRIC=none srun --nodes=2 --ntasks-per-node=1 {SHOW}", []),
        (
            f"FI_EFA_USE_HUGE_PAGE=1 LD_LIBRARY_PATH=/my srun --nodes=2 {SHOW}",
            sorted(["FI_EFA_USE_HUGE_PAGE=1", "LD_LIBRARY_PATH=/my:/opt/fabric/lib", ALL[2]] * 2),
        ),
        (f"{BATCH} --wrap {shlex.quote(SHOW)} && cat out.txt", ALL),
        (f"{BATCH} --wrap {shlex.quote(f'NCCL_SOCKET_IFNAME=own srun {SHOW}')} && cat out.txt", sorted([*ALL[:2], "NCCL_SOCKET_IFNAME=own"] * 2)),
        (f"{BATCH} --wrap {shlex.quote(f'mpirun --map-by ppr:1:node {SHOW}')} && cat out.txt", sorted(ALL * 2)),
        (f"salloc --quiet --nodes=2 srun --ntasks-per-node=1 {SHOW}", sorted(ALL * 2)),
    ],
    ids=["srun", "one node", "a job that wants none", "a user's own values", "a batch script", "a step of a batch script", "mpirun", "salloc"],
)
def test_a_job_over_several_nodes_has_what_its_fabric_needs(with_fabric: Deployment, command: str, lines: list[str]) -> None:
    # Open MPI puts its own folder before the others on nodes that it starts its daemon on.
    found = [line.replace("=/usr/lib:", "=") for line in with_fabric.ssh(command).splitlines()]
    assert sorted(found) == sorted(lines)


def test_acceptance_says_whether_jobs_have_it_and_who_set_another_value(with_fabric: Deployment) -> None:
    exported = with_fabric.run("pulumi", "stack", "export", "--show-secrets", "--stack", with_fabric.stack)
    view = json.loads(json.dumps(repair.recorded_groups(record.read(json.loads(exported.stdout)))["control"]["spec"]))["slurm"]
    for node_set in view["node_sets"]:
        node_set["environment"] = ENVIRONMENT

    def judged() -> list[tuple[str, str, str]]:
        return [(check["node"], check["measured"], check["verdict"]) for check in accepted(with_fabric, slurm=view)["environment of jobs"]]

    with_fabric.wait_for_idle(2)
    assert judged() == [("train-[0-1]", "3 variables of the fabric", "pass")]
    with changed(with_fabric, "control-0", f"sed -i.kept s/PAGE=0/PAGE=1/ {FILE}", f"mv {FILE}.kept {FILE}"):
        assert judged() == [("train-[0-1]", "1 with another value", "reported")]
    with changed(with_fabric, "control-0", f"mv {FILE} {FILE}.kept", f"mv {FILE}.kept {FILE}"):
        assert judged() == [("train-[0-1]", "lacks FI_EFA_USE_HUGE_PAGE, LD_LIBRARY_PATH, NCCL_SOCKET_IFNAME", "fail")]
