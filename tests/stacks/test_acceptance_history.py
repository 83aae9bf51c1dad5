"""Runs of acceptance are kept, and the newest one over all pools is what a stack shows."""

import dataclasses
import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from components.inspection.recorded_cluster import Known
from stacks import project
from stacks.acceptance import history, regular, repaired_hosts
from stacks.acceptance import run as runs
from stacks.errors import EXIT_USAGE, Problem
from tests.drift import examples

NOON = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(project, "private_folder", lambda stack: tmp_path / stack)
    return tmp_path / "lab" / history.FILE


def run(hours: int, *pools: str, ok: bool = True) -> history.Run:
    check: dict[str, Any] = {"name": "node state", "node": "train-0", "expected": "idle", "measured": "idle", "verdict": "pass" if ok else "fail"}
    return history.Run(NOON + dt.timedelta(hours=hours), 12.5, pools, ok, (check,))


def known() -> Known:
    return dataclasses.replace(examples.known(), accepted_at=NOON, outdated="a node takes no jobs")


def test_runs_come_back_as_they_were_kept_and_only_their_owner_reads_them(place: Path) -> None:
    history.add("lab", run(1))
    history.add("lab", run(2, "train", ok=False))
    assert history.read("lab") == (run(1), run(2, "train", ok=False))
    assert place.stat().st_mode & 0o077 == 0


def test_a_line_that_was_cut_off_is_left_out(place: Path) -> None:
    history.add("lab", run(1))
    place.write_text(place.read_text() + '{"began": "2026-11-2')
    assert history.read("lab") == (run(1),)


def test_the_oldest_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "KEPT", 2)
    for hours in range(4):
        history.add("lab", run(hours))
    assert history.read("lab") == (run(2), run(3))


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ([], NOON),
        ([run(-1)], NOON),
        ([run(3, "train")], NOON),
        ([run(1), run(2), run(3, "train")], NOON + dt.timedelta(hours=2)),
    ],
    ids=["none", "before `up`", "of one pool", "over all pools"],
)
def test_the_newest_result_over_all_pools_is_shown(place: Path, kept: list[history.Run], shown: dt.datetime) -> None:
    for one in kept:
        history.add("lab", one)
    found = history.newest("lab", known())
    assert (found.accepted_at, found.outdated) == (shown, "a node takes no jobs" if shown == NOON else "")


def test_what_was_repaired_after_the_newest_result_is_known_until_acceptance_runs_again(place: Path) -> None:
    assert history.newest("lab", known()).repaired == ""
    repaired_hosts.add("lab", ["train-1", "train-0"])
    assert history.newest("lab", known()).repaired == "train-[0-1] were repaired since"
    tomorrow = dataclasses.replace(run(0), began=dt.datetime.now(dt.UTC) + dt.timedelta(days=1))
    history.add("lab", tomorrow)
    assert history.newest("lab", known()).repaired == ""
    assert (place.parent / repaired_hosts.FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["", "[]", '{"train-0": "yesterday"}', '{"train-0": 3}'])
def test_a_damaged_file_of_repairs_says_nothing(place: Path, content: str) -> None:
    repaired_hosts.add("lab", ["train-0"])
    (place.parent / repaired_hosts.FILE).write_text(content)
    assert repaired_hosts.read("lab") == {}
    assert history.newest("lab", known()).repaired == ""


@pytest.mark.parametrize(("word", "hours"), [("12h", 12), ("1d", 24), ("7d", 168), ("9999h", 9999)])
def test_intervals_of_regular_acceptance_are_hours_and_days(word: str, hours: int) -> None:
    assert regular.hours(word) == hours


@pytest.mark.parametrize("word", ["", "0d", "15m", "1", "d", "-1d", "1.5d", "1d ", "999999h", "١d"])
def test_other_intervals_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="is no interval"):
        regular.hours(word)


@pytest.mark.parametrize(
    ("accepted_h_ago", "every_h", "is_due"),
    [(None, 24, True), (0, 24, False), (21, 24, False), (23, 24, True), (24, 24, True), (100, 168, False), (200, 168, True)],
)
def test_acceptance_is_due_when_the_newest_result_is_old(accepted_h_ago: int | None, every_h: int, is_due: bool) -> None:
    accepted_at = None if accepted_h_ago is None else NOON - dt.timedelta(hours=accepted_h_ago)
    assert regular.is_due(dataclasses.replace(examples.known(), accepted_at=accepted_at), every_h, NOON) is is_due


def test_acceptance_is_due_after_a_repair(place: Path) -> None:
    now = dt.datetime.now(dt.UTC)
    passed = dataclasses.replace(run(0), began=now - dt.timedelta(hours=1))
    history.add("lab", passed)
    assert not regular.is_due(history.newest("lab", known()), 24, now)
    repaired_hosts.add("lab", ["train-0"])
    assert regular.is_due(history.newest("lab", known()), 24, now)
    history.add("lab", dataclasses.replace(passed, began=now + dt.timedelta(hours=1)))
    assert not regular.is_due(history.newest("lab", known()), 24, now + dt.timedelta(hours=2))


def test_a_level_of_dcgm_is_refused_where_no_node_has_it() -> None:
    with pytest.raises(Problem, match="no node of these pools has DCGM") as refused:
        runs.accept("lab", examples.known(), (), say=lambda _: None, dcgm_level=3)
    assert refused.value.status == EXIT_USAGE
