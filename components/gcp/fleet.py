"""The Google Cloud adapter's part of the fleet table, with which the elastic program starts and terminates compute nodes (`components/elastic/fleets/gcp`)."""

import dataclasses
from typing import Any

import pulumi

from blueprints.spec import ClusterSpec, NodeSet

from .. import fleet_table, host_folders
from . import template
from .compute import NodeTemplate
from .flex_group import FlexGroup, run_seconds
from .names import Names

BOOT_TIMEOUT_S = 1200
"""From the API call to a node that registers with the scheduler (cluster-toolkit v1.95.0, resume timeout of A3 Ultra and A4)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A node set and its template."""

    node_set: NodeSet
    template: NodeTemplate
    group: FlexGroup | None = None
    """In whose queue nodes are requested."""


def table(
    cluster: ClusterSpec, rows: list[Row], *, stack: str, names: Names, project: pulumi.Output[str], zone: pulumi.Output[str]
) -> pulumi.Output[dict[str, Any]]:
    """Write the fleet table once templates and zone are known.

    Beside what all targets have: `project`, `region`, `zone`, `owner` (the stack's mark), `prefix` (begins the names of instances: node `train-0` is the instance `<prefix>train-0`) and, of each node set,
    `instance_template` (full name), `labels` (which each node must have), `placement_policy` and `provisioning_model` (which each node must have); of nodes in NVLink domains
    `domains` (the policy of each domain, in order) and `domain_nodes` (how many nodes have one); of flex-start ones `group` (path of the group with
    the queue) and `run_s` (so long a node runs).
    """
    known = [
        pulumi.Output.all(
            link=one.template.instance_template.self_link,
            name=one.template.instance_template.name,
            labels=one.template.labels,
            policy=one.template.policy,
            domains=[policy.self_link for policy in one.template.domains],
            group=one.group.path if one.group else None,
        )
        for one in rows
    ]

    def write(values: list[Any]) -> dict[str, Any]:
        *given, mark, of_project, of_zone = values
        cloud = {
            "owner": mark,
            "project": of_project,
            "region": cluster.network.region,
            "zone": of_zone,
            "prefix": names.instance_prefix,
            "names": f"{host_folders.CLUSTER}/{host_folders.NAMES}",
            **({"topology": host_folders.SWITCHES} if any(_has_place(row.node_set) for row in rows) else {}),
        }
        return fleet_table.fleet_table(cluster, [_row(row.node_set, one) for row, one in zip(rows, given, strict=True)], stack=stack, cloud=cloud)

    return pulumi.Output.all(*known, names.owner, project, zone).apply(write)


def _has_place(node_set: NodeSet) -> bool:
    """Say whether Slurm places jobs there by where the instances run, which Compute Engine tells of A3 and later machines with eight GPUs (AI Hypercomputer documentation, "View topology of a
    compute instance", 2026-11-28): those whose GPUs have networks of their own."""
    return bool(node_set.partition and node_set.fabric)


def _row(node_set: NodeSet, given: dict[str, Any]) -> fleet_table.Row:
    start = {
        "instance_template": given["link"],
        "labels": given["labels"],
        "placement_policy": given["policy"],
        "provisioning_model": template.provisioning_model(node_set),
    }
    if given["domains"]:
        start |= {"domains": given["domains"], "domain_nodes": node_set.hosts.machine.domain_nodes}
    if given["group"]:
        start |= {"group": given["group"], "run_s": run_seconds(node_set)}
    return fleet_table.Row(node_set, template=str(given["name"]), boot_timeout_s=BOOT_TIMEOUT_S, start=start)
