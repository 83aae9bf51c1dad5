"""The fleet table: the node sets that the elastic program starts and stops, as finishing writes them to controllers (`components/fleet_table.py`)."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from blueprints import hostlist

from .model import HEALTH, Node

VERSION = 1
STAY = frozenset({"keep", "reboot", "repair", "report"})
"""What a node set can say of nodes that their own check drained; where it says nothing, they are replaced. `keep`: until they are complete or a person decides. The others: until they say that they can't help themselves, and
with `report`, they report a broken part to the cloud first."""
_SHARED = frozenset({"version", "target", "cluster", "stack", "domain", "names", "topology", "idle_s", "stop_timeout_s", "node_sets"})
_SHARED_BY_NODE_SETS = frozenset(
    {"name", "pool", "prefix", "count", "minimum", "pool_most", "partition", "machine", "capacity", "boot_timeout_s", "launch_template_version", "on_failure"}
)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSet:
    """Nodes of one machine type, `<prefix>-0` … `<prefix>-<count-1>`."""

    name: str
    pool: str
    prefix: str
    count: int
    minimum: int
    """Nodes 0 to `minimum` - 1 always run."""
    partition: str
    """Empty where Kubernetes schedules."""
    machine: str
    capacity_kind: str
    """`on-demand`, `spot`, `reserved`, `block`, `flex`, `owned`."""
    capacity_id: str | None
    boot_timeout_s: float
    """A node that has not registered with Slurm this long after its launch is given up."""
    pool_most: int | None
    """Most nodes of the pool, all its node sets together; None where `count` says it."""
    template: str
    """Version of what nodes are started from: an instance with another one is outdated."""
    start: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    """What only the target's adapter reads, to start nodes."""
    on_failure: str = ""
    """One of STAY; empty: replace."""

    def keeps(self, node: Node) -> bool:
        """Say whether a node is left to a person, as its own check took it out of service and the pool says so."""
        return self.on_failure == "keep" and (node.is_down or node.is_drained) and node.reason.startswith(HEALTH)

    def number(self, node: str) -> int | None:
        """Return the node's number; None when the node is not of this set."""
        prefix, _, number = node.rpartition("-")
        if prefix != self.prefix or not number.isdecimal() or str(int(number)) != number:
            return None
        return int(number) if int(number) < self.count else None

    @property
    def nodes(self) -> tuple[str, ...]:
        return hostlist.of_group(self.prefix, self.count)

    def always_runs(self, node: str) -> bool:
        number = self.number(node)
        return number is not None and number < self.minimum


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """What may run."""

    target: str
    cluster: str
    stack: str
    domain: str
    node_sets: tuple[NodeSet, ...]
    names: str = ""
    """The file with the names of all hosts, which this program keeps; empty: the target does."""
    topology: str = ""
    """The file that says where nodes are in the cloud's network (topology.conf(5)), which this program keeps; empty: Slurm places jobs without it."""
    cloud: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    """What only the target's adapter reads: where its instances are and how the stack marks them."""

    def by_name(self, name: str) -> NodeSet | None:
        return next((one for one in self.node_sets if one.name == name), None)

    def owners(self) -> dict[str, NodeSet]:
        """Return the set of each node."""
        return {node: node_set for node_set in self.node_sets for node in node_set.nodes}


class Unreadable(Exception):
    """The fleet table is missing, or this program can't read it."""


def read(record: Mapping[str, Any], *, of_kubernetes: bool = False) -> Table:
    """Read the fleet table. What the adapters don't share is left to them as it is.

    Args:
        of_kubernetes: the table of Kubernetes' autoscaler, whose nodes have no partition.
    Raises:
        Unreadable: the table has another version, or lacks something.
    """
    if record.get("version") != VERSION:
        raise Unreadable(f"the fleet table has version {record.get('version')}, and this program reads version {VERSION}: `clusterwright up` updates both")
    try:
        return Table(
            target=record["target"],
            cluster=record["cluster"],
            stack=record["stack"],
            domain=record.get("domain", ""),
            # Nodes without a partition are another scheduler's.
            node_sets=tuple(_node_set(one) for one in record["node_sets"] if (one["partition"] is None) is of_kubernetes),
            names=record.get("names", ""),
            topology=record.get("topology", ""),
            cloud={key: value for key, value in record.items() if key not in _SHARED},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the fleet table is incomplete: {type(error).__name__} {error}") from error


def _node_set(record: Mapping[str, Any]) -> NodeSet:
    capacity = record["capacity"]
    return NodeSet(
        name=record["name"],
        pool=record["pool"],
        prefix=record["prefix"],
        count=int(record["count"]),
        minimum=int(record["minimum"]),
        partition=record["partition"] or "",
        machine=record["machine"],
        capacity_kind=capacity["kind"],
        capacity_id=capacity.get("id"),
        boot_timeout_s=float(record["boot_timeout_s"]),
        pool_most=record.get("pool_most"),
        template=record.get("launch_template_version", ""),
        start={key: value for key, value in record.items() if key not in _SHARED_BY_NODE_SETS},
        on_failure=record.get("on_failure", ""),
    )
