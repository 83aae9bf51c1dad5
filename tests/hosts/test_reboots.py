"""Hosts that reboot, or are powered off inside, come back by themselves, with an uptime of their own, and Slurm uses them again."""

import json
import os
import shlex
import signal
from collections.abc import Iterator

import pytest

from components.local.machine import host as hosts
from tests.hosts.deployment import SOON_S, Deployment, wait_until

pytestmark = pytest.mark.hosts

NODES = ("train-0", "train-1")


@pytest.fixture(scope="module")
def stack(running: Deployment) -> Iterator[Deployment]:
    running.wait_for_idle(2)
    yield running
    running.up()  # starts the host whose power was cut, and tests the boots


@pytest.fixture
def with_all_nodes(stack: Deployment) -> Deployment:
    """All nodes on and idle, whichever test ran before: long ones run after all others, one of which leaves a node off."""
    if not all(hosts.is_running(stack.host(node)) for node in NODES):
        stack.up()
    stack.wait_for_idle(len(NODES))
    return stack


def uptime_s(stack: Deployment, hostname: str) -> float:
    return float(stack.inside_all(hostname, "cat", "/proc/uptime").split()[0])


def machine_uptime_s() -> float:
    with open("/proc/uptime") as file:  # noqa: PTH123
        return float(file.read().split()[0])


def boots(stack: Deployment, *hostnames: str) -> dict[str, int]:
    return {hostname: hosts.boot_mark(stack.host(hostname)) for hostname in hostnames}


def wait_for_other_boots(stack: Deployment, before: dict[str, int]) -> None:
    wait_until(
        lambda: all(mark != before[host] and hosts.is_running(stack.host(host)) for host, mark in boots(stack, *before).items()),
        awaiting=f"other boots of {', '.join(before)}",
        within_s=SOON_S,
    )


def slurm(stack: Deployment, *argv: str) -> str:
    return stack.inside("control-0", *argv).strip()


def test_nodes_that_slurm_reboots_return_to_service(stack: Deployment) -> None:
    before = boots(stack, *NODES)
    slurm(stack, "scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=firmware", "train-0")
    slurm(stack, "scontrol", "reboot", "train-1")
    wait_for_other_boots(stack, before)
    stack.wait_for_idle(2)
    assert all(uptime_s(stack, node) < SOON_S < machine_uptime_s() for node in NODES)
    assert stack.ssh("srun --nodes=2 hostname | sort").split() == [*NODES]


@pytest.mark.soak
def test_fix_reboots_a_node_to_end_what_no_file_holds(with_all_nodes: Deployment) -> None:
    stack = with_all_nodes
    for command in ("ip rule add from 192.0.2.1 table 100", "mount -t tmpfs none /usr/share/doc"):
        stack.inside("train-1", "sh", "-c", command)
    slurm(stack, "scontrol", "update", "nodename=train-1", "state=drain", "reason=theirs")
    before = boots(stack, *NODES)
    unnamed = stack.clusterwright("drift", "fix", "--yes", "--layer", "hosts")
    assert "add --kind boot to repair it" in unnamed.stdout
    assert boots(stack, *NODES) == before
    done = stack.clusterwright("drift", "fix", "--yes", "--layer", "hosts", "--kind", "boot")
    after = boots(stack, *NODES)
    assert (after["train-0"], after["train-1"] != before["train-1"]) == (before["train-0"], True), done.stdout
    found = json.loads(stack.clusterwright("drift", "--json", "--layer", "hosts", "--history", str(stack.home / "history")).stdout)["findings"]
    assert [one for one in found if one["code"] in ("CW715", "CW719")] == [], done.stdout
    assert slurm(stack, "sinfo", "--noheader", "--nodes=train-1", "--format=%E %t") == "theirs drain", "the node stays out of service"
    slurm(stack, "scontrol", "update", "nodename=train-1", "state=resume")
    stack.wait_for_idle(2)


def test_hosts_that_are_powered_off_inside_or_lose_their_container_come_back(stack: Deployment) -> None:
    before = boots(stack, *NODES)
    stack.inside_all("train-0", "systemctl", "poweroff")
    os.kill(stack.leaders()["train-1"], signal.SIGKILL)
    wait_for_other_boots(stack, before)
    stack.wait_for_idle(2)


def test_controllers_and_login_nodes_reboot_while_a_job_runs(stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'srun sleep 20'").strip()
    # Its step, which srun asks the controller for, and not the job alone: while the controller boots nobody answers srun.
    steps = ("squeue", "--noheader", "--steps", f"--jobs={job}", "--format=%i")
    wait_until(lambda: f"{job}.0" in slurm(stack, *steps).split(), awaiting=f"the step of job {job} to run", within_s=SOON_S)
    before = boots(stack, "control-0", "login-0", "balancer")
    stack.inside_all("login-0", "systemctl", "reboot")
    stack.inside_all("control-0", "systemctl", "reboot", "--force")
    os.kill(stack.leaders()["balancer"], signal.SIGKILL)
    wait_for_other_boots(stack, before)
    for host in ("control-0", "login-0"):
        address = next(one["address"] for group in stack.outputs()["inventory"].values() for one in group if one["name"] == host)
        wait_until(lambda where=address: hosts.answers(where), awaiting=f"SSH on {host}", within_s=SOON_S)  # type: ignore[misc]
    wait_until(lambda: stack.run("clusterwright", "ssh", "--stack", stack.stack, "--", "sinfo").returncode == 0, awaiting="the login node", within_s=SOON_S)
    accounted = ("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=State")
    wait_until(lambda: slurm(stack, *accounted) == "COMPLETED", awaiting=f"job {job} to be accounted", within_s=SOON_S)
    stack.wait_for_idle(2)


LONG_AT_FIRST = 'echo start >>~/starts; test -n "$SLURM_RESTART_COUNT" || sleep 600; srun hostname'


@pytest.mark.soak
def test_a_job_whose_node_is_lost_is_requeued_once_when_slurmd_timeout_is_over(with_all_nodes: Deployment) -> None:
    stack = with_all_nodes
    job = stack.ssh(f"rm -f starts; sbatch --parsable --nodes=2 --output=/dev/null --wrap {shlex.quote(LONG_AT_FIRST)}").strip()
    states = ("squeue", "--noheader", f"--jobs={job}", "--format=%T")
    wait_until(lambda: slurm(stack, *states) == "RUNNING" and starts(stack) == 1, awaiting=f"job {job} to run", within_s=SOON_S)
    stack.cut_power("train-1")
    wait_until(lambda: slurm(stack, *states) == "PENDING", awaiting="Slurm to give the node up", within_s=SOON_S)
    assert slurm(stack, "sinfo", "--noheader", "--nodes=train-1", "--format=%T %E") == "down* Not responding", "nobody else noticed"
    stack.up()
    accounted = ("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=State,Restarts")
    wait_until(lambda: slurm(stack, *accounted) == "COMPLETED|1", awaiting=f"job {job} to be over", within_s=SOON_S)
    assert starts(stack) == 2
    stack.wait_for_idle(2)


def starts(stack: Deployment) -> int:
    return len(stack.ssh("cat starts 2>/dev/null || true").split())


def test_a_host_whose_power_is_cut_stays_off_until_the_next_up(stack: Deployment) -> None:
    stack.cut_power("train-1")
    assert not hosts.is_running(stack.host("train-1"))
    assert stack.preview_changes() == {"update": 2}, "the pool, and acceptance of the boot"
