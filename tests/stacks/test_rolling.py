"""What a roll decides: when it may begin, how many hosts at once, which first, when it stops, and how it goes on after it was killed."""

import datetime as dt

import pytest

from blueprints import rolling
from blueprints.spec import Window
from stacks.rolling import decide, window
from stacks.rolling.decide import Host, Phase, Step

PHASES = {
    "d": Host("", "", Phase.DUE),
    "b": Host("", "", Phase.DUE, is_busy=True),
    "o": Host("", "", Phase.DUE, is_out=True),
    "w": Host("", "", Phase.DRAINING, is_busy=True),
    "e": Host("", "", Phase.EMPTY),
    "+": Host("", "", Phase.DONE),
    "x": Host("", "", Phase.FAILED),
    "k": Host("", "", Phase.KEPT),
}
"""A letter for each state of a host."""


def hosts(states: str, scope: str = "train") -> list[Host]:
    return [Host(f"{scope}-{number}", scope, seen.phase, seen.is_busy, seen.is_out) for number, seen in enumerate(PHASES[letter] for letter in states)]


def decided(states: str, limit: int) -> Step:
    return decide.decide(hosts(states), {"train": limit}, order=[["train"]])


@pytest.mark.parametrize(
    ("limit", "count", "expected"),
    [
        ("", 16, 1), ("", 20, 2), ("", 1, 1), ("10%", 9, 1), ("10%", 19, 1), ("10 %", 30, 3), ("1%", 16, 1), ("33%", 3, 1), ("34%", 3, 1), ("67%", 3, 2),
        ("100%", 7, 7), ("3", 16, 3), ("3", 2, 2), ("1", 5000, 1), ("10%", 5000, 500),
    ],
)  # fmt: skip
def test_a_share_is_rounded_down_and_is_one_host_at_least(limit: str, count: int, expected: int) -> None:
    assert rolling.at_once(limit, count) == expected


@pytest.mark.parametrize(
    ("states", "limit", "begin"),
    [
        ("dddd", 3, "0"),  # the first goes alone
        ("+ddd", 2, "12"),
        ("+ddd", 9, "123"),
        ("+wdd", 2, "2"),
        ("+wwd", 2, ""),
        ("wddd", 3, ""),  # it is the first, and not back yet
        ("edd+", 1, ""),
        ("bbd", 3, "2"),  # the idle one first
        ("+bbdd", 3, "341"),
        ("+kdd", 2, "2"),  # the one that somebody keeps is out of service, too
        ("+kdd", 1, ""),
        ("+okd", 1, "1"),  # a node that is down takes nothing from the pool
        ("+ooo", 2, "12"),
        ("+ood", 4, "123"),
        ("ooo", 3, "0"),  # also of these the first goes alone
        ("+oow", 1, ""),
        ("++++", 2, ""),
        ("+kk", 2, ""),
    ],
)
def test_as_many_hosts_are_out_of_service_as_the_limit_permits(states: str, limit: int, begin: str) -> None:
    assert decided(states, limit).begin == tuple(f"train-{number}" for number in begin)


def test_hosts_without_jobs_are_installed_while_others_drain() -> None:
    assert decided("+ewd", 2) == Step(install=("train-1",))


def test_a_host_that_does_not_come_back_stops_the_roll_and_others_return_to_service() -> None:
    assert decided("+xwed", 4) == Step(resume=("train-2", "train-3"), is_over=True)


def test_a_roll_that_was_killed_goes_on_with_the_hosts_that_it_has() -> None:
    assert decided("+weddd", 2) == Step(install=("train-2",))


def test_a_roll_without_room_says_who_takes_it() -> None:
    assert decided("+kod", 1) == Step(begin=("train-2",))
    assert decided("+kd", 1) == Step(blocked={"train": ("train-1",)}, is_over=True)


@pytest.mark.parametrize("states", ["+++", "+k", ""])
def test_a_roll_is_over_when_nothing_is_left_that_it_may_touch(states: str) -> None:
    assert decided(states, 2) == Step(is_over=True)


def test_pools_roll_together_and_login_nodes_and_controllers_after_them() -> None:
    order, limits = [["train", "serve"], ["access"], ["control"]], {"train": 1, "serve": 1, "access": 1, "control": 1}

    def begin(train: str, serve: str, access: str, control: str) -> tuple[str, ...]:
        everybody = [*hosts(train), *hosts(serve, "serve"), *hosts(access, "access"), *hosts(control, "control")]
        return decide.decide(everybody, limits, order=order).begin

    assert begin("dd", "dd", "dd", "dd") == ("train-0", "serve-0")
    assert begin("+w", "++", "dd", "dd") == ()
    assert begin("++", "++", "dd", "dd") == ("access-0",)
    assert begin("++", "++", "++", "dd") == ("control-0",)
    assert begin("+kd", "++", "d", "d") == ("access-0",), "a pool without room keeps nobody else from the roll"


TUESDAY, SUNDAY = Window("tuesday", "02:00", 4, "first"), Window("sunday", "22:00", 6, "every")


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("now", "at_once", "until", "told"),
    [
        ("2026-12-01T01:59", False, "2026-12-01T01:59", "opens on Tuesday 2026-12-01 02:00 UTC"),
        ("2026-12-01T02:00", False, "2026-12-01T06:00", "open until Tuesday 2026-12-01 06:00 UTC"),
        ("2026-12-01T05:59", False, "2026-12-01T06:00", "open until Tuesday 2026-12-01 06:00 UTC"),
        ("2026-12-01T06:00", False, "2026-12-01T06:00", "opens on Sunday 2026-12-06 22:00 UTC"),
        ("2026-12-07T03:00", False, "2026-12-07T04:00", "open until Monday 2026-12-07 04:00 UTC"),  # it began the day before
        ("2026-12-01T01:59", True, None, "outside of the maintenance windows (--roll-now)"),
        ("2026-12-01T03:00", True, "2026-12-01T06:00", "open until"),
    ],
)
def test_a_roll_runs_in_a_window_or_because_somebody_says_so(now: str, at_once: bool, until: str | None, told: str) -> None:
    found = window.permission((TUESDAY, SUNDAY), at(now), at_once=at_once)
    assert (found.until, told in found.text) == (at(until) if until else None, True)


def test_a_roll_without_windows_runs_at_any_time() -> None:
    assert window.permission((), at("2026-12-01T01:59"), at_once=False) == window.ANY_TIME
    assert not window.ANY_TIME.is_over(at("2026-12-01T01:59"))


@pytest.mark.parametrize(
    ("states", "step"),
    [
        ("+ddd", Step(is_over=True)),
        ("+wbd", Step(resume=("train-1",), is_over=True)),  # it still has jobs: it serves on
        ("+ewd", Step(install=("train-1",), resume=("train-2",))),  # nothing runs on it: it is done to the end
        ("+odd", Step(begin=("train-1",))),  # out of service anyway
        ("+kdd", Step(is_over=True)),
        ("xwed", Step(resume=("train-1", "train-2"), is_over=True)),
    ],
)
def test_outside_of_a_window_no_host_that_serves_is_taken(states: str, step: Step) -> None:
    assert decide.decide(hosts(states), {"train": 2}, order=[["train"]], is_closed=True) == step


@pytest.mark.parametrize("count", [1, 2, 7, 16, 64])
@pytest.mark.parametrize("limit", ["1", "2", "10%", "50%", "100%"])
def test_a_roll_ends_and_never_takes_more_than_its_limit(count: int, limit: str) -> None:
    """Play it: each host drains for as many steps as its number has digits in binary, then it is installed."""
    most, phases, waits = rolling.at_once(limit, count), ["d"] * count, [number.bit_count() for number in range(count)]
    for _ in range(20 * count):
        step = decided("".join(phases), most)
        if step.is_over:
            break
        for name in step.install:
            phases[int(name.removeprefix("train-"))] = "+"
        for name in step.begin:
            phases[int(name.removeprefix("train-"))] = "w"
        assert sum(one in "we" for one in phases) <= most
        for number, one in enumerate(phases):
            if one == "w":
                waits[number] -= 1
                phases[number] = "e" if waits[number] < 0 else "w"
    assert phases == ["+"] * count
