"""What may be switched, as a table: nodes without jobs, few at a time, seldom, and what others need only alone."""

import datetime as dt

import pytest

from components.bmc.model import Action
from components.elastic.model import Node
from stacks.bmcs import safeguards

NOW = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
POOLS = {"train": 40, "debug": 2}
DRAINED, BUSY, DRAINING, DOWN, HUNG, HUNG_WITH_JOBS = (
    Node("n", "idle", frozenset({"drain"})),
    Node("n", "idle"),
    Node("n", "mixed", frozenset({"drain"})),
    Node("n", "down"),
    Node("n", "idle", frozenset({"not_responding"})),
    Node("n", "allocated", frozenset({"not_responding"})),
)


def node(name: str, state: Node | None, pool: str = "train") -> safeguards.Host:
    return safeguards.Host(name, safeguards.COMPUTE, pool, state)


def objections(
    *hosts: safeguards.Host, action: Action = Action.CYCLE, cycles: tuple[dt.timedelta, ...] = (), allowed: safeguards.Allowed | None = None
) -> list[str]:
    earlier = {host.name: [NOW - ago for ago in cycles] for host in hosts}
    return safeguards.objections(hosts, action, pools=POOLS, cycles=earlier, now=NOW, allowed=allowed or safeguards.Allowed())


@pytest.mark.parametrize("state", [DRAINED, DOWN, HUNG])
@pytest.mark.parametrize("action", list(Action))
def test_a_node_without_jobs_may_be_switched(state: Node, action: Action) -> None:
    assert objections(node("gpu-1", state), action=action) == []


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (BUSY, "gpu-1 takes jobs: drain it first (`scontrol update nodename=gpu-1 state=drain reason=power`)"),
        (DRAINING, "jobs run on gpu-1"),
        (HUNG_WITH_JOBS, "gpu-1 takes jobs: drain it first (`scontrol update nodename=gpu-1 state=drain reason=power`)"),
        (None, "Slurm does not say whether jobs run on gpu-1"),
    ],
)
def test_a_node_with_jobs_is_switched_only_by_force(state: Node | None, why: str) -> None:
    assert objections(node("gpu-1", state)) == [why]
    assert objections(node("gpu-1", state), action=Action.HARD_OFF) == [why]
    assert objections(node("gpu-1", state), action=Action.ON) == []
    assert objections(node("gpu-1", state), allowed=safeguards.Allowed(force=True)) == []
    assert objections(node("gpu-1", None), allowed=safeguards.Allowed(unused=True)) == []


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 1), (19, 1), (20, 2), (40, 4)])
def test_one_command_switches_a_tenth_of_a_pool(size: int, most: int) -> None:
    assert safeguards.most(size) == most


def test_more_of_a_pool_needs_a_number_and_force_is_none() -> None:
    five = [node(f"gpu-{number}", DRAINED) for number in range(5)]
    why = ["gpu-[0-4] are 5 hosts of train, which has 40: one command switches 4 (--at-most allows more)"]

    assert objections(*five[:4]) == []
    assert objections(*five) == why
    assert objections(*five, allowed=safeguards.Allowed(force=True)) == why
    assert objections(*five, allowed=safeguards.Allowed(at_most=5)) == []
    assert objections(*five, action=Action.ON) == []


def test_each_pool_has_its_own_limit() -> None:
    assert objections(node("gpu-1", DRAINED), node("dev-1", DRAINED, "debug")) == []
    assert len(objections(node("dev-1", DRAINED, "debug"), node("dev-2", DRAINED, "debug"))) == 1


@pytest.mark.parametrize("role", ["control", "access"])
def test_a_controller_or_login_host_is_named_alone(role: str) -> None:
    shared = safeguards.Host("head-1", role, role)

    assert objections(shared) == []
    assert objections(shared, node("gpu-1", DRAINED), allowed=safeguards.Allowed(force=True)) == ["head-1 serves others: name a controller or login host alone"]


def test_a_host_that_needs_many_power_cycles_is_broken() -> None:
    hour, day = dt.timedelta(hours=1), dt.timedelta(hours=25)

    assert objections(node("gpu-1", DOWN), cycles=(hour, day)) == []
    assert objections(node("gpu-1", DOWN), cycles=(hour, hour)) == ["gpu-1 was cycled 2 times within 24 hours: look for what is broken"]
    assert objections(node("gpu-1", DOWN), action=Action.HARD_OFF, cycles=(hour, hour)) == []
    assert objections(node("gpu-1", DOWN), cycles=(hour, hour), allowed=safeguards.Allowed(force=True)) == []
    # Before the first `up` the limit counts all the same.
    assert len(objections(node("gpu-1", None), cycles=(hour, hour), allowed=safeguards.Allowed(unused=True))) == 1
