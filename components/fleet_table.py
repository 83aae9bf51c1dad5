"""Write the fleet table, which the elastic program on the controllers reads (`components/elastic/table.py`). One form for all targets; plain JSON without secrets. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints.spec import ClusterSpec, NodeSet

from .elastic.table import STAY, VERSION


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A node set, and what its nodes are started from."""

    node_set: NodeSet
    template: str
    """Version of what nodes are started from."""
    boot_timeout_s: int
    """From the call to a node that answers the scheduler."""
    start: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What the target's adapter needs to start a node, under keys of its own."""


def fleet_table(cluster: ClusterSpec, rows: Sequence[Row], *, stack: str, cloud: Mapping[str, Any]) -> dict[str, Any]:
    """Write the fleet table of a stack.

    Args:
        cloud: what the target's adapter needs for all node sets, under keys of its own.
    """
    return {
        **cloud,
        "version": VERSION,
        "target": cluster.target,
        "cluster": cluster.name,
        "stack": stack,
        "domain": cluster.network.domain,
        "node_sets": [_row(row) for row in rows],
    }


def _row(row: Row) -> dict[str, Any]:
    node_set, hosts = row.node_set, row.node_set.hosts
    return {
        **row.start,
        "name": hosts.name,
        "pool": node_set.pool,
        "prefix": hosts.prefix,
        "count": hosts.count,
        "minimum": node_set.always,
        "pool_most": node_set.pool_most,
        "partition": node_set.partition.name if node_set.partition else None,
        "machine": hosts.machine.name,
        "capacity": {"kind": node_set.capacity.kind.value, "id": node_set.capacity.id},
        "launch_template_version": row.template,
        "boot_timeout_s": row.boot_timeout_s,
        **({"on_failure": node_set.on_failure} if node_set.on_failure in STAY else {}),
    }
