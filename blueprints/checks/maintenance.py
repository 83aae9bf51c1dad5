"""Maintenance windows, compared with each other and with the time limits of jobs."""

import datetime as dt
from collections.abc import Iterator, Sequence

from .. import durations, finding, language, spec
from ..codes import Code
from ..document import Document
from ..language import values
from ..maintenance_windows import WEEKDAYS

_DAYS = {
    "every": range(1, 32),
    "first": range(1, 8),
    "second": range(8, 15),
    "third": range(15, 22),
    "fourth": range(22, 29),
    "last": range(22, 32),
}
"""The days of a month on which a window of each `week` can start."""
_MONTHS = range(28, 32)
_DAY, _WEEK = 24 * 60, 7 * 24 * 60
_YEARS = range(2001, 2029)
"""The calendar repeats every 28 years within a century, so these years contain every combination of month length and first weekday."""
_FIRST_MONDAY = dt.date(2001, 1, 1)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find overlapping windows, windows that leave no time for jobs, and time limits longer than the time between windows."""
    windows = cluster.maintenance
    for number, later in enumerate(windows):
        earlier = next((one for one in windows[:number] if _meet(one, later)), None)
        if earlier is not None:
            what = f"{_words(earlier)} and {_words(later)} overlap"
            why = "clusterwright reserves the nodes for each window separately, so the overlap is reserved twice"
            where = source.where("maintenance", number)
            yield finding.Finding(finding.Level.WARNING, Code.WINDOWS_OVERLAP, where, what, why, "merge the two windows, or move one")
    if not windows:
        return
    longest = _longest_between(windows)
    if longest == 0:
        what = "the maintenance windows leave no time between them"
        why = "together they cover the whole week, and no job starts in a window"
        yield finding.Finding(finding.Level.ERROR, Code.WINDOWS_ALWAYS, source.where_key("maintenance"), what, why, "remove windows, or shorten them")
    else:
        yield from _long_jobs(cluster, longest, source)


def _long_jobs(cluster: spec.ClusterSpec, longest: int, source: Document) -> Iterator[finding.Finding]:
    for partition in dict.fromkeys(partition for _, partition in cluster.slurm_node_sets):
        seconds = durations.seconds(partition.max_time)
        if seconds is not None and seconds <= longest * 60:
            continue
        limit = values.time_limit(str(longest))
        what = f"the time limit of the partition {partition.name} exceeds the longest time between maintenance windows, {limit}"
        why = f"Slurm assumes `max_time: {partition.max_time}` for a job without its own limit, and never starts a job that may run into a window"
        where = source.where("pools", partition.name, "partition", "max_time")
        yield finding.Finding(finding.Level.WARNING, Code.JOBS_OUTLAST_WINDOWS, where, what, why, f"write `max_time: {limit}` or less for this partition")


def _longest_between(windows: Sequence[spec.Window]) -> int:
    """Find the longest time without a window, in minutes."""
    spans = sorted({span for window in windows for span in _occurrences(window)})
    end, longest = spans[0][1], 0
    for start, stop in spans:
        longest = max(longest, start - end)
        end = max(end, stop)
    return longest


def _occurrences(window: spec.Window) -> Iterator[tuple[int, int]]:
    """List the start and end of each occurrence of a window, in minutes since day 0 of the calendar."""
    start, stop = _span(window)
    if window.week == "every":
        mondays = range(_FIRST_MONDAY.toordinal(), dt.date(_YEARS[-1], 12, 31).toordinal(), 7)
        yield from ((monday * _DAY + start, monday * _DAY + stop) for monday in mondays)
        return
    for month in range(12 * len(_YEARS)):
        day = _day_of(window, dt.date(_YEARS[month // 12], month % 12 + 1, 1))
        yield day * _DAY + start % _DAY, day * _DAY + start % _DAY + stop - start


def _day_of(window: spec.Window, first: dt.date) -> int:
    """Return the day on which a window starts in the month of `first`, as a proleptic ordinal."""
    following = (first + dt.timedelta(days=31)).replace(day=1)
    weeks = {"first": 0, "second": 7, "third": 14, "fourth": 21}
    earliest = first.toordinal() + weeks[window.week] if window.week in weeks else following.toordinal() - 7
    # Day 1 of the calendar is a Monday, as is every seventh after it.
    return earliest + (WEEKDAYS.index(window.weekday) - (earliest - 1)) % 7


def _span(window: spec.Window) -> tuple[int, int]:
    """Return the minutes of the week at which a window starts and ends; the end may be in the next week."""
    hour, minute = window.start.split(":")
    start = WEEKDAYS.index(window.weekday) * _DAY + int(hour) * 60 + int(minute)
    return start, start + window.hours * 60


def _meet(one: spec.Window, other: spec.Window) -> bool:
    """Whether two windows can overlap in some month."""
    start, stop = _span(one)
    for shift in (-_WEEK, 0, _WEEK):
        other_start, other_stop = (minute + shift for minute in _span(other))
        days = other_start // _DAY - start // _DAY
        if start < other_stop and other_start < stop and any(_can_follow(day + days, other.week) for day in _DAYS[one.week]):
            return True
    return False


def _can_follow(day: int, week: str) -> bool:
    """Whether a window can start on a day, counted from the start of one month; the day may belong to the month before or after."""
    in_month_before = [day + length for length in _MONTHS if day < 1]
    in_month_after = [day - length for length in _MONTHS]
    return any(candidate in _DAYS[week] for candidate in (day, *in_month_before, *in_month_after))


def _words(window: spec.Window) -> str:
    when = f"every {window.weekday}" if window.week == "every" else f"each {window.week} {window.weekday}"
    return f"the window of {when} at {window.start} ({window.hours} h)"
