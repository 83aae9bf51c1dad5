"""The target on the simulated cloud, driven by the real engine: up, no changes, a change, destroy to nothing. Hosts are instances that only pretend, and are finished by nobody."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints.project import project_root
from tests.simcloud import client
from tests.simcloud.client import SimulatedCloud
from tests.simcloud.deployment import Deployment

pytestmark = pytest.mark.engine

PROGRAM = """
import json
import pathlib
import pulumi
from blueprints import load
from blueprints.facts import Facts
from components import contract, lifetime
from components.aws.target import Aws

lifetime.end_with_engine()
settings = json.loads(pathlib.Path("settings.json").read_text())
facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=24_000)
spec = load.examine(settings["blueprint"], target="aws", stack="dev", facts=facts, overrides=settings["set"]).spec
public, secret = pulumi.Output.from_input, pulumi.Output.secret
keys = contract.Keys(
    munge=secret("bXVuZ2U="),
    admin_public=public("ssh-ed25519 AAAA admin"),
    admin_private=secret("admin"),
    login_host=secret("login"),
    login_host_public=public("ssh-ed25519 BBBB"),
    database=secret("password-of-the-database-1234"),
)
target = Aws(spec, stack="dev", keys=keys, opts=pulumi.ResourceOptions())
target.network()
mounts = target.storage(spec.storage)
control = target.control(spec.control, mounts=mounts)
pools = [target.compute(node_set, mounts=mounts, control=control) for node_set in spec.node_sets]
access, front = target.access(spec.access, mounts=mounts)
pulumi.export("fleet", target.fleet())
pulumi.export("control", control.hosts.described)
pulumi.export("front", front.address)
"""
OPEN = {f"storage.{name}.protect": False for name in ("home",)} | {"accounting.protect": False, "storage.home.on_delete": "delete"}


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SimulatedCloud]:
    (tmp_path / "cloud").mkdir()
    with client.started(tmp_path / "cloud") as one:
        yield one


@pytest.fixture
def stack(tmp_path: Path, cloud: SimulatedCloud) -> Iterator[Deployment]:
    (tmp_path / "stack").mkdir()
    with contextlib.ExitStack() as ends:
        one = Deployment(tmp_path / "stack", cloud, PROGRAM)
        ends.callback(one.end)
        runtime = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        providers = [
            {"name": "aws", "path": str(client.PLUGIN_FOLDER)},
            {"name": "clusterwright", "path": str(project_root() / "components" / "provider")},
        ]
        (tmp_path / "stack" / "Pulumi.yaml").write_text(json.dumps({"name": "clusterwright", "runtime": runtime, "plugins": {"providers": providers}}))
        yield one


@pytest.mark.parametrize(
    ("blueprint", "more", "other_nodes"),
    [
        ("starter", {"storage.shared.protect": False, "storage.shared.on_delete": "delete"}, {"pools.train.nodes": 3}),
        ("spot-sweep", {}, {"pools.sweep.nodes.max": 31}),
    ],
    ids=["starter", "spot-sweep"],
)
def test_a_blueprint_lives_from_up_to_destroy(
    stack: Deployment, cloud: SimulatedCloud, blueprint: str, more: dict[str, object], other_nodes: dict[str, object]
) -> None:
    settings = {**OPEN, **more}
    stack.set(blueprint=blueprint, set=settings)
    stack.up()
    made = {thing.id for thing in cloud.things()}
    assert made
    assert cloud.untagged("clusterwright:stack", "clusterwright:cluster") == []
    assert cloud.audit() == []
    stack.succeed("up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")

    stack.set(blueprint=blueprint, set={**settings, **other_nodes})
    assert stack.changes() == {}, "nodes are no resources"

    stack.destroy()
    assert [(thing.kind, thing.id) for thing in cloud.things()] == []
