"""A stack whose cloud is the simulated one, with hosts of this machine behind its instances: what the tests of a whole life on AWS have in common."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.hosts.deployment import Deployment, deployment
from tests.simcloud.aws import client
from tests.simcloud.aws.client import SimulatedCloud
from tests.simcloud.hosted import hosts, place

NAME = "aws"
"""On all that the cloud has on this machine; such tests run one after the other."""
INSTANCE = "ec2.Instance"
NODES_WITHIN_S = 60
"""From a job that wants nodes to its run on them."""
REPLACED_WITHIN_S = 240  # the program's look every 30 s, Slurm's requeue, and the boot
BELIEVED = {
    "slurm.conf": {"SlurmdParameters": "config_overrides", "TaskPlugin": "task/cgroup"},
    "cgroup.conf": {"ConstrainCores": "no", "ConstrainRAMSpace": "no"},
}
"""Slurm's settings where nodes are declared larger than they are, as the local target has them."""


@dataclasses.dataclass(frozen=True, slots=True)
class CloudStack(Deployment):
    """A stack on a simulated cloud, whatever cloud it is."""

    def rebuild(self, *words: str) -> str:
        """Rebuild hosts; the output is given, a failure fails the test with it."""
        done = self.clusterwright("rebuild", *words, "--yes")
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
        return done.stdout

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


@dataclasses.dataclass(frozen=True, slots=True)
class OnCloud(CloudStack):
    """A stack on simulated AWS."""

    cloud: SimulatedCloud

    @classmethod
    @contextlib.contextmanager
    def of(cls, stack: str, home: Path, blueprint: str) -> Iterator[Self]:
        """Start a cloud and give a stack in it that has nothing yet; nothing of either is left afterwards.

        Args:
            home: an empty folder.
            blueprint: its text.
        """
        (home / "cloud").mkdir()
        file = home / "blueprint.yaml"
        file.write_text(blueprint)
        with client.started(home / "cloud", hosts=NAME) as cloud, deployment(stack, home, blueprint=str(file), target="aws") as plain:
            yield cls(plain.stack, plain.home, cloud)

    @property
    def environment(self) -> dict[str, str]:
        own = Deployment.environment.fget(self)  # type: ignore[attr-defined]
        return {**own, **self.cloud.environment, "PATH": f"{client.PLUGIN_FOLDER}{os.pathsep}{own['PATH']}"}

    def running(self) -> dict[str, str]:
        """Give the compute nodes that run: name → instance. An instance gets its name right after its start, and is none of them before."""
        nodes = self.cloud.things(INSTANCE, tags={"clusterwright:part": "compute"})
        return {one.tags["clusterwright:node"]: one.id for one in nodes if "clusterwright:node" in one.tags}

    def instance(self, hostname: str) -> str:
        """Give the instance that a host runs on."""
        (instance,) = self.cloud.things(INSTANCE, tags={"clusterwright:node": hostname})
        return str(instance.id)

    def guest(self, hostname: str) -> int:
        found = hosts.first_process(place.names_of(NAME).host(self.instance(hostname)))
        assert found, f"{hostname} does not run"
        return found


def blueprint(name: str, *, network: str, pool: str, software: str = "", control: str = "{machine: m7i.large}", accounting: str = "{protect: false}") -> str:
    """Write a cluster with one login node, one account and one user; each word is what stands behind its key in YAML, `pool` a key and what stands behind it."""
    lines = [f"name: {name}", *([f"software: {software}"] if software else [])]
    return "\n".join(
        [
            *lines,
            f"control: {control}",
            "access: {login_nodes: 1, machine: m7i.large, allowed_cidrs: [198.51.100.0/24]}",
            f"accounting: {accounting}",
            f"network: {network}",
            "storage: {home: {kind: nfs, mount: /home, protect: false, on_delete: delete}}",
            f"pools: {{{pool}}}",
            "accounts: {research: {}}",
            "users: {ada: {uid: 2001, account: research, ssh_keys: []}}",
            "",
        ]
    )


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
