"""A killed engine: what it had made is found in the project, the next run goes on from it, and nothing is left in the end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stacks.engine import operations, recovery
from tests.components.gcp.standing import Standing
from tests.components.project import STACK
from tests.simcloud.google.client import SimulatedCloud

pytestmark = pytest.mark.engine

BLUEPRINT = str(Path(__file__).with_name("cpu.yaml"))
SUCCESSIVE = (
    ("iam.projects.serviceAccounts.create", 0, True),
    ("compute.subnetworks.insert", 0, True),
    ("compute.addresses.insert", 0, False),
    ("compute.instanceTemplates.insert", 0, True),
    ("compute.instances.insert", 0, True),
)
"""For runs one after the other: the call at which the engine is killed, how many of them pass before, and whether the last one is carried out. Each needs what the call before it
makes, so that none can have been under way when the engine was killed before."""
KINDS = (
    *("disks", "networks", "subnetworks", "firewalls", "addresses", "routers", "regionHealthChecks", "regionBackendServices", "forwardingRules"),
    *("instanceGroups", "instanceTemplates", "resourcePolicies"),
)
POINTS = (
    *((f"compute.{kind}.insert", 0, number % 2 == 0) for number, kind in enumerate(KINDS)),
    ("compute.instances.insert", 1, True),  # the first one builds the image, and is no resource of the engine
    *(("*.create", number, number % 2 == 0) for number in range(0, 9, 3)),
    *((f"sql.{kind}.insert", 0, after) for kind in ("instances", "databases", "users") for after in (True, False)),
)


@pytest.fixture
def stack(tmp_path: Path, cloud: SimulatedCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standing]:
    with Standing.of(tmp_path / "stack", cloud, BLUEPRINT, accounting__database="managed") as one:
        for name, value in one.environment.items():
            monkeypatch.setenv(name, value)
        yield one


def kill(stack: Standing, cloud: SimulatedCloud, *words: str, at: str, passing: int, after: bool) -> None:
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


def made(cloud: SimulatedCloud) -> list[tuple[str, str]]:
    return sorted((thing.kind, thing.id) for thing in cloud.things())


def test_up_goes_on_after_each_kill_and_nothing_is_left(stack: Standing, cloud: SimulatedCloud) -> None:
    for at, passing, after in SUCCESSIVE:
        kill(stack, cloud, at=at, passing=passing, after=after)
        recovered(stack)
    stack.up("--refresh")
    assert stack.changes() == {}
    assert cloud.untagged("clusterwright-stack", "clusterwright-cluster", "clusterwright-owner") == []
    kill(stack, cloud, "destroy", at="compute.firewalls.delete", passing=1, after=True)
    recovered(stack)
    stack.destroy()
    assert made(cloud) == []


@pytest.mark.soak
@pytest.mark.parametrize(("at", "passing", "after"), POINTS)
def test_up_converges_after_a_kill(stack: Standing, cloud: SimulatedCloud, at: str, passing: int, after: bool) -> None:
    kill(stack, cloud, at=at, passing=passing, after=after)
    recovered(stack)
    stack.up("--refresh")
    assert stack.changes() == {}
    stack.destroy()
    assert made(cloud) == []


@pytest.mark.soak
@pytest.mark.parametrize(("at", "passing", "after"), POINTS)
def test_down_alone_leaves_nothing_after_a_kill(stack: Standing, cloud: SimulatedCloud, at: str, passing: int, after: bool) -> None:
    kill(stack, cloud, at=at, passing=passing, after=after)
    recovered(stack)
    stack.succeed("destroy", "--refresh", "--yes", "--skip-preview")
    assert made(cloud) == []
