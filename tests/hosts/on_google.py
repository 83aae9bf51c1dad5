"""A stack on the simulated Google Cloud, with hosts of this machine behind its instances."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from tests.components.gcp.standing import baking
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.on_cloud import CloudStack
from tests.simcloud.google import client
from tests.simcloud.google.client import SimulatedCloud
from tests.simcloud.hosted import hosts, place

NAME = "google"
"""On all that the cloud has on this machine; such tests run one after the other."""
INSTANCE = "compute.instances"
PART = "clusterwright-part"
NODES_WITHIN_S = 90
"""From a job that wants nodes to its run on them."""
REPLACED_WITHIN_S = 300


@dataclasses.dataclass(frozen=True, slots=True)
class OnGoogle(CloudStack):
    """A stack whose cloud is the simulated one."""

    cloud: SimulatedCloud

    @classmethod
    @contextlib.contextmanager
    def of(cls, stack: str, home: Path, blueprint: str) -> Iterator[Self]:
        """Start a project and give a stack in it that has nothing yet; nothing of either is left afterwards.

        Args:
            home: an empty folder.
            blueprint: its text.
        """
        (home / "cloud").mkdir()
        file = home / "blueprint.yaml"
        file.write_text(blueprint)
        with (
            client.started(home / "cloud", hosts=NAME) as cloud,
            baking(cloud),
            deployment(stack, home, blueprint=str(file), target="gcp") as plain,
        ):
            yield cls(plain.stack, plain.home, cloud)

    @property
    def environment(self) -> dict[str, str]:
        own = Deployment.environment.fget(self)  # type: ignore[attr-defined]
        return {**own, **self.cloud.environment, "PATH": f"{client.PLUGIN_FOLDER}{os.pathsep}{own['PATH']}"}

    def running(self) -> dict[str, str]:
        """Give the compute nodes that run: name → number of the instance."""
        nodes = [one for one in self.cloud.things(INSTANCE, tags={PART: "compute"}) if one.properties["status"] == "RUNNING"]
        return {"-".join(one.properties["name"].split("-")[-2:]): str(one.properties["id"]) for one in nodes}

    def instance(self, hostname: str) -> client.Seen:
        """Give the instance that a host runs on."""
        (found,) = (one for one in self.cloud.things(INSTANCE) if one.properties["name"].endswith(f"-{hostname}"))
        return found

    def guest(self, hostname: str) -> int:
        found = hosts.first_process(place.names_of(NAME).host(self.instance(hostname).properties["name"]))
        assert found, f"{hostname} does not run"
        return found
