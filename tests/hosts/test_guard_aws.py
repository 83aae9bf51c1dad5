"""Instances that come with less than their type has: no job sees them, their own word reaches who asks, and another one is taken. Slurm, cloud-init and the elastic program are real, the cloud is simulated."""

import json
from collections.abc import Iterator

import pytest

from components.elastic.model import GUARD, OURS
from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import INSTANCE, NODES_WITHIN_S, REPLACED_WITHIN_S, OnCloud, Steps, blueprint

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak]

STACK = "test-guard"
BLUEPRINT = blueprint(
    "guard-aws", network="{cidr: 10.86.0.0/16, region: us-east-1}", pool="train: {accelerator: h100, gpus_per_node: 8, nodes: {min: 0, max: 4}}"
)
JOB = "sbatch --parsable --nodes=2 --gpus-per-node=8 --requeue --wrap 'srun hostname'"
SHORT = {
    "31 of 32 EFA devices: 31 on the PCI bus, 31 with the driver (hardware below /run/simulated-hardware)",
    "7 of 8 GPUs: 7 on the PCI bus, 7 with the driver, 7 device files (hardware below /run/simulated-hardware)",
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCloud]:
    with OnCloud.of(STACK, tmp_path_factory.mktemp("guard"), BLUEPRINT) as one:
        yield one


def instances(stack: OnCloud) -> set[str]:
    """Give the compute nodes' instances, also those that have no name yet."""
    return {one.id for one in stack.cloud.things(INSTANCE, tags={"clusterwright:part": "compute"})}


def last_failure(stack: OnCloud) -> str:
    found: str | None = json.loads(stack.slurm("systemd-run", "--quiet", "--wait", "--pipe", "clusterwright-elastic", "status", "--json"))["node_sets"][0][
        "last_failure"
    ]
    return found or ""


def test_nodes_that_come_short_see_no_job_and_others_are_taken(stack: OnCloud) -> None:
    steps = Steps()
    stack.up()
    stack.believe()
    steps.over("up")
    stack.cloud.set("short", [{"efa": 1}, {"gpus": 1}])
    job = stack.ssh(JOB).strip()
    wait_until(lambda: len(instances(stack)) == 2, awaiting="two instances", within_s=NODES_WITHIN_S)
    short = instances(stack)
    seen: set[str] = set()

    def is_told() -> bool:
        seen.update(one.removeprefix(GUARD).removeprefix(OURS) for one in stack.slurm("sinfo", "--noheader", "--Node", "--format=%E").splitlines())
        return seen >= SHORT

    wait_until(is_told, awaiting="both nodes' own words", within_s=REPLACED_WITHIN_S)
    steps.over("Slurm shows what they lack")
    wait_until(lambda: last_failure(stack).partition(": ")[2] in SHORT, awaiting="the elastic program to count it", within_s=REPLACED_WITHIN_S)
    steps.over("so does the elastic program")
    wait_until(lambda: not short & instances(stack), awaiting="both instances to be ended", within_s=REPLACED_WITHIN_S)
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    assert stack.output(job) == sorted(stack.running())
    ends = stack.ssh(f"sacct --jobs={job} --duplicates --allocations --noheader --parsable2 --format=State,Elapsed").split()
    assert [one.partition("|")[0] for one in ends].count("COMPLETED") == 1
    steps.over(f"two others ran the job ({', '.join(ends)})")
