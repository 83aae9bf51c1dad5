"""A stack of the target alone, on the simulated Google Cloud and driven by the real engine: all that is Google's is in it, and nothing that would need a host that answers."""

import contextlib
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints import load
from blueprints.facts import Facts
from blueprints.project import project_root
from blueprints.spec import ClusterSpec
from components.gcp import machine_image
from tests.components.project import STACK, Project
from tests.simcloud.google import client
from tests.simcloud.google.client import ZONE, SimulatedCloud

MACHINE: dict[str, Any] = {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1, "memory_mib": 24_000}
"""What the program takes this machine for, so that it is the same everywhere."""
BAKES_WITHIN_S = 0.2
PASSWORD = "password-of-the-database-1234"
PROGRAM = """
import json
import pathlib
import pulumi
from components import lasting_imports

with lasting_imports.without_search_for_garbage():
    from blueprints import load
    from blueprints.facts import Facts
    from components import contract, debug_messages, engine_watch
    from components.gcp.offerings.slurm_hosts import SlurmHosts
    from components.gcp.target import Gcp

engine_watch.end_with_engine()
debug_messages.leave_out()
settings = json.loads(pathlib.Path("settings.json").read_text())
spec = load.examine(settings["blueprint"], target="gcp", stack=pulumi.get_stack(), facts=Facts(**settings["machine"]), overrides=settings["set"]).spec
public, secret = pulumi.Output.from_input, pulumi.Output.secret
keys = contract.SlurmKeys(
    munge=secret("bXVuZ2U="),
    admin=contract.SshKey(public("ssh-ed25519 AAAA admin"), secret("admin")),
    login_host=contract.SshKey(public("ssh-ed25519 BBBB"), secret("login")),
    database=secret(settings["password"]),
)
foundation = Gcp(spec, stack=pulumi.get_stack(), opts=pulumi.ResourceOptions()).foundation()
site = SlurmHosts().provision(spec.slurm, foundation=foundation, keys=keys)
pulumi.export("fleet", site.fleet)
pulumi.export("control", site.control.described)
pulumi.export("front", site.endpoint.address)
"""


class Standing(Project):
    """A stack of one blueprint."""

    def __init__(self, folder: Path, cloud: SimulatedCloud, blueprint: str, **overrides: Any):
        self.cloud = cloud
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder)
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        providers = [
            {"name": "gcp", "path": str(client.PLUGIN_FOLDER)},
            {"name": "clusterwright", "path": str(project_root() / "components" / "provider")},
        ]
        self._write("Pulumi.yaml", json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": providers}}))
        self._write("__main__.py", PROGRAM)
        self.blueprint = blueprint
        self.overrides: dict[str, Any] = {"network.zones": [ZONE]}
        self.change(**overrides)

    @classmethod
    @contextlib.contextmanager
    def of(cls, folder: Path, cloud: SimulatedCloud, blueprint: str, **overrides: Any) -> Iterator["Standing"]:
        """Make the stack, and end all its processes afterwards."""
        one = cls(folder, cloud, blueprint, **overrides)
        with baking(cloud):
            try:
                yield one
            finally:
                one.end()

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, **self.cloud.environment}

    @property
    def spec(self) -> ClusterSpec:
        """Give what the program resolves."""
        return load.examine(self.blueprint, target="gcp", stack=STACK, facts=Facts(**MACHINE), overrides=self.overrides).spec

    def change(self, **overrides: Any) -> None:
        """Put more values over the blueprint's own, by dotted path written with `__`; they stay."""
        self.overrides |= {path.replace("__", "."): value for path, value in overrides.items()}
        self._write("settings.json", json.dumps({"blueprint": self.blueprint, "set": self.overrides, "machine": MACHINE, "password": PASSWORD}))

    def changes(self) -> dict[str, list[str]]:
        """Give what a preview would do: operation → names of resources in order, those that stay left out."""
        found: dict[str, list[str]] = {}
        for step in json.loads(self.succeed("preview", "--json"))["steps"]:
            if step["op"] != "same":
                found.setdefault(step["op"], []).append(step["urn"].rpartition("::")[2])
        return {operation: sorted(names) for operation, names in found.items()}

    def fleet(self) -> dict[str, Any]:
        """Give the fleet table, which finishing writes to the controller."""
        found: dict[str, Any] = self.exported("fleet")
        return found


@contextlib.contextmanager
def baking(cloud: SimulatedCloud, *, says: str = machine_image.DONE) -> Iterator[None]:
    """Have every instance that bakes an image say how the bake ended and power itself off, as its startup script does."""
    ended = threading.Event()

    def bake() -> None:
        while not ended.wait(BAKES_WITHIN_S):
            for one in cloud.things("compute.instances"):
                name = one.id.rpartition("/")[2]
                if name.startswith("bake-") and one.properties["status"] == "RUNNING":
                    said = {f"{machine_image.NAMESPACE}/{machine_image.KEY}": says}
                    cloud.ask("drift", id=one.id, properties={"_guestAttributes": said})
                    cloud.request("compute.googleapis.com", "POST", f"/compute/v1/{one.id}/stop")

    thread = threading.Thread(target=bake)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
