"""Which hosts of elastic pools this machine has now, by looking only."""

import dataclasses

from .elastic import fleet
from .machine import host as hosts
from .machine.names import StackNames


@dataclasses.dataclass(frozen=True, slots=True)
class Instance:
    """A running host of an elastic pool."""

    id: str
    node: str
    node_set: str
    address: str
    host_key: str
    """Public SSH key."""
    launched_s: float
    """Seconds since 1970."""


class Unanswered(Exception):
    """This machine can't say; the text says why."""


def look(stack: str) -> tuple[Instance, ...]:
    """List the running hosts of the stack's elastic pools.

    Raises:
        Unanswered: the stack's hosts are on another machine, or not everybody may see them.
    """
    names = StackNames(stack)
    if not names.hosts.is_dir():
        raise Unanswered("the stack's hosts are not on this machine, and only their own machine lists those that come and go")
    try:
        return tuple(_instance(names, one) for one in fleet.listed(names) if one["life"] == "live")
    except OSError as error:
        raise Unanswered(f"the hosts that come and go can't be listed: {error}") from error


def _instance(names: StackNames, record: dict[str, str | float]) -> Instance:
    node = str(record["node"])
    return Instance(
        id=str(record["id"]),
        node=node,
        node_set=str(record["node_set"]),
        address=str(record["address"]),
        host_key=hosts.host_key(names.host(node)),
        launched_s=float(record["launched_at"]),
    )
