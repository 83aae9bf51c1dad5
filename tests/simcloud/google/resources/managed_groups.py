"""Managed instance groups, and requests that wait in their queue. Sources: schema InstanceGroupManagerResizeRequest; compute/docs/instance-groups/create-resize-requests-mig."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import SERVICE, Thing
from .. import errors, facts, kinds, launching, links, operations, verbs
from ..rules import Call, Rules, Want, handles, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

MANAGERS = ("compute.instanceGroupManagers", "compute.regionInstanceGroupManagers")
GROUPS = {MANAGERS[0]: "compute.instanceGroups", MANAGERS[1]: "compute.regionInstanceGroups"}
REQUESTS = ("compute.instanceGroupManagerResizeRequests", "compute.regionInstanceGroupManagerResizeRequests")
WAITING = ("CREATING", "ACCEPTED")
RUN_LEAST_S, RUN_MOST_S = 600, 604_800  # resizeRequests.insert, field `requestedRunDuration`: 10 minutes to 7 days
BASE_NAME_MOST = 58  # instanceGroupManagers.insert, field `baseInstanceName`: "1-58 characters long"


@rules_of(*MANAGERS)
class Managers(Rules):
    """A group keeps as many instances as it is told, of its template."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if not want.get("instanceTemplate") and not want.get("versions"):
            raise errors.required("resource.instanceTemplate")
        if len(want.get("baseInstanceName", "")) > BASE_NAME_MOST:
            raise errors.invalid("resource.baseInstanceName", want["baseInstanceName"], f"It has more than {BASE_NAME_MOST} characters.")
        policy = want.get("distributionPolicy") or {}
        if policy and want.kind == MANAGERS[0]:
            raise errors.invalid("resource.distributionPolicy", policy, "It goes with regional groups.")
        region = want.path.split("/")[3]
        for place, one in enumerate(policy.get("zones", ())):
            zone = one.get("zone", "").rpartition("/")[2]
            if facts.zones().get(zone) != region:
                raise errors.invalid(f"resource.distributionPolicy.zones[{place}].zone", one.get("zone"), f"It is no zone of {region}.")
        update = want.get("updatePolicy") or {}
        if (
            policy.get("targetShape") in ("ANY", "ANY_SINGLE_ZONE")
            and update.get("instanceRedistributionType", "PROACTIVE") != "NONE"
            and want.kind == MANAGERS[1]
        ):
            raise errors.invalid("resource.updatePolicy.instanceRedistributionType", "PROACTIVE", f"The target shape {policy['targetShape']} needs NONE.")
        named = want.get("instanceTemplate") or want["versions"][0].get("instanceTemplate", "")
        template = cloud.find(named.removeprefix(links.BASE), "compute.instanceTemplates", "compute.regionInstanceTemplates")
        machine = template["properties"]["machineType"] if template else ""
        path = ((want.get("resourcePolicies") or {}).get("workloadPolicy") or "").removeprefix(links.BASE)
        workload = cloud.find(path, "compute.resourcePolicies") if path else None
        said: Mapping[str, Any] = (workload.get("workloadPolicy") if workload else None) or {}
        if machine in kinds.load("machines")["slices"] and not said.get("acceleratorTopology"):
            raise errors.required("resource.resourcePolicies.workloadPolicy")
        if want.former is None and want.get("targetSize", 0) < 0:
            raise errors.invalid("resource.targetSize", want["targetSize"], "It can't be negative.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        parts = want.path.split("/")
        group = "/".join([*parts[:4], "instanceGroups", parts[-1]])
        template = want.get("instanceTemplate") or want["versions"][0]["instanceTemplate"]
        return {"instanceGroup": links.link(group), "instanceTemplate": template, "baseInstanceName": want.get("baseInstanceName", want.values["name"])}

    def made(self, cloud: "Cloud", thing: Thing) -> None:
        path = thing["instanceGroup"].removeprefix(links.BASE)
        properties = {
            "name": thing["name"],
            "id": cloud.new_number(),
            "kind": "compute#instanceGroup",
            "selfLink": links.link(path),
            "_instances": [],
            "_ready": True,
        }
        cloud.put(Thing(GROUPS[thing.kind], path, thing.region, properties, SERVICE, thing.made_s))
        _grow(cloud, thing)

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        group = thing["instanceGroup"].removeprefix(links.BASE)
        if users := cloud.users(group):
            raise errors.in_use("instance_group_manager", thing.id, users[0].id)

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        for instance in members(cloud, thing):
            cloud.drop(instance.kind, instance.id)
        for kind in REQUESTS:
            for request in list(cloud.store.all(kind)):
                if request.id.startswith(f"{thing.id}/"):
                    cloud.drop(kind, request.id)
        cloud.drop(GROUPS[thing.kind], thing["instanceGroup"].removeprefix(links.BASE))

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        found = members(cloud, thing)
        waits = any(request["state"] in WAITING for request in _requests(cloud, thing))
        return {
            "status": {"isStable": len(found) == thing["targetSize"] and not waits, "stateful": {"hasStatefulConfig": False}},
            "currentActions": {"none": len(found), "creating": max(0, thing["targetSize"] - len(found))},
        }


def members(cloud: "Cloud", manager: Thing) -> list[Thing]:
    return [one for one in cloud.store.all("compute.instances") if one.get("_manager") == manager.id]


def _manager(cloud: "Cloud", call: Call) -> Thing:
    """Give the group that a call is about, which lies at its sixth step."""
    return cloud.need("/".join(call.path.split("/")[:6]), *MANAGERS)


def zones(manager: Thing) -> list[str]:
    """Give the zones that a group may use."""
    if manager.kind == MANAGERS[0]:
        return [manager.region]
    named = [one["zone"].rpartition("/")[2] for one in manager.get("distributionPolicy", {}).get("zones", ())]
    return named or [zone for zone, region in facts.zones().items() if region == manager.region]


def _grow(cloud: "Cloud", manager: Thing) -> None:
    """Start what is missing of a group, as far as there is room."""
    have = {one["name"] for one in members(cloud, manager)}
    for _ in range(manager["targetSize"] - len(have)):
        name = f"{manager['baseInstanceName']}-{cloud.store.new_hex(4)}"
        for zone in zones(manager):
            if start(cloud, manager, zone, [name]) is None:
                break


def start(cloud: "Cloud", manager: Thing, zone: str, names: Sequence[str], *, run_s: int | None = None) -> operations.Failure | None:
    """Start instances of a group in a zone, all or none; say why not."""
    template = cloud.need(manager["instanceTemplate"].removeprefix(links.BASE), "compute.instanceTemplates", "compute.regionInstanceTemplates")
    place = f"projects/{cloud.project}/zones/{zone}"
    base = launching.placed(cloud, template["properties"], place)
    if run_s:
        base = {**base, "scheduling": {**base.get("scheduling", {}), "maxRunDuration": {"seconds": str(run_s)}}}
    call = cloud.own_call("compute.instances.insert", f"{place}/instances")
    paths: list[str] = []
    for name in names:
        try:
            about = verbs.make(cloud, call, "compute.instances", f"{place}/instances", {**base, "name": name})
            failure: operations.Failure | None = about.get("failure")
        except Refused as refused:
            failure = operations.Failure(refused.code, refused.message)
        if failure:
            for path in paths:
                cloud.drop("compute.instances", path)
            return failure
        paths.append(about["target"])
    now = cloud.store.clock.now_s()
    for path in paths:
        made = cloud.need(path, "compute.instances")
        created_by = {"key": "created-by", "value": manager.id}
        metadata = {**made["metadata"], "items": [*made["metadata"].get("items", []), created_by]}
        cloud.note(made, _manager=manager.id, metadata=metadata, status="RUNNING", lastStartTimestamp=operations.stamp(now), _ready=True)
    return None


@handles("compute.instanceGroupManagers.resize", "compute.regionInstanceGroupManagers.resize")
def resize(cloud: "Cloud", call: Call) -> Any:
    manager = cloud.note(_manager(cloud, call), targetSize=call["size"])
    for one in members(cloud, manager)[call["size"] :]:
        cloud.drop(one.kind, one.id)
    _grow(cloud, manager)
    return operations.begin(cloud, call, manager.id, "resize", target_id=manager["id"])


@handles("compute.instanceGroupManagers.deleteInstances", "compute.regionInstanceGroupManagers.deleteInstances")
def delete_instances(cloud: "Cloud", call: Call) -> Any:
    """Delete instances of a group, which becomes smaller by them."""
    manager, values = _manager(cloud, call), verbs.form(call)
    effects = []
    for place, named in enumerate(values.get("instances", ())):
        path = links.path_of(named, project=call.project, field=f"instances[{place}]")
        found = cloud.find(path, "compute.instances")
        if found is None or found.get("_manager") != manager.id:
            if values.get("skipInstancesOnValidationError"):
                continue
            raise errors.invalid(f"instances[{place}]", named, f"The instance is no member of {manager['name']}.")
        cloud.note(found, _going=True)
        effects.append({"remove": [found.kind, found.id]})
    cloud.note(manager, targetSize=max(0, manager["targetSize"] - len(effects)))
    return operations.begin(cloud, call, manager.id, call.method.verb, target_id=manager["id"], effects=effects)


@handles("compute.instanceGroupManagers.listManagedInstances", "compute.regionInstanceGroupManagers.listManagedInstances")
def list_managed(cloud: "Cloud", call: Call) -> Any:
    manager = _manager(cloud, call)
    found = [
        {
            "instance": one["selfLink"],
            "id": one["id"],
            "name": one["name"],
            "instanceStatus": cloud.show(one)["status"],
            "currentAction": "DELETING" if one.get("_going") else "NONE",
        }
        for one in members(cloud, manager)
    ]
    return {"managedInstances": found} if found else {}


@handles("compute.regionInstanceGroups.listInstances")
def list_group(cloud: "Cloud", call: Call) -> Any:
    parts = call.path.split("/")
    manager = cloud.need("/".join([*parts[:4], "instanceGroupManagers", parts[5]]), *MANAGERS)
    return {
        "kind": "compute#regionInstanceGroupsListInstances",
        "items": [{"instance": one["selfLink"], "status": one["status"]} for one in members(cloud, manager)],
    }


# Requests that wait


@rules_of(*REQUESTS)
class Requests(Rules):
    """A request is all or nothing, and waits until there is room for all of it."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        manager = cloud.need("/".join(want.path.split("/")[:6]), *MANAGERS)
        if bool(want.get("instances")) == bool(want.get("resizeBy")):
            raise errors.invalid("resource.resizeBy", want.get("resizeBy"), "Exactly one of resizeBy and instances must be specified.")
        run_s = int((want.get("requestedRunDuration") or {}).get("seconds", 0))
        if want.get("requestedRunDuration") and not RUN_LEAST_S <= run_s <= RUN_MOST_S:
            raise errors.invalid("resource.requestedRunDuration", run_s, f"It must be between {RUN_LEAST_S} and {RUN_MOST_S} seconds.")
        template = cloud.need(manager["instanceTemplate"].removeprefix(links.BASE), "compute.instanceTemplates", "compute.regionInstanceTemplates")
        scheduling = template["properties"].get("scheduling", {})
        if not run_s and not scheduling.get("maxRunDuration"):
            raise errors.required("resource.requestedRunDuration")
        affinity = template["properties"].get("reservationAffinity", {}).get("consumeReservationType")
        if affinity != "NO_RESERVATION":
            raise errors.invalid("resource", affinity, "The instance template must say NO_RESERVATION for resize requests.")
        if manager.kind == MANAGERS[1] and manager.get("distributionPolicy", {}).get("targetShape") != "ANY_SINGLE_ZONE":
            raise errors.invalid("resource", manager.get("distributionPolicy", {}).get("targetShape"), "Resize requests need the target shape ANY_SINGLE_ZONE.")
        taken = {one["name"] for one in members(cloud, manager)}
        for place, one in enumerate(want.get("instances", ())):
            if not one.get("name") or one["name"] in taken:
                raise errors.invalid(f"resource.instances[{place}].name", one.get("name"), "Each instance needs a name that none has.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {"state": "ACCEPTED"}

    def made(self, cloud: "Cloud", thing: Thing) -> None:
        manager = cloud.need("/".join(thing.id.split("/")[:6]), *MANAGERS)
        cloud.note(manager, targetSize=manager["targetSize"] + _size(thing))
        cloud.waiting.append((thing.kind, thing.id))

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if thing["state"] in WAITING:
            raise Refused("invalid", f"Cannot delete a resize request in state {thing['state']}.")


def _requests(cloud: "Cloud", manager: Thing) -> Iterator[Thing]:
    kind = REQUESTS[MANAGERS.index(manager.kind)]
    return (one for one in cloud.store.all(kind) if one.id.startswith(f"{manager.id}/"))


def _size(request: Thing) -> int:
    return len(request.get("instances", ())) or int(request["resizeBy"])


def serve_waiting(cloud: "Cloud") -> None:
    """Fulfil the requests that there is room for by now; the setting `flex_wait_s` has them wait at least so long, `flex_fails` {machine: code} fail."""
    still = []
    for kind, path in cloud.waiting:
        request = cloud.store.get(kind, path)
        if request and request["state"] in WAITING and not _served(cloud, request):
            still.append((kind, path))
    cloud.waiting = still


def _served(cloud: "Cloud", request: Thing) -> bool:
    """Try to fulfil a request; say whether it is over."""
    if cloud.store.clock.now_s() < request.made_s + float(cloud.setting("flex_wait_s", 0)):
        return False
    manager = cloud.need("/".join(request.id.split("/")[:6]), *MANAGERS)
    template = cloud.need(manager["instanceTemplate"].removeprefix(links.BASE), "compute.instanceTemplates", "compute.regionInstanceTemplates")
    if code := cloud.setting("flex_fails", {}).get(template["properties"]["machineType"]):
        cloud.note(manager, targetSize=manager["targetSize"] - _size(request))
        cloud.note(request, state="FAILED", status={"error": {"errors": [{"code": code, "message": "The request can't be fulfilled."}]}})
        return True
    names = [one["name"] for one in request.get("instances", ())] or [f"{manager['baseInstanceName']}-{cloud.store.new_hex(4)}" for _ in range(_size(request))]
    run_s = int(request.get("requestedRunDuration", {}).get("seconds", 0)) or None
    machine = template["properties"]["machineType"]
    failure = None
    for zone in zones(manager):
        if zone not in (facts.machine(machine) or {"zones": []})["zones"]:
            continue
        failure = launching.shortage(cloud, machine, zone, len(names)) or start(cloud, manager, zone, names, run_s=run_s)
        if failure is None:
            cloud.note(request, state="SUCCEEDED", status=None)
            return True
    problem = (
        {"code": failure.code, "message": failure.message}
        if failure
        else {"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": "No zone of the group has the machine type."}
    )
    cloud.note(request, status={"lastAttempt": {"error": {"errors": [problem]}}})
    return False


@handles("compute.instanceGroupManagerResizeRequests.cancel", "compute.regionInstanceGroupManagerResizeRequests.cancel")
def cancel(cloud: "Cloud", call: Call) -> Any:
    request = cloud.need(call.path.removesuffix("/cancel"), *REQUESTS)
    if request["state"] not in WAITING:
        raise Refused("invalid", f"Cannot cancel a resize request in state {request['state']}.")
    manager = _manager(cloud, call)
    cloud.note(manager, targetSize=manager["targetSize"] - _size(request))
    cloud.note(request, state="CANCELLED")
    return operations.begin(cloud, call, request.id, "cancel", target_id=request["id"])
