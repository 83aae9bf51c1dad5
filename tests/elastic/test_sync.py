"""One look at everything: the steps that follow, and what is remembered."""

import dataclasses

import pytest

from components.elastic import act, report
from components.elastic.decide import Request, Wanted, holds, leases, resume, steps, sync
from components.elastic.decide.leases import PREFIX, TAKE_DOWN_S
from components.elastic.memory import Hold, Memory
from components.elastic.model import Cloud, Instance, Lease, Life, Node, Reservation, Slurm
from components.elastic.table import Table
from tests.elastic.values import BOOT_TIMEOUT_S, NOW, OFF, STARTING, STOPPING, UP, cloud, instance, launch, node, node_set, slurm, table

QUIET = Memory()


def decided(*, on: Table | None = None, view: Slurm | None = None, has: Cloud | None = None, memory: Memory = QUIET, now: float = NOW) -> steps.Decision:
    on = on or table()
    return sync(table=on, slurm=view or slurm(also=on), cloud=has or cloud(), memory=memory, now=now)


def of(decision: steps.Decision, *kinds: type) -> list[steps.Step]:
    return [step for step in decision.steps if isinstance(step, kinds)]


def test_a_quiet_cluster_has_no_steps() -> None:
    view = slurm(node("train-0"), node("train-1", base="mixed"), jobs={7: ["train-1"]}, also=table())
    assert decided(view=view, has=cloud(instance("train-0"), instance("train-1"))).steps == ()


def test_a_lost_node_is_taken_from_its_job_which_starts_at_once_elsewhere() -> None:
    view = slurm(node("train-0", base="mixed"), node("train-1", base="mixed"), jobs={7: ["train-0", "train-1"]}, also=table())
    before = decided(view=view, has=cloud(instance("train-0"), instance("train-1")))
    decision = decided(view=view, has=cloud(instance("train-0", life=Life.ENDED), instance("train-1")), memory=before.memory)
    assert decision.steps == (
        steps.SetDown(("train-0",), "clusterwright: its instance is gone"),
        steps.PowerDown(("train-0",), "its instance is gone"),
        steps.StartNow((7,)),
    )


def test_a_job_that_lost_its_nodes_is_hurried_until_it_runs_and_not_for_ever() -> None:
    memory = Memory(requeued={7: NOW - 30})
    assert decided(memory=memory).steps == (steps.StartNow((7,)),)
    view = slurm(node("train-0", base="mixed"), jobs={7: ["train-0"]}, also=table())
    assert decided(view=view, has=cloud(instance("train-0")), memory=memory).steps == ()
    later = decided(memory=memory, now=NOW + 150)
    assert later.steps == ()
    assert later.memory.requeued == {}


def test_an_ended_instance_of_an_earlier_life_says_nothing_of_the_present_one() -> None:
    view = slurm(node("train-0", STARTING), also=table())
    earlier = instance("train-0", life=Life.ENDED, identity="i-earlier")
    assert decided(view=view, has=cloud(earlier), memory=Memory(launches=(launch("train-0"),))).steps == ()


def test_a_node_that_ended_while_it_booted_says_why() -> None:
    view = slurm(node("train-0", STARTING), node("train-1", STARTING), also=table())
    said = instance("train-0", life=Life.ENDED, ended_because="Client.InternalError: Client error on launch")
    decision = decided(view=view, has=cloud(said, instance("train-1", life=Life.ENDED)), memory=Memory(launches=(launch("train-0", "train-1"),)))
    assert of(decision, steps.SetDown) == [
        steps.SetDown(("train-0",), "clusterwright: its instance ended while it booted: Client.InternalError: Client error on launch"),
        steps.SetDown(("train-1",), "clusterwright: its instance ended while it booted"),
    ]


def test_an_ended_instance_of_an_earlier_life_takes_no_job_from_a_node_that_answers() -> None:
    view = slurm(node("train-0", base="mixed"), jobs={7: ["train-0"]}, also=table())
    earlier = instance("train-0", life=Life.ENDED, identity="i-earlier", at=NOW - 7200)
    seen = decided(view=view, has=cloud(earlier, instance("train-0")))
    assert seen.memory.lives == {"train-0": "i-train-0"}
    blind = decided(view=view, has=cloud(earlier), memory=seen.memory)
    assert (blind.steps, blind.memory.lives) == ((), seen.memory.lives)
    assert decided(view=view, has=cloud(earlier)).steps == (), "nor where nothing is remembered"
    really = decided(view=view, has=cloud(earlier, instance("train-0", life=Life.ENDED)), memory=seen.memory)
    assert of(really, steps.SetDown)


def test_a_spot_notice_drains_and_requeues() -> None:
    view = slurm(node("train-0", base="mixed"), jobs={7: ["train-0"]}, also=table())
    decision = decided(view=view, has=cloud(instance("train-0", has_notice=True)))
    assert decision.steps == (
        steps.Drain(("train-0",), "clusterwright: the cloud takes its instance back"),
        steps.Requeue((7,), "the cloud takes its instance back"),
        steps.StartNow((7,)),
    )


def test_starting_nodes_are_told_their_address_once() -> None:
    view = slurm(node("train-0", STARTING, address="train-0"), node("train-1", STARTING, address="10.0.0.1"), also=table())
    memory = Memory(launches=(launch("train-0", "train-1"),))
    decision = decided(view=view, has=cloud(instance("train-0"), instance("train-1")), memory=memory)
    assert decision.steps == (steps.SetAddress((("train-0", "10.0.0.1"),)),)


# Orphans


@pytest.mark.parametrize(
    ("found", "one", "is_ended"),
    [
        pytest.param(instance("train-0", at=NOW - 91), node("train-0", OFF), True, id="its node is off"),
        pytest.param(instance("train-0", at=NOW - 89), node("train-0", OFF), False, id="its node is off, and it is young"),
        pytest.param(instance("train-9", at=NOW - 91), node("train-0"), True, id="no such node"),
        pytest.param(instance("", at=NOW - 91, identity="i-1"), node("train-0"), True, id="never named"),
        pytest.param(instance("", at=NOW - 89, identity="i-1"), node("train-0"), False, id="not named yet"),
        pytest.param(instance("train-0", at=NOW - 91), node("train-0", base="mixed"), False, id="its node has jobs"),
        pytest.param(instance("train-0", at=NOW - 91), node("train-0", UP | {"drain"}, reason="ada"), False, id="somebody keeps its node"),
        pytest.param(instance("train-0", at=NOW - 91), node("train-0", OFF | {"drain"}, reason="ada"), True, id="somebody keeps its node, which is off"),
        pytest.param(instance("train-0", at=NOW - 91), node("train-0", OFF | {"maintenance"}), True, id="its node is off and under maintenance"),
        pytest.param(instance("train-0", at=NOW - 91, life=Life.ENDED), node("train-0", OFF), False, id="it ended"),
    ],
)
def test_an_instance_that_no_node_wants_is_ended(found: Instance, one: Node, is_ended: bool) -> None:
    decision = decided(view=slurm(one, also=table()), has=cloud(found))
    assert of(decision, steps.Terminate) == ([steps.Terminate((found.id,), "no node wants it")] if is_ended else [])


def test_of_two_instances_of_a_node_the_one_that_was_meant_stays() -> None:
    first, second = instance("train-0", identity="i-1", launch="earlier"), instance("train-0", identity="i-2", at=NOW - 100)
    meant = dataclasses.replace(launch("train-0"), instances={"train-0": "i-2"})
    view = slurm(node("train-0", STARTING), also=table())
    decision = decided(view=view, has=cloud(first, second), memory=Memory(launches=(meant,)))
    assert of(decision, steps.Terminate) == [steps.Terminate(("i-1",), "no node wants it")]


@pytest.mark.parametrize("token", ["t", "t-1"])
def test_an_instance_of_a_launch_under_way_or_of_a_part_of_it_is_no_orphan(token: str) -> None:
    view = slurm(node("train-0", STARTING), also=table())
    unnamed = instance("", identity="i-1", at=NOW - 500, launch=token)
    assert of(decided(view=view, has=cloud(unnamed), memory=Memory(launches=(launch("train-0", launched=None),))), steps.Terminate) == []


def test_what_was_told_to_end_is_not_told_again_and_counts_for_no_node() -> None:
    memory = Memory(terminated={"i-train-0": NOW - 30})
    assert decided(has=cloud(instance("train-0")), memory=memory).steps == ()
    later = decided(has=cloud(instance("train-0")), memory=memory, now=NOW + 1000)
    assert later.memory.terminated == {}
    assert of(decided(has=cloud(instance("train-0")), memory=later.memory, now=NOW + 1030), steps.Terminate)


# Minimum


def test_nodes_that_always_run_are_switched_on() -> None:
    on = table(node_set(minimum=2))
    assert decided(on=on).steps == (steps.PowerUp(("train-0", "train-1"), "2 of 4 always run"),)


def test_nodes_that_always_run_are_replaced_one_after_the_other() -> None:
    on = table(node_set(count=8, minimum=4))
    why = "it was started from an earlier template of its node set"
    names = [f"train-{number}" for number in range(6)]
    old = cloud(*(instance(name, is_outdated=True) for name in names))
    begun = decided(on=on, view=slurm(*map(node, names), also=on), has=old)
    assert begun.steps == (steps.PowerDown(("train-0", "train-4", "train-5"), why),), "those that do not always run are not needed"
    rest = [node(name) for name in names[1:4]]
    for first in (node("train-0", STOPPING), node("train-0", OFF), node("train-0", STARTING, address="10.0.0.1"), node("train-0", UP | {"not_responding"})):
        view = slurm(first, *rest, also=on)
        memory = Memory(launches=(launch("train-0"),)) if first.is_starting or first.is_up else QUIET
        has = cloud(instance("train-0"), *old.instances[1:4]) if memory.launches else cloud(*old.instances[1:4])
        assert of(decided(on=on, view=view, has=has, memory=memory), steps.PowerDown) == []
    has = cloud(instance("train-0"), *old.instances[1:4])
    assert of(decided(on=on, view=slurm(node("train-0"), *rest, also=on), has=has), steps.PowerDown) == [steps.PowerDown(("train-1",), why)]
    kept = slurm(node("train-0", UP | {"drain"}, reason="ada"), *rest, also=on)
    assert of(decided(on=on, view=kept, has=has), steps.PowerDown) == [steps.PowerDown(("train-1",), why)], "a person's node holds up nothing"


def test_of_many_nodes_that_always_run_a_tenth_is_replaced_at_a_time() -> None:
    on = table(node_set(count=64, minimum=64))
    names = [f"train-{number}" for number in range(64)]
    decision = decided(on=on, view=slurm(*map(node, names)), has=cloud(*(instance(name, is_outdated=True) for name in names)))
    [step] = of(decision, steps.PowerDown)
    assert isinstance(step, steps.PowerDown)
    assert step.nodes == tuple(names[:6])
    begun = slurm(node("train-0", STARTING), *map(node, names[1:]))
    has = cloud(*(instance(name, is_outdated=name != "train-0") for name in names))
    memory = Memory(launches=(launch("train-0"),))
    assert of(decided(on=on, view=begun, has=has, memory=memory), steps.PowerDown) == [steps.PowerDown(tuple(names[1:6]), step.why)]
    failed = dataclasses.replace(memory, failed_boots={"train": 1})
    assert of(decided(on=on, view=begun, has=has, memory=failed), steps.PowerDown) == [], "what they are replaced with may be no good"


# Boots that fail


def test_a_boot_that_takes_too_long_is_kept_for_the_log_and_given_up() -> None:
    view = slurm(node("train-0", STARTING, base="mixed", address="10.0.0.1"), jobs={7: ["train-0"]}, also=table())
    memory = Memory(launches=(launch("train-0", at=NOW - 900, launched=NOW - 900),))
    decision = decided(view=view, has=cloud(instance("train-0")), memory=memory)
    why = f"it did not register with Slurm within {BOOT_TIMEOUT_S:.0f} s"
    assert decision.steps == (
        steps.Keep("i-train-0", "train-0"),
        steps.SetDown(("train-0",), f"clusterwright: {why}"),
        steps.PowerDown(("train-0",), why),
        steps.StartNow((7,)),
    )
    assert decision.memory.failed_boots == {"train": 1}
    assert decision.memory.launches == ()


def test_a_node_that_came_short_ends_with_its_own_words_and_its_job_starts_elsewhere_at_once() -> None:
    short = "31 of 32 EFA devices: 31 on the PCI bus, 31 with the driver"
    view = slurm(node("train-0", STARTING, base="down", reason=f"clusterwright: start guard: {short}"), also=table())
    memory = Memory(launches=(launch("train-0", jobs=(7,)),))
    decision = decided(view=view, has=cloud(instance("train-0")), memory=memory)
    assert decision.steps == (
        steps.Keep("i-train-0", "train-0"),
        steps.SetDown(("train-0",), f"clusterwright: {short}"),
        steps.PowerDown(("train-0",), short),
        steps.StartNow((7,)),
    ), "the job that it was started for has lost it already"
    assert (decision.memory.failed_boots, decision.memory.last_failures) == ({"train": 1}, {"train": f"train-0: {short}"})


FORTY = table(node_set(count=40))


def failing(*counts: int, memory: Memory = QUIET, now: float = NOW) -> steps.Decision:
    """Let launches of so many nodes fail, one after the other."""
    for number, count in enumerate(counts):
        names = [f"train-{number}" for number in range(count)]
        late = launch(*names, at=now - 900, launched=now - 900, token=f"t{number}")
        view = slurm(*(node(name, STARTING) for name in names), also=FORTY)
        decision = decided(on=FORTY, view=view, has=cloud(*map(instance, names)), memory=dataclasses.replace(memory, launches=(late,)), now=now)
        memory = decision.memory
    return decision


def test_ten_failed_boots_in_a_row_hold_the_node_set_with_a_clear_reason() -> None:
    nine = failing(4, 5)
    assert nine.memory.holds == {}
    ten = failing(1, memory=nine.memory)
    hold = ten.memory.holds["train"]
    assert hold.until is None
    assert "10 nodes in a row did not boot (the last one, train-0: it did not register with Slurm within" in hold.reason
    assert "clusterwright-elastic release train" in hold.reason
    held = [step for step in of(ten, steps.SetDown) if isinstance(step, steps.SetDown) and step.reason == hold.reason]
    assert held == [steps.SetDown(tuple(f"train-{number}" for number in range(1, 40)), hold.reason)]


def test_one_mishap_of_a_large_job_holds_nothing() -> None:
    once = failing(12)
    assert once.memory.holds == {}
    assert (once.memory.failed_boots, once.memory.failed_launches) == ({"train": 12}, {"train": 1})
    assert failing(12, memory=once.memory).memory.holds == {}
    assert failing(12, 12, memory=once.memory).memory.holds["train"].until is None


def test_a_clock_that_is_set_while_nodes_boot_fails_none_of_them() -> None:
    names = [f"train-{number}" for number in range(12)]
    view = slurm(*(node(name, STARTING, address="10.0.0.1") for name in names), also=FORTY)
    has = cloud(*(instance(name, at=NOW - 60) for name in names))
    before = decided(on=FORTY, view=view, has=has, memory=Memory(launches=(launch(*names),)))
    ahead = decided(on=FORTY, view=view, has=has, memory=before.memory, now=NOW + 1200)
    assert (ahead.steps, ahead.memory.failed_boots) == ((), {})
    memory, moment = ahead.memory, NOW + 1200
    while moment < NOW + 1200 + BOOT_TIMEOUT_S - 90:
        moment += 30
        decision = decided(on=FORTY, view=view, has=has, memory=memory, now=moment)
        assert decision.steps == ()
        memory = decision.memory
    late = decided(on=FORTY, view=view, has=has, memory=memory, now=moment + 60)
    assert late.memory.failed_boots == {"train": 12}, "they have the time of a boot, and no more"


def test_what_is_not_waited_for_needs_no_writing() -> None:
    view = slurm(node("train-0"), also=table())
    first = decided(view=view, has=cloud(instance("train-0")))
    assert decided(view=view, has=cloud(instance("train-0")), memory=first.memory, now=NOW + 30).memory == first.memory


def test_a_launch_whose_nodes_fail_one_by_one_counts_once() -> None:
    names = ["train-0", "train-1"]
    late = launch(*names, at=NOW - 200, launched=NOW - 200)
    first = decided(view=slurm(*(node(name, STARTING) for name in names)), has=cloud(instance("train-1", at=NOW - 200)), memory=Memory(launches=(late,)))
    second = decided(view=slurm(node("train-1", STARTING)), memory=first.memory, now=NOW + 30)
    assert (second.memory.failed_boots, second.memory.failed_launches) == ({"train": 2}, {"train": 1})


def test_spot_instances_that_are_taken_back_while_they_boot_count_for_nothing() -> None:
    on = table(node_set(count=16, kind="spot"))
    names = [f"train-{number}" for number in range(12)]
    view = slurm(*(node(name, STARTING, base="mixed") for name in names), jobs={7: names}, also=on)
    has = cloud(*(instance(name, life=Life.ENDED) for name in names))
    decision = decided(on=on, view=view, has=has, memory=Memory(launches=(launch(*names),)))
    assert of(decision, steps.StartNow) == [steps.StartNow((7,))]
    assert (decision.memory.failed_boots, decision.memory.holds) == ({}, {})


def test_a_boot_that_succeeds_ends_the_row() -> None:
    nine = failing(3, 3, 3)
    view = slurm(node("train-0"), also=table())
    up = decided(view=view, has=cloud(instance("train-0")), memory=dataclasses.replace(nine.memory, launches=(launch("train-0"),)))
    assert (up.memory.failed_boots, up.memory.last_failures) == ({}, {})
    assert up.memory.launches == ()
    assert failing(3, 3, 3, memory=up.memory).memory.holds == {}


def test_a_hold_for_failed_boots_ends_with_another_template_and_with_release() -> None:
    memory = failing(3, 3, 4).memory
    held = slurm(*(node(name, OFF, base="down", reason=memory.holds["train"].reason) for name in FORTY.owners()))
    assert of(decided(on=FORTY, view=held, memory=memory, now=NOW + 3599), steps.Release) == []
    mended = table(node_set(count=40, template="4"))
    for on, known in ((mended, memory), (FORTY, holds.released(memory, "train"))):
        released = decided(on=on, view=held, memory=known, now=NOW + 3599)
        assert of(released, steps.Release) == [steps.Release(on.node_sets[0].nodes, "powered down and usable again")]
        assert (released.memory.failed_boots, released.memory.failed_launches) == ({}, {})


def test_a_node_set_whose_nodes_did_not_boot_is_tried_with_one_after_an_hour() -> None:
    memory = failing(3, 3, 4).memory
    hold = memory.holds["train"]
    down = [node(name, OFF, base="down", reason=hold.reason) for name in FORTY.owners()]
    due = NOW + 3600
    released = decided(on=FORTY, view=slurm(*down), memory=memory, now=due)
    assert released.steps == (steps.Release(("train-0",), "powered down and usable again"),)
    started = decided(on=FORTY, view=slurm(node("train-0", OFF), *down[1:]), memory=released.memory, now=due + 30)
    assert started.steps == (steps.PowerUp(("train-0",), "to test whether nodes of its set boot now"),)
    view = slurm(node("train-0", STARTING, address="10.0.0.1"), *down[1:])
    request = Request((Wanted(("train-0",), None),))
    asked = resume(request, table=FORTY, slurm=view, cloud=cloud(), memory=started.memory, now=due + 31)
    [ask] = asked.steps
    assert isinstance(ask, steps.Ask)
    one = dataclasses.replace(ask.launch, launched_at=due + 32, instances={"train-0": "i-train-0"})
    booting = asked.memory.with_launch(one)
    has = cloud(instance("train-0", at=due + 32))
    assert decided(on=FORTY, view=view, has=has, memory=booting, now=due + 60).steps == (), "one is enough"
    failed = decided(on=FORTY, view=view, has=has, memory=booting, now=due + 32 + BOOT_TIMEOUT_S)
    again = failed.memory.holds["train"]
    assert (again.until, again.times, again.trial_at) == (None, 2, due + 32 + BOOT_TIMEOUT_S + 7200)
    up = decided(on=FORTY, view=slurm(node("train-0"), *down[1:]), has=has, memory=booting, now=due + 90)
    assert (up.memory.holds, up.memory.failed_boots) == ({}, {})
    assert of(decided(on=FORTY, view=slurm(node("train-0"), *down[1:]), has=has, memory=up.memory, now=due + 120), steps.Release)


def test_a_refusal_puts_off_the_trial_of_a_held_node_set_and_shortens_no_hold() -> None:
    memory = failing(3, 3, 4).memory
    [node_set_] = FORTY.node_sets
    during = holds.refused(memory, node_set_, "no capacity", NOW + 5)
    assert during.holds == memory.holds
    due = holds.refused(memory, node_set_, "no capacity", NOW + 3600)
    assert due.holds["train"] == dataclasses.replace(memory.holds["train"], trial_at=NOW + 3600 + holds.CAPACITY_HOLD_S)


# Holds


def test_a_hold_reaches_free_nodes_only_and_ends_by_itself() -> None:
    on = table(node_set(count=3, minimum=3))
    hold = Hold("clusterwright: train is held", NOW - 10, NOW + 10)
    memory = Memory(holds={"train": hold})
    view = slurm(node("train-0", base="mixed"), node("train-1", STARTING, address="10.0.0.1"), node("train-2", OFF))
    under_way = dataclasses.replace(memory, launches=(launch("train-1"),))
    has = cloud(instance("train-0"), instance("train-1"))
    assert decided(on=on, view=view, has=has, memory=under_way).steps == (steps.SetDown(("train-2",), hold.reason),)
    down = slurm(node("train-0", base="mixed"), node("train-1"), node("train-2", OFF, base="down", reason=hold.reason))
    assert decided(on=on, view=down, has=has, memory=memory).steps == ()
    assert decided(on=on, view=down, has=has, memory=memory, now=NOW + 10).steps == (steps.Release(("train-2",), "powered down and usable again"),)


# Pools with a limit of their own


def test_a_full_pool_s_other_nodes_are_out_of_reach_until_there_is_room() -> None:
    on = table(node_set("train-a", count=2, pool_most=2), node_set("train-b", count=2, pool_most=2))
    reason = "clusterwright: pool train has its 2 nodes already"
    both = slurm(node("train-a-0", base="mixed"), node("train-a-1", base="mixed"), also=on)
    full = decided(on=on, view=both, has=cloud(instance("train-a-0"), instance("train-a-1")))
    assert full.steps == (steps.SetDown(("train-b-0", "train-b-1"), reason),)
    held = [node(f"train-b-{number}", OFF, base="down", reason=reason) for number in range(2)]
    still = slurm(node("train-a-0", base="mixed"), node("train-a-1"), *held)
    assert decided(on=on, view=still, has=cloud(instance("train-a-0"), instance("train-a-1"))).steps == ()
    room = slurm(node("train-a-0", base="mixed"), node("train-a-1", OFF), *held)
    released = decided(on=on, view=room, has=cloud(instance("train-a-0")))
    assert released.steps == (steps.Release(("train-b-0", "train-b-1"), "powered down and usable again"),)


def test_nodes_of_a_refused_job_that_are_on_their_way_off_make_no_pool_full() -> None:
    on = table(node_set("train-a", count=4, pool_most=4), node_set("train-b", count=4, pool_most=4))
    running = [node(f"train-a-{number}", base="mixed") for number in range(2)]
    names = ["train-a-2", "train-a-3", "train-b-0"]
    refused = [node(name, STOPPING, base="down", reason="clusterwright: pool train has its 4 nodes already") for name in names]
    has = cloud(instance("train-a-0"), instance("train-a-1"))
    assert decided(on=on, view=slurm(*running, *refused, also=on), has=has).steps == ()
    stopping = cloud(*has.instances, *(instance(name) for name in names))
    assert of(decided(on=on, view=slurm(*running, *refused, also=on), has=stopping), steps.SetDown), "while they have instances, they count"


def test_the_minimum_of_a_full_pool_has_its_room_kept() -> None:
    on = table(node_set("train-a", count=2, minimum=1, pool_most=2), node_set("train-b", count=2, pool_most=2))
    decision = decided(on=on, view=slurm(node("train-b-0", base="mixed"), also=on), has=cloud(instance("train-b-0")))
    assert of(decision, steps.PowerUp) == [steps.PowerUp(("train-a-0",), "1 of 2 always run")]
    assert of(decision, steps.SetDown) == [steps.SetDown(("train-a-1", "train-b-1"), "clusterwright: pool train has its 2 nodes already")]


# Requests that were lost


def test_a_lost_request_is_made_again_job_by_job() -> None:
    on = table(node_set(count=5))
    view = slurm(*(node(f"train-{number}", STARTING, base="mixed") for number in range(5)), jobs={7: ["train-0", "train-1"], 8: ["train-2", "train-3"]})
    memory = Memory(missing={f"train-{number}": NOW - 60 for number in range(5)})
    decision = decided(on=on, view=view, memory=memory)
    asked = [step.launch for step in decision.steps if isinstance(step, steps.Ask)]
    assert sorted((one.nodes, one.jobs, one.is_whole) for one in asked) == [
        (("train-0", "train-1"), (7,), True),
        (("train-2", "train-3"), (8,), True),
        (("train-4",), (), False),
    ]
    assert {one.token for one in decision.memory.launches} == {one.token for one in asked}
    again = decided(on=on, view=view, memory=decision.memory, now=NOW + 30)
    assert sorted(step.launch.token for step in again.steps if isinstance(step, steps.Ask)) == sorted(one.token for one in asked), "with the same tokens"


# Leases


def leased(begins: float, ends: float) -> Cloud:
    return Cloud((), {"train": Lease(begins, ends)})


BLOCK = table(node_set(count=2, kind="block", capacity="cr-1"))


def test_the_end_of_a_lease_is_reserved_so_early_that_jobs_end_before() -> None:
    decision = decided(on=BLOCK, has=leased(NOW - 10, NOW + 7200))
    [reserved] = of(decision, steps.Reserve)
    assert isinstance(reserved, steps.Reserve)
    assert (reserved.name, reserved.nodes, reserved.start) == (f"{PREFIX}train", ("train-0", "train-1"), NOW + 7200 - TAKE_DOWN_S)
    standing = dataclasses.replace(slurm(also=BLOCK), reservations=(Reservation(reserved.name, reserved.start, reserved.nodes),))
    assert decided(on=BLOCK, view=standing, has=leased(NOW - 10, NOW + 7200)).steps == ()


def test_a_lease_that_was_extended_moves_its_reservation_and_one_that_is_gone_loses_it() -> None:
    standing = dataclasses.replace(slurm(also=BLOCK), reservations=(Reservation(f"{PREFIX}train", NOW + 100, ("train-0", "train-1")),))
    moved = decided(on=BLOCK, view=standing, has=leased(NOW - 10, NOW + 90_000))
    [step] = moved.steps
    assert isinstance(step, steps.Reserve)
    assert (step.is_there, step.start) == (True, NOW + 90_000 - TAKE_DOWN_S), "moved, so that it protects throughout"
    begun = decided(on=BLOCK, view=standing, has=leased(NOW - 10, NOW + 90_000), now=NOW + 100)
    assert [type(step) for step in begun.steps] == [steps.Unreserve, steps.Reserve]
    assert of(decided(on=BLOCK, view=standing), steps.Unreserve)


def test_a_lease_without_a_reservation_is_named() -> None:
    bare, has = slurm(also=BLOCK), leased(NOW - 10, NOW + 7200)
    assert leases.unprotected(BLOCK, bare, has, NOW) == ("train",)
    standing = dataclasses.replace(bare, reservations=(Reservation(f"{PREFIX}train", NOW + 100, ("train-0", "train-1")),))
    assert leases.unprotected(BLOCK, standing, has, NOW) == ()
    document = report.status(BLOCK, slurm=bare, cloud=has, memory=QUIET, now=NOW)
    assert [one["unprotected"] for one in document["node_sets"]] == [True]
    assert "train: no reservation stops jobs from outliving its capacity" in report.text(document)


def test_while_it_is_not_known_when_leases_end_what_stands_because_of_them_stays() -> None:
    standing = dataclasses.replace(slurm(also=BLOCK), reservations=(Reservation(f"{PREFIX}train", NOW + 100, ("train-0", "train-1")),))
    decision = decided(on=BLOCK, view=standing, has=Cloud((instance("train-9", at=NOW - 100),), None))
    assert decision.steps == (steps.Terminate(("i-train-9",), "no node wants it"),)


def test_nothing_is_started_before_a_lease_begins_or_after_it_ends() -> None:
    on = table(node_set(count=2, minimum=2, kind="block", capacity="cr-1"))
    early = decided(on=on, has=leased(NOW + 3600, NOW + 7200))
    assert early.memory.holds["train"].until == NOW + 3600
    assert of(early, steps.PowerUp) == []
    begun = decided(on=on, has=leased(NOW - 1, NOW + 7200), memory=early.memory, now=NOW + 3600)
    assert of(begun, steps.PowerUp)
    over = decided(on=on, has=leased(NOW - 7200, NOW + TAKE_DOWN_S))
    assert "cr-1 has ended" in over.memory.holds["train"].reason
    assert of(over, steps.PowerUp) == []
    assert "train" not in decided(on=on, has=leased(NOW - 7200, NOW + TAKE_DOWN_S + 1)).memory.holds


# Scale


def test_a_line_of_the_log_does_not_grow_with_the_nodes() -> None:
    few, many = (steps.SetAddress(tuple((f"train-{number}", "10.0.0.1") for number in range(count))) for count in (act.AT_MOST_SAID, 7500))
    assert act.described(few).endswith("=10.0.0.1")
    assert act.described(many) == f"{act.described(few)} and {7500 - act.AT_MOST_SAID} more"


def test_what_is_decided_twice_on_the_same_views_is_the_same() -> None:
    view = slurm(node("train-0", base="mixed"), node("train-1", UP | {"drain"}, reason="clusterwright: x"), node("train-2", OFF, base="down"), also=table())
    has = cloud(instance("train-0", life=Life.ENDED), instance("train-1"), instance("train-3", at=NOW - 100))
    first = decided(view=view, has=has)
    second = decided(view=view, has=has, memory=first.memory)
    assert set(second.steps) == set(first.steps) - set(of(first, steps.Terminate))
