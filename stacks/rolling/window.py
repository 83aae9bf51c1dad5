"""When a roll may take hosts out of service: in maintenance windows where the blueprint has any, or at once where somebody says so. Pure."""

import dataclasses
import datetime as dt
from collections.abc import Sequence

from blueprints import maintenance_windows

AT_ONCE = "--roll-now"
"""The option of `clusterwright up` with which a roll doesn't wait."""
FORM = "%A %Y-%m-%d %H:%M UTC"


@dataclasses.dataclass(frozen=True, slots=True)
class Permission:
    """From when to when hosts that serve may be taken out of service."""

    until: dt.datetime | None
    """None: without end. A time that is over: none of them may, now."""
    text: str = ""
    """What a person reads about it; empty: the blueprint has no windows."""

    def is_over(self, now: dt.datetime) -> bool:
        return self.until is not None and now >= self.until


ANY_TIME = Permission(None)


def permission(windows: Sequence[maintenance_windows.Window], now: dt.datetime, *, at_once: bool) -> Permission:
    """Decide whether a roll runs now.

    Args:
        windows: of the blueprint.
        now: in UTC, with its time zone.
        at_once: somebody doesn't want it to wait for a window.
    """
    if not windows:
        return ANY_TIME
    coming = [next(maintenance_windows.occurrences(window, now)) for window in windows]
    opened = [end for start, end in coming if start <= now]
    if opened:
        until = max(opened)
        return Permission(until, f"in the maintenance window that is open until {until:{FORM}}; hosts that it does not reach wait for the next one")
    opens = min(start for start, _ in coming)
    if at_once:
        return Permission(None, f"now, outside of the maintenance windows ({AT_ONCE}); the next one opens on {opens:{FORM}}")
    return Permission(now, f"hosts that serve wait for the maintenance window that opens on {opens:{FORM}}: run `clusterwright up` then, or now with {AT_ONCE}")
