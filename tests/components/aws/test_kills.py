"""A killed engine: what it had made is found in the account, the next run goes on from it, and nothing is left in the end."""

import dataclasses
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.engine import commands, locks, operations, recovery, state
from stacks.errors import Problem
from tests.components.aws import programs
from tests.components.aws.standing import Standing
from tests.hosts import deployment as hosts
from tests.processes import wait_until
from tests.simcloud.aws import client
from tests.simcloud.aws.client import SimulatedCloud
from tests.simcloud.aws.deployment import STACK

pytestmark = pytest.mark.engine

BLUEPRINT = "starter"
MORE = {"kind": "nfs", "mount": "/more", "protect": False, "on_delete": "delete"}
STANDING = """
name: small
software: debian-13-aws
access: {login_nodes: 1, allowed_cidrs: [198.51.100.0/24]}
accounting: {protect: false}
network: {region: us-east-1}
storage:
  home: {kind: nfs, mount: /home, protect: false, on_delete: delete}
pools:
  cpu: {machine: m7i.large, nodes: {min: 0, max: 4}}
"""
"""What this version can stand up whole."""
SOON_S = 120
SUCCESSIVE = ((0, True), (7, False), (12, True), (16, False), (18, True))
"""For runs one after the other: how many creates pass before the one at which the engine is killed, and whether that one is carried out."""
POINTS = tuple((number, number % 6 < 3) for number in range(0, 60, 3))


@pytest.fixture
def stack(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standing]:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT) as one:
        for name, value in one.environment.items():
            monkeypatch.setenv(name, value)
        yield one


def kill(stack: Standing, cloud: SimulatedCloud, *words: str, at: str = "create *", passing: int, after: bool) -> None:
    """Run a command, `up` unless another is given, whose engine is killed at a call to the cloud."""
    cloud.fault(at, "kill-engine", skip=passing, after=after)
    done = stack.run(*(words or ("up", "--refresh")), "--yes", "--skip-preview")
    assert done.returncode < 0, done.stdout[-3000:] + done.stderr
    cloud.clear_faults()
    cloud.wait_for_quiet()


def recovered(stack: Standing) -> bool:
    """Do as `clusterwright up` and `down` do before they run the engine."""
    operations.prepare(STACK)
    return recovery.settle(STACK, lag_s=0)  # the simulated cloud forgets nothing and lists at once


def expected(blueprint: str) -> Counter[str]:
    """Count what a blueprint is made of, by the simulated cloud's names of kinds."""
    tokens = [one.type.split(":") for one in programs.aws(programs.library(blueprint))]
    return Counter(f"{module.partition('/')[0]}.{kind}" for _, module, kind in tokens)


def unrecorded(stack: Standing, cloud: SimulatedCloud) -> list[tuple[str, str]]:
    known = {one.get("id") for one in stack.resources()}
    return [(thing.kind, thing.id) for thing in cloud.things() if thing.id not in known]


@pytest.mark.parametrize("kills", [SUCCESSIVE[1:3], pytest.param(SUCCESSIVE, marks=pytest.mark.soak)], ids=len)
def test_up_goes_on_after_each_kill(stack: Standing, cloud: SimulatedCloud, kills: tuple[tuple[int, bool], ...]) -> None:
    for passing, after in kills:
        kill(stack, cloud, passing=passing, after=after)
        recovered(stack)
    stack.up("--refresh")
    assert Counter(thing.kind for thing in cloud.things()) == expected(BLUEPRINT), "each once"
    assert unrecorded(stack, cloud) == []
    assert stack.changes() == {}
    kill(stack, cloud, "destroy", at="delete *", passing=20, after=True)
    assert not recovered(stack)
    stack.destroy()
    assert cloud.things() == []


@pytest.mark.soak
@pytest.mark.parametrize(("passing", "after"), POINTS)
def test_up_converges_after_a_kill(stack: Standing, cloud: SimulatedCloud, passing: int, after: bool) -> None:
    kill(stack, cloud, passing=passing, after=after)
    recovered(stack)
    stack.up("--refresh")
    assert Counter(thing.kind for thing in cloud.things()) == expected(BLUEPRINT), "each once"
    assert unrecorded(stack, cloud) == []
    assert stack.changes() == {}
    stack.destroy()
    assert cloud.things() == []


@pytest.mark.soak
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("kind", ["ec2.Instance", "ec2.VolumeAttachment", "lb.TargetGroupAttachment", "efs.MountTarget"])
def test_a_replacement_that_was_cut_off_is_finished(stack: Standing, cloud: SimulatedCloud, kind: str, after: bool) -> None:
    stack.up()
    before = Counter(thing.kind for thing in cloud.things())
    stack.change(storage__more=MORE)
    kill(stack, cloud, at=f"create {kind}", passing=0, after=after)
    recovered(stack)
    stack.up("--refresh")
    assert Counter(thing.kind for thing in cloud.things()) == before + Counter(["efs.FileSystem", "efs.MountTarget"])
    assert unrecorded(stack, cloud) == []
    assert stack.changes() == {}
    stack.destroy()
    assert cloud.things() == []


@dataclasses.dataclass(frozen=True, slots=True)
class Whole(hosts.Deployment):
    """A stack of the project's own program, driven by its own commands."""

    cloud: SimulatedCloud

    @property
    def environment(self) -> dict[str, str]:
        plain = hosts.Deployment.environment.fget(self)  # type: ignore[attr-defined]
        return {**plain, **self.cloud.environment, "PATH": f"{client.PLUGIN_FOLDER}{os.pathsep}{plain['PATH']}"}


def test_the_commands_themselves_recover(tmp_path: Path, cloud: SimulatedCloud) -> None:
    (tmp_path / "small.yaml").write_text(STANDING)
    with hosts.deployment("test-kill-aws", tmp_path, blueprint=str(tmp_path / "small.yaml"), target="aws") as plain:
        stack = Whole(plain.stack, plain.home, cloud)
        cloud.fault("create *", "kill-engine", skip=20, after=True)
        killed = stack.clusterwright("up")
        assert killed.returncode == 1, killed.stdout + killed.stderr
        assert len(cloud.things()) >= 20, killed.stdout + killed.stderr
        stack.down()
        assert cloud.things() == []


LEFT = ("ec2.Vpc", "ec2.RouteTableAssociation", "iam.Role")
"""Kinds that are found in each of the ways: by tags, as a part that only its service tells of, by name. No host starts without one of each, so that a run that leaves none ends before it."""


def test_what_a_failed_run_did_not_record_is_taken_over(tmp_path: Path, cloud: SimulatedCloud) -> None:
    (tmp_path / "small.yaml").write_text(STANDING)
    with hosts.deployment("test-left-aws", tmp_path, blueprint=str(tmp_path / "small.yaml"), target="aws") as plain:
        stack = Whole(plain.stack, plain.home, cloud)
        for kind in LEFT:
            cloud.fault(f"create {kind}", "leave", code="RequestTimeout", times=1)
        for _ in LEFT:
            failed = stack.clusterwright("up")
            assert "RequestTimeout" in failed.stdout + failed.stderr
            if all(cloud.things(kind) for kind in LEFT):
                break
        assert all(cloud.things(kind) for kind in LEFT)
        cloud.clear_faults()
        assert len(cloud.things("ec2.Vpc")) == 1, "the one that the first run left"
        stack.down()
        assert cloud.things() == []


@pytest.mark.soak
def test_what_a_failed_run_left_is_in_the_way_of_plain_pulumi(stack: Standing, cloud: SimulatedCloud) -> None:
    cloud.fault("create iam.Role", "leave", code="RequestTimeout")
    stack.fails("up", "--yes", "--skip-preview")
    cloud.clear_faults()
    assert "EntityAlreadyExists" in stack.fails("up", "--yes", "--skip-preview")
    assert state.has_failed(STACK)


def test_two_at_once_are_kept_apart(stack: Standing, cloud: SimulatedCloud) -> None:
    kill(stack, cloud, passing=1, after=True)
    operations.prepare(STACK)
    record = commands.record(STACK)
    cloud.fault("create *", "slow", delay_s=5, times=None)
    theirs = stack.start("up", "--yes", "--skip-preview")
    wait_until(lambda: locks.holder(STACK) != "", awaiting="the other run to hold the stack", within_s=SOON_S)
    with pytest.raises(Problem, match="locked"):
        recovered(stack)
    with pytest.raises(Problem, match=r"locked|changed"):
        state.replace_record(STACK, record, instead_of=record)
    assert theirs.poll() is None, "the other run has not ended yet"


@pytest.mark.parametrize(("passing", "after"), [(3, True), *(pytest.param(*point, marks=pytest.mark.soak) for point in POINTS)])
def test_down_alone_leaves_nothing_after_a_kill(stack: Standing, cloud: SimulatedCloud, passing: int, after: bool) -> None:
    kill(stack, cloud, passing=passing, after=after)
    assert recovered(stack)
    stack.succeed("destroy", "--refresh", "--yes", "--skip-preview")
    assert cloud.things() == []
