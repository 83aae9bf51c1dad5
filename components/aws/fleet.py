"""The AWS adapter's part of the fleet table, with which the elastic program starts and terminates compute nodes on EC2 (`components/elastic/fleets/aws`)."""

import dataclasses
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, NodeSet

from .. import fleet_table, host_folders
from .compute import NodeTemplate

BOOT_TIMEOUT_S = 1800
"""From the API call to a node that registers with the scheduler; a machine with eight GPUs boots slowly (aws-parallelcluster-node, node_replacement_timeout)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A node set and its launch template."""

    node_set: NodeSet
    template: NodeTemplate


def table(cluster: ClusterSpec, rows: list[Row], *, stack: str, owner: pulumi.Input[str], subnet: pulumi.Output[str]) -> pulumi.Output[dict[str, Any]]:
    """Write the fleet table once launch templates and subnet are known."""
    known = [
        pulumi.Output.all(id=row.template.launch_template.id, version=row.template.launch_template.latest_version, group=row.template.placement_group)
        for row in rows
    ]

    def write(values: list[Any]) -> dict[str, Any]:
        *given, mark, subnet_id = values
        cloud = {"owner": mark, "region": cluster.network.region, "names": f"{host_folders.CLUSTER}/{host_folders.NAMES}"}
        return fleet_table.fleet_table(cluster, [_row(row.node_set, one, subnet_id) for row, one in zip(rows, given, strict=True)], stack=stack, cloud=cloud)

    return pulumi.Output.all(*known, owner, subnet).apply(write)


def _row(node_set: NodeSet, given: dict[str, Any], subnet_id: str) -> fleet_table.Row:
    start = {"launch_template": given["id"], "subnets": [subnet_id], "placement_group": given["group"]}
    return fleet_table.Row(node_set, template=str(int(given["version"])), boot_timeout_s=BOOT_TIMEOUT_S, start=start)
