"""The zone of the hosts, where the blueprint leaves it open.

Which zones offer a machine differs from project to project. The project is asked during `up` alone: a preview works without credentials and shows the zone as unknown. What was chosen stays chosen: the
disk of the cluster's folder ignores later answers, and everything else takes its zone.
"""

from collections.abc import Mapping, Sequence

import pulumi
from pulumi_gcp import compute

from blueprints.spec import ClusterSpec


def chosen(cluster: ClusterSpec, opts: pulumi.InvokeOptions) -> str | None:
    """Give the zone of the hosts: the blueprint's first, else the first that offers all machines; None: only an `up` tells.

    Raises:
        pulumi.RunError: no zone offers all machines, or capacity that was bought lies in a zone that nobody named.
    """
    if cluster.network.zones:
        return cluster.network.zones[0]
    _check_held(cluster)
    if pulumi.runtime.is_dry_run():
        return None
    machines = sorted({group.machine.name for group in cluster.host_groups})
    wanted = " OR ".join(f'(name = "{machine}")' for machine in machines)
    offered = {}
    for zone in sorted(compute.get_zones(region=cluster.network.region, status="UP", opts=opts).names):
        offered[zone] = {one.name for one in compute.get_machine_types(zone=zone, filter=wanted, opts=opts).machine_types}
    found = offering(machines, offered)
    if not found:
        raise pulumi.RunError(_nowhere(cluster, machines, offered))
    return found[0]


def offering(machines: Sequence[str], offered: Mapping[str, set[str]]) -> tuple[str, ...]:
    """List the zones that offer all machines, by name. Pure."""
    return tuple(sorted(zone for zone, there in offered.items() if set(machines) <= there))


def _check_held(cluster: ClusterSpec) -> None:
    for node_set in cluster.node_sets:
        if node_set.capacity.kind.is_bought_ahead:
            raise pulumi.RunError(
                f"the blueprint names no zone for {node_set.capacity.id or 'the capacity'} of pool {node_set.pool}\n"
                "  why: a reservation is in one zone, and its nodes must be in the same zone\n"
                "  do:  write it under `targets.gcp.network.zones`"
            )


def _nowhere(cluster: ClusterSpec, machines: Sequence[str], offered: Mapping[str, set[str]]) -> str:
    there = (
        "\n".join(f"    {zone}: {', '.join(sorted(offered[zone])) or 'none of them'}" for zone in sorted(offered)) or "    the region has no zone that is up"
    )
    return (
        f"no zone of {cluster.network.region} offers all of {', '.join(machines)}\n"
        f"  why: all hosts of a cluster run in one zone, and Google Cloud offers this project\n{there}\n"
        "  do:  choose another region (`targets.gcp.network.region`), or other machines"
    )
