"""Resource policies: where instances are placed, and reservations and future reservations, which hold capacity."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import errors, facts, hardware, kinds, launching, links, operations, verbs
from ..rules import Call, Rules, Want, handles, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

PARTS = ("groupPlacementPolicy", "workloadPolicy", "snapshotSchedulePolicy", "instanceSchedulePolicy", "diskConsistencyGroupPolicy")
PLACED_MOST = 1500  # Placement policies overview: "up to 1,500 VMs" in a compact placement policy


@rules_of("compute.resourcePolicies")
class ResourcePolicies(Rules):
    """One policy says one thing."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if sum(bool(want.get(name)) or name in want.values for name in PARTS) != 1:
            raise errors.invalid("resource", want.path, "Exactly one policy has to be specified.")
        placement, workload = want.get("groupPlacementPolicy"), want.get("workloadPolicy")
        if placement and int(placement.get("vmCount", 1)) > PLACED_MOST:
            raise errors.invalid("resource.groupPlacementPolicy.vmCount", placement["vmCount"], f"It can't be more than {PLACED_MOST}.")
        if placement and placement.get("collocation") == "COLLOCATED" and placement.get("availabilityDomainCount"):
            raise errors.invalid(
                "resource.groupPlacementPolicy.availabilityDomainCount", placement["availabilityDomainCount"], "A compact placement does not spread."
            )
        hardware.check_topology((placement or {}).get("gpuTopology"), field="resource.groupPlacementPolicy.gpuTopology")
        if placement and placement.get("gpuTopology") and placement.get("collocation") != "COLLOCATED":
            raise errors.invalid("resource.groupPlacementPolicy.collocation", placement.get("collocation"), "A slice's instances are COLLOCATED.")
        if workload is not None:
            hardware.check_topology(workload.get("acceleratorTopology"), field="resource.workloadPolicy.acceleratorTopology")
            if not workload.get("type"):
                raise errors.required("resource.workloadPolicy.type")
            if workload["type"] != "HIGH_THROUGHPUT" and (workload.get("maxTopologyDistance") or workload.get("acceleratorTopology")):
                raise errors.invalid("resource.workloadPolicy.type", workload["type"], "A distance or topology goes with HIGH_THROUGHPUT.")
            if workload.get("maxTopologyDistance") and workload.get("acceleratorTopology"):
                raise errors.invalid("resource.workloadPolicy.maxTopologyDistance", workload["maxTopologyDistance"], "It does not go with acceleratorTopology.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {"status": "READY"}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"region": links.link("/".join(thing.id.split("/")[:4]))}


@rules_of("compute.reservations")
class Reservations(Rules):
    """Capacity of one machine type in one zone."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        specific = want.get("specificReservation")
        if not specific or want.former is not None:
            return
        if not int(specific.get("count") or 0):
            raise errors.required("resource.specificReservation.count")
        machine = (specific.get("instanceProperties") or {}).get("machineType") or machine_of(cloud, specific)
        known = facts.machine(machine)
        if known is None or want.path.split("/")[3] not in known["zones"]:
            raise errors.invalid("resource.specificReservation.instanceProperties.machineType", machine, "There is no such machine type in the zone.")

    def fails(self, cloud: "Cloud", want: Want) -> operations.Failure | None:
        specific = want.get("specificReservation") or {}
        machine = (specific.get("instanceProperties") or {}).get("machineType") or (machine_of(cloud, specific) if specific else "")
        return launching.shortage(cloud, machine, want.path.split("/")[3], int(specific.get("count", 0))) if specific else None

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        specific = want.get("specificReservation") or {}
        machine = (specific.get("instanceProperties") or {}).get("machineType")
        return {"status": "READY", **({"deploymentType": "DENSE"} if machine in kinds.load("machines")["dense"] else {})}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        specific = dict(thing.get("specificReservation", {}))
        if not specific:
            return {}
        used = len(consumers(cloud, thing))
        return {"specificReservation": {**specific, "count": str(specific["count"]), "inUseCount": str(used), "assuredCount": str(specific["count"])}}

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if thing.get("specificReservationRequired") and (users := consumers(cloud, thing)):
            raise errors.in_use("reservation", thing.id, users[0].id)


def consumers(cloud: "Cloud", reservation: Thing) -> list[Thing]:
    """Give the instances that run in a reservation."""
    if not cloud.reserved[reservation.id]:
        return []
    return [one for one in cloud.store.all("compute.instances") if one.get("_reservation") == reservation.id and one["status"] != "TERMINATED"]


def machine_of(cloud: "Cloud", specific: Mapping[str, Any]) -> str:
    """Give the machine type of a reservation that is made from a template."""
    template = cloud.find(specific.get("sourceInstanceTemplate", "").removeprefix(links.BASE), "compute.instanceTemplates", "compute.regionInstanceTemplates")
    return str(template["properties"]["machineType"]) if template else ""


@handles("compute.reservations.resize")
def resize(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path.rpartition("/")[0], "compute.reservations")
    count = verbs.form(call).get("specificSkuCount")
    if not count or int(count) < len(consumers(cloud, thing)):
        raise errors.invalid("specificSkuCount", count, "The reservation has more instances than that.")
    cloud.note(thing, specificReservation={**thing["specificReservation"], "count": count})
    return operations.begin(cloud, call, thing.id, "resize", target_id=thing["id"])


@rules_of("compute.futureReservations")
class FutureReservations(Rules):
    """Capacity of a later time; Google approves it, and makes reservations of it at its start."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if not (want.get("timeWindow") or {}).get("startTime"):
            raise errors.required("resource.timeWindow.startTime")
        if not (want.get("specificSkuProperties") or want.get("aggregateReservation")):
            raise errors.required("resource.specificSkuProperties")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {"status": {"procurementStatus": "PENDING_APPROVAL" if want.get("planningStatus") == "SUBMITTED" else "DRAFTING", "autoCreatedReservations": []}}

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if thing["status"]["procurementStatus"] not in ("DRAFTING", "PENDING_APPROVAL", "DECLINED", "CANCELLED", "FAILED", "FULFILLED"):
            raise Refused("invalid", f"The future reservation is {thing['status']['procurementStatus']} and can't be deleted.")
