"""The availability zones of the subnets, where the blueprint leaves them open.

Which zones offer a machine differs from account to account, and only the account can tell. It is asked during `up` alone: a preview works without credentials and shows the zone as unknown. What was
chosen stays chosen, since the subnets ignore later answers.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import pulumi
import pulumi_aws as aws
from pulumi_aws import ec2

from blueprints.spec import ClusterSpec, Late, Network, Subnet

_ORDINARY = aws.GetAvailabilityZonesFilterArgs(name="opt-in-status", values=["opt-in-not-required"])


@dataclasses.dataclass(frozen=True, slots=True)
class Zones:
    """The region's zones as the account sees them; nothing in a preview."""

    best: str | None = None
    """The one that offers all machines."""
    available: tuple[str, ...] = ()

    def other(self, than: str) -> str | None:
        """Give another zone, the one of the best if it is another."""
        return next((zone for zone in sorted(self.available) if zone != than), None)


def is_open(subnet: Subnet) -> bool:
    return isinstance(subnet.zone, Late)


def number(subnet: Subnet) -> int:
    """Count the zone that a subnet is in: `cluster` and `public-1` are in the first, `public-2` and `cluster-2` in the second."""
    _, _, last = subnet.name.rpartition("-")
    return int(last) - 1 if last.isdigit() else 0


def look_up(cluster: ClusterSpec, opts: pulumi.InvokeOptions) -> Zones:
    """Ask the account which zones there are and which of them offer the machines; in a preview, or where the blueprint names the zones, ask nothing.

    Raises:
        pulumi.RunError: no zone offers all machines, or capacity that was bought lies in a zone that nobody named.
    """
    check_held(cluster)
    open_zones = {number(subnet) for subnet in cluster.network.subnets if is_open(subnet)}
    if pulumi.runtime.is_dry_run() or not open_zones or are_given(cluster.network):
        return Zones()
    # Local zones, which somebody opted in to, have few services.
    available = tuple(sorted(aws.get_availability_zones(state="available", filters=[_ORDINARY], opts=opts).names))
    if 0 not in open_zones:
        return Zones(None, available)
    machines = sorted({group.machine.name for group in cluster.host_groups})
    found = ec2.get_instance_type_offerings(
        filters=[ec2.GetInstanceTypeOfferingsFilterArgs(name="instance-type", values=machines)], location_type="availability-zone", opts=opts
    )
    offered = tuple(zip(found.instance_types, found.locations, strict=True))
    best = offering(machines, offered)
    if not best:
        raise pulumi.RunError(_nowhere(cluster, machines, offered))
    return Zones(best[0], available)


def offering(machines: Sequence[str], offered: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """List the zones that offer all machines, by name. Pure."""
    return tuple(sorted(zone for zone, there in _by_zone(offered).items() if set(machines) <= there))


def check_held(cluster: ClusterSpec) -> None:
    """Refuse capacity that was bought without its zone: nodes started elsewhere would never find it.

    Raises:
        pulumi.RunError: with what to write.
    """
    for node_set in cluster.node_sets:
        if node_set.capacity.kind.is_bought_ahead and not cluster.network.zones and not are_given(cluster.network):
            raise pulumi.RunError(
                f"the blueprint names no zone for {node_set.capacity.id or 'the capacity'} of pool {node_set.pool}\n"
                "  why: a reservation or block is in one zone, and the subnet of the nodes must be in the same zone\n"
                "  do:  write it under `targets.aws.network.zones`; the console shows it beside the reservation"
            )


def are_given(network: Network) -> bool:
    """Say whether the subnets are there already: they are in zones of their own."""
    return network.existing is not None and not any(isinstance(subnet.cidr, str) for subnet in network.subnets)


def _by_zone(offered: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = {}
    for machine, zone in offered:
        found.setdefault(zone, set()).add(machine)
    return found


def _nowhere(cluster: ClusterSpec, machines: Sequence[str], offered: Iterable[tuple[str, str]]) -> str:
    region, by_zone = cluster.network.region, _by_zone(offered)
    there = "\n".join(f"    {zone}: {', '.join(sorted(by_zone[zone]))}" for zone in sorted(by_zone)) or "    none of them in any zone"
    return (
        f"no zone of {region} offers all of {', '.join(machines)}\n"
        f"  why: all hosts of a cluster run in one zone, and AWS offers this account\n{there}\n"
        "  do:  choose another region (`targets.aws.network.region`), or other machines"
    )
