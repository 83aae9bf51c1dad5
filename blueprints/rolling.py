"""How many nodes of a pool may be out of service at once while they are changed one after the other. Pure."""

import math

DEFAULT_LIMIT = "10%"
"""Of a pool that doesn't say it."""
HEALTH_BRAKE = "25%"
"""Of a partition's nodes, no more are drained by their own checks where the pool doesn't say it (playbooks/roles/guard)."""


def at_once(limit: str, hosts: int) -> int:
    """Give how many hosts may be out of service at once: a number, or a share of all, rounded down, but one at least.

    Args:
        limit: `3`, `10%` or `10 %`; empty: the default.
    """
    text = (limit or DEFAULT_LIMIT).replace(" ", "")
    number = math.floor(hosts * int(text.removesuffix("%")) / 100) if text.endswith("%") else int(text)
    return max(1, min(number, hosts))
