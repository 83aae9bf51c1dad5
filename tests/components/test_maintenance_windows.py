"""Maintenance windows as reservations of Slurm: which exist when, and what drift says of them."""

import datetime as dt
import itertools
import random
from typing import Any

import pytest

from blueprints import maintenance_windows, spec
from blueprints.checks import maintenance
from components.inspection import slurm
from components.maintenance import reserve
from tests.drift.examples import told
from tests.playbooks import clusters


def utc(text: str) -> dt.datetime:
    return dt.datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=dt.UTC)


FIRST_TUESDAY = spec.Window("tuesday", "02:00", 4, "first")
OF_DECEMBER, OF_JANUARY = "clusterwright-maintenance-20261201T0200-4h", "clusterwright-maintenance-20270105T0200-4h"


@pytest.mark.parametrize(
    ("window", "now", "starts"),
    [
        (FIRST_TUESDAY, "2026-11-27 03:00", ["2026-12-01 02:00", "2027-01-05 02:00"]),
        (FIRST_TUESDAY, "2026-12-01 05:59", ["2026-12-01 02:00", "2027-01-05 02:00"]),  # it is open
        (FIRST_TUESDAY, "2026-12-01 06:00", ["2027-01-05 02:00", "2027-02-02 02:00"]),  # it is over
        (spec.Window("friday", "22:30", 48, "every"), "2026-11-29 22:29", ["2026-11-27 22:30", "2026-12-04 22:30"]),  # began two days ago
        (spec.Window("thursday", "00:00", 1, "last"), "2026-12-30 00:00", ["2026-12-31 00:00", "2027-01-28 00:00"]),
        (spec.Window("monday", "12:00", 2, "fourth"), "2026-02-01 00:00", ["2026-02-23 12:00", "2026-03-23 12:00"]),
    ],
)
def test_a_window_opens_on_its_day_of_the_week_in_its_week_of_the_month(window: spec.Window, now: str, starts: list[str]) -> None:
    found = itertools.islice(maintenance_windows.occurrences(window, utc(now)), 2)
    assert [start for start, _ in found] == [utc(one) for one in starts]


def test_the_calendar_is_that_of_the_check_of_the_blueprint() -> None:
    chosen = random.Random(20)
    for _ in range(40):
        window = spec.Window(chosen.choice(maintenance_windows.WEEKDAYS), "03:15", 5, chosen.choice(["every", "first", "second", "third", "fourth", "last"]))
        span, year = set(maintenance._occurrences(window)), dt.datetime(2008, 2, 1, tzinfo=dt.UTC)
        for start, end in itertools.islice(maintenance_windows.occurrences(window, year), 12):
            minutes = (start.toordinal() * 24 * 60 + start.hour * 60 + start.minute, end.toordinal() * 24 * 60 + end.hour * 60 + end.minute)
            assert minutes in span


def words(windows: list[spec.Window], present: set[str], now: str) -> list[str]:
    return [" ".join(one) for one in reserve.steps(windows, present, utc(now))]


def test_the_next_two_occurrences_of_a_window_are_reserved() -> None:
    assert words([FIRST_TUESDAY], {"exam"}, "2026-11-27 03:00") == [
        f"create reservation reservationname={name} starttime=uts{utc(start).timestamp():.0f} duration=240 nodes=ALL flags=MAINT,IGNORE_JOBS users=root"
        for name, start in ((OF_DECEMBER, "2026-12-01 02:00"), (OF_JANUARY, "2027-01-05 02:00"))
    ]
    assert words([FIRST_TUESDAY], {OF_DECEMBER, OF_JANUARY}, "2026-11-27 03:00") == []


def test_a_window_that_is_open_already_is_reserved_from_now_on() -> None:
    [first, _] = words([FIRST_TUESDAY], set(), "2026-12-01 05:30")
    assert f"reservationname={OF_DECEMBER} starttime=uts{utc('2026-12-01 05:30').timestamp():.0f} duration=30 " in first


def test_reservations_of_windows_that_went_or_changed_are_deleted_and_those_of_others_stay() -> None:
    assert words([], {"exam", "clusterwright-lease-train", OF_DECEMBER}, "2026-11-27 03:00") == [f"delete reservation={OF_DECEMBER}"]
    longer = spec.Window("tuesday", "02:00", 6, "first")
    assert [one.split()[0] for one in words([longer], {OF_DECEMBER, OF_JANUARY}, "2026-11-27 03:00")] == ["delete", "delete", "create", "create"]


def test_names_are_read_from_what_slurm_shows() -> None:
    shown = f"ReservationName={OF_DECEMBER} StartTime=2026-12-01T02:00:00 Nodes=a\nReservationName=exam StartTime=x\n"
    assert reserve.names(shown) == {OF_DECEMBER, "exam"}
    assert reserve.names("No reservations in the system\n") == set()


def line(name: str) -> str:
    return f"ReservationName={name} StartTime=x EndTime=y Nodes=train-[0-1] Users=root Flags=MAINT\n"


@pytest.mark.parametrize(
    ("windows", "shown", "now", "expected"),
    [
        ([FIRST_TUESDAY], {"text": line(OF_DECEMBER) + line(OF_JANUARY)}, "2026-11-27 03:00", []),
        ([FIRST_TUESDAY], {"text": line(OF_JANUARY)}, "2026-11-27 03:00", [("CW985", f"reservation {OF_DECEMBER}")]),
        ([FIRST_TUESDAY], {"error": "refused"}, "2026-11-27 03:00", []),
        ([FIRST_TUESDAY], {"text": line(OF_JANUARY)}, "2026-12-01 06:05", []),  # the timer has not run since the window closed
        ([FIRST_TUESDAY], {"text": line(OF_JANUARY)}, "2026-12-01 06:16", [("CW985", "reservation clusterwright-maintenance-20270202T0200-4h")]),
        ([], {"text": line(OF_DECEMBER)}, "2026-11-27 03:00", [("CW769", f"reservation {OF_DECEMBER}")]),
        ([], {"text": "No reservations in the system\n"}, "2026-11-27 03:00", []),
    ],
)
def test_drift_names_windows_that_nothing_reserves_and_reservations_of_no_window(
    windows: list[spec.Window], shown: dict[str, str], now: str, expected: list[tuple[str, str]]
) -> None:
    record: dict[str, Any] = {
        **clusters.recorded(),
        "maintenance": [{"weekday": one.weekday, "start": one.start, "hours": one.hours, "week": one.week} for one in windows],
    }
    assert told(slurm.windows({"reservations": shown}, spec.from_record(record), utc(now))) == expected
