"""What may be switched: nodes that have no jobs, few at a time, seldom, and hosts that others need only when they are named alone. Pure."""

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping, Sequence

from blueprints import hostlist
from components.bmc.model import Action
from components.elastic.model import Node

COMPUTE = "compute"
SHARE = 0.1
"""Of a pool, that one command switches by default; at least one host."""
MOST_CYCLES = 2
WITHIN = dt.timedelta(hours=24)
"""A host that needs more power cycles than these is broken."""


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host to switch."""

    name: str
    role: str
    pool: str
    node: Node | None = None
    """As Slurm sees it; None: Slurm does not say."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allowed:
    """What the user allows beyond the brakes."""

    force: bool = False
    """Switch nodes with jobs, and hosts that were switched too often."""
    at_most: int | None = None
    """Hosts of each pool; None: a tenth of it."""
    unused: bool = False
    """No `up` of the stack has finished: nothing runs on its hosts that Slurm could know of."""


def objections(
    hosts: Sequence[Host], action: Action, *, pools: Mapping[str, int], cycles: Mapping[str, Sequence[dt.datetime]], now: dt.datetime, allowed: Allowed
) -> list[str]:
    """Say why hosts may not be switched; nothing: they may.

    Args:
        pools: pool → its number of hosts.
        cycles: host → when it was cycled before.
    """
    found = []
    shared = [host for host in hosts if host.role != COMPUTE]
    if action is not Action.ON and shared and len(hosts) > 1:
        found.append(f"{_listed(shared)} serves others: name a controller or login host alone")
    if action is Action.ON:
        return found
    found += _too_many(hosts, pools, allowed)
    if allowed.force:
        return found
    if not allowed.unused:
        found += [why for host in hosts if host.role == COMPUTE and (why := _in_use(host))]
    if action is Action.CYCLE:
        for host in hosts:
            recent = [moment for moment in cycles.get(host.name, ()) if now - moment < WITHIN]
            if len(recent) >= MOST_CYCLES:
                found.append(f"{host.name} was cycled {len(recent)} times within {WITHIN.total_seconds() / 3600:.0f} hours: look for what is broken")
    return found


def most(size: int) -> int:
    """Give how many hosts of a pool one command switches by default."""
    return max(1, math.floor(size * SHARE))


def _too_many(hosts: Sequence[Host], pools: Mapping[str, int], allowed: Allowed) -> list[str]:
    found = []
    for pool, size in pools.items():
        named = [host for host in hosts if host.pool == pool and host.role == COMPUTE]
        limit = most(size) if allowed.at_most is None else allowed.at_most
        if len(named) > limit:
            found.append(f"{_listed(named)} are {len(named)} hosts of {pool}, which has {size}: one command switches {limit} (--at-most allows more)")
    return found


def _in_use(host: Host) -> str:
    if host.node is None:
        return f"Slurm does not say whether jobs run on {host.name}"
    if host.node.is_down or not (host.node.is_answering or host.node.has_jobs):
        return ""
    if not host.node.is_drained:
        return f"{host.name} takes jobs: drain it first (`scontrol update nodename={host.name} state=drain reason=power`)"
    return f"jobs run on {host.name}" if host.node.has_jobs else ""


def _listed(hosts: Sequence[Host]) -> str:
    return hostlist.compress([host.name for host in hosts])
