"""What an instance must satisfy to start, whether one by one, in bulk, or by a group: machine, network interfaces, disks, scheduling, metadata, room."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from ..core.store import Thing
from . import errors, facts, hardware, links
from .operations import Failure
from .resources import network
from .rules import Want

if TYPE_CHECKING:
    from .cloud import Cloud

METADATA_KEY, VALUE_MOST, ALL_MOST = (
    re.compile(r"[a-zA-Z0-9-_]{1,128}"),
    256 * 1024,
    512 * 1024,
)  # schema Metadata, field `items[].value`; "the total size of all keys and values"
LOCAL_SSD_GB = 375
TERMINATES = "accelerator-optimized machines can't migrate: onHostMaintenance has to be TERMINATE"


def placed(cloud: "Cloud", properties: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """Give the properties of a template, which name things of any zone, as those of an instance in one; `zone` is its path."""
    found = dict(properties)
    found["machineType"] = in_zone(zone, "machineTypes", found.get("machineType", ""))
    region = f"{zone.split('/zones/')[0]}/regions/{facts.zones()[zone.rpartition('/')[2]]}"
    if found.get("resourcePolicies"):
        found["resourcePolicies"] = [one if "/" in one else f"{region}/resourcePolicies/{one}" for one in found["resourcePolicies"]]
    disks = []
    for disk in found.get("disks", ()):
        parameters = dict(disk.get("initializeParams") or {})
        if parameters.get("diskType"):
            parameters["diskType"] = in_zone(zone, "diskTypes", parameters["diskType"])
        disks.append({**disk, **({"initializeParams": parameters} if parameters else {})})
    return {**found, "disks": disks}


def in_zone(zone: str, collection: str, name: str) -> str:
    return name if "/" in name else f"{zone}/{collection}/{name}"


def check(cloud: "Cloud", want: Want) -> None:
    """Refuse an instance that can't start."""
    zone = "/".join(want.path.split("/")[:4])
    machine = want["machineType"].rpartition("/")[2]
    check_properties(cloud, want.values, machine, field="resource", zone=zone.rpartition("/")[2])
    check_disks(cloud, want, zone)
    for place, nic in enumerate(want.get("networkInterfaces", ())):
        subnet = subnet_of(cloud, nic, zone, f"resource.networkInterfaces[{place}]")
        if nic.get("networkIP"):
            network.free_address(
                cloud,
                subnet.id,
                nic["networkIP"],
                field=f"resource.networkInterfaces[{place}].networkIP",
                reserved=is_reserved(cloud, subnet.id, nic["networkIP"]),
            )


def check_properties(cloud: "Cloud", values: Mapping[str, Any], machine: str, *, field: str, zone: str | None = None) -> None:
    """Refuse properties that no instance can have; templates are held to them too."""
    known = facts.machine(machine)
    if known is None:
        raise errors.invalid(f"{field}.machineType", machine, "There is no such machine type.")
    check_interfaces(cloud, values.get("networkInterfaces", ()), f"{field}.networkInterfaces")
    hardware.check_cards(cloud, values.get("networkInterfaces", ()), machine, zone, field=f"{field}.networkInterfaces")
    hardware.check_placement(cloud, values.get("resourcePolicies", ()), machine, field=f"{field}.resourcePolicies")
    for place, disk in enumerate(values.get("disks", ())):
        kind = (disk.get("initializeParams") or {}).get("diskType", "").rpartition("/")[2]
        hardware.check_disk(machine, kind, field=f"{field}.disks[{place}].initializeParams.diskType")
    boots = [disk for disk in values.get("disks", ()) if disk.get("boot")]
    if len(boots) != 1 or not values["disks"][0].get("boot"):
        raise errors.invalid(f"{field}.disks", len(values.get("disks", ())), "Boot disk must be the first disk attached to the instance.")
    check_scheduling(values.get("scheduling") or {}, known, f"{field}.scheduling")
    check_affinity(values, field)
    check_metadata((values.get("metadata") or {}).get("items", ()), f"{field}.metadata")
    for place, tag in enumerate((values.get("tags") or {}).get("items", ())):
        if not network.TAG.fullmatch(tag):
            raise errors.invalid(f"{field}.tags.items[{place}]", tag, f"Must be a match of regex '{network.TAG.pattern}'")
    if len(values.get("serviceAccounts", ())) > 1:
        raise errors.invalid(f"{field}.serviceAccounts", len(values["serviceAccounts"]), "At most one service account is supported.")
    for account in values.get("serviceAccounts", ()):
        check_account(cloud, account, field)


def check_account(cloud: "Cloud", account: Mapping[str, Any], field: str) -> None:
    """Refuse a service account that does not exist. Source: instances.insert, "The resource 'x' of type 'serviceAccount' was not found"."""
    email = account.get("email", "default")
    if (
        email != "default"
        and not email.endswith("-compute@developer.gserviceaccount.com")
        and not any(one["email"] == email for one in cloud.store.all("iam.serviceAccounts"))
    ):
        raise Refused("notFound", f"The resource '{email}' of type 'serviceAccount' was not found.", status=404)
    if not account.get("scopes"):
        raise errors.invalid(f"{field}.serviceAccounts[0].scopes", "", "You must specify at least one scope for the service account.")


def check_interfaces(cloud: "Cloud", nics: Sequence[Mapping[str, Any]], field: str) -> None:
    """Refuse interfaces that share a network: each VPC has one interface, RDMA networks one for each subnet."""
    if not nics:
        raise errors.invalid(field, 0, "At least one network interface is required.")
    seen: set[str] = set()
    for place, nic in enumerate(nics):
        if not nic.get("network") and not nic.get("subnetwork"):
            raise errors.invalid(f"{field}[{place}]", "", "Must specify network or subnetwork.")
        subnet = cloud.find(nic["subnetwork"].removeprefix(links.BASE), "compute.subnetworks") if nic.get("subnetwork") else None
        where = subnet.id if subnet and nic.get("nicType") in hardware.RDMA else subnet["network"] if subnet else nic["network"]
        if where in seen:
            raise errors.invalid(f"{field}[{place}].network", where, "Networks must be distinct for NICs attached to a VM.")
        seen.add(str(where))


def check_scheduling(scheduling: Mapping[str, Any], machine: Mapping[str, Any], field: str) -> None:
    """Refuse provisioning that can't be. Source: schema Scheduling; compute/docs/instances/limit-vm-runtime, /spot, /dws."""
    model = scheduling.get("provisioningModel", "STANDARD")
    if machine.get("gpus") and scheduling.get("onHostMaintenance") != "TERMINATE":
        raise errors.invalid(f"{field}.onHostMaintenance", scheduling.get("onHostMaintenance", "MIGRATE"), TERMINATES)
    if model == "SPOT" and scheduling.get("automaticRestart"):
        raise errors.invalid(f"{field}.automaticRestart", True, "Scheduling.automaticRestart must be false for Spot VMs.")
    if model == "SPOT" and scheduling.get("onHostMaintenance", "TERMINATE") != "TERMINATE":
        raise errors.invalid(f"{field}.onHostMaintenance", scheduling["onHostMaintenance"], "Spot VMs must have TERMINATE.")
    if model == "FLEX_START" and not scheduling.get("maxRunDuration"):
        raise errors.required(f"{field}.maxRunDuration")
    if model == "FLEX_START" and scheduling.get("instanceTerminationAction", "DELETE") != "DELETE":
        raise errors.invalid(f"{field}.instanceTerminationAction", scheduling["instanceTerminationAction"], "Flex-start VMs are deleted at their end.")
    if scheduling.get("instanceTerminationAction") and model == "STANDARD" and not (scheduling.get("maxRunDuration") or scheduling.get("terminationTime")):
        raise errors.invalid(f"{field}.instanceTerminationAction", scheduling["instanceTerminationAction"], "It needs Spot VMs or a limited run time.")


def check_affinity(values: Mapping[str, Any], field: str) -> None:
    """Refuse what a provisioning model can't consume. Source: compute/docs/instances/about-reservation-bound-instances; compute/docs/instances/create-flex-start-vms, reservation affinity."""
    model = (values.get("scheduling") or {}).get("provisioningModel", "STANDARD")
    affinity = (values.get("reservationAffinity") or {}).get("consumeReservationType", "ANY_RESERVATION")
    if model == "RESERVATION_BOUND" and affinity != "SPECIFIC_RESERVATION":
        raise errors.invalid(f"{field}.reservationAffinity", affinity, "Reservation-bound instances have to name their reservation (SPECIFIC_RESERVATION).")
    if model == "FLEX_START" and affinity != "NO_RESERVATION":
        raise errors.invalid(f"{field}.reservationAffinity", affinity, "Flex-start instances can't consume reservations: NO_RESERVATION is required.")


def check_metadata(items: Sequence[Mapping[str, Any]], field: str) -> None:
    seen: set[str] = set()
    for place, item in enumerate(items):
        key, value = item.get("key", ""), item.get("value", "")
        if not METADATA_KEY.fullmatch(key) or key in seen:
            raise errors.invalid(f"{field}.items[{place}].key", key, "Metadata keys must be unique and match [a-zA-Z0-9-_]{1,128}.")
        if len(value.encode()) > VALUE_MOST:
            raise errors.invalid(f"{field}.items[{place}].value", f"{value[:20]}…", "Value is too large: maximum size 262144 character(s).")
        seen.add(key)
    if sum(len(item.get("key", "")) + len(item.get("value", "").encode()) for item in items) > ALL_MOST:
        raise errors.invalid(field, len(items), "Metadata is too large: maximum size 524288 bytes in all.")


def check_disks(cloud: "Cloud", want: Want, zone: str) -> None:
    machine = facts.machine(want["machineType"].rpartition("/")[2]) or {}
    for place, disk in enumerate(want.get("disks", ())):
        field = f"resource.disks[{place}]"
        if disk.get("source"):
            path = disk["source"].removeprefix(links.BASE)
            if others := [user for user in cloud.users(path) if user.kind == "compute.instances" and user.id != want.path]:
                raise errors.in_use("disk", path, others[0].id)
            continue
        parameters = disk.get("initializeParams") or {}
        if not parameters:
            raise errors.invalid(field, "", "A disk needs a source or initializeParams.")
        kind = parameters.get("diskType", f"{zone}/diskTypes/pd-standard")
        cloud.refer(kind, "compute.diskTypes", project=want.project, field=f"{field}.initializeParams.diskType")
        if disk.get("type") == "SCRATCH":
            continue
        if disk.get("boot") and not parameters.get("sourceImage"):
            raise errors.required(f"{field}.initializeParams.sourceImage")
        if parameters.get("sourceImage"):
            image = cloud.refer(parameters["sourceImage"], "compute.images", project=want.project, field=f"{field}.initializeParams.sourceImage")
            if image.get("_ready", True) is False:
                raise Refused("resourceNotReady", f"The resource '{image.id}' is not ready")
            if image.get("architecture", "X86_64") != machine.get("architecture", "X86_64"):
                raise errors.invalid(
                    f"{field}.initializeParams.sourceImage",
                    image["selfLink"],
                    f"The image is for {image.get('architecture')}, the machine type for {machine.get('architecture', 'X86_64')}.",
                )
            if int(parameters.get("diskSizeGb") or disk.get("diskSizeGb") or image["diskSizeGb"]) < int(image["diskSizeGb"]):
                raise errors.invalid(
                    f"{field}.initializeParams.diskSizeGb",
                    parameters.get("diskSizeGb"),
                    f"Requested disk size cannot be smaller than the image size ({image['diskSizeGb']} GB)",
                )


def subnet_of(cloud: "Cloud", nic: Mapping[str, Any], zone: str, field: str) -> Thing:
    """Give the subnet of an interface.

    Raises:
        Refused: there is none, or it is in another region or network.
    """
    region = facts.zones()[zone.rpartition("/")[2]]
    if nic.get("subnetwork"):
        found = cloud.refer(nic["subnetwork"], "compute.subnetworks", project=zone.split("/")[1], field=f"{field}.subnetwork")
        if found.region != region:
            raise errors.invalid(f"{field}.subnetwork", nic["subnetwork"], f"The subnetwork is not in the region {region}.")
        if nic.get("network") and links.path_of(nic["network"], project=zone.split("/")[1], field=f"{field}.network") != found["network"].removeprefix(
            links.BASE
        ):
            raise errors.invalid(f"{field}.network", nic["network"], "The subnetwork is of another network.")
        return found
    path = links.path_of(nic["network"], project=zone.split("/")[1], field=f"{field}.network")
    for user in cloud.users(path):
        if user.kind == "compute.subnetworks" and user.region == region:
            return user
    raise errors.invalid(f"{field}.subnetwork", "", "Network interface must specify a subnet if the network resource is in custom subnet mode.")


def is_reserved(cloud: "Cloud", subnet: str, address: str) -> bool:
    """Say whether an address is reserved by name and nobody uses it."""
    named = any(one["address"] == address and one.get("subnetwork", "").endswith(subnet) for one in cloud.store.all("compute.addresses"))
    return named and not any(cloud.holding(address, "compute.instances"))


def space(cloud: "Cloud", machine: str, zone: str) -> float:
    """Count the machines of a type that a zone still has: the setting `capacity` {machine: count} or {machine/zone: count}; without limit when it says nothing."""
    capacity: Mapping[str, int] = cloud.setting("capacity", {})
    limit = capacity.get(f"{machine}/{zone}", capacity.get(machine))
    return math.inf if limit is None else limit - cloud.machines[f"{machine}/{zone}"]


def shortage(cloud: "Cloud", machine: str, zone: str, count: int = 1) -> Failure | None:
    """Say why so many more machines of a type do not start in a zone."""
    if space(cloud, machine, zone) >= count:
        return None
    message = f"The zone 'projects/{cloud.project}/zones/{zone}' does not have enough resources available to fulfill the request. Try a different zone, or try again later."
    return Failure("ZONE_RESOURCE_POOL_EXHAUSTED", message, 503)
