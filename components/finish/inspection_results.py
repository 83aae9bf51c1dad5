"""What `clusterwright` hands to the finishing resources through the engine's environment, after it has looked at the hosts itself; a bare `pulumi` hands over nothing, and the resources look by themselves."""

import json
import os
from collections.abc import Mapping

VARIABLE = "CLUSTERWRIGHT_LOOKED"

Repaired = Mapping[str, Mapping[str, str]]
"""Group → host → when it was configured again (ISO 8601)."""

AS_RECORDED: Mapping[str, str] = {VARIABLE: "{}"}
"""The environment with which the resources take their hosts as they are recorded."""


def environment(repaired: Repaired) -> dict[str, str]:
    """Give the environment that says which hosts were configured again."""
    return {VARIABLE: json.dumps(repaired)}


def received() -> Repaired | None:
    """Give what was handed over; None: the hosts were not inspected."""
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    found: Repaired = json.loads(text)
    return found
