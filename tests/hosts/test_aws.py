"""A GPU cluster on AWS from `up` to `down`, with the target's own choice of software: the project's program and engine, on a simulated cloud whose instances are hosts of this machine.

Everything on the hosts is real: Ubuntu, cloud-init, Slurm, the elastic program with boto3. Everything of Amazon's is simulated and strict, and so are the GPUs: device nodes without a device.
"""

import errno
import os
from collections.abc import Iterator

import pytest

from tests.hosts.deployment import wait_until
from tests.hosts.on_cloud import NAME, NODES_WITHIN_S, REPLACED_WITHIN_S, OnCloud, Steps, blueprint
from tests.simcloud.hosted import hosts, place

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(1800)]

STACK = "test-aws"
BLUEPRINT = blueprint(
    "gpu-aws", network="{cidr: 10.87.0.0/16, region: us-east-1}", pool="train: {accelerator: h100, gpus_per_node: 8, nodes: {min: 0, max: 4}}"
)
ALL_GPUS = "0,1,2,3,4,5,6,7"
BELIEVED = "update finish-control"
"""What a preview shows of `believe`, which edits Slurm's files on the controller: finishing would write them again."""
IDLE_S = 10
GONE_WITHIN_S = 120  # Slurm's own look every few seconds, and what it leaves a node to stop in
ALWAYS_THERE = 3
"""Controller, login node, and the balancer in front of it."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCloud]:
    with OnCloud.of(STACK, tmp_path_factory.mktemp("aws"), BLUEPRINT) as one:
        one.up()
        yield one


def test_a_login_node_is_rebuilt(stack: OnCloud) -> None:
    instance, key = stack.instance("login-0"), stack.outputs()["login"]["host_key"]
    stack.rebuild("login-0")
    assert stack.instance("login-0") != instance
    assert stack.outputs()["login"]["host_key"] == key
    assert stack.ssh("sinfo --noheader --format=%P").strip() == "train*"
    assert stack.cloud.audit() == []
    assert stack.preview_steps() == []


def test_a_cluster_lives_from_up_to_down(stack: OnCloud) -> None:
    steps = Steps()
    assert stack.running() == {}
    assert {check["name"]: check["verdict"] for check in stack.outputs()["acceptance"]} == {"nodes on demand": "reported"}
    assert stack.cloud.audit() == []
    steps.over("up: controller and login node finished, nothing else runs")

    assert stack.preview_steps() == []
    steps.over("nothing to change")

    stack.believe()
    job = stack.ssh("sbatch --parsable --wait --nodes=2 --gpus-per-node=8 --wrap 'srun printenv SLURMD_NODENAME CUDA_VISIBLE_DEVICES'").strip()
    assert stack.output(job) == [ALL_GPUS, ALL_GPUS, "train-0", "train-1"]
    first = stack.running()
    assert first.keys() == {"train-0", "train-1"}
    assert steps.over("a job has started two nodes and run on them") < NODES_WITHIN_S
    known = stack.ssh("srun --nodelist=train-0 getent hosts train-0 train-1 login-0 control-0")
    assert [line.split()[-1] for line in known.splitlines()] == ["train-0", "train-1", "login-0", "control-0"]
    opened = stack.ssh("srun --nodelist=train-0 --gpus=2 sh -c 'for one in /dev/nvidia?; do (: <$one); done; true' 2>&1")
    assert (opened.count(os.strerror(errno.ENXIO)), opened.count(os.strerror(errno.EPERM))) == (2, 6), "a job reaches the GPUs that it was given, and no others"
    assert stack.ssh(f"sacct --allocations --noheader --parsable2 --jobs={job} --format=State,User,Account") == "COMPLETED|ada|research\n"
    assert "gres/gpu:h100=16" in stack.ssh(f"sacct --allocations --noheader --parsable2 --jobs={job} --format=AllocTRES").strip().split(",")
    assert stack.preview_steps() == [BELIEVED], "nodes that come and go are no drift"
    steps.over("still nothing to change but what the test edited")

    job = stack.ssh("sbatch --parsable --nodes=2 --gpus-per-node=8 --requeue --wrap 'sleep 20; srun hostname'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    stack.cloud.end(first["train-1"])
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    then = stack.running()
    assert stack.output(job) == sorted(then), "Slurm may take another node of the pool than the lost one"
    assert first["train-0"] in then.values()
    assert set(then.values()) - set(first.values()), "one of them has come in the place of the lost one"
    steps.over("a node lost under a job was replaced, and the job has run")

    job = stack.ssh("sbatch --parsable --requeue --gpus-per-node=8 --wrap 'sleep 20; srun hostname'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    node = stack.slurm("squeue", "--noheader", f"--jobs={job}", "--format=%N")
    instance = stack.instance(node)
    assert f"job {job} of ada" in stack.rebuild(node, "--requeue")
    assert stack.running()[node] != instance
    assert stack.slurm("sinfo", "--noheader", "--list-reasons") == ""
    assert stack.preview_steps() == [BELIEVED]
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    steps.over("a node with a job was rebuilt, and the job has run again")

    # Ten minutes are the cluster's own; nobody waits for them in a test.
    stack.slurm("sed", "--in-place", f"s/^SuspendTime=.*/SuspendTime={IDLE_S}/", "/etc/slurm/slurm.conf")
    stack.slurm("scontrol", "reconfigure")
    wait_until(lambda: stack.running() == {}, awaiting="idle nodes to go", within_s=GONE_WITHIN_S)
    wait_until(lambda: len(hosts.bodies(place.names_of(NAME))) == ALWAYS_THERE, awaiting="their hosts to go", within_s=GONE_WITHIN_S)
    steps.over("idle nodes are gone")

    stack.down()
    assert stack.cloud.things() == []
    wait_until(lambda: place.left_behind(place.names_of(NAME)) == (), awaiting="the machine to be as it was", within_s=GONE_WITHIN_S)
    steps.over("down: nothing in the cloud, nothing on the machine")
