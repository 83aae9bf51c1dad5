"""What ends with a stack and what doesn't: nodes that the elastic program started, and the things of another stack of the same name. Plain Pulumi, on the simulated cloud."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.adoption import ABSENT, Creation
from components.aws.adopt import Account
from tests.components.aws.standing import Standing
from tests.processes import wait_until
from tests.simcloud.aws.client import REGION, SimulatedCloud

pytestmark = pytest.mark.engine

BLUEPRINT = "starter"
OWN = ("clusterwright:aws:Nodes", "clusterwright:aws:Site")
"""What stacks had not when there were no marks."""
BEFORE_MARKS = """
from components.aws import names

with_mark = names.Names.tags
names.Names.tags = lambda self, *words: {key: value for key, value in with_mark(self, *words).items() if key != names.OWNER_TAG}
"""
MORE = {"accelerator": "l4", "gpus_per_node": 1, "fabric": "none", "placement": "packed", "nodes": {"min": 0, "max": 4}}
UNDER_WAY_S = 5
DESTROY = ("destroy", "--yes", "--skip-preview")


@pytest.fixture
def stack(tmp_path: Path, cloud: SimulatedCloud) -> Iterator[Standing]:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT) as one:
        yield one


def made(cloud: SimulatedCloud) -> set[str]:
    return {thing.id for thing in cloud.things()}


def tags(cloud: SimulatedCloud, instance: str) -> dict[str, str]:
    (found,) = [dict(one.tags) for one in cloud.things("ec2.Instance") if one.id == instance]
    return found


@pytest.mark.soak
def test_without_what_ends_them_nodes_keep_the_stack_from_going(stack: Standing) -> None:
    stack.up()
    stack.start_node()
    _forget_marks(stack)
    assert "DependencyViolation" in stack.fails(*DESTROY)


@pytest.mark.soak
def test_a_destroy_that_was_cut_off_while_nodes_ended_is_taken_up(stack: Standing, cloud: SimulatedCloud) -> None:
    stack.up()
    stack.start_node()
    cloud.fault("ec2.TerminateInstances", code="UnauthorizedOperation", message="You are not authorized.", times=None)
    said = stack.fails(*DESTROY)
    assert "the nodes of train can't be terminated" in said
    assert "You are not authorized" in said
    assert stack.recorded("control-0") is None, "nobody starts them again"
    assert stack.recorded("hosts-security-group") is not None
    cloud.clear_faults()
    cloud.fault("ec2.TerminateInstances", "slow", delay_s=UNDER_WAY_S)
    asked = cloud.count("ec2.TerminateInstances")
    cut_off = stack.start(*DESTROY)
    wait_until(lambda: cloud.count("ec2.TerminateInstances") > asked, awaiting="the end of nodes to begin")
    cut_off.kill()
    cut_off.wait()
    stack.succeed("cancel", "--yes")
    stack.destroy()
    assert cloud.things() == []


def test_a_pool_that_is_removed_takes_its_nodes_and_no_others(stack: Standing, cloud: SimulatedCloud) -> None:
    stack.change(pools__dev=MORE)
    stack.up()
    one, other = stack.start_node(of=0), stack.start_node(of=1)
    assert stack.nodes().keys() == {one, other}
    assert sorted(group["strategy"] for group in cloud.things("ec2.PlacementGroup")) == ["cluster", "cluster", "spread", "spread"]
    before = made(cloud)
    del stack.overrides["pools.dev"]
    stack.change()
    assert set(stack.up_changes()["delete"]) >= {"dev-nodes", "dev-template", "dev-placement", "dev-placement-spread"}
    assert stack.nodes().keys() == {one}
    assert other in before - made(cloud)
    stack.destroy()
    assert cloud.things() == []


def test_two_stacks_of_one_name_in_one_account_keep_apart_and_a_plain_destroy_ends_the_nodes_of_its_own(
    tmp_path: Path, stack: Standing, cloud: SimulatedCloud
) -> None:
    """What has a name of its own in the account (a role) can't be made twice; all else can, and the marks tell whose it is."""
    stack.up()
    foreign = cloud.make("ec2.Vpc", cidrBlock="10.9.0.0/16", tags={"clusterwright:stack": "dev"})
    started, standing = stack.start_node(), made(cloud)
    with Standing.of(tmp_path / "other", cloud, BLUEPRINT) as other:
        assert "AlreadyExists" in other.fails("up", "--yes", "--skip-preview"), "roles, templates and groups of logs have names of their own"
        marks = {tags[1] for one in cloud.things() for tags in one.tags.items() if tags[0] == "clusterwright:owner"}
        assert len(marks) == 2
        theirs = other.recorded("compute-role") or {"inputs": _asked_for(stack, other, "compute-role")}
        found = Account(REGION).trace(
            Creation("urn:pulumi:dev::clusterwright::aws:iam/role:Role::compute-role", "aws:iam/role:Role", theirs["inputs"]), recorded=()
        )
        assert found == ABSENT, "a role of that name is there, and it is the other's"
        other.destroy()
    assert made(cloud) == standing
    stack.up("--refresh", "--expect-no-changes")
    assert stack.nodes() == {started: False}

    assert cloud.count("ec2.TerminateInstances") == 0
    stack.destroy()
    assert made(cloud) == {foreign.id}
    assert cloud.count("ec2.TerminateInstances") == 1


def _asked_for(stack: Standing, other: Standing, name: str) -> dict[str, Any]:
    """Give what the other stack asked for: what this one did, with the other's mark."""
    recorded, site = stack.recorded(name), other.recorded("site")
    assert recorded is not None
    assert site is not None
    return {**recorded["inputs"], "tags": {**recorded["inputs"]["tags"], "clusterwright:owner": site["outputs"]["owner"]}}


@pytest.mark.soak
def test_a_stack_from_before_there_were_marks_goes_on(stack: Standing, cloud: SimulatedCloud, tmp_path: Path) -> None:
    program = (stack.folder / "__main__.py").read_text()
    stack.set_program(BEFORE_MARKS + program)
    stack.up()
    _forget_marks(stack)
    older = stack.start_node()
    cloud.drift(older, tags={name: value for name, value in tags(cloud, older).items() if name != "clusterwright:owner"})
    assert cloud.untagged("clusterwright:owner") != []
    standing = made(cloud)

    stack.set_program(program)
    assert set(stack.changes()) == {"create", "update"}, "nothing is replaced"
    stack.up()
    assert made(cloud) == standing
    assert [one.kind for one in cloud.untagged("clusterwright:owner") if one.id != older] == []
    assert stack.nodes() == {older: True}, "it is known by its launch template, and is made anew when it is idle"
    younger = stack.start_node(of=0)
    assert "clusterwright:owner" in tags(cloud, younger)
    stack.destroy()
    assert cloud.things() == []


def _forget_marks(stack: Standing) -> None:
    """Make the record one that has neither site nor nodes."""
    record = json.loads(stack.succeed("stack", "export"))
    resources = record["deployment"]["resources"]
    gone = {one["urn"] for one in resources if one["type"] in OWN}
    kept = [one for one in resources if one["urn"] not in gone]
    for one in kept:
        one["dependencies"] = [urn for urn in one.get("dependencies") or () if urn not in gone]
        one["propertyDependencies"] = {name: [urn for urn in urns or () if urn not in gone] for name, urns in (one.get("propertyDependencies") or {}).items()}
    record["deployment"]["resources"] = kept
    file = stack.folder / "record.json"
    file.write_text(json.dumps(record))
    stack.succeed("stack", "import", "--file", str(file))
