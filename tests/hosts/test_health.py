"""slurmd's health check on idle nodes and after jobs: a node that lost something drains or reboots itself, says why, and comes back when it has it again."""

import contextlib
import json
from collections.abc import Iterator

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


EXPECTED = "/etc/clusterwright/expected.json"
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1122, GPU has fallen off the bus."


@contextlib.contextmanager
def expecting(stack: Deployment, **settings: str) -> Iterator[None]:
    """Let the node look as another `health` of its pool would have it; as before at the end."""
    before = stack.inside(NODE, "cat", EXPECTED)
    stack.inside(NODE, "tee", EXPECTED, stdin=json.dumps({**json.loads(before), **settings}))
    try:
        yield
    finally:
        stack.inside(NODE, "tee", EXPECTED, stdin=before)


def test_after_a_job_a_node_with_an_error_of_a_gpu_drains_itself_until_the_repair(running: Deployment) -> None:
    with expecting(running, check="full"):
        running.ssh(f"srun --nodelist={NODE} hostname")
        wait_until(
            lambda: state(running) == ("idle", "none"), awaiting="the look after the job: a simulated GPU has no driver that could be asked", within_s=SOON_S
        )
        running.inside(NODE, "logger", "--tag", "kernel", XID)
        running.ssh(f"srun --nodelist={NODE} hostname")
        said = "clusterwright: health: simulated GPU 0000:3b:00: Xid 79: GPU has fallen off the bus (reboot)"
        wait_until(lambda: state(running) == ("drain", said), awaiting="the look after the job", within_s=SOON_S)
        with changed(running, "control-0", OFTEN, USUAL):
            running.inside(NODE, "systemctl", "restart", "clusterwright-guard", "slurmd")
            wait_until(lambda: state(running) == ("idle", "none"), awaiting="the return after the repair", within_s=SOON_S)
    running.wait_for_idle(2)


def booted(stack: Deployment) -> str:
    """When the node booted, as Slurm knows it."""
    shown = stack.ssh(f"scontrol --oneliner show node {NODE}")
    return next(word for word in shown.split() if word.startswith("BootTime="))


def test_a_node_of_a_pool_that_says_so_reboots_for_what_it_lost(running: Deployment) -> None:
    with expecting(running, on_failure="reboot"):
        before = booted(running)
        running.inside(NODE, "rm", LOST)
        running.ssh(f"srun --nodelist={NODE} hostname")
        wait_until(lambda: booted(running) != before, awaiting="the reboot", within_s=SOON_S)
        wait_until(lambda: state(running) == ("idle", "none"), awaiting="the node's return", within_s=SOON_S)
        assert running.inside(NODE, "stat", "--format=%F", LOST).strip() == "character special file"
    running.inside(NODE, "rm", "/var/lib/clusterwright/health-reboots")
    running.up()  # the record names the boot, and other tests find the stack as it was
    running.wait_for_idle(2)
