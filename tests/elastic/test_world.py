"""The program against a cloud and a Slurm in which anything can happen: what must never be, never is; and when the trouble is over, all jobs run and nothing is left running."""

import dataclasses
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from components.elastic.decide import holds
from components.files import memory_folders
from tests.elastic.values import node_set, table
from tests.elastic.world import World

pytestmark = pytest.mark.slow
TWO_SETS = table(node_set("train-a", count=4, minimum=1, boot_timeout_s=300.0), node_set("train-b", count=4, boot_timeout_s=300.0))
MOST = 5
LIMITED = table(*(dataclasses.replace(one, pool_most=MOST) for one in TWO_SETS.node_sets))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(table(node_set(count=16, boot_timeout_s=300.0)), tmp_path)


def live(world: World) -> dict[str, str]:
    """Give the nodes that have an instance, with it."""
    return {machine.node: machine.id for machine in world.machines.values() if machine.ended_at is None}


def test_what_slurm_itself_drains_is_made_anew_and_not_paid_for_in_vain(world: World) -> None:
    first = world.submit(1)
    world.advance(300)
    assert first.is_over
    [(name, earlier)] = live(world).items()
    world.nodes[name].is_drained, world.nodes[name].reason = True, "Prolog error"
    world.advance(300)
    assert live(world) == {}
    assert world.nodes[name].is_free
    again = world.submit(1)
    world.advance(300)
    assert again.is_over
    assert live(world)[name] != earlier


def test_instances_that_could_not_be_ended_are_no_failed_boots_of_nodes_that_are_wanted_again(world: World) -> None:
    first = world.submit(10)
    world.advance(400)
    assert first.is_over
    world.is_reachable = False
    world.advance(480)
    assert {known.power for known in world.nodes.values()} == {"off"}, "Slurm switched them off, and nobody could end what they ran on"
    again = world.submit(10)
    world.advance(30)
    world.is_reachable = True
    world.advance(30)
    assert world.actor._store.read().failed_boots == {}
    world.advance(600)
    assert again.is_over
    assert world.actor._store.read().holds == {}


def test_a_job_waits_while_the_cloud_queues_its_request_and_runs_when_it_is_answered(world: World) -> None:
    world.queued_until = world.now + 100
    job, other = world.submit(4), world.submit(2)
    world.advance(90)
    assert live(world) == {}
    assert world.actor._store.read().holds == {}
    assert all("queue" in world.explained[one.id] for one in (job, other))
    world.advance(400)
    assert job.is_over
    assert other.is_over


def test_a_job_whose_request_is_queued_for_hours_asks_again_and_again_and_nothing_is_held(world: World) -> None:
    world.queued_until = world.now + 3 * 3600
    job = world.submit(4)
    world.advance(3 * 3600 - 60)
    assert not job.is_over
    assert (live(world), world.actor._store.read().holds) == ({}, {})
    assert len(world.queue) <= 1, "what it gave up waiting for is withdrawn"
    world.advance(900)
    assert world.peak == 4
    assert job.is_over


def test_the_request_of_a_cancelled_job_is_withdrawn_and_that_of_another_one_is_not(world: World) -> None:
    world.queued_until = world.now + 100
    job, other = world.submit(4), world.submit(2)
    world.advance(30)
    assert len(world.queue) == 2
    world.cancel(job)
    world.advance(60)
    [nodes] = world.queue.values()
    assert nodes == other.nodes
    world.advance(400)
    assert other.is_over
    assert world.peak == 2
    assert all(known.is_free for known in world.nodes.values())


def test_a_node_set_that_boots_again_comes_back_by_itself(world: World) -> None:
    world.boots = False
    job = world.submit(10)
    world.advance(1800)
    assert world.actor._store.read().holds["train"].until is None
    assert len(world.machines) == 30
    world.advance(10 * 3600)
    assert len(world.machines) == 33, "after one hour, two and four"
    world.boots = True
    world.advance(8 * 3600)
    assert job.is_over
    assert world.actor._store.read().holds == {}
    assert live(world) == {}


class Cluster(RuleBasedStateMachine):
    table = TWO_SETS

    @initialize(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5))
    def begin(self, sizes: list[int]) -> None:
        self.folder = tempfile.TemporaryDirectory(dir=memory_folders.MEMORY)
        self.world = World(self.table, Path(self.folder.name))
        for size in sizes:
            self.world.submit(size)

    @rule(size=st.integers(1, 4), requeues=st.booleans())
    def submit(self, size: int, requeues: bool) -> None:
        self.world.submit(size, requeues=requeues)

    @rule(steps=st.integers(1, 12))
    def wait(self, steps: int) -> None:
        self.world.advance(30.0 * steps)

    @rule(steps=st.integers(1, 6), calls=st.integers(0, 8))
    def kill_the_program(self, steps: int, calls: int) -> None:
        self.world.kill_in = calls
        self.world.advance(30.0 * steps)
        self.world.kill_in = None

    @precondition(lambda self: any(machine.ended_at is None for machine in self.world.machines.values()))
    @rule(which=st.integers(0, 100), is_noticed=st.booleans())
    def lose(self, which: int, is_noticed: bool) -> None:
        live = [machine for machine in self.world.machines.values() if machine.ended_at is None]
        machine = live[which % len(live)]
        if is_noticed:
            machine.noticed = True
        else:
            self.world.end_instance(machine.id)

    @rule(room=st.integers(0, 4), which=st.sampled_from(["train-a", "train-b"]))
    def run_short(self, room: int, which: str) -> None:
        self.world.room[which] = room

    @rule(boots=st.booleans())
    def break_boots(self, boots: bool) -> None:
        self.world.boots = boots

    @rule(after_s=st.sampled_from([0.0, 45.0, 100.0]))
    def show_late(self, after_s: float) -> None:
        self.world.shown_after_s = after_s

    @rule(for_s=st.sampled_from([0.0, 100.0, 1000.0]))
    def queue(self, for_s: float) -> None:
        self.world.queued_until = self.world.now + for_s

    @rule(is_reachable=st.booleans())
    def cut_off(self, is_reachable: bool) -> None:
        self.world.is_reachable = is_reachable

    @rule(which=st.sampled_from(sorted(TWO_SETS.owners())), is_maintained=st.booleans())
    def maintain(self, which: str, is_maintained: bool) -> None:
        self.world.nodes[which].is_maintained = is_maintained

    @rule(which=st.sampled_from(sorted(TWO_SETS.owners())))
    def have_slurm_drain(self, which: str) -> None:
        known = self.world.nodes[which]
        if known.power == "up" and not (known.is_down or known.is_drained):
            known.is_drained, known.reason = True, "Kill task failed"

    @rule(which=st.sampled_from(sorted(TWO_SETS.owners())))
    def drain(self, which: str) -> None:
        known = self.world.nodes[which]
        if not (known.is_down or known.is_drained):
            known.is_drained, known.reason = True, "ada"

    @invariant()
    def nothing_wrong_was_done(self) -> None:
        assert self.world.wrong == []

    @invariant()
    def there_is_never_more_than_the_table_allows(self) -> None:
        live = [machine.node for machine in self.world.machines.values() if machine.ended_at is None]
        for one in TWO_SETS.node_sets:
            assert sum(node in one.nodes for node in live) <= one.count

    def teardown(self) -> None:
        try:
            self.assert_recovery()
        finally:
            self.folder.cleanup()

    def assert_recovery(self) -> None:
        """The trouble ends: then every job runs, the minimum stands, and nothing else does."""
        world = self.world
        world.kill_in, world.boots, world.shown_after_s, world.is_reachable = None, True, 0.0, True
        world.room, world.queued_until = dict.fromkeys(world.room, 4), 0.0
        for machine in world.machines.values():
            machine.boots = True
            machine.noticed = False
        for known in world.nodes.values():
            known.is_maintained = False
            if known.reason == "ada":
                known.is_drained, known.reason = False, ""
        store = world.actor._store
        for one in TWO_SETS.node_sets:
            store.write(holds.released(store.read(), one.name))
        world.advance(30.0 * 60)
        for _ in range(40):
            if all(job.is_over for job in world.jobs.values()):
                break
            world.advance(30.0 * 20)
        assert world.wrong == []
        assert [job.id for job in world.jobs.values() if not job.is_over] == [], "every job runs in the end"
        world.advance(30.0 * 60)
        assert {machine.node for machine in world.machines.values() if machine.ended_at is None} == {"train-a-0"}, "only the minimum is left"
        assert world.nodes["train-a-0"].is_free
        assert store.read().launches == ()
        assert world.queue == {}


class LimitedCluster(Cluster):
    """A pool that may have fewer nodes than its node sets have names."""

    table = LIMITED

    def assert_recovery(self) -> None:
        super().assert_recovery()
        assert self.world.peak <= MOST


class ManyClusters(Cluster):
    """Longer stories, and others in every run."""


class ManyLimitedClusters(LimitedCluster):
    """The same."""


FEW = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=2000, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))


Cluster.TestCase.settings = LimitedCluster.TestCase.settings = FEW
ManyClusters.TestCase.settings = ManyLimitedClusters.TestCase.settings = MANY
TestCluster, TestLimitedCluster = Cluster.TestCase, LimitedCluster.TestCase
TestManyClusters, TestManyLimitedClusters = pytest.mark.soak(ManyClusters.TestCase), pytest.mark.soak(ManyLimitedClusters.TestCase)
