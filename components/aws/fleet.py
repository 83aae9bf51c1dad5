"""The fleet table: all that the program on the controller must know to start and end compute nodes. Plain JSON without secrets; finishing writes it to the controller."""

import dataclasses
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, NodeSet

from .. import host_folders
from .compute import NodeTemplate

VERSION = 1
BOOT_TIMEOUT_S = 1800
"""From the call to a node that answers the scheduler; a machine with eight GPUs takes long to come up (aws-parallelcluster-node, node_replacement_timeout)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A node set and what its nodes are started from."""

    node_set: NodeSet
    template: NodeTemplate


def table(cluster: ClusterSpec, rows: list[Row], *, stack: str, owner: pulumi.Input[str], subnet: pulumi.Output[str]) -> pulumi.Output[dict[str, Any]]:
    """Give the fleet table, version 1."""
    known = [
        pulumi.Output.all(id=row.template.launch_template.id, version=row.template.launch_template.latest_version, group=row.template.placement_group)
        for row in rows
    ]

    def write(values: list[Any]) -> dict[str, Any]:
        *given, mark, subnet_id = values
        return {
            "version": VERSION,
            "target": "aws",
            "cluster": cluster.name,
            "stack": stack,
            "owner": mark,
            "region": cluster.network.region,
            "domain": cluster.network.domain,
            "names": f"{host_folders.CLUSTER}/{host_folders.NAMES}",
            "node_sets": [_row(row.node_set, one, subnet_id) for row, one in zip(rows, given, strict=True)],
        }

    return pulumi.Output.all(*known, owner, subnet).apply(write)


def _row(node_set: NodeSet, given: dict[str, Any], subnet_id: str) -> dict[str, Any]:
    hosts = node_set.hosts
    return {
        "name": hosts.name,
        "pool": node_set.pool,
        "prefix": hosts.prefix,
        "count": hosts.count,
        "pool_most": node_set.pool_most,
        "minimum": node_set.always,
        "partition": node_set.partition.name if node_set.partition else None,
        "launch_template": given["id"],
        "launch_template_version": str(int(given["version"])),
        "machine": hosts.machine.name,
        "subnets": [subnet_id],
        "capacity": {"kind": node_set.capacity.kind, "id": node_set.capacity.id},
        "placement_group": given["group"],
        "boot_timeout_s": BOOT_TIMEOUT_S,
    }
