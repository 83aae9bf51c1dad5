"""Capacity reservations and capacity blocks.

Source: EC2 user guide, "Capacity Reservations" and "Capacity Blocks for ML". Times run on the cloud's clock.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Thing
from ..cloud import Cloud
from ..rules import Rules, Want, of

BLOCK = "capacity-block"


@of("ec2.CapacityReservation")
class CapacityReservation(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if (want["instanceType"], want["availabilityZone"]) not in cloud.offered(want.region):
            raise Refused("Unsupported", f"The requested configuration is currently not supported: {want['instanceType']} in {want['availabilityZone']}")
        if want["endDateType"] == "limited" and not want.get("endDate"):
            raise Refused("MissingParameter", "The request must contain the parameter EndDate")
        limit = cloud.store.settings.get("capacity", {}).get(want["instanceType"])
        if limit is not None and want["instanceCount"] > limit:
            raise Refused("InsufficientInstanceCapacity", f"Insufficient capacity for {want['instanceType']}")

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        if thing.get("reservationType") == BLOCK:
            raise Refused("InvalidCapacityReservationState", f"{thing.id} is a Capacity Block and can't be cancelled")


def state(cloud: Cloud, reservation: Thing) -> str:
    """Give the state by the clock."""
    now = cloud.store.clock.now_s()
    if reservation.get("endDate") and now >= seconds(reservation["endDate"]):
        return "expired"
    if reservation.get("startDate") and now < seconds(reservation["startDate"]):
        return "scheduled"
    return "active"


def left(cloud: Cloud, reservation: Thing) -> int:
    """Count the instances that still fit."""
    used = sum(1 for thing in cloud.store.all("ec2.Instance") if not thing.get("ended") and thing["api"].get("CapacityReservationId") == reservation.id)
    return int(reservation["instanceCount"]) - used


def targeted(cloud: Cloud, request: Mapping[str, Any], *, machine: str, zone: str, lifecycle: str) -> Thing | None:
    """Find the reservation that a launch goes into.

    Raises:
        Refused: it does not fit the launch.
    """
    target = request.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    ident = target.get("CapacityReservationId")
    if group := target.get("CapacityReservationResourceGroupArn"):
        return _of_group(cloud, group, machine=machine, zone=zone, lifecycle=lifecycle)
    if not ident:
        if lifecycle == BLOCK:
            raise Refused("InvalidParameterCombination", "The capacity-block market needs the id of a Capacity Block")
        return None
    found = cloud.need("ec2.CapacityReservation", ident)
    if lifecycle == "spot":
        raise Refused("InvalidParameterCombination", "Spot Instances can't run in a Capacity Reservation")
    if (found.get("reservationType") == BLOCK) is not (lifecycle == BLOCK):
        raise Refused(
            "InvalidParameterCombination",
            f"{ident} {'is a Capacity Block, which needs' if lifecycle != BLOCK else 'is no Capacity Block, as is wanted by'} MarketType capacity-block",
        )
    if found["instanceType"] != machine or found["availabilityZone"] != zone:
        raise Refused("InvalidParameterCombination", f"{ident} is for {found['instanceType']} in {found['availabilityZone']}, not for {machine} in {zone}")
    if (now := state(cloud, found)) != "active":
        raise Refused("InvalidCapacityReservationState", f"{ident} is {now}")
    return found


def _of_group(cloud: Cloud, arn: str, *, machine: str, zone: str, lifecycle: str) -> Thing:
    """Choose the reservation of a group that an instance goes into: one that fits and has room, or else any that fits. The setting `reservation_groups` has the groups, ARN → ids."""
    groups = cloud.store.settings.get("reservation_groups", {})
    if arn not in groups:
        raise Refused("InvalidParameterValue", f"The resource group {arn} does not exist or can't be used for Capacity Reservations")
    fitting = [
        one
        for ident in groups[arn]
        if (one := cloud.need("ec2.CapacityReservation", ident))["instanceType"] == machine
        and one["availabilityZone"] == zone
        and (one.get("reservationType") == BLOCK) is (lifecycle == BLOCK)
        and state(cloud, one) == "active"
    ]
    if not fitting:
        raise Refused("ReservationCapacityExceeded", f"No Capacity Reservation of {arn} is for {machine} in {zone}")
    return max(fitting, key=lambda one: left(cloud, one))


def seconds(text: str) -> float:
    """Give a moment in seconds since 1970."""
    return dt.datetime.fromisoformat(text).timestamp()
