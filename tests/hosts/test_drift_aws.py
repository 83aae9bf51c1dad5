"""Drift checks of a cluster on AWS, from the outside in: through the load balancer and the login node to compute nodes that come and go. The cloud is the simulated one, whose instances are hosts of this
machine; cloud-init, SSH and Slurm on them are real."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import OnCloud, blueprint
from tests.hosts.test_drift_elastic import lines, report

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak]

STACK = "test-drift-aws"
BLUEPRINT = blueprint(
    "drift-aws", network="{cidr: 10.88.0.0/16, region: us-east-1}", pool="cpu: {machine: m7i.large, nodes: {min: 0, max: 2}}", software="debian-13-aws"
)
UP_WITHIN_S = 120
YOUNG_WITHIN_S = 120


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCloud]:
    with OnCloud.of(STACK, tmp_path_factory.mktemp("drift-aws"), BLUEPRINT) as one:
        yield one


def unjudged(found: dict[str, Any]) -> dict[str, str]:
    """Compute nodes that were not looked at, with the reason."""
    return {one["where"]: one["why"] for one in found["unchecked"] if one["where"].startswith("cpu") and one["layer"] == "hosts" and "/" not in one["where"]}


def test_a_cluster_on_aws_is_clean_while_nodes_come_and_a_node_that_somebody_changed_is_found(stack: OnCloud) -> None:
    stack.up()
    off = report(stack, status=0)
    assert (lines(off), unjudged(off)) == ([], {"cpu: cpu-0, cpu-1": "off: they come when jobs want them"})

    job = stack.ssh("sbatch --parsable --nodes=2 --wrap 'sleep 900'").strip()
    wait_until(lambda: bool(stack.running()), awaiting="a node to be started", within_s=UP_WITHIN_S)
    coming = report(stack, status=0)
    assert (lines(coming), bool(unjudged(coming))) == ([], True), "nodes on their way are named"

    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=UP_WITHIN_S)
    wait_until(lambda: not unjudged(report(stack, status=0)), awaiting="both nodes to be looked at", within_s=YOUNG_WITHIN_S)

    stack.inside("cpu-0", "sh", "-c", "echo hello >> /etc/motd; sysctl -q -w net.ipv4.ip_forward=1; echo x >> /etc/fstab")
    planted = {"hosts CW721 cpu-0: /etc/motd", "hosts CW735 cpu-0: sysctl net.ipv4.ip_forward", "hosts CW721 cpu-0: /etc/fstab"}
    assert set(lines(report(stack, status=7))) == planted
    stack.slurm("scancel", job)
    stack.down()
