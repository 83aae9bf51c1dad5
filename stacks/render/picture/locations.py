"""The places in a picture: the site and zone of a cluster, and their subnets. Pure."""

from collections.abc import Sequence

from blueprints import catalog
from blueprints.spec import ClusterSpec, Late, Subnet

from .. import formatting
from .parts import Place

MOST_LISTED = 3


def site(spec: ClusterSpec) -> Place:
    """Name the place of the whole cluster: the region, the data centre, this machine."""
    target = catalog.target(spec.target)
    name = formatting.titled(target.title)
    title = f"{name}, {spec.network.region}" if spec.network.region else name
    public = _listed_subnets([subnet for subnet in spec.network.subnets if subnet.role == "public"])
    elsewhere = _listed_subnets(_zoned_subnets(spec)[1])
    notes = [
        f"network {spec.network.cidr}" if spec.network.cidr else "",
        f"in the existing {spec.network.existing}" if spec.network.existing else "",
        f"public subnets {public}" if public else "",
        f"in other zones {elsewhere}" if elsewhere else "",
        "no way out to the Internet" if spec.network.egress == "none" else "",
    ]
    return Place(title, "; ".join(note for note in notes if note))


def zone(spec: ClusterSpec) -> Place | None:
    """Say in which zone of it the compute nodes are; None where there are no zones."""
    if spec.training:
        return Place(f"Machines of {spec.training.product}", "in a zone of the region that it chooses for each job")
    inner, _ = _zoned_subnets(spec)
    found = inner[0].zone if inner else next(iter(spec.network.zones), None)
    if found is None:
        return None
    addresses = [_addresses(subnet) for subnet in (*inner, *_beside_rails(spec))][:MOST_LISTED]
    late = [found.what] if isinstance(found, Late) else []
    return Place("Zone known later" if late else f"Zone {found}", "; ".join([*late, *addresses]))


def _zoned_subnets(spec: ClusterSpec) -> tuple[list[Subnet], list[Subnet]]:
    """Divide the hosts' subnets: those in the compute nodes' zone, and those in others."""
    inner = [subnet for subnet in spec.network.subnets if subnet.role == "cluster"]
    return [subnet for subnet in inner if subnet.zone == inner[0].zone], [subnet for subnet in inner if subnet.zone != inner[0].zone]


def rail_subnets(spec: ClusterSpec) -> list[Subnet]:
    """Give the subnets that carry rails: they follow those of the interfaces for everything else."""
    fabrics = {one.fabric.name: one.fabric for one in spec.node_sets if one.fabric}
    own = [subnet for subnet in spec.network.subnets if subnet.role == "fabric"]
    return own[-max(fabric.nics for fabric in fabrics.values()) :] if len(fabrics) == 1 else []


def _beside_rails(spec: ClusterSpec) -> list[Subnet]:
    rails = rail_subnets(spec)
    return [subnet for subnet in spec.network.subnets if subnet.role == "fabric" and subnet not in rails]


def _addresses(subnet: Subnet) -> str:
    room = f" of {formatting.count(subnet.usable)}" if subnet.usable is not None else ""
    return f"subnet {subnet.name} {formatting.known(subnet.cidr)}: {formatting.count(subnet.needed)}{room} addresses"


def _listed_subnets(subnets: Sequence[Subnet]) -> str:
    zones = [f" ({subnet.zone})" if isinstance(subnet.zone, str) else "" for subnet in subnets]
    return formatting.some((f"{formatting.known(subnet.cidr)}{zone}" for subnet, zone in zip(subnets, zones, strict=True)), most=MOST_LISTED)
