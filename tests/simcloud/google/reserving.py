"""Which reservation an instance runs in, and why it can't. Source: compute/docs/instances/reservations-consume, /reservations-overview."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.store import Thing
from . import errors, hardware
from .operations import Failure
from .resources import policies

if TYPE_CHECKING:
    from .cloud import Cloud

NAME_KEY = "compute.googleapis.com/reservation-name"
PREFIX = "projects/"
BOUND = "Instances consuming DENSE reservations must use provisioningModel RESERVATION_BOUND."
"""skypilot-org/skypilot#9771, as the API answered; compute/docs/instances/about-reservation-bound-instances."""


def named(cloud: "Cloud", values: Mapping[str, Any], zone: str, *, field: str = "resource") -> Thing | None:
    """Give the reservation that an instance asks for by name, None where it asks for none; `zone` is its path.

    Raises:
        Refused: there is none of this name in the zone, or it is for other machines, or placement does not go with it.
    """
    affinity = values.get("reservationAffinity") or {}
    if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
        return None
    if affinity.get("key") != NAME_KEY or len(affinity.get("values", ())) != 1:
        raise errors.invalid(f"{field}.reservationAffinity", affinity, f"A specific reservation is named by the key {NAME_KEY} and one value.")
    words = affinity["values"][0].split("/")
    name = words[words.index("reservations") + 1] if "reservations" in words else words[0]
    project = words[1] if words[0] == "projects" else zone.split("/")[1]
    found = cloud.need(f"projects/{project}/zones/{zone.rpartition('/')[2]}/reservations/{name}", "compute.reservations")
    specific = found.get("specificReservation", {})
    machine = (specific.get("instanceProperties") or {}).get("machineType") or policies.machine_of(cloud, specific)
    wanted = values["machineType"].rpartition("/")[2]
    if machine and machine != wanted:
        raise errors.invalid(f"{field}.reservationAffinity", name, f"Specified reservation '{name}' is for {machine}, not for {wanted}.")
    theirs = {one.rpartition("/")[2] for one in found.get("resourcePolicies", {}).values()}
    of_slices = {one.rpartition("/")[2] for one in hardware.slice_policies(cloud, values.get("resourcePolicies", ()))}
    mine = {one.rpartition("/")[2] for one in values.get("resourcePolicies", ())} - of_slices
    if mine and (found.get("deploymentType") == "DENSE" or mine != theirs):
        raise errors.invalid(f"{field}.resourcePolicies", ", ".join(sorted(mine)), f"The reservation '{name}' brings its own placement.")
    model = (values.get("scheduling") or {}).get("provisioningModel", "STANDARD")
    if model in ("SPOT", "FLEX_START"):
        raise errors.invalid(f"{field}.scheduling.provisioningModel", model, "It can't consume a reservation.")
    if found.get("deploymentType") == "DENSE" and model != "RESERVATION_BOUND":
        raise errors.invalid(f"{field}.scheduling.provisioningModel", model, BOUND)
    return found


def open_to(cloud: "Cloud", values: Mapping[str, Any], zone: str) -> Thing | None:
    """Give a reservation that any matching instance runs in, when one has room."""
    affinity = (values.get("reservationAffinity") or {}).get("consumeReservationType", "ANY_RESERVATION")
    model = (values.get("scheduling") or {}).get("provisioningModel", "STANDARD")
    if affinity not in ("ANY_RESERVATION", "UNSPECIFIED") or model != "STANDARD":
        return None
    for found in cloud.all("compute.reservations", under=f"{zone}/"):
        specific = found.get("specificReservation", {})
        machine = (specific.get("instanceProperties") or {}).get("machineType")
        if not found.get("specificReservationRequired") and machine == values["machineType"].rpartition("/")[2] and room(cloud, found) > 0:
            return found
    return None


def room(cloud: "Cloud", reservation: Thing) -> int:
    """Count the instances that a reservation has room for."""
    return int(reservation.get("specificReservation", {}).get("count", 0)) - cloud.reserved[reservation.id]


def full(reservation: Thing) -> Failure:
    """Say that a reservation has no room, in the words that kubernetes/autoscaler knows it by (cluster-autoscaler, autoscaling_gce_client.go)."""
    return Failure("CONDITION_NOT_MET", f"Specified reservation '{reservation['name']}' does not have available resources for the request.", 412)
