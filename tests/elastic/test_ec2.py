"""Whole stories on the simulated EC2: from a job that wants nodes to the last instance that ends, whatever goes wrong in between."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botocore.config
import pytest

from components.aws import policies
from components.elastic.decide import holds, leases
from components.elastic.decide.sync import ORPHAN_AFTER_S
from components.elastic.fleets.aws.inventory import BLOCK_ENDS_EARLY_S
from components.elastic.table import NodeSet
from tests.elastic import ec2
from tests.elastic.ec2 import BIG, SMALL, TAGS, Ec2World
from tests.elastic.test_judge import BROKEN, SICK
from tests.elastic.world import IDLE_S, JOB_S
from tests.simcloud.aws.client import REGION, SimulatedCloud

Make = Callable[..., Ec2World]


@pytest.fixture
def api(simulated: SimulatedCloud, session: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in simulated.environment.items():
        monkeypatch.setenv(name, value)
    return session.client("ec2", region_name=REGION, config=botocore.config.Config(retries={"total_max_attempts": 1, "mode": "standard"}))


@pytest.fixture
def ground(simulated: SimulatedCloud) -> ec2.Ground:
    return ec2.ground(simulated)


@pytest.fixture
def world(simulated: SimulatedCloud, api: Any, tmp_path: Path) -> Make:
    def make(*rows: NodeSet) -> Ec2World:
        return Ec2World(simulated, api, tmp_path, *rows)

    return make


def run_out(world: Ec2World, *, within_s: float = 3600) -> None:
    """Let time pass until every job is over."""
    for _ in range(round(within_s / 30)):
        if all(job.is_over for job in world.jobs.values()):
            break
        world.advance(30)
    assert [job.id for job in world.jobs.values() if not job.is_over] == []
    assert world.wrong == []


# All or nothing, holds


def test_without_capacity_the_job_gets_none_of_its_nodes_and_takes_the_next_set(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train-a"), ground.row("train-b", machine=SMALL))
    here.cloud.set("capacity", {BIG: 1})
    job = here.submit(2)
    here.advance(30)
    begun = here.now
    assert here.live("train-a") == {}, "one of two is none"
    hold = here.store.read().holds["train-a"]
    assert hold.until == pytest.approx(begun + holds.CAPACITY_HOLD_S, abs=30)
    assert f"{BIG}: no capacity (InsufficientInstanceCapacity)" in hold.reason
    assert {(known.is_down, known.reason) for known in here.nodes.values() if known.name.startswith("train-a")} == {(True, hold.reason)}
    here.advance(30)
    assert job.nodes == ("train-b-0", "train-b-1")
    assert here.started() == ["train-b-0", "train-b-1"], "of the first set nothing was ever started"
    run_out(here)
    here.cloud.set("capacity", {})
    here.advance(holds.CAPACITY_HOLD_S)
    assert all(here.nodes[name].is_free for name in here.table.node_sets[0].nodes), "the hold is over"


def test_a_job_that_cannot_go_back_waits_for_capacity_and_not_for_ever(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train"))
    here.cloud.set("capacity", {BIG: 1})
    job = here.submit(2, requeues=False)
    here.advance(90)
    assert here.live() == {}
    assert not job.is_over
    here.cloud.set("capacity", {})
    run_out(here)
    assert not job.is_lost
    here.advance(1800)
    here.cloud.set("capacity", {BIG: 0})
    late = here.submit(2, requeues=False)
    here.advance(90)
    assert not late.is_over
    here.advance(120)
    assert late.is_lost, "half of the time that the nodes have for their boot"
    assert here.store.read().launches == ()


def test_a_limit_of_the_account_is_named_in_the_hold(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train"))
    here.cloud.set("quotas", {"L-DB2E81BA": 1})
    here.submit(2)
    here.advance(30)
    assert here.live() == {}
    assert "the account's limit is reached (VcpuLimitExceeded" in here.store.read().holds["train"].reason


# Eventual consistency


def test_what_the_api_shows_late_is_waited_for_and_is_no_failure(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train"))
    here.cloud.set("describe_lag_s", 45)
    here.cloud.set("address_lag_s", 75)
    here.submit(3)
    run_out(here)
    remembered = here.store.read()
    assert (remembered.failed_boots, dict(remembered.holds)) == ({}, {})
    assert here.started() == ["train-0", "train-1", "train-2"], "nothing was started twice"


def test_what_the_api_shows_no_more_for_a_while_is_waited_for(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train"))
    here.submit(3)
    here.advance(30)
    here.cloud.set("describe_lag_s", 120)
    run_out(here)
    assert here.store.read().failed_boots == {}
    assert here.started() == ["train-0", "train-1", "train-2"]


def test_an_api_that_refuses_for_minutes_ends_nothing(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train", minimum=1))
    here.submit(2)
    here.advance(120)
    before = here.started()
    here.cloud.throttle("ec2.*", times=None)
    here.advance(240)
    here.cloud.clear_faults()
    run_out(here)
    assert here.started() == before


@pytest.mark.parametrize("call", range(9))
@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_a_program_that_is_killed_leaves_nothing_that_the_next_look_does_not_take_up(world: Make, ground: ec2.Ground, kind: str, call: int) -> None:
    here = world(ground.row("train", minimum=1, kind=kind))
    here.submit(3)
    here.kill_in = call
    here.advance(30)
    here.kill_in = None
    run_out(here)
    here.advance(IDLE_S + 300)
    assert set(here.live()) == {"train-0"}
    assert here.store.read().launches == ()


# Boots that fail


def test_boots_that_fail_are_counted_and_end_with_a_clear_reason(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train", count=12))
    here.boots = False
    here.submit(5)
    here.advance(420)
    assert here.store.read().failed_boots == {"train": 5}
    assert here.cloud.count("ec2.GetConsoleOutput") >= 1, "the end of a console is kept"
    here.advance(1200)
    hold = here.store.read().holds["train"]
    assert hold.until is None
    assert "15 nodes in a row did not boot" in hold.reason
    assert here.live() == {}
    assert {known.is_down for known in here.nodes.values()} == {True}
    assert {known.reason for known in here.nodes.values()} == {hold.reason, "clusterwright: it did not register with Slurm within 300 s"}
    assert len(here.started()) == 15
    here.advance(1800)
    assert len(here.started()) == 15, "and nothing is started any more"
    here.advance(3600)
    assert len(here.started()) == 16, "but for one, which is tried"


# Replacing


def test_a_new_template_replaces_idle_nodes_and_busy_ones_when_their_job_is_over(world: Make, ground: ec2.Ground) -> None:
    row = ground.row("train", minimum=2)
    here = world(row)
    job = here.submit(1, lasts=1200)
    here.advance(300)
    before = {node: one.id for node, one in here.live().items()}
    [busy], [idle] = job.nodes, set(before) - set(job.nodes)
    template = here.cloud.thing("ec2.LaunchTemplate")
    here.cloud.drift(row.start["launch_template"], versions={**template["versions"], "2": template["versions"]["1"]}, latestVersion=2)
    here.use(dataclasses.replace(here.table, node_sets=(dataclasses.replace(row, template="2"),)))
    here.advance(300)
    after = {node: one.id for node, one in here.live().items()}
    assert after[busy] == before[busy]
    assert after[idle] != before[idle]
    run_out(here)
    assert job.began is not None
    here.advance(300)
    versions = {one["systemTags"]["aws:ec2launchtemplate:version"] for one in here.live().values()}
    assert (set(here.live()), versions) == ({"train-0", "train-1"}, {"2"})


def test_a_node_whose_instance_dies_is_made_anew_and_its_job_runs(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train", minimum=1))
    job = here.submit(2)
    here.advance(120)
    assert job.began is not None
    here.end_instance(here.live()["train-0"].id)
    run_out(here)
    here.advance(120)
    assert "train-0" in here.live(), "the minimum stands again"


# Orphans


def test_instances_that_no_node_wants_end_and_those_of_others_do_not(world: Make, ground: ec2.Ground, api: Any) -> None:
    row = ground.row("train")
    here = world(row)
    started = {}
    for stack in ("prod", "other"):
        tags = [{"Key": key, "Value": value} for key, value in {**TAGS, "clusterwright:stack": stack}.items()]
        made = api.run_instances(
            LaunchTemplate={"LaunchTemplateId": row.start["launch_template"]},
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
        started[stack] = made["Instances"][0]["InstanceId"]
    here.advance(ORPHAN_AFTER_S - 30)
    assert here.live() != {}, "it may be on its way"
    here.advance(90)
    assert here.live() == {}
    assert [one.id for one in here.cloud.things("ec2.Instance")] == [started["other"]]


# Spot


def test_a_spot_notice_drains_the_node_and_its_job_starts_elsewhere_before_the_end(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train", kind="spot"))
    job = here.submit(1)
    here.advance(120)
    assert job.nodes == ("train-0",)
    here.cloud.interrupt(here.live()["train-0"].id, within_s=120)
    here.advance(30)
    assert "the cloud takes its instance back" in here.nodes["train-0"].reason
    here.advance(30)
    assert job.nodes == ("train-1",)
    run_out(here)
    here.advance(300)
    assert here.nodes["train-0"].is_free


# Leases


def test_jobs_that_would_outlive_a_block_do_not_start_and_nothing_starts_before_or_after_it(world: Make, ground: ec2.Ground) -> None:
    length = 4 * 3600
    block = ground.cloud.reserve(BIG, f"{REGION}a", 2, kind="capacity-block", starts_in_s=1800, ends_in_s=1800 + length).id
    here = world(ground.row("train", count=2, minimum=1, kind="block", capacity=block))
    begins, ends = here.now + 1800, here.now + 1800 + length - BLOCK_ENDS_EARLY_S
    here.advance(1740)
    assert here.cloud.count("ec2.RunInstances") == 0, "nothing is asked for before it begins"
    assert here.store.read().holds["train"].until == pytest.approx(begins, abs=5)
    [reserved] = here.reserved.values()
    assert reserved.nodes == ("train-0", "train-1")
    assert reserved.start == pytest.approx(ends - leases.TAKE_DOWN_S, abs=5)
    here.advance(300)
    assert set(here.live()) == {"train-0"}
    too_long, fits = here.submit(1, lasts=length), here.submit(1, lasts=JOB_S)
    here.advance(1200)
    assert (too_long.began, fits.is_over) == (None, True)
    here.advance(ends - here.now - 900)
    late = here.submit(1, lasts=1000)
    here.advance(600)
    assert late.began is None, "it would not be over in time"
    here.advance(3600)
    assert here.live() == {}
    asked = here.cloud.count("ec2.RunInstances")
    here.advance(3600)
    assert here.cloud.count("ec2.RunInstances") == asked, "nor after it ended"
    assert "has ended" in here.store.read().holds["train"].reason
    assert here.wrong == []


def test_a_block_that_is_gone_is_over_and_other_pools_go_on(world: Make, ground: ec2.Ground) -> None:
    block = ground.cloud.reserve(BIG, f"{REGION}a", 2, kind="capacity-block", starts_in_s=-3600, ends_in_s=36000).id
    here = world(ground.row("train-a", count=2, kind="block", capacity=block), ground.row("train-b", machine=SMALL))
    here.cloud.lose(block)
    here.advance(30)
    assert f"its capacity {block} has ended" in here.store.read().holds["train-a"].reason
    here.submit(2)
    run_out(here)


# The most nodes of a pool


def test_a_pool_of_two_machine_types_never_has_more_nodes_than_it_may(world: Make, ground: ec2.Ground) -> None:
    here = world(*(ground.row(name, machine=machine, pool_most=3) for name, machine in (("train-a", BIG), ("train-b", SMALL))))
    for _ in range(6):
        here.submit(2)
    run_out(here, within_s=7200)
    assert here.peak <= 3


# What it may do


def test_everything_that_the_program_asks_of_ec2_is_something_that_its_role_may(world: Make, ground: ec2.Ground) -> None:
    here = world(ground.row("train", kind="spot"), ground.row("other", minimum=1))
    ground.cloud.reserve(BIG, f"{REGION}a", 2)
    here.submit(2)
    here.boots = False
    here.advance(900)
    asked = {name.replace(".", ":") for name in here.cloud.calls() if name.startswith("ec2.")}
    assert {"ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateTags", "ec2:TerminateInstances", "ec2:GetConsoleOutput"} <= asked
    may = {
        action
        for statement in policies.start_nodes(policies.Nodes(REGION, "prod", (BIG,)), owner="1234", compute_role_arn="arn:aws:iam::1:role/x")
        for action in statement["Action"]
    }
    assert asked - may == set()


# Nodes that their own check drained


@pytest.mark.parametrize(
    ("on_failure", "reason", "is_replaced"),
    [("", SICK, True), ("keep", BROKEN, False), ("repair", SICK, False), ("repair", BROKEN, True), ("report", BROKEN, True)],
)
def test_a_node_that_its_check_drained_stays_or_goes_as_its_pool_says(world: Make, ground: ec2.Ground, on_failure: str, reason: str, is_replaced: bool) -> None:
    here = world(ground.row("train", minimum=1, on_failure=on_failure))
    here.advance(120)
    before = here.live()["train-0"].id
    here.nodes["train-0"].is_drained, here.nodes["train-0"].reason = True, reason
    here.advance(300)
    assert (here.live()["train-0"].id != before) is is_replaced, "EC2 takes no reports: a node of a set that wants one is replaced without"
    assert here.nodes["train-0"].is_drained is not is_replaced
