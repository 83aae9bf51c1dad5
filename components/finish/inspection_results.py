"""What `clusterwright` hands to the finishing resources through the engine's environment, after it has looked at the hosts itself; a bare `pulumi` hands over nothing, and the resources look by themselves."""

import datetime as dt
import json
import os
from collections.abc import Collection, Mapping

from blueprints import hostlist

VARIABLE = "CLUSTERWRIGHT_LOOKED"
LEFT_TO_ROLL = "CLUSTERWRIGHT_LEFT_TO_ROLL"

Repaired = Mapping[str, str]
"""Host → when it was last repaired (ISO 8601)."""

AS_RECORDED: Mapping[str, str] = {VARIABLE: "{}"}
"""The environment with which the resources take their hosts as they are recorded."""


def environment(repaired: Repaired) -> dict[str, str]:
    """Give the environment that says which hosts were repaired."""
    return {VARIABLE: json.dumps(repaired)}


def received() -> Repaired | None:
    """Give what was handed over; None: the hosts were not inspected."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    found: Repaired = json.loads(text)
    return found


def repaired_after(moment: str, repaired: Repaired) -> str:
    """Say which hosts were repaired after a moment, for people; empty: none. Pure.

    Args:
        moment: in ISO 8601; empty: it is unknown.
    """
    later = [host for host, then in sorted(repaired.items()) if moment and dt.datetime.fromisoformat(then) > dt.datetime.fromisoformat(moment)]
    return f"{hostlist.compress(later)} {'was' if len(later) == 1 else 'were'} repaired since" if later else ""


def left_to_roll_environment(nodes: Collection[str]) -> dict[str, str]:
    """Give the environment that names the nodes out of service with which a roll deals after acceptance."""
    return {LEFT_TO_ROLL: json.dumps([*nodes])}


def left_to_roll() -> list[str]:
    """Give the nodes that were handed over as left to a roll."""
    return list(json.loads(os.environ.get(LEFT_TO_ROLL, "[]")))
