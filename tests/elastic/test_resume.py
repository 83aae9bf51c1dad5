"""Slurm wants nodes: what is asked for, and what follows from the cloud's answer."""

import dataclasses

import pytest

from components.elastic.decide import Request, Wanted, holds, launched, pools, resume, steps, suspend, sync
from components.elastic.decide.answers import RETRY_FOR_S, Answer, Refusal
from components.elastic.decide.resume import WAITING_SHARE
from components.elastic.memory import Launch, Memory
from components.elastic.model import Cloud, Instance, Life, Slurm
from components.elastic.table import Table
from tests.elastic.values import BOOT_TIMEOUT_S, NOW, OFF, STARTING, STOPPING, UP, cloud, instance, launch, node, node_set, slurm, table

TWO_SETS = table(node_set("train-a", count=4), node_set("train-b", count=4))


def wanted(*groups: tuple[int | None, tuple[str, ...]], on: Table | None = None, memory: Memory | None = None, has: Cloud | None = None) -> steps.Decision:
    on = on or table()
    nodes = [name for _, names in groups for name in names]
    view = slurm(*(node(name, STARTING, base="mixed") for name in nodes), also=on)
    request = Request(tuple(Wanted(names, job) for job, names in groups))
    return resume(request, table=on, slurm=view, cloud=has or cloud(), memory=memory or Memory(), now=NOW)


def asked(decision: steps.Decision) -> list[Launch]:
    return [step.launch for step in decision.steps if isinstance(step, steps.Ask)]


def test_the_nodes_of_a_job_are_one_launch_and_remembered_before_it_is_asked_for() -> None:
    decision = wanted((7, ("train-0", "train-1")))
    [one] = asked(decision)
    assert (one.nodes, one.jobs, one.is_whole, one.launched_at) == (("train-0", "train-1"), (7,), True, None)
    assert decision.memory.launches == (one,)


def test_jobs_of_one_node_share_a_call() -> None:
    on = table(node_set(count=500))
    decision = wanted(*((number, (f"train-{number}",)) for number in range(500)), on=on)
    [one] = asked(decision)
    assert (len(one.nodes), one.is_whole, one.jobs) == (500, False, tuple(range(500)))
    assert len(decision.memory.launches) == 1


def test_nodes_of_nobodys_job_stand_for_themselves() -> None:
    [one] = asked(wanted((None, ("train-0", "train-1"))))
    assert (one.nodes, one.is_whole) == (("train-0", "train-1"), False)


def test_a_job_over_two_node_sets_is_two_launches_that_stand_together() -> None:
    first, second = asked(wanted((7, ("train-a-0", "train-b-0")), on=TWO_SETS))
    assert (first.node_set, second.node_set) == ("train-a", "train-b")
    assert first.group == second.group
    assert first.is_whole
    assert second.is_whole


def test_a_repeated_call_asks_for_nothing_twice() -> None:
    first = wanted((7, ("train-0", "train-1")))
    again = wanted((7, ("train-0", "train-1")), memory=first.memory)
    assert again.steps == ()
    assert again.memory == first.memory


def test_a_launch_whose_instance_is_gone_does_not_stand_in_the_way() -> None:
    memory = Memory(launches=(launch("train-0", launched=NOW - 1000),))
    assert len(asked(wanted((7, ("train-0",)), memory=memory))) == 1
    assert asked(wanted((7, ("train-0",)), memory=memory, has=cloud(instance("train-0")))) == [], "it still boots"


def test_an_instance_of_an_earlier_life_ends_first() -> None:
    decision = wanted((7, ("train-0",)), has=cloud(instance("train-0", identity="i-old", launch="earlier")))
    assert decision.steps[0] == steps.Terminate(("i-old",), "left from an earlier life of a node that Slurm wants again")
    assert isinstance(decision.steps[1], steps.Ask)


def test_an_instance_of_a_part_of_a_launch_is_that_launch_s() -> None:
    memory = Memory(launches=(launch("train-0"),))
    decision = wanted((7, ("train-0",)), memory=memory, has=cloud(instance("train-0", launch="t-1")))
    assert decision.steps == ()


@pytest.mark.parametrize("off", [OFF, OFF | {"drain"}])
def test_what_is_off_by_now_is_not_asked_for(off: frozenset[str]) -> None:
    view = slurm(node("train-0", off, reason="ada"), node("train-1", STARTING, base="mixed"), node("train-2", OFF, base="mixed"), also=table())
    request = Request((Wanted(("train-0",), 7), Wanted(("train-1", "train-2"), 8)))
    decision = resume(request, table=table(), slurm=view, cloud=cloud(), memory=Memory(), now=NOW)
    assert [one.nodes for one in asked(decision)] == [("train-1", "train-2")], "one that a job has is about to be started"


def test_unknown_nodes_are_refused_and_the_others_asked_for() -> None:
    decision = wanted((7, ("train-0",)), (8, ("other-0",)))
    assert [type(step) for step in decision.steps] == [steps.SetDown, steps.Ask]
    assert isinstance(decision.steps[0], steps.SetDown)
    assert decision.steps[0].nodes == ("other-0",)


def test_a_held_node_set_refuses_all_of_a_job_and_lets_it_go_elsewhere() -> None:
    memory = holds.refused(Memory(), TWO_SETS.node_sets[0], "no capacity", NOW - 60)
    decision = wanted((7, ("train-a-0", "train-b-0")), (8, ("train-b-1",)), on=TWO_SETS, memory=memory)
    reason = memory.holds["train-a"].reason
    assert decision.steps[:3] == (
        steps.SetDown(("train-a-0", "train-b-0"), reason),
        steps.PowerDown(("train-a-0", "train-b-0"), reason.removeprefix("clusterwright: ")),
        steps.StartNow((7,)),
    )
    assert [one.nodes for one in asked(decision)] == [("train-b-1",)]


def test_a_pool_never_has_more_nodes_than_it_says() -> None:
    on = table(node_set("train-a", count=4, pool_most=4), node_set("train-b", count=4, pool_most=4))
    has = cloud(*(instance(f"train-a-{number}") for number in range(3)))
    assert len(asked(wanted((7, ("train-b-0",)), on=on, has=has))) == 1
    refused = wanted((7, ("train-b-0", "train-b-1")), on=on, has=has)
    reason = "clusterwright: pool train has its 4 nodes already"
    # Nothing is held, and the job is not hurried: Slurm lets it wait two minutes by itself.
    assert refused.steps == (
        steps.SetDown(("train-b-0", "train-b-1"), reason),
        steps.PowerDown(("train-b-0", "train-b-1"), "pool train has its 4 nodes already"),
    )
    assert refused.memory == Memory()


def test_a_job_that_cannot_go_back_waits_for_room_in_its_pool() -> None:
    on = table(node_set("train-a", count=4, pool_most=4), node_set("train-b", count=4, pool_most=4))
    running = [f"train-a-{number}" for number in range(3)]
    names = ("train-b-0", "train-b-1")
    view = slurm(*(node(name, base="mixed") for name in running), *(node(name, STARTING, base="mixed") for name in names), jobs={7: names}, bound=[7], also=on)
    has = cloud(*(instance(name) for name in running))
    decision = resume(Request((Wanted(names, 7),)), table=on, slurm=view, cloud=has, memory=Memory(), now=NOW)
    assert decision.steps == ()
    [waiting] = decision.memory.launches
    assert (waiting.nodes, waiting.ask_until) == (names, NOW + BOOT_TIMEOUT_S / 2)
    full = sync(table=on, slurm=view, cloud=has, memory=decision.memory, now=NOW + 30)
    assert asked(full) == []
    fewer = slurm(*(node(name, STARTING, base="mixed") for name in names), jobs={7: names}, bound=[7], also=on)
    room = sync(table=on, slurm=fewer, cloud=cloud(), memory=full.memory, now=NOW + 60)
    assert [one.nodes for one in asked(room)] == [names]


def test_a_hold_for_capacity_does_not_end_a_job_that_cannot_go_back() -> None:
    names = ("train-0", "train-1")
    view = slurm(*(node(name, STARTING, base="mixed") for name in names), jobs={7: names}, bound=[7], also=table())
    request = Request((Wanted(names, 7),))
    short = holds.refused(Memory(), node_set(), "no capacity", NOW - 60)
    assert [one.nodes for one in asked(resume(request, table=table(), slurm=view, cloud=cloud(), memory=short, now=NOW))] == [names]
    broken = holds.broken(Memory(), node_set(), NOW - 60)
    assert asked(resume(request, table=table(), slurm=view, cloud=cloud(), memory=broken, now=NOW)) == [], "what does not boot helps it no more"


def test_of_several_jobs_those_get_nodes_for_which_the_pool_has_room() -> None:
    on = table(node_set("train-a", count=4, pool_most=3), node_set("train-b", count=4, pool_most=3))
    decision = wanted((7, ("train-a-0", "train-a-1")), (8, ("train-b-0", "train-b-1")), (9, ("train-b-2",)), on=on)
    assert sorted(one.nodes for one in asked(decision)) == [("train-a-0", "train-a-1"), ("train-b-2",)]


def test_what_counts_for_a_pool_is_what_runs_or_is_about_to_and_what_always_runs() -> None:
    on = table(node_set("train-a", count=8, minimum=2, pool_most=7), node_set("train-b", count=8, pool_most=7), node_set("other", pool_most=1))
    refused = node("train-b-2", STOPPING, base="down", reason="clusterwright: pool train has its 7 nodes already")
    seen = slurm(node("train-a-0"), node("train-a-3", STOPPING), node("train-b-0", OFF, base="mixed"), node("other-0"), refused, also=on)
    has = cloud(
        instance("train-a-3"), instance("train-a-4"), instance("train-a-5", life=Life.ENDED), instance("train-a-6", identity="i-told"), instance("other-0")
    )
    memory = Memory(launches=(launch("train-b-1"),), terminated={"i-told": NOW})
    counted = {"train-a-0", "train-a-1", "train-a-3", "train-a-4", "train-a-6", "train-b-0", "train-b-1"}
    assert pools.taken(on, "train", slurm=seen, cloud=has, memory=memory) == counted
    assert pools.taken(on, "train", slurm=seen, cloud=has, memory=memory, apart_from=["train-b-0"]) == counted - {"train-b-0"}
    reasons = {"train": "clusterwright: pool train has its 7 nodes already", "other": "clusterwright: pool other has its 1 nodes already"}
    assert pools.full(on, slurm=seen, cloud=has, memory=memory) == reasons
    assert pools.full(on, slurm=slurm(also=on), cloud=cloud(), memory=memory) == {}
    assert pools.limits(table()) == {}


# The cloud's answer


def answered(
    one: Launch, *made: str, refusal: Refusal | None = None, memory: Memory | None = None, view: Slurm | None = None, now: float = NOW
) -> steps.Decision:
    instances = tuple(instance(name, at=NOW, launch=one.token) for name in made)
    known = memory or Memory(launches=(one,))
    seen = view or slurm(*(node(name, STARTING, base="mixed") for name in one.nodes), jobs={7: one.nodes}, also=table())
    return launched(one, Answer(instances, refusal, "InsufficientInstanceCapacity" if refusal else ""), table=table(), slurm=seen, memory=known, now=now)


FRESH = launch("train-0", "train-1", launched=None, at=NOW, jobs=(7,))


def test_what_was_made_is_remembered_with_its_instances() -> None:
    decision = answered(FRESH, "train-0", "train-1")
    [one] = decision.memory.launches
    assert (one.launched_at, one.instances) == (NOW, {"train-0": "i-train-0", "train-1": "i-train-1"})
    assert decision.steps == (steps.SetAddress((("train-0", "10.0.0.1"), ("train-1", "10.0.0.1"))),)


def test_no_capacity_holds_the_node_set_and_gives_the_job_back() -> None:
    view = slurm(
        node("train-0", STARTING, base="mixed"),
        node("train-1", STARTING, base="mixed"),
        node("train-2", base="mixed"),
        node("train-3", OFF),
        jobs={7: FRESH.nodes},
    )
    decision = answered(FRESH, refusal=Refusal.CAPACITY, view=view)
    hold = decision.memory.holds["train"]
    assert (hold.until, hold.times) == (NOW + 600, 1)
    assert "p5.48xlarge: no capacity (InsufficientInstanceCapacity)" in hold.reason
    assert decision.steps == (
        steps.SetDown(("train-3",), hold.reason),
        steps.SetDown(("train-0", "train-1"), hold.reason),
        steps.PowerDown(("train-0", "train-1"), hold.reason.removeprefix("clusterwright: ")),
        steps.StartNow((7,)),
    )
    assert decision.memory.launches == ()


BOUND = slurm(*(node(name, STARTING, base="mixed") for name in FRESH.nodes), jobs={7: FRESH.nodes}, bound=[7], also=table())


def test_a_job_that_cannot_go_back_is_not_ended_by_the_first_refusal() -> None:
    first = answered(FRESH, refusal=Refusal.CAPACITY, view=BOUND)
    hold = first.memory.holds["train"]
    assert first.steps == (steps.SetDown(("train-2", "train-3"), hold.reason),), "others take another node set"
    [waiting] = first.memory.launches
    assert waiting.token != FRESH.token, "an answer that was given stays"
    assert (waiting.nodes, waiting.jobs, waiting.ask_until, waiting.launched_at) == (FRESH.nodes, (7,), NOW + BOOT_TIMEOUT_S / 2, None)
    second = sync(table=table(), slurm=BOUND, cloud=cloud(), memory=first.memory, now=NOW + 30)
    assert asked(second) == [waiting]
    again = answered(waiting, refusal=Refusal.CAPACITY, view=BOUND, memory=second.memory, now=NOW + 30)
    assert again.memory.holds["train"] == hold, "the hold ends when it was said to end"
    [still] = again.memory.launches
    assert (still.nodes, still.ask_until) == (FRESH.nodes, waiting.ask_until)
    made = answered(still, *FRESH.nodes, memory=again.memory, view=BOUND, now=NOW + 60)
    assert made.memory.launches[0].launched_at == NOW + 60
    late = answered(still, refusal=Refusal.CAPACITY, view=BOUND, memory=again.memory, now=NOW + BOOT_TIMEOUT_S / 2)
    assert late.memory.launches == ()
    assert steps.SetDown(FRESH.nodes, late.memory.holds["train"].reason) in late.steps


def test_a_job_that_cannot_go_back_gives_back_the_half_that_it_has() -> None:
    decision = answered(FRESH, "train-0", refusal=Refusal.CAPACITY, view=BOUND)
    assert steps.Terminate(("i-train-0",), "the rest of the job can't start") in decision.steps
    assert decision.memory.launches == ()


def test_a_refusal_that_time_does_not_change_ends_it_at_once() -> None:
    assert answered(FRESH, refusal=Refusal.ERROR, view=BOUND).memory.launches == ()


def test_of_jobs_of_one_node_only_those_wait_that_cannot_go_back() -> None:
    alone = dataclasses.replace(FRESH, nodes=("train-0", "train-1", "train-2"), is_whole=False, jobs=(7, 8, 9))
    nodes = [node(name, STARTING, base="mixed") for name in alone.nodes]
    view = slurm(*nodes, jobs={7: ["train-0"], 8: ["train-1"], 9: ["train-2"]}, bound=[8], also=table())
    decision = answered(alone, "train-0", refusal=Refusal.CAPACITY, view=view)
    assert sorted((one.nodes, one.launched_at) for one in decision.memory.launches) == [(("train-0",), NOW), (("train-1",), None)]
    assert [step.nodes for step in decision.steps if isinstance(step, steps.SetDown)] == [("train-3",), ("train-2",)]
    assert [step.jobs for step in decision.steps if isinstance(step, steps.StartNow)] == [(9,)]


def test_half_of_a_job_is_none_of_it() -> None:
    decision = answered(FRESH, "train-0", refusal=Refusal.CAPACITY)
    assert steps.Terminate(("i-train-0",), "the rest of the job can't start") in decision.steps
    assert decision.memory.launches == ()
    assert set(decision.memory.terminated) == {"i-train-0"}


def test_when_one_launch_of_a_job_fails_the_others_are_taken_back() -> None:
    other = dataclasses.replace(launch("train-2", token="u"), group=FRESH.group)
    decision = answered(FRESH, refusal=Refusal.CAPACITY, memory=Memory(launches=(FRESH, other)))
    assert decision.memory.launches == ()
    assert steps.Terminate(("i-train-2",), "the rest of the job can't start") in decision.steps
    downed = {name for step in decision.steps if isinstance(step, steps.SetDown) for name in step.nodes}
    assert {"train-0", "train-1", "train-2"} <= downed


def test_a_node_that_somebody_took_under_maintenance_meanwhile_is_left_alone() -> None:
    other = dataclasses.replace(launch("train-2", "train-3", token="u"), group=FRESH.group)
    kept = node("train-2", STARTING | {"maintenance"}, base="mixed")
    view = slurm(
        kept, *(node(name, STARTING, base="mixed") for name in ("train-0", "train-1", "train-3")), jobs={7: ("train-0", "train-1", "train-2", "train-3")}
    )
    decision = answered(FRESH, "train-0", refusal=Refusal.CAPACITY, memory=Memory(launches=(FRESH, other)), view=view)
    touched = {name for step in decision.steps if isinstance(step, steps.SetDown | steps.PowerDown) for name in step.nodes}
    assert touched == {"train-0", "train-1", "train-3"}
    assert [step.instances for step in decision.steps if isinstance(step, steps.Terminate)] == [("i-train-0", "i-train-3")]


def test_a_launch_that_was_taken_back_while_the_cloud_was_at_it_ends() -> None:
    decision = answered(FRESH, "train-0", "train-1", memory=Memory())
    assert decision.steps == (steps.Terminate(("i-train-0", "i-train-1"), "the rest of the job can't start"),)


def test_of_nodes_that_stand_for_themselves_those_that_came_stay() -> None:
    alone = dataclasses.replace(FRESH, is_whole=False, jobs=(7, 8))
    decision = answered(alone, "train-0", refusal=Refusal.CAPACITY)
    [one] = decision.memory.launches
    assert one.nodes == ("train-0",)
    downed = [step for step in decision.steps if isinstance(step, steps.SetDown) and "train-1" in step.nodes]
    assert downed
    assert not any("train-0" in step.nodes for step in downed)
    assert not any(isinstance(step, steps.Terminate) for step in decision.steps)


def test_a_cloud_that_cannot_answer_is_asked_again_and_not_for_ever() -> None:
    # Others came first: its time runs from its own turn on.
    turn = NOW + 2 * RETRY_FOR_S
    early = answered(FRESH, refusal=Refusal.LATER, now=turn)
    assert early.steps == ()
    [waiting] = early.memory.launches
    assert waiting == dataclasses.replace(FRESH, ask_until=turn + RETRY_FOR_S)
    again = answered(waiting, refusal=Refusal.LATER, now=turn + RETRY_FOR_S - 1)
    assert (again.steps, again.memory.launches) == ((), (waiting,))
    late = answered(waiting, refusal=Refusal.LATER, now=turn + RETRY_FOR_S)
    assert late.memory.launches == ()
    assert "could not answer" in late.memory.holds["train"].reason


def test_a_queued_request_is_asked_about_again_and_its_job_is_told_what_it_waits_for() -> None:
    first = answered(FRESH, refusal=Refusal.QUEUED)
    [waiting] = first.memory.launches
    assert waiting == dataclasses.replace(FRESH, ask_until=NOW + BOOT_TIMEOUT_S * WAITING_SHARE), "the same token, so the same request"
    [told] = first.steps
    assert isinstance(told, steps.Explain)
    assert told.jobs == (7,)
    assert "train waits for p5.48xlarge: the request waits in the cloud's queue (InsufficientInstanceCapacity), until" in told.reason
    assert first.memory.holds == {}, "the next job may ask, too"
    again = answered(waiting, refusal=Refusal.QUEUED, now=NOW + 30)
    assert (again.steps, again.memory.launches) == ((), (waiting,))


def test_a_request_that_is_queued_after_no_answer_waits_as_long_as_any_that_is_queued() -> None:
    [unanswered] = answered(FRESH, refusal=Refusal.LATER, now=NOW - 250).memory.launches
    assert unanswered.ask_until == NOW + 50
    [waiting] = answered(unanswered, refusal=Refusal.QUEUED).memory.launches
    assert waiting.ask_until == NOW + BOOT_TIMEOUT_S * WAITING_SHARE


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_request_that_is_queued_too_long_is_given_up_without_a_hold(is_whole: bool) -> None:
    one = dataclasses.replace(FRESH, is_whole=is_whole, ask_until=NOW + 300)
    late = answered(one, refusal=Refusal.QUEUED, now=NOW + 300)
    assert late.memory.launches == ()
    assert late.memory.holds == {}
    down, off, start = late.steps
    assert isinstance(down, steps.SetDown)
    assert down.nodes == ("train-0", "train-1")
    assert "too late for nodes to boot in time" in down.reason
    assert isinstance(off, steps.PowerDown)
    assert start == steps.StartNow((7,)), "the job asks anew"


def test_of_a_queued_request_the_nodes_that_came_stay_when_it_is_given_up() -> None:
    one = dataclasses.replace(FRESH, is_whole=False, jobs=(), ask_until=NOW + 300)
    late = answered(one, "train-1", refusal=Refusal.QUEUED, now=NOW + 300)
    [kept] = late.memory.launches
    assert (kept.nodes, kept.instances) == (("train-1",), {"train-1": "i-train-1"})
    assert {step.nodes for step in late.steps if isinstance(step, steps.SetDown)} == {("train-0",)}
    assert steps.SetAddress((("train-1", "10.0.0.1"),)) in late.steps


def test_a_queued_request_that_is_refused_after_all_holds_the_node_set() -> None:
    [waiting] = answered(FRESH, refusal=Refusal.QUEUED).memory.launches
    assert "train" in answered(waiting, refusal=Refusal.CAPACITY, now=NOW + 30).memory.holds


def test_refusals_in_a_row_hold_twice_as_long_up_to_an_hour() -> None:
    memory, moment, lengths = Memory(), NOW, []
    for _ in range(5):
        memory = holds.refused(memory, node_set(), "no capacity", moment)
        until = memory.holds["train"].until
        assert until is not None
        lengths.append(until - moment)
        moment = until + 60
    assert lengths == [600, 1200, 2400, 3600, 3600]
    calm = holds.refused(memory, node_set(), "no capacity", moment + 3600)
    assert calm.holds["train"].times == 1, "after a calm hour it is a new story"


def test_several_jobs_that_meet_one_shortage_count_once() -> None:
    once = holds.refused(Memory(), node_set(), "no capacity", NOW)
    assert holds.refused(once, node_set(), "no capacity", NOW + 1).holds["train"].times == 1


# Switching off


@pytest.mark.parametrize(
    ("flags", "base", "is_ended"),
    [
        pytest.param(STOPPING, "idle", True, id="Slurm switches it off"),
        pytest.param(OFF, "idle", True, id="it is off"),
        pytest.param(UP, "down", True, id="it is down"),
        pytest.param(UP, "mixed", False, id="it has jobs"),
        pytest.param(UP, "idle", False, id="nobody switched it off"),
        pytest.param(STARTING, "mixed", False, id="a job waits for it"),
    ],
)
def test_only_what_slurm_switched_off_ends(flags: frozenset[str], base: str, is_ended: bool) -> None:
    view = slurm(node("train-0", flags, base=base), also=table())
    decision = suspend(["train-0"], table=table(), slurm=view, cloud=cloud(instance("train-0")), memory=Memory(), now=NOW)
    assert decision.steps == ((steps.Terminate(("i-train-0",), "switched off by Slurm"),) if is_ended else ())


@pytest.mark.parametrize(("base", "flags"), [("down", STOPPING), ("idle", STOPPING | {"drain"}), ("idle", OFF | {"maintenance"})])
def test_what_a_person_keeps_ends_only_where_a_person_switched_it_off(base: str, flags: frozenset[str]) -> None:
    view = slurm(node("train-0", flags, base=base, reason="ada looks at the fans"), also=table())
    ended = {}
    for spares_kept in (True, False):
        decision = suspend(
            ["train-0"], table=table(), slurm=view, cloud=cloud(instance("train-0")), memory=Memory(launches=(launch(),)), now=NOW, spares_kept=spares_kept
        )
        ended[spares_kept] = [step.instances for step in decision.steps if isinstance(step, steps.Terminate)]
        assert (decision.memory.launches == ()) is spares_kept
    assert ended == {True: [("i-train-0",)], False: []}


def test_an_instance_that_is_not_shown_yet_ends_too() -> None:
    view = slurm(node("train-0", STOPPING), node("train-1", STARTING), also=table())
    memory = Memory(launches=(launch("train-0", "train-1"),))
    decision = suspend(["train-0"], table=table(), slurm=view, cloud=cloud(), memory=memory, now=NOW)
    assert decision.steps == (steps.Terminate(("i-train-0",), "switched off by Slurm"),)
    assert [one.nodes for one in decision.memory.launches] == [("train-1",)]


def test_foreign_instances_never_end() -> None:
    view = slurm(node("train-0", STOPPING), node("other-0", STOPPING), also=table())
    has = cloud(instance("other-0"), Instance("i-x", "train-9", Life.LIVE, NOW))
    assert suspend(["other-0", "train-9"], table=table(), slurm=view, cloud=has, memory=Memory(), now=NOW).steps == ()
