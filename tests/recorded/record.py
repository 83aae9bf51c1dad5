"""Record a stack: `python -m tests.recorded.record NAME` brings up the blueprint of that name with the code of this checkout and stores its state.

A local stack really runs on this machine for the time being (root). A stack on AWS is provisioned on the simulated cloud; its instances only pretend, so its provider takes every host for configured and
accepted.
"""

import contextlib
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints import facts, load
from blueprints.project import project_root
from components import this_machine
from components.aws import image
from components.finish import content
from components.local.machine import names
from tests.hosts import deployment
from tests.simcloud.aws import client

from .stack import Stack, changed
from .states import PROJECT, State, blueprint_of, replaced

STACK = "prod"
MACHINE: dict[str, Any] = {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1, "memory_mib": 24_000}
BUCKET = "sets-of-ours"
VPC, SUBNETS, ZONES = "vpc-0123456789abcdef0", ("subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"), ("us-east-1b", "us-east-1c")
"""What the blueprints name of somebody else's."""
PLAYBOOKS = ("site.yml", "accept.yml", "image.yml")


def local(name: str, home: Path) -> State:
    with deployment.deployment(f"recorded-{name}", home, blueprint=str(blueprint_of(name))) as stack:
        stack.up()
        exported = stack.run("pulumi", "stack", "export", "--show-secrets", "--stack", stack.stack)
        assert exported.returncode == 0, exported.stderr
        return State(
            stack=stack.stack,
            target="local",
            machine=dataclasses.asdict(this_machine.facts()),
            cache=str(names.cache_root()),
            content={playbook: content.fingerprint(playbook) for playbook in PLAYBOOKS},
            images={},
            deployment=replaced(json.loads(exported.stdout), {str(project_root()): PROJECT}),
        )


def aws(name: str, home: Path) -> State:
    with provisioned(name, home) as (stack, _):
        spec = load.examine(str(blueprint_of(name)), target="aws", stack=STACK, facts=facts.Facts(**MACHINE)).spec
        return State(
            stack=STACK,
            target="aws",
            machine=MACHINE,
            cache=str(names.cache_root()),
            content={playbook: content.fingerprint(playbook) for playbook in PLAYBOOKS},
            images={arch: image.fingerprint(spec.software, arch) for arch in {group.machine.arch for group in spec.host_groups}},
            deployment=replaced(stack.export(), {str(project_root()): PROJECT}),
        )


@contextlib.contextmanager
def provisioned(name: str, home: Path) -> Iterator[tuple[Stack, client.SimulatedCloud]]:
    """Provision the blueprint of a name on a simulated cloud of its own; everything in the account is the stack's, and a preview changes nothing.

    Args:
        home: an empty folder.
    """
    provider = home / "provider" / "pulumi-resource-clusterwright"
    provider.parent.mkdir()
    provider.write_text(f'#!/bin/sh\nexport CLUSTERWRIGHT_ENGINE_PID=$PPID\nexec "{sys.executable}" -m tests.recorded.provider "$@"\n')
    provider.chmod(0o755)
    (home / "cloud").mkdir()
    with client.started(home / "cloud") as cloud:
        others = furnish(cloud)
        settings = {"blueprint": str(blueprint_of(name)), "target": "aws"}
        with Stack.of(home / "stack", STACK, settings=settings, machine=MACHINE, environment=cloud.environment, provider=provider.parent) as stack:
            stack.up()
            assert cloud.untagged("clusterwright:stack", "clusterwright:cluster", "clusterwright:owner") == others
            assert changed(stack.preview()) == {}
            yield stack, cloud


def furnish(cloud: client.SimulatedCloud) -> list[client.Seen]:
    """Put into the account what blueprints take for granted, under the ids that they name; give what of it could carry a stack's tags."""
    cloud.set("foreign_buckets", [BUCKET])
    vpc = cloud.make("ec2.Vpc", cidrBlock="10.62.0.0/16", enableDnsHostnames=True, enableDnsSupport=True)
    made = [vpc, *(cloud.make("ec2.Subnet", vpcId=vpc.id, cidrBlock=f"10.62.{16 * number}.0/20", availabilityZone=zone) for number, zone in enumerate(ZONES))]
    ids = dict(zip((one.id for one in made), (VPC, *SUBNETS), strict=True))
    for one in made:
        cloud.put(one.kind, ids[one.id], replaced(one.properties, ids))
    for one in reversed(made):
        cloud.lose(one.id)
    return [one for one in cloud.things() if one.id in ids.values()]


def main(name: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        (local if name.startswith("local") else aws)(name, Path(home)).write(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
