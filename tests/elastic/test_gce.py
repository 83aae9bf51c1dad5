"""Whole stories on the simulated Compute Engine: from a job that wants nodes to the last instance that is deleted, whatever goes wrong in between."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.elastic.decide import holds
from components.elastic.decide.sync import ORPHAN_AFTER_S
from components.elastic.table import NodeSet
from tests.elastic import gce
from tests.elastic.gce import LABELS, MACHINE, SMALL, GceWorld
from tests.elastic.google import PREFIX, ZONE
from tests.elastic.world import IDLE_S
from tests.simcloud.google.cloud import Cloud

Make = Callable[..., GceWorld]


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with contextlib.closing(Cloud()) as one:
        gce.ground(one)
        yield one


@pytest.fixture
def world(cloud: Cloud, tmp_path: Path) -> Make:
    def make(*rows: NodeSet) -> GceWorld:
        return GceWorld(cloud, tmp_path, *rows)

    return make


def run_out(world: GceWorld, *, within_s: float = 3600) -> None:
    """Let time pass until every job is over."""
    for _ in range(round(within_s / 30)):
        if all(job.is_over for job in world.jobs.values()):
            break
        world.advance(30)
    assert [job.id for job in world.jobs.values() if not job.is_over] == []
    assert world.wrong == []


def test_a_job_gets_its_nodes_by_one_request_and_they_are_deleted_when_idle(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train"))
    here.submit(3)
    here.advance(30)
    assert set(here.live()) == {"train-0", "train-1", "train-2"}
    [launch] = here.store.read().launches
    assert launch.instances == here.live(), "it is answered at once"
    assert cloud.world.faults.count("compute.instances.bulkInsert") == 1
    run_out(here)
    here.advance(IDLE_S + 120)
    assert here.live() == {}
    assert here.store.read().launches == ()


def test_without_capacity_the_job_gets_none_of_its_nodes_and_takes_the_next_set(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train-a"), gce.row(cloud, "train-b", machine=SMALL))
    here.set("capacity", {MACHINE: 1})
    job = here.submit(2)
    here.advance(30)
    begun = here.now
    assert here.live("train-a") == {}, "one of two is none"
    hold = here.store.read().holds["train-a"]
    assert hold.until == pytest.approx(begun + holds.CAPACITY_HOLD_S, abs=30)
    assert f"{MACHINE}: no capacity (ZONE_RESOURCE_POOL_EXHAUSTED)" in hold.reason
    here.advance(30)
    assert job.nodes == ("train-b-0", "train-b-1")
    assert here.started() == ["train-b-0", "train-b-1"], "of the first set nothing was ever started"
    run_out(here)
    here.set("capacity", {})
    here.advance(holds.CAPACITY_HOLD_S)
    assert all(here.nodes[name].is_free for name in here.table.node_sets[0].nodes), "the hold is over"


def test_a_quota_is_named_in_the_hold_and_is_no_shortage(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train"))
    here.set("quotas", {"N2_CPUS": 4})
    here.submit(2)
    here.advance(30)
    assert here.live() == {}
    assert "the account's limit is reached (" in here.store.read().holds["train"].reason


def test_slow_operations_are_waited_for_and_nothing_is_started_twice(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", boot_timeout_s=600.0))
    here.set("operation_s", 100)
    job = here.submit(3)
    run_out(here)
    assert job.began is not None
    assert here.started() == ["train-0", "train-1", "train-2"]
    assert here.store.read().failed_boots == {}


@pytest.mark.parametrize("effect", ["fail", "leave"])
def test_an_answer_that_is_lost_starts_nothing_twice(world: Make, cloud: Cloud, effect: str) -> None:
    here = world(gce.row(cloud, "train"))
    here.fault("compute.instances.bulkInsert", effect=effect, code="backendError", times=5)
    here.submit(3)
    run_out(here)
    assert here.started() == ["train-0", "train-1", "train-2"]
    assert dict(here.store.read().holds) == {}


def test_an_api_that_refuses_for_minutes_ends_nothing(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1))
    here.submit(2)
    here.advance(120)
    before = here.started()
    here.fault("compute.*", effect="fail", code="rateLimitExceeded", times=None)
    here.advance(240)
    cloud.world.faults.clear()
    run_out(here)
    assert here.started() == before


@pytest.mark.parametrize("call", range(9))
@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_a_program_that_is_killed_leaves_nothing_that_the_next_look_does_not_take_up(world: Make, cloud: Cloud, kind: str, call: int) -> None:
    here = world(gce.row(cloud, "train", minimum=1, kind=kind))
    here.submit(3)
    here.kill_in = call
    here.advance(30)
    here.kill_in = None
    run_out(here)
    here.advance(IDLE_S + 300)
    assert set(here.live()) == {"train-0"}
    assert here.store.read().launches == ()


def test_a_node_whose_instance_dies_is_made_anew_and_its_job_runs(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1))
    job = here.submit(2)
    here.advance(120)
    assert job.began is not None
    earlier = here.live()["train-0"]
    here.lose("train-0")
    run_out(here)
    here.advance(120)
    assert here.live()["train-0"] != earlier, "the minimum runs again, under the same name"


def test_a_new_template_replaces_idle_nodes_and_busy_ones_when_their_job_is_over(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=2))
    job = here.submit(1, lasts=1200)
    here.advance(300)
    before = here.live()
    [busy], [idle] = job.nodes, set(before) - set(job.nodes)
    newer = gce.row(cloud, "train", minimum=2, template="train-2")
    here.use(dataclasses.replace(here.table, node_sets=(newer,)))
    here.advance(300)
    after = here.live()
    assert after[busy] == before[busy]
    assert after[idle] != before[idle]
    run_out(here)
    here.advance(300)
    assert set(here.live()) == {"train-0", "train-1"}
    assert set(here.live().values()).isdisjoint(before.values())


def test_instances_that_no_node_wants_end_and_those_of_others_do_not(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train"))
    for name, owner in (("train-3", LABELS["clusterwright-owner"]), ("train-2", "fedcba")):
        made = gce.properties(MACHINE, labels={**LABELS, "clusterwright-owner": owner})
        body = {
            "count": "1",
            "instanceProperties": made,
            "perInstanceProperties": {PREFIX + name: {}},
        }
        gce.ask(cloud, "POST", f"zones/{ZONE}/instances/bulkInsert", body)
    here.advance(ORPHAN_AFTER_S - 30)
    assert set(here.live()) == {"train-3"}, "it may be on its way"
    here.advance(90)
    assert [str(one["name"]) for one in cloud.store.all("compute.instances")] == [f"{PREFIX}train-2"]


def test_a_name_that_is_anothers_is_reported(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train"))
    body = {"count": "1", "instanceProperties": gce.properties(MACHINE, labels={}), "perInstanceProperties": {f"{PREFIX}train-0": {}}}
    gce.ask(cloud, "POST", f"zones/{ZONE}/instances/bulkInsert", body)
    here.submit(2)
    here.advance(30)
    assert "exist in us-central1-a and are not the stack's: starter-prod-train-0" in here.store.read().holds["train"].reason
