"""When maintenance windows begin and end, and what the reservation of each is called. It also runs on controllers: standard library only."""

import datetime as dt
from collections.abc import Iterator
from typing import Protocol

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
PREFIX = "clusterwright-maintenance-"
"""How the names of the reservations begin."""
_NTH = {"first": 0, "second": 1, "third": 2, "fourth": 3}


class Window(Protocol):
    """A window of the blueprint (`spec.Window`), times in UTC."""

    @property
    def weekday(self) -> str: ...
    @property
    def start(self) -> str: ...
    @property
    def hours(self) -> int: ...
    @property
    def week(self) -> str: ...


def starts_on(window: Window, day: dt.date) -> bool:
    """Say whether a window starts on a day."""
    if day.weekday() != WEEKDAYS.index(window.weekday):
        return False
    if window.week == "every":
        return True
    if window.week == "last":
        return (day + dt.timedelta(days=7)).month != day.month
    return (day.day - 1) // 7 == _NTH[window.week]


def occurrences(window: Window, now: dt.datetime) -> Iterator[tuple[dt.datetime, dt.datetime]]:
    """Give start and end of the occurrences of a window that are not over, the earliest first, without end.

    Args:
        now: in UTC, with its time zone.
    """
    hour, minute = map(int, window.start.split(":"))
    day = now.date() - dt.timedelta(days=1 + window.hours // 24)
    while True:
        if starts_on(window, day):
            start = dt.datetime(day.year, day.month, day.day, hour, minute, tzinfo=dt.UTC)
            end = start + dt.timedelta(hours=window.hours)
            if end > now:
                yield start, end
        day += dt.timedelta(days=1)


def reservation(start: dt.datetime, end: dt.datetime) -> str:
    """Name the reservation of one occurrence; another length is another reservation."""
    return f"{PREFIX}{start:%Y%m%dT%H%M}-{(end - start) // dt.timedelta(hours=1)}h"
