"""A host that lacks what its node should have: Slurm is told why, gives it no jobs, and has it back when it is whole."""

import json

import pytest

from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

NODE, LOST = "train-1", "/dev/nvidia7"
SAID = "clusterwright: start guard: 7 of 8 simulated GPUs"


def reason(stack: Deployment) -> str:
    return stack.ssh(f"sinfo --noheader --nodes={NODE} --format=%E").strip()


def test_a_node_without_one_of_its_gpus_takes_no_jobs_until_it_has_it_again(running: Deployment) -> None:
    kind = running.inside(NODE, "stat", "--format=%Hr %Lr", LOST).split()
    try:
        running.inside(NODE, "rm", LOST)
        running.inside_all(NODE, "systemctl", "restart", "--no-block", "clusterwright-guard.service", "slurmd.service")
        wait_until(lambda: reason(running) == SAID, awaiting="the node's own word of what it lacks", within_s=SOON_S)
        assert running.ssh(f"sinfo --noheader --nodes={NODE} --format=%T").strip().startswith("down")
        assert running.ssh("srun --nodes=1 hostname").split() == ["train-0"]
        found = json.loads(running.clusterwright("drift", "--layer", "scheduler", "--json").stdout)
        assert [(one["code"], one["where"]) for one in found["findings"]] == [("CW756", f"node {NODE}: start guard")]
        assert "7 of 8 simulated GPUs" in found["findings"][0]["what"]
    finally:
        running.inside(NODE, "mknod", "-m", "0666", LOST, "c", *kind)
        running.inside_all(NODE, "systemctl", "start", "--no-block", "slurmd.service")
    running.wait_for_idle(2)
    assert reason(running) == "none"
