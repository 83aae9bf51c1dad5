"""Which nodes NVLink joins, as far as an inventory tells: the trays of a rack are one domain. Pure."""

from collections.abc import Mapping

from .spec import ClusterSpec, NodeSet


def joins_machines(node_set: NodeSet) -> bool:
    """Say whether NVLink joins these nodes with others: GPUs of other machines, and real ones."""
    machine = node_set.hosts.machine
    return node_set.scheduler == "slurm" and machine.domain_nodes is not None and machine.gpus is not None and not machine.gpus.simulated


def of_racks(cluster: ClusterSpec) -> dict[str, dict[str, str]]:
    """Give the NVLink domains of a site: rack → hostname → address, in the inventory's order.

    Left out are racks with more trays than NVLink joins, which hold several domains, and everything where the rack of one tray is unknown: it could belong to any domain.
    """
    sizes = {name: node_set.hosts.machine.domain_nodes or 0 for node_set in cluster.node_sets if joins_machines(node_set) for name in node_set.hosts.hostnames}
    racks: Mapping[str, str] = cluster.site.distinct_racks if cluster.site else {}
    if cluster.site is None or not racks.keys() >= sizes.keys():
        return {}
    found: dict[str, dict[str, str]] = {}
    for host in cluster.site.hosts:
        if host.name in sizes:
            found.setdefault(racks[host.name], {})[host.name] = host.address
    return {rack: hosts for rack, hosts in found.items() if len(hosts) <= min(sizes[name] for name in hosts)}
