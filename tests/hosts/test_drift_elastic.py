"""Drift checks while hosts come and go: those that are up are looked at as all hosts are, those on their way are not judged, and those that are off are named."""

import json
from typing import Any

import pytest

from tests.hosts.deployment import Deployment, wait_until

pytestmark = pytest.mark.hosts

UP_WITHIN_S = 180
GONE_WITHIN_S = 240  # a minute idle, Slurm's own look every few seconds, and the stop
YOUNG_WITHIN_S = 90
HOST_LAYERS = {"hosts", "versions", "capability"}


@pytest.fixture
def stack(elastic_pool: Deployment) -> Deployment:
    return elastic_pool


def report(stack: Deployment, *words: str, status: int) -> dict[str, Any]:
    done = stack.clusterwright("drift", "--json", "--history", str(stack.home / "history"), *words)
    assert done.returncode == status, done.stdout[-6000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lines(found: dict[str, Any]) -> list[str]:
    return [f"{one['layer']} {one['code']} {one['where']}" for one in found["findings"]]


def unjudged(found: dict[str, Any]) -> dict[str, str]:
    """Hosts of the pool that were not looked at, with the reason."""
    return {one["where"]: one["why"] for one in found["unchecked"] if one["where"].startswith("train") and one["layer"] == "hosts" and "/" not in one["where"]}


def slurm(stack: Deployment, *argv: str) -> str:
    return stack.inside("control-0", *argv).strip()


def running(stack: Deployment) -> set[str]:
    """The pool's hosts that run: one that has only its disk yet is not on its way."""
    return {name for name in stack.leaders() if name.startswith("train-")}


def test_three_checks_while_a_host_comes_works_and_goes_find_nothing(stack: Deployment) -> None:
    job = stack.ssh("sbatch --parsable --nodes=1 --gpus-per-node=8 --wrap 'sleep 600'").strip()
    wait_until(lambda: bool(running(stack)), awaiting="a host to be started", within_s=UP_WITHIN_S)
    [name] = running(stack)
    coming = report(stack, status=0)
    assert (lines(coming), name in unjudged(coming)) == ([], True), "a host on its way is named"
    wait_until(lambda: slurm(stack, "squeue", "--noheader", f"--job={job}", "--format=%T") == "RUNNING", awaiting="the job to run", within_s=UP_WITHIN_S)
    assert lines(report(stack, status=0)) == []
    slurm(stack, "scancel", job)
    slurm(stack, "scontrol", "update", f"nodename={name}", "state=power_down_asap")
    assert lines(report(stack, status=0)) == []
    wait_until(lambda: not stack.standing("train"), awaiting="the host to go", within_s=GONE_WITHIN_S)


@pytest.mark.soak
def test_coming_and_going_is_no_drift_and_what_is_up_is_looked_at(stack: Deployment) -> None:
    off = report(stack, status=0)
    assert (lines(off), unjudged(off)) == ([], {"train: train-0, train-1": "off: they come when jobs want them"})

    job = stack.ssh("sbatch --parsable --nodes=2 --gpus-per-node=8 --wrap 'sleep 600'").strip()
    wait_until(lambda: bool(running(stack)), awaiting="a host to be started", within_s=UP_WITHIN_S)
    coming = report(stack, status=0)
    assert lines(coming) == []
    assert unjudged(coming), "hosts on their way are named"

    wait_until(lambda: slurm(stack, "squeue", "--noheader", f"--job={job}", "--format=%T") == "RUNNING", awaiting="the job to run", within_s=UP_WITHIN_S)
    wait_until(lambda: not unjudged(report(stack, status=0)), awaiting="both hosts to be looked at", within_s=YOUNG_WITHIN_S)
    assert running(stack) == {"train-0", "train-1"}

    stack.inside("train-0", "sh", "-c", "echo hello >> /etc/motd; sysctl -q -w net.ipv4.ip_forward=1; umount /shared")
    found = report(stack, status=7)
    assert set(lines(found)) == {"hosts CW721 train-0: /etc/motd", "hosts CW735 train-0: sysctl net.ipv4.ip_forward", "capability CW783 train-0: mount /shared"}

    slurm(stack, "scancel", job)
    wait_until(lambda: not stack.standing("train"), awaiting="idle hosts to go", within_s=GONE_WITHIN_S)
    gone = report(stack, status=0)
    assert (lines(gone), unjudged(gone)) == ([], {"train: train-0, train-1": "off: they come when jobs want them"})


@pytest.mark.soak
def test_twenty_checks_while_hosts_come_and_go_find_nothing(stack: Deployment) -> None:
    wait_until(lambda: not stack.standing("train"), awaiting="idle hosts to go", within_s=GONE_WITHIN_S)
    seen: set[frozenset[str]] = set()
    for number in range(20):
        if number % 10 == 0:
            stack.ssh("sbatch --parsable --nodes=2 --wrap 'sleep 20'")
        assert lines(report(stack, status=0)) == []
        seen.add(frozenset(running(stack)))
    assert len(seen) > 1, "hosts came or went meanwhile"
