"""What happens to instances by themselves: spot instances are taken back, hosts fail, maintenance comes, run times end."""

from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from ..core.store import SERVICE, Thing
from . import operations
from .links import link
from .resources import instances, managed_groups

if TYPE_CHECKING:
    from .cloud import Cloud

PREEMPTED, HOST_ERROR = "compute.instances.preempted", "compute.instances.hostError"  # operationType of system events, "Audit logging for Compute Engine"
NOTICE_S = 30.0  # Spot VMs, "Preemption process": 30 seconds from soft off to hard off


def by_time(cloud: "Cloud") -> None:
    """Bring the project to its time: operations end, requests are fulfilled, instances end."""
    operations.settle(cloud)
    managed_groups.serve_waiting(cloud)
    now = cloud.store.clock.now_s()
    for path, (due, why) in list(cloud.ends.items()):
        if due <= now:
            del cloud.ends[path]
            if (found := cloud.store.get("compute.instances", path)) and found["status"] != "TERMINATED":
                _end(cloud, found, why, keeps=found["scheduling"].get("instanceTerminationAction", "STOP") != "DELETE")


def preempt(cloud: "Cloud", thing: Thing, *, within_s: float = NOTICE_S) -> None:
    """Announce that a spot instance is taken back, and do so when the time has come."""
    if thing.get("scheduling", {}).get("provisioningModel") != "SPOT":
        raise Refused("invalid", f"{thing.id} is no spot instance")
    due = cloud.store.clock.now_s() + within_s
    _system(cloud, thing, PREEMPTED)
    cloud.note(thing, status="STOPPING", _preempted=True, _ends=[due, PREEMPTED])
    by_time(cloud)


def fail_host(cloud: "Cloud", thing: Thing) -> None:
    """Let the host of an instance fail: it restarts elsewhere where its scheduling says so, else it is over."""
    _system(cloud, thing, HOST_ERROR)
    if thing.get("scheduling", {}).get("automaticRestart"):
        cloud.note(thing, lastStartTimestamp=operations.stamp(cloud.store.clock.now_s()))
        return
    _end(cloud, thing, HOST_ERROR, keeps=True, is_noted=True)


def announce(cloud: "Cloud", thing: Thing, **maintenance: Any) -> None:
    """Announce maintenance of an instance's host, as `resourceStatus.upcomingMaintenance` has it."""
    given = {"type": "SCHEDULED", "maintenanceStatus": "PENDING", "canReschedule": True, "maintenanceReasons": ["PLANNED_UPDATE"], **maintenance}
    cloud.note(thing, _maintenance=given)


def _end(cloud: "Cloud", thing: Thing, why: str, *, keeps: bool, is_noted: bool = False) -> None:
    if why != PREEMPTED and not is_noted:
        _system(cloud, thing, why)
    if not keeps:
        cloud.drop(thing.kind, thing.id)
        return
    instances.count(cloud, thing, -1)
    cloud.note(thing, status="TERMINATED", lastStopTimestamp=operations.stamp(cloud.store.clock.now_s()), _ends=None)


def _system(cloud: "Cloud", thing: Thing, kind: str) -> None:
    """Note an operation that nobody asked for."""
    now = cloud.store.clock.now_s()
    number = cloud.new_number()
    name = f"systemevent-{number}"
    path = "/".join([*thing.id.split("/")[:4], "operations", name])
    properties = {
        "kind": "compute#operation", "id": number, "name": name, "operationType": kind, "targetLink": thing["selfLink"], "targetId": thing["id"], "status": "DONE",
        "user": "system", "progress": 100, "insertTime": operations.stamp(now), "startTime": operations.stamp(now), "endTime": operations.stamp(now), "selfLink": link(path),
        "creationTimestamp": operations.stamp(now), "zone": thing["zone"], "_due": now, "_effects": [], "_failure": None, "_method": kind,
    }  # fmt: skip
    cloud.store.put(Thing(operations.KINDS[0], path, thing.region, properties, SERVICE, now))
