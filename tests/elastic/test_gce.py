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
from tests.elastic.test_judge import BROKEN, SICK
from tests.elastic.world import IDLE_S
from tests.simcloud.google import happenings, operations
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


# What Compute Engine itself ends


def test_a_preempted_node_is_known_at_once_and_its_job_runs_elsewhere(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", kind="spot"))
    job = here.submit(1)
    here.advance(120)
    assert job.nodes == ("train-0",)
    happenings.preempt(cloud, here.instance("train-0"))
    here.advance(60)
    assert job.nodes == ("train-1",)
    run_out(here)
    here.advance(IDLE_S + 120)
    assert here.nodes["train-0"].is_free
    assert (here.live(), here.store.read().failed_boots) == ({}, {})


def test_an_instance_whose_host_failed_gives_its_name_back(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1, scheduling={"automaticRestart": False, "onHostMaintenance": "TERMINATE"}))
    job = here.submit(1, lasts=600)
    here.advance(120)
    assert job.began is not None
    earlier = here.live()["train-0"]
    happenings.fail_host(cloud, here.instance("train-0"))
    here.advance(60)
    assert job.nodes != ("train-0",)
    run_out(here)
    here.advance(300)
    assert here.live()["train-0"] != earlier


def test_an_instance_that_restarts_in_place_lives_on_until_slurm_takes_its_node_down(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1, scheduling={"automaticRestart": True, "onHostMaintenance": "TERMINATE"}))
    job = here.submit(1, lasts=600)
    here.advance(120)
    earlier = here.live()["train-0"]
    happenings.fail_host(cloud, here.instance("train-0"))
    here.advance(60)
    assert (here.live()["train-0"], job.nodes) == (earlier, ("train-0",)), "the event of its host says nothing of this instance, which runs"
    here.reboot("train-0")
    here.advance(60)
    assert job.nodes != ("train-0",)
    run_out(here)
    here.advance(300)
    assert here.live()["train-0"] != earlier
    assert here.store.read().failed_boots == {}


def test_jobs_leave_a_node_before_its_host_is_maintained_and_not_days_before(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train"))
    job = here.submit(1, lasts=3600)
    here.advance(120)
    happenings.announce(cloud, here.instance("train-0"), windowStartTime=operations.stamp(here.now + 1800))
    here.advance(600)
    assert job.nodes == ("train-0",)
    here.advance(900)
    assert job.nodes == ("train-1",)


# Flex-start


def group_size(cloud: Cloud) -> int:
    return int(gce.ask(cloud, "GET", f"{gce.GROUPS}/train")["targetSize"])


def states(cloud: Cloud) -> list[str]:
    return sorted(one["state"] for one in gce.ask(cloud, "GET", f"{gce.GROUPS}/train/resizeRequests").get("items", ()))


def test_a_job_of_flex_nodes_waits_with_a_reason_and_runs_when_there_is_room(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", kind="flex"))
    here.set("capacity", {MACHINE: 1})
    job = here.submit(2)
    here.advance(90)
    assert "waits for n2-standard-4: the request waits in the cloud's queue (ZONE_RESOURCE_POOL_EXHAUSTED)" in here.explained[job.id]
    assert (here.live(), dict(here.store.read().holds), states(cloud)) == ({}, {}, ["ACCEPTED"])
    here.set("capacity", {})
    run_out(here)
    assert here.started() == ["train-0", "train-1"]
    here.advance(IDLE_S + 120)
    assert (here.live(), group_size(cloud)) == ({}, 0), "the group does not replace them"


def test_requests_that_waited_too_long_or_whose_job_is_gone_are_cancelled(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", kind="flex"))
    here.set("capacity", {MACHINE: 0})
    here.submit(2)
    here.advance(3600)
    assert states(cloud).count("ACCEPTED") <= 1, "all but the last one"
    assert states(cloud).count("CANCELLED") > 3
    here.cancel(here.jobs[1])
    here.advance(60)
    assert states(cloud).count("ACCEPTED") == 0
    here.set("capacity", {})
    here.advance(120)
    assert (here.started(), group_size(cloud)) == ([], 0)


def test_flex_nodes_that_are_none_are_deleted_and_reported(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", kind="flex"))
    here.set("flex_is_standard", value=True)
    here.submit(2)
    here.advance(60)
    assert "starts instances as STANDARD, not as FLEX_START" in here.store.read().holds["train"].reason
    here.advance(60)
    assert (here.live(), group_size(cloud)) == ({}, 0)


@pytest.mark.parametrize("call", range(10))
def test_a_program_that_is_killed_leaves_no_request_and_no_flex_node(world: Make, cloud: Cloud, call: int) -> None:
    here = world(gce.row(cloud, "train", kind="flex"))
    here.set("flex_wait_s", 45)
    here.submit(3)
    here.kill_in = call
    here.advance(60)
    here.kill_in = None
    run_out(here)
    here.advance(IDLE_S + 300)
    assert (here.live(), group_size(cloud)) == ({}, 0)
    assert "ACCEPTED" not in states(cloud)


# Nodes that their own check drained


def drain(here: GceWorld, node: str, reason: str) -> None:
    known = here.nodes[node]
    known.is_drained, known.reason = True, reason


def reports(cloud: Cloud) -> int:
    """Count the reports of hosts that Compute Engine took; one that is made again is one."""
    return sum(thing["_method"] == "compute.instances.reportHostAsFaulty" for thing in cloud.store.all("compute.zoneOperations"))


def test_the_host_of_a_node_with_a_broken_part_is_reported_once_and_the_node_replaced_when_that_is_done(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1, on_failure="report"))
    here.advance(120)
    before = here.live()
    here.set("operation_s", 600)
    drain(here, "train-0", BROKEN)
    here.advance(570)
    assert here.live() == before, "its instance runs on while Compute Engine works on its host"
    here.set("operation_s", 0)
    here.advance(240)
    assert here.live().keys() == before.keys()
    assert here.live() != before
    assert here.nodes["train-0"].is_free
    asked = cloud.world.faults.count("compute.instances.reportHostAsFaulty")
    assert asked > 1, "it asks again how far the report is"
    assert reports(cloud) == 1


def test_no_more_hosts_are_reported_in_a_day_than_may_be(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=4, on_failure="report"))
    here.advance(120)
    before = here.live()
    for node in before:
        drain(here, node, BROKEN)
    here.advance(300)
    assert {node for node, one in here.live().items() if one != before[node]} == set(before), "all are replaced"
    assert reports(cloud) == 3
    here.advance(86400)
    drain(here, "train-0", BROKEN)
    here.advance(120)
    assert reports(cloud) == 4, "the next day has its own"


def test_a_refused_report_does_not_keep_a_broken_node(world: Make, cloud: Cloud) -> None:
    here = world(gce.row(cloud, "train", minimum=1, on_failure="report"))
    here.advance(120)
    before = here.live()
    here.fault("compute.instances.reportHostAsFaulty", code="invalid", times=None)
    drain(here, "train-0", BROKEN)
    here.advance(180)
    assert here.live().keys() == before.keys()
    assert here.live() != before


@pytest.mark.parametrize(
    ("on_failure", "reason", "is_replaced_after_s"),
    [("", SICK, 60), ("keep", SICK, None), ("keep", BROKEN, None), ("repair", SICK, 1860), ("repair", BROKEN, 60), ("reboot", BROKEN, 60)],
)
def test_a_node_that_its_check_drained_stays_or_goes_as_its_pool_says(
    world: Make, cloud: Cloud, on_failure: str, reason: str, is_replaced_after_s: int | None
) -> None:
    here = world(gce.row(cloud, "train", minimum=1, on_failure=on_failure))
    here.advance(120)
    before = here.live()
    drain(here, "train-0", reason)
    here.advance((is_replaced_after_s or 7200) - 60)
    assert here.live() == before
    here.advance(240)
    assert (here.live() != before) is (is_replaced_after_s is not None)
    assert here.nodes["train-0"].is_drained is (is_replaced_after_s is None)
    assert reports(cloud) == 0
