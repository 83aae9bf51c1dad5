"""A GPU cluster on AWS from `up` to `down`, with the target's own choice of software: the project's program and engine, on a simulated cloud whose instances are hosts of this machine.

Everything on the hosts is real: Ubuntu, cloud-init, Slurm, the elastic program with boto3. Everything of Amazon's is simulated and strict, and so are the GPUs: device nodes without a device.
"""

import contextlib
import dataclasses
import errno
import os
import time
from collections.abc import Iterator

import pytest

from tests.hosts.deployment import Deployment, deployment, wait_until
from tests.simcloud import client
from tests.simcloud.client import SimulatedCloud
from tests.simcloud.hosted import hosts, place

pytestmark = [pytest.mark.engine, pytest.mark.hosts, pytest.mark.soak]

NAME = "aws"
STACK = "test-aws"
BLUEPRINT = """
name: gpu-aws
description: GPU nodes on demand on AWS, behind a load balancer
control: {machine: m7i.large}
access: {login_nodes: 1, machine: m7i.large, allowed_cidrs: [198.51.100.0/24]}
accounting: {protect: false}
network: {cidr: 10.87.0.0/16, region: us-east-1}
storage:
  home: {kind: nfs, mount: /home, protect: false, on_delete: delete}
pools:
  train: {accelerator: h100, gpus_per_node: 8, nodes: {min: 0, max: 4}}
accounts:
  research: {}
users:
  ada: {uid: 2001, account: research, ssh_keys: []}
"""
ALL_GPUS = "0,1,2,3,4,5,6,7"
BELIEVED = {
    "slurm.conf": {"SlurmdParameters": "config_overrides", "TaskPlugin": "task/cgroup"},
    "cgroup.conf": {"ConstrainCores": "no", "ConstrainRAMSpace": "no"},
}
"""Slurm's settings where nodes are declared larger than they are, as the local target has them."""
NODES_WITHIN_S = 60
"""From a job that wants nodes to its run on them."""
IDLE_S = 10
GONE_WITHIN_S = 120  # Slurm's own look every few seconds, and what it leaves a node to stop in
REPLACED_WITHIN_S = 240  # the program's look every 30 s, Slurm's requeue, and the boot
ALWAYS_THERE = 3
"""Controller, login node, and the balancer in front of it."""
KIND = "ec2.Instance"


@dataclasses.dataclass(frozen=True, slots=True)
class OnCloud(Deployment):
    """A stack whose cloud is the simulated one."""

    cloud: SimulatedCloud

    @property
    def environment(self) -> dict[str, str]:
        own = Deployment.environment.fget(self)  # type: ignore[attr-defined]
        return {**own, **self.cloud.environment, "PATH": f"{client.PLUGIN_FOLDER}{os.pathsep}{own['PATH']}"}

    def running(self) -> dict[str, str]:
        """Give the compute nodes that run: name → instance."""
        nodes = self.cloud.things(KIND, tags={"clusterwright:part": "compute"})
        return {one.tags["clusterwright:node"]: one.id for one in nodes}

    def guest(self, hostname: str) -> int:
        (instance,) = self.cloud.things(KIND, tags={"clusterwright:node": hostname})
        found = hosts.first_process(place.names_of(NAME).host(instance.id))
        assert found, f"{hostname} does not run"
        return found

    def slurm(self, *argv: str) -> str:
        """Run a command on the controller."""
        return self.inside("control-0", *argv).strip()

    def believe(self) -> None:
        """Let Slurm believe what it is told of nodes: hosts of this machine have neither the processors nor the memory of the instances that they stand for. GPUs stay confined."""
        for file, settings in BELIEVED.items():
            for name, value in settings.items():
                self.slurm("sed", "--in-place", "--expression", f"/^{name}=/d", "--expression", f"$a {name}={value}", f"/etc/slurm/{file}")
        self.inside_all("control-0", "systemctl", "restart", "slurmctld.service")

    def state(self, job: str) -> str:
        """Give a job's state; one that ended otherwise than well is waited for no longer."""
        said = self.slurm("squeue", "--noheader", f"--jobs={job}", "--format=%T", "--states=all")
        assert said not in ("FAILED", "CANCELLED", "TIMEOUT"), said
        return said

    def output(self, job: str) -> list[str]:
        return sorted(self.ssh(f"cat slurm-{job}.out").split())


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCloud]:
    home = tmp_path_factory.mktemp("aws")
    (home / "cloud").mkdir()
    (home / "blueprint.yaml").write_text(BLUEPRINT)
    with client.started(home / "cloud", hosts=NAME) as cloud, contextlib.ExitStack() as ends:
        plain = ends.enter_context(deployment(STACK, home, blueprint=str(home / "blueprint.yaml"), target="aws"))
        yield OnCloud(plain.stack, plain.home, cloud)


class Steps:
    """How long each step of a long test took."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def over(self, what: str) -> float:
        """End a step, show its seconds and give them."""
        now = time.monotonic()
        took, self._began = now - self._began, now
        print(f"{took:6.1f} s  {what}")
        return took


def test_a_cluster_lives_from_up_to_down(stack: OnCloud) -> None:
    steps = Steps()
    stack.up()
    assert stack.running() == {}
    assert {check["name"]: check["verdict"] for check in stack.outputs()["acceptance"]} == {"nodes on demand": "reported"}
    assert stack.cloud.audit() == []
    steps.over("up: controller and login node finished, nothing else runs")

    assert stack.preview_changes() == {}
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
    assert stack.preview_changes() == {}, "nodes that come and go are no drift"
    steps.over("still nothing to change")

    job = stack.ssh("sbatch --parsable --nodes=2 --gpus-per-node=8 --requeue --wrap 'sleep 20; srun hostname'").strip()
    wait_until(lambda: stack.state(job) == "RUNNING", awaiting="the job to run", within_s=NODES_WITHIN_S)
    stack.cloud.end(first["train-1"])
    wait_until(lambda: stack.state(job) == "COMPLETED", awaiting="the job to be over", within_s=REPLACED_WITHIN_S)
    then = stack.running()
    assert stack.output(job) == sorted(then), "Slurm may take another node of the pool than the lost one"
    assert first["train-0"] in then.values()
    assert set(then.values()) - set(first.values()), "one of them has come in the place of the lost one"
    steps.over("a node lost under a job was replaced, and the job has run")

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
