"""A stack of the target alone, on the simulated cloud and driven by the real engine: all that is AWS is in it, and nothing that would need a host that answers."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3

from blueprints import load
from blueprints.facts import Facts
from blueprints.project import project_root
from blueprints.spec import ClusterSpec
from components.elastic import model
from components.elastic import table as fleet_table
from components.elastic.fleets.aws import Aws
from components.elastic.memory import Launch
from tests.simcloud.aws import client
from tests.simcloud.aws.client import REGION, SimulatedCloud
from tests.simcloud.aws.deployment import STACK, Deployment

MACHINE: dict[str, Any] = {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1, "memory_mib": 24_000}
"""What the program takes this machine for, so that it is the same everywhere."""
PROGRAM = """
import json
import pathlib
import pulumi
from components import lasting_imports

with lasting_imports.without_search_for_garbage():
    from blueprints import load
    from blueprints.facts import Facts
    from components import contract, debug_messages, engine_watch
    from components.aws.offerings.slurm_hosts import SlurmHosts
    from components.aws.target import Aws

engine_watch.end_with_engine()
debug_messages.leave_out()
settings = json.loads(pathlib.Path("settings.json").read_text())
spec = load.examine(settings["blueprint"], target="aws", stack=pulumi.get_stack(), facts=Facts(**settings["machine"]), overrides=settings["set"]).spec
public, secret = pulumi.Output.from_input, pulumi.Output.secret
keys = contract.SlurmKeys(
    munge=secret("bXVuZ2U="),
    admin=contract.SshKey(public("ssh-ed25519 AAAA admin"), secret("admin")),
    login_host=contract.SshKey(public("ssh-ed25519 BBBB"), secret("login")),
    database=secret("password-of-the-database-1234"),
)
foundation = Aws(spec, stack=pulumi.get_stack(), opts=pulumi.ResourceOptions()).foundation()
site = SlurmHosts().provision(spec.slurm, foundation=foundation, keys=keys)
pulumi.export("fleet", site.fleet)
pulumi.export("control", site.control.described)
pulumi.export("front", site.endpoint.address)
"""


class Standing(Deployment):
    """A stack of one blueprint of the library; what it holds may go with it."""

    def __init__(self, folder: Path, cloud: SimulatedCloud, blueprint: str, **overrides: Any):
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, cloud, PROGRAM)
        self.blueprint = blueprint
        self.overrides = {**disposable(blueprint), **overrides}
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        providers = [
            {"name": "aws", "path": str(client.PLUGIN_FOLDER)},
            {"name": "clusterwright", "path": str(project_root() / "components" / "provider")},
        ]
        self._write("Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": providers}}))
        self.change()
        furnish(cloud, self.spec)

    @classmethod
    @contextlib.contextmanager
    def of(cls, folder: Path, cloud: SimulatedCloud, blueprint: str, **overrides: Any) -> Iterator["Standing"]:
        """Make the stack, and end all its processes afterwards."""
        one = cls(folder, cloud, blueprint, **overrides)
        try:
            yield one
        finally:
            one.end()

    @property
    def spec(self) -> ClusterSpec:
        """Give what the program resolves."""
        return resolved(self.blueprint, self.overrides)

    def change(self, **overrides: Any) -> None:
        """Put more values over the blueprint's own, by dotted path written with `__`; they stay."""
        self.overrides |= {path.replace("__", "."): value for path, value in overrides.items()}
        self.set(blueprint=self.blueprint, set=self.overrides, machine=MACHINE)

    def changes(self, *words: str) -> dict[str, list[str]]:
        """Give what a preview would do, names in order."""
        return {operation: sorted(names) for operation, names in super().changes(*words).items()}

    def urn(self, name: str) -> str:
        """Give the URN of a recorded resource by its name."""
        recorded = self.recorded(name)
        assert recorded is not None, f"there is no {name}"
        return str(recorded["urn"])

    def fleet(self) -> dict[str, Any]:
        """Give the fleet table, which finishing writes to the controller."""
        found: dict[str, Any] = self.exported("fleet")
        return found

    def elastic(self) -> Aws:
        """Give the adapter of the program on the controller, with the controller's own keys; the environment has to name the cloud."""
        controller = self.recorded("control-0")
        assert controller is not None
        return Aws(fleet_table.read(self.fleet()), client=boto3.client("ec2", **self.cloud.keys_of(controller["id"])))

    def start_node(self, *, of: int = 0) -> str:
        """Start the first node of a node set, counted as in the table, as that program does; give its instance."""
        node_set = fleet_table.read(self.fleet()).node_sets[of]
        token = f"{node_set.name}-{node_set.template}"
        launch = Launch(token, node_set.name, node_set.nodes[:1], group=token, jobs=(), requested_at=time.time(), is_whole=False)
        answer = self.elastic().launch(launch)
        assert answer.refusal is None, answer.detail
        (started,) = answer.instances
        return started.id

    def nodes(self) -> dict[str, bool]:
        """Give the nodes that live, as that program sees them: instance → whether it was started from what its node set no longer is."""
        return {one.id: one.is_outdated for one in self.elastic().view().instances if one.life is model.Life.LIVE}


def resolved(blueprint: str, overrides: Mapping[str, Any]) -> ClusterSpec:
    return load.examine(blueprint, target="aws", stack=STACK, facts=Facts(**MACHINE), overrides=overrides).spec


def disposable(blueprint: str) -> dict[str, Any]:
    """Give the overrides after which nothing of a blueprint is protected or stays."""
    found: dict[str, Any] = {"accounting.protect": False}
    for one in resolved(blueprint, {}).storage:
        found |= {f"storage.{one.name}.protect": False, f"storage.{one.name}.on_delete": "delete"}
    return found


def furnish(cloud: SimulatedCloud, spec: ClusterSpec) -> None:
    """Let the account have the local zones that the blueprint names, with the machines that are offered there."""
    ordinary = {f"{REGION}{letter}" for letter in "abcdef"}
    local = [zone for zone in spec.network.zones if zone not in ordinary]
    if local:
        cloud.set("zones", {REGION: {zone: f"{zone}-id" for zone in local}})
        cloud.set("offered", [[machine, zone] for zone in local for machine in sorted({group.machine.name for group in spec.host_groups})])
