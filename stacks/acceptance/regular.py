"""When acceptance is due that runs regularly, beside checks for drift. Pure."""

import datetime as dt
import re

from components.inspection.recorded_cluster import Known

HOURS = {"h": 1, "d": 24}
EARLY = 0.9
"""A timer comes a little early or late: a run counts as due when this share of the interval has passed."""


def hours(word: str) -> int:
    """Read an interval: `12h`, `1d`, `7d`.

    Raises:
        ValueError: it is none.
    """
    matched = re.fullmatch(r"([1-9][0-9]{0,4})([hd])", word, re.ASCII)
    if matched is None:
        raise ValueError(f"{word!r} is no interval: write hours or days, as 12h or 7d")
    return int(matched[1]) * HOURS[matched[2]]


def is_due(known: Known, every_hours: int, now: dt.datetime) -> bool:
    """Say whether the newest result over all pools is so old that the checks run again, or something was repaired since.

    Args:
        known: with the newest result (`history.newest`).
    """
    return known.accepted_at is None or bool(known.repaired) or now - known.accepted_at >= dt.timedelta(hours=every_hours * EARLY)
