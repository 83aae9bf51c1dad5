"""slurmd's health check on idle nodes: one that lost something drains itself, says why, and comes back when it has it again."""

import json

import pytest

from tests.hosts.deployment import SOON_S, Deployment, wait_until
from tests.hosts.test_acceptance import changed

pytestmark = pytest.mark.hosts

NODE, LOST = "train-1", "/dev/nvidia7"
SAID = "clusterwright: health: 7 of 8 simulated GPUs"
OFTEN = "sed -i s/HealthCheckInterval=300/HealthCheckInterval=2/ /etc/slurm/slurm.conf && scontrol reconfigure"
USUAL = "sed -i s/HealthCheckInterval=2$/HealthCheckInterval=300/ /etc/slurm/slurm.conf && scontrol reconfigure"


def state(stack: Deployment) -> tuple[str, str]:
    shown = stack.ssh(f"sinfo --noheader --nodes={NODE} --format='%t|%E'").strip()
    return shown.partition("|")[0], shown.partition("|")[2]


def test_an_idle_node_that_loses_a_gpu_drains_itself_and_comes_back_with_it(running: Deployment) -> None:
    kind = running.inside(NODE, "stat", "--format=%Hr %Lr", LOST).split()
    with changed(running, "control-0", OFTEN, USUAL):
        try:
            running.inside(NODE, "rm", LOST)
            wait_until(lambda: state(running) == ("drain", SAID), awaiting="the node's own word of what it lost", within_s=SOON_S)
            assert running.ssh("srun --nodes=1 hostname").split() == ["train-0"], "jobs go elsewhere"
            found = json.loads(running.clusterwright("drift", "--layer", "scheduler", "--json").stdout)
            assert [one["where"] for one in found["findings"] if NODE in one["where"]] == [f"node {NODE}: health check"]
        finally:
            running.inside(NODE, "mknod", "-m", "0666", LOST, "c", *kind)
        wait_until(lambda: state(running) == ("idle", "none"), awaiting="the node's return to service", within_s=SOON_S)
        running.inside("control-0", "scontrol", "update", f"nodename={NODE}", "state=drain", "reason=fans")
        try:
            before = running.inside(NODE, "stat", "--format=%Z", "/run/clusterwright/guard-slurm.conf")
            running.inside(NODE, "rm", "/run/clusterwright/health-clear")
            wait_until(
                lambda: running.inside(NODE, "stat", "--format=%Z", "/run/clusterwright/guard-slurm.conf") != before, awaiting="another look", within_s=SOON_S
            )
            assert state(running) == ("drain", "fans"), "a person's word stays"
        finally:
            running.inside("control-0", "scontrol", "update", f"nodename={NODE}", "state=resume")
    running.wait_for_idle(2)
