"""Objects of an account that a blueprint may name."""

import dataclasses
from collections.abc import Iterable

from blueprints.live import account

from . import read
from .session import Session

_LIVING = ("active", "scheduled", "pending", "payment-pending", "delayed", "assessing")
_HOURS_PER_DAY = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """A capacity block that can be bought."""

    id: str
    machine: str
    zone: str
    count: int
    starts: str
    ends: str
    fee: str
    """Of the whole block, charged at once; with its currency."""


def zones(session: Session, machines: Iterable[str]) -> list[tuple[account.Zone, tuple[str, ...]]]:
    """List the zones, each with the machines that AWS offers the account there."""
    offered = read.offered(session, machines)
    return [(zone, tuple(sorted(name for name, places in offered.items() if zone.name in places))) for zone in read.zones(session)]


def reservations(session: Session) -> list[account.Reservation]:
    """List active and future reservations and capacity blocks."""
    every = (read.described_reservation(one) for one in session.pages("ec2", "describe_capacity_reservations", "CapacityReservations"))
    return sorted((one for one in every if one.state in _LIVING), key=lambda one: (one.machine, one.zone, one.id))


def blocks(session: Session, machine: str, *, nodes: int, days: int) -> list[Offer]:
    """List the capacity blocks on offer for a number of machines and days."""
    asked = {"InstanceType": machine, "InstanceCount": nodes, "CapacityDurationHours": days * _HOURS_PER_DAY}
    found = session.pages("ec2", "describe_capacity_block_offerings", "CapacityBlockOfferings", **asked)
    return [
        Offer(
            id=str(one["CapacityBlockOfferingId"]),
            machine=str(one["InstanceType"]),
            zone=str(one["AvailabilityZone"]),
            count=int(one["InstanceCount"]),
            starts=read.moment(one.get("StartDate")),
            ends=read.moment(one.get("EndDate")),
            fee=f"{one.get('UpfrontFee', '')} {one.get('CurrencyCode', '')}".strip(),
        )
        for one in found
    ]


def subnets(session: Session) -> list[account.Subnet]:
    """List the subnets of the region, with their way out."""
    every = (read.described_subnet(session, one) for one in session.pages("ec2", "describe_subnets", "Subnets"))
    return sorted(every, key=lambda one: (one.network, one.zone, one.id))


def images(session: Session) -> list[account.Image]:
    """List the account's own images, the newest first."""
    every = (read.described_image(one) for one in session.pages("ec2", "describe_images", "Images", Owners=["self"]))
    return sorted(every, key=lambda one: (one.made, one.id), reverse=True)


def file_systems(session: Session) -> list[tuple[account.FileSystem, str, str]]:
    """List file systems, each with what it is and what a blueprint writes as its source."""
    of_efs = [(read.described_efs(session, one), "EFS", str(one["FileSystemId"])) for one in session.pages("efs", "describe_file_systems", "FileSystems")]
    lustre = (one for one in session.pages("fsx", "describe_file_systems", "FileSystems") if one.get("FileSystemType") == "LUSTRE")
    of_fsx = [(read.described_fsx(one), "FSx for Lustre", f"{one['DNSName']}@tcp:/{one['LustreConfiguration']['MountName']}") for one in lustre]
    return sorted([*of_efs, *of_fsx], key=lambda one: one[0].id)
