"""Instances made many at a time: all or nothing, or at least so many. Sources: schema BulkInsertInstanceResource; compute/docs/instances/multiple/create-in-bulk."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from .. import errors, facts, hardware, launching, operations, rights, verbs
from ..rules import Call, handles

if TYPE_CHECKING:
    from ..cloud import Cloud

MOST = 5000  # slurm-gcp, BULK_INSERT_LIMIT
AT_A_TIME = 10  # compute/docs/troubleshooting/troubleshooting-bulk-vm-creation: concurrent bulk operations
PATTERN = re.compile(r"([a-z][-a-z0-9]*?)(#+)([-a-z0-9]*)")
BULK, TOO_FEW = "bulkInsert", "VM_MIN_COUNT_NOT_REACHED"
NAME = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")


@handles("compute.instances.bulkInsert")
def bulk_insert(cloud: "Cloud", call: Call) -> Any:
    return _inserted(cloud, call, ["/".join(call.path.split("/")[:4])])


@handles("compute.regionInstances.bulkInsert")
def bulk_insert_in_region(cloud: "Cloud", call: Call) -> Any:
    """Make instances in the zones of a region that the policy allows, in one of them where it says so."""
    region = call.path.split("/")[3]
    policy = verbs.form(call).get("locationPolicy") or {}
    denied = {place.rpartition("/")[2] for place, one in policy.get("locations", {}).items() if one.get("preference") == "DENY"}
    allowed = {place.rpartition("/")[2] for place, one in policy.get("locations", {}).items() if one.get("preference") == "ALLOW"}
    machine = _properties(cloud, call, verbs.form(call))["machineType"]
    known = facts.machine(machine.rpartition("/")[2]) or {"zones": []}
    zones = [
        zone for zone, where in facts.zones().items() if where == region and zone in known["zones"] and zone not in denied and (not allowed or zone in allowed)
    ]
    if not zones:
        raise errors.invalid("resource.locationPolicy", region, f"No zone that is allowed has {machine}.")
    return _inserted(cloud, call, [f"projects/{call.project}/zones/{zone}" for zone in zones])


def _inserted(cloud: "Cloud", call: Call, zones: Sequence[str]) -> Any:
    values = verbs.form(call)
    properties, names = _properties(cloud, call, values), _names(cloud, values, zones)
    least = int(values.get("minCount") or len(names))
    if not 0 < least <= len(names):
        raise errors.invalid("resource.minCount", values.get("minCount"), "It must be between 1 and count.")
    under_way = sum(thing.get("operationType") == BULK for path, kind in cloud.pending.items() if (thing := cloud.store.get(kind, path)))
    if under_way >= AT_A_TIME:
        raise Refused("rateLimitExceeded", f"Quota exceeded: {AT_A_TIME} bulk operations at a time.", status=403)
    zone = max(zones, key=lambda one: launching.space(cloud, properties["machineType"].rpartition("/")[2], one.rpartition("/")[2]))
    return _made(cloud, call, zone, properties, names, least)


def _made(cloud: "Cloud", call: Call, zone: str, properties: Mapping[str, Any], names: Mapping[str, Any], least: int) -> Any:
    """Make what there is room for, or nothing when that is too little."""
    base = launching.placed(cloud, properties, zone)
    machine = base["machineType"].rpartition("/")[2]
    hardware.check_slice(cloud, base.get("resourcePolicies", ()), machine, len(names), field="resource.instanceProperties.resourcePolicies")
    problems: list[dict[str, Any]] = []
    paths: list[str] = []
    failed: dict[str, operations.Failure] = {}
    group = f"{cloud.new_number()}"
    for name, own in names.items():
        try:
            about = verbs.make(cloud, call, "compute.instances", f"{zone}/instances", {**base, **own, "name": name})
        except Refused as refused:
            if not paths and refused.code not in ("alreadyExists", "IP_SPACE_EXHAUSTED"):
                raise  # the request itself is wrong, which the service says at once
            code = {"alreadyExists": "RESOURCE_ALREADY_EXISTS"}.get(refused.code, refused.code)
            problems.append({"code": code, "message": refused.message})
            failed[f"{zone}/instances/{name}"] = operations.Failure(code, refused.message, 409)
            continue
        if failure := about.get("failure"):
            problems.append({"code": failure.code, "message": failure.message, **failure.details})
            failed[f"{zone}/instances/{name}"] = failure
        else:
            paths.append(about["target"])
    _tell(cloud, call, group, failed)
    if cloud.setting("bulk_is_terse"):
        problems = []
    created, rolled_back = len(paths), 0
    if created < least:
        for path in paths:
            cloud.drop("compute.instances", path)
        rolled_back, paths = created, []
        problems.append({"code": TOO_FEW, "message": f"Requested minimum count of {least} VMs could not be created."})
    status = {
        "targetVmCount": len(names),
        "createdVmCount": created,
        "failedToCreateVmCount": len(names) - created,
        "deletedVmCount": rolled_back,
        "status": "DONE",
    }
    more: dict[str, Any] = {
        "operationGroupId": group,
        "instancesBulkInsertOperationMetadata": {"perLocationStatus": {f"zones/{zone.rpartition('/')[2]}": status}},
    }
    begun = {"status": "RUNNING", "lastStartTimestamp": operations.stamp(cloud.store.clock.now_s()), "_ready": True}
    effects = [{"set": ["compute.instances", path, begun]} for path in paths]
    failure = operations.Failure(problems[0]["code"], problems[0]["message"], 503, errors=_distinct(problems)) if problems else None
    target = "/".join(call.path.split("/")[:4]) + "/instances"
    return operations.begin(cloud, call, target, BULK, effects=effects, failure=failure, more=more)


def _tell(cloud: "Cloud", call: Call, group: str, failed: Mapping[str, operations.Failure]) -> None:
    """Begin the operations of single instances, which alone always say why one was not made (cluster-toolkit, resume.py; google-cloud-go #5168); those that were made have theirs left out.

    With the setting `bulk_is_terse` the operation of the whole says no more than that it got too few, or nothing where it got enough.
    """
    own = dataclasses.replace(call, parameters={name: value for name, value in call.parameters.items() if name != "requestId"})
    for path, failure in failed.items():
        operations.begin(cloud, own, path, "insert", failure=failure, within_s=0.0, more={"operationGroupId": group})


def _distinct(problems: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Give each error once: a shortage for each of hundreds of instances says nothing more."""
    return tuple({f"{one['code']} {one['message']}": one for one in problems}.values())


def _properties(cloud: "Cloud", call: Call, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the properties of the instances: the template's, with the request's merged into them."""
    own = values.get("instanceProperties") or {}
    named = values.get("sourceInstanceTemplate")
    if not named and not own:
        raise errors.required("resource.instanceProperties")
    if not named:
        return dict(own)
    rights.need(cloud, call, "compute.instanceTemplates.useReadOnly", f"projects/{call.project}")
    template = cloud.refer(named, "compute.instanceTemplates|compute.regionInstanceTemplates", project=call.project, field="resource.sourceInstanceTemplate")
    merged: dict[str, Any] = verbs.merge(template["properties"], own)
    return merged


def _names(cloud: "Cloud", values: Mapping[str, Any], zones: Sequence[str]) -> dict[str, Any]:
    """Give the names of the instances, each with what it has of its own."""
    given: Mapping[str, Any] = values.get("perInstanceProperties") or {}
    count = int(values.get("count") or 0)
    if not 0 < count <= MOST:
        raise errors.invalid("resource.count", values.get("count"), f"It must be between 1 and {MOST}.")
    for name in given:
        if not NAME.fullmatch(name):
            raise errors.invalid("resource.perInstanceProperties", name, f"Must be a match of regex '{NAME.pattern}'")
    if given:
        if len(given) != count:
            raise errors.invalid("resource.perInstanceProperties", len(given), f"The count is {count}.")
        return dict(given)
    match = PATTERN.fullmatch(values.get("namePattern", ""))
    if not match:
        raise errors.invalid("resource.namePattern", values.get("namePattern"), "Either a name pattern with # or names are required.")
    found: dict[str, Any] = {}
    number = 0
    while len(found) < count:
        number += 1
        name = f"{match[1]}{number:0{len(match[2])}d}{match[3]}"
        if not any(cloud.store.get("compute.instances", f"{zone}/instances/{name}") for zone in zones):
            found[name] = {}
    return found
