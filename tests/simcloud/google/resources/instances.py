"""Rules of instances and of what else is said to them once they are there."""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import errors, facts, launching, links, operations, quotas, reserving, rights, verbs
from ..rules import Call, Rules, Want, handles, rules_of
from . import keys, network

if TYPE_CHECKING:
    from ..cloud import Cloud

RUNS = ("PROVISIONING", "STAGING", "RUNNING")
HOSTS_OF_SUBBLOCK, HOSTS_OF_BLOCK = 16, 256
"""Made up: what Compute Engine has differs by machine and zone."""
STOPPED_ONLY = {"setMachineType": "machineType", "setServiceAccount": "serviceAccounts"}


@rules_of("compute.instances")
class Instances(Rules):
    """Virtual machines."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is None:
            rights.check_launch(cloud, want.call, want.values, want.path)
            launching.check(cloud, want)
        else:
            launching.check_metadata((want.get("metadata") or {}).get("items", ()), "resource.metadata")

    def fails(self, cloud: "Cloud", want: Want) -> operations.Failure | None:
        machine, zone = want["machineType"].rpartition("/")[2], "/".join(want.path.split("/")[:4])
        if reservation := reserving.named(cloud, want.values, zone):
            return reserving.full(reservation) if reserving.room(cloud, reservation) < 1 else None
        model = want.get("scheduling", {}).get("provisioningModel", "STANDARD")
        if failure := quotas.exceeded(cloud, machine, want.path.split("/")[3], model):
            return failure
        return None if reserving.open_to(cloud, want.values, zone) else launching.shortage(cloud, machine, want.path.split("/")[3])

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former is not None:
            return {}
        zone = "/".join(want.path.split("/")[:4])
        nics, taken = [], dict[str, str]()
        for place, nic in enumerate(want["networkInterfaces"]):
            subnet = launching.subnet_of(cloud, nic, zone, f"resource.networkInterfaces[{place}]")
            address = nic.get("networkIP") or network.free_address(cloud, subnet.id, None, field=f"resource.networkInterfaces[{place}].networkIP")
            taken[subnet.id] = address
            access = [
                {
                    "kind": "compute#accessConfig",
                    "type": "ONE_TO_ONE_NAT",
                    "name": "external-nat",
                    "networkTier": "PREMIUM",
                    "natIP": network.public_address(cloud),
                    **one,
                }
                for one in nic.get("accessConfigs", ())
            ]
            nics.append(
                {
                    "kind": "compute#networkInterface", "nicType": "VIRTIO_NET", "stackType": "IPV4_ONLY", **nic, "name": f"nic{place}", "networkIP": address,
                    "network": subnet["network"], "subnetwork": subnet["selfLink"], "fingerprint": verbs.fingerprint([subnet.id, address]),
                    **({"accessConfigs": access} if access else {}),
                }
            )  # fmt: skip
        reservation = reserving.named(cloud, want.values, zone) or reserving.open_to(cloud, want.values, zone)
        return {
            "networkInterfaces": nics, "scheduling": _scheduling(cloud, want.get("scheduling", {})), "status": "PROVISIONING", "cpuPlatform": "Intel Sapphire Rapids",
            **({"_reservation": reservation.id} if reservation else {}),
        }  # fmt: skip

    def interfaces(self, cloud: "Cloud", properties: Mapping[str, Any]) -> tuple[Interface, ...]:
        return tuple(Interface(nic["subnetwork"].removeprefix(links.BASE), nic["networkIP"]) for nic in properties["networkInterfaces"])

    def ready(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"status": "RUNNING", "lastStartTimestamp": operations.stamp(cloud.store.clock.now_s())}

    def made(self, cloud: "Cloud", thing: Thing) -> None:
        zone = "/".join(thing.id.split("/")[:4])
        disks = [{"kind": "compute#attachedDisk", "index": place, **_attached(cloud, thing, disk, place, zone)} for place, disk in enumerate(thing["disks"])]
        has_gpus = bool((facts.machine(thing["machineType"].rpartition("/")[2]) or {}).get("gpus"))
        cloud.note(thing, disks=disks, **({"_host": _free_host(cloud, thing)} if has_gpus else {}))
        count(cloud, thing, 1)

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if thing.get("deletionProtection"):
            raise Refused("invalid", f"Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. '{thing.id}'.'")

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        for disk in thing["disks"]:
            if disk.get("autoDelete") and disk.get("source"):
                cloud.drop("compute.disks", disk["source"].removeprefix(links.BASE))
        for group in cloud.store.all("compute.instanceGroups"):
            if thing["selfLink"] in group.get("_instances", ()):
                cloud.note(group, _instances=[link for link in group["_instances"] if link != thing["selfLink"]])
        cloud.drop("iam.policies", f"compute/{thing.id}")
        if thing["status"] != "TERMINATED":
            count(cloud, thing, -1)

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        found: dict[str, Any] = {"status": "STOPPING"} if thing.get("_going") else {}
        if status := {**_topology(cloud, thing), **({"upcomingMaintenance": thing["_maintenance"]} if thing.get("_maintenance") else {})}:
            found["resourceStatus"] = status
        return found


def _topology(cloud: "Cloud", thing: Thing) -> dict[str, Any]:
    """Give where an instance with GPUs runs."""
    if thing["status"] != "RUNNING" or "_host" not in thing.properties:
        return {}
    placed, number = thing["_host"]
    block, subblock, host = (
        hashlib.md5(f"{placed} {what} {number // size}".encode()).hexdigest()
        for what, size in (("block", HOSTS_OF_BLOCK), ("subblock", HOSTS_OF_SUBBLOCK), ("host", 1))
    )
    return {
        "physicalHost": f"/{block}/{subblock}/{host}",
        "physicalHostTopology": {"cluster": f"{thing.region}-cluster-1", "block": block, "subblock": subblock, "host": host},
    }


def _free_host(cloud: "Cloud", thing: Thing) -> list[Any]:
    """Give an instance the first free host: those of one zone, or of one placement policy in it, fill a sub-block after the other."""
    placed = f"{thing.region} {' '.join(sorted(thing.get('resourcePolicies', ())))}"
    taken = {other["_host"][1] for other in cloud.store.all("compute.instances") if other.get("_host", [None])[0] == placed}
    return [placed, next(number for number in itertools.count() if number not in taken)]


@rules_of("compute.disks")
class Disks(Rules):
    """Disks on their own."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is None and not want.get("sizeGb") and not want.get("sourceImage") and not want.get("sourceSnapshot"):
            raise errors.required("resource.sizeGb")
        if want.former and int(want["sizeGb"]) < int(want.former["sizeGb"]):
            raise errors.invalid("resource.sizeGb", want["sizeGb"], "Disks can't become smaller.")
        if want.former is None:
            keys.check(
                cloud, want.get("diskEncryptionKey", {}).get("kmsKeyName", ""), want.kind, want.path.split("/")[3], "resource.diskEncryptionKey.kmsKeyName"
            )

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        zone = "/".join(want.path.split("/")[:4])
        image = cloud.find(want["sourceImage"].removeprefix(links.BASE), "compute.images") if want.get("sourceImage") else None
        size = want.get("sizeGb") or (image["diskSizeGb"] if image else "500")
        return {
            "type": want.get("type", links.link(f"{zone}/diskTypes/pd-standard")),
            "sizeGb": str(size),
            "status": "READY",
            **({"sourceImageId": image["id"]} if image else {}),
            # Disk.diskEncryptionKey: the answer names the version of the key.
            **({"diskEncryptionKey": {"kmsKeyName": f"{encrypted['kmsKeyName']}/cryptoKeyVersions/1"}} if (encrypted := want.get("diskEncryptionKey")) else {}),
        }

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        users = [user["selfLink"] for user in cloud.users(thing.id) if user.kind == "compute.instances"]
        return {"users": users} if users else {}


def _attached(cloud: "Cloud", instance: Thing, disk: Mapping[str, Any], place: int, zone: str) -> dict[str, Any]:
    """Make the disk that an instance comes with; give its attachment."""
    given = {"type": "PERSISTENT", "mode": "READ_WRITE", "interface": "SCSI", "autoDelete": False, "boot": False, **disk}
    parameters = given.pop("initializeParams", None) or {}
    if given["type"] == "SCRATCH":
        return {**given, "deviceName": given.get("deviceName", f"local-ssd-{place}"), "diskSizeGb": str(launching.LOCAL_SSD_GB)}
    if given.get("source"):
        existing = cloud.need(given["source"].removeprefix(links.BASE), "compute.disks")
        return {**given, "deviceName": given.get("deviceName", f"persistent-disk-{place}"), "diskSizeGb": existing["sizeGb"]}
    name = parameters.get("diskName") or (instance["name"] if given["boot"] else f"{instance['name']}-{place}")
    image = cloud.refer(parameters["sourceImage"], "compute.images", project=cloud.project, field="sourceImage") if parameters.get("sourceImage") else None
    size = parameters.get("diskSizeGb") or given.get("diskSizeGb") or (image["diskSizeGb"] if image else "500")
    kind = cloud.refer(parameters.get("diskType", f"{zone}/diskTypes/pd-standard"), "compute.diskTypes", project=cloud.project, field="diskType")
    path = f"{zone}/disks/{name}"
    if cloud.find(path, "compute.disks"):
        raise errors.exists(path)
    properties = {
        **{key: parameters[key] for key in ("labels", "provisionedIops", "provisionedThroughput", "description") if key in parameters},
        "kind": "compute#disk", "id": cloud.new_number(), "name": name, "sizeGb": str(size), "type": kind["selfLink"], "status": "READY", "selfLink": links.link(path),
        "zone": links.link(zone), "creationTimestamp": instance["creationTimestamp"], "physicalBlockSizeBytes": "4096",
        **({"sourceImage": image["selfLink"], "sourceImageId": image["id"]} if image else {}),
    }  # fmt: skip
    # A disk that goes with its instance came with it; one that stays is its maker's to delete.
    cloud.put(
        Thing("compute.disks", path, instance.region, verbs.locked("compute.disks", properties), "service" if given["autoDelete"] else "api", instance.made_s)
    )
    return {**given, "source": links.link(path), "deviceName": given.get("deviceName", f"persistent-disk-{place}"), "diskSizeGb": str(size)}


def count(cloud: "Cloud", thing: Thing, more: int) -> None:
    """Note that an instance takes room, or gives it back: of its zone, or of its reservation."""
    machine = thing["machineType"].rpartition("/")[2]
    if reservation := thing.get("_reservation"):
        cloud.reserved[reservation] += more
    else:
        cloud.machines[f"{machine}/{thing.region}"] += more
    cloud.models[f"{machine}/{thing.region}/{thing['scheduling'].get('provisioningModel', 'STANDARD')}"] += more


def _scheduling(cloud: "Cloud", asked: Mapping[str, Any]) -> dict[str, Any]:
    """Give how an instance is provisioned; the setting `flex_is_standard` has flex-start become standard without a word, as it did (terraform-provider-google #24172)."""
    given = {**asked, "provisioningModel": "STANDARD"} if cloud.setting("flex_is_standard") and asked.get("provisioningModel") == "FLEX_START" else asked
    model = given.get("provisioningModel", "STANDARD")
    free = model in ("SPOT", "FLEX_START")
    found = {
        "onHostMaintenance": "TERMINATE" if free else "MIGRATE",
        "automaticRestart": not free,
        "preemptible": model == "SPOT",
        "provisioningModel": model,
        **given,
    }
    return {**found, "instanceTerminationAction": given.get("instanceTerminationAction", "DELETE" if model == "FLEX_START" else "STOP")} if free else found


# What is said to an instance once it is there


def _target(cloud: "Cloud", call: Call) -> Thing:
    return cloud.need(call.path.rpartition("/")[0], "compute.instances")


def _done(cloud: "Cloud", call: Call, thing: Thing, **properties: Any) -> Any:
    if properties:
        cloud.put(dataclasses.replace(thing, properties=verbs.locked(thing.kind, {**thing.properties, **properties})))
    return operations.begin(cloud, call, thing.id, call.method.verb, target_id=thing["id"])


@handles("compute.instances.setMetadata", "compute.instances.setTags")
def set_locked(cloud: "Cloud", call: Call) -> Any:
    """Set metadata or tags, whose fingerprint the caller must know."""
    thing, values = _target(cloud, call), verbs.form(call)
    name = "metadata" if call.method.verb == "setMetadata" else "tags"
    verbs.check_fingerprint(values.get("fingerprint"), thing[name]["fingerprint"], needed=True)
    if name == "metadata":
        launching.check_metadata(values.get("items", ()), "metadata")
    return _done(cloud, call, thing, **{name: values})


@handles("compute.instances.setMachineType", "compute.instances.setServiceAccount")
def set_stopped(cloud: "Cloud", call: Call) -> Any:
    """Set what only a stopped instance can change."""
    thing, values = _target(cloud, call), verbs.form(call)
    if thing["status"] != "TERMINATED":
        raise Refused("resourceNotReady", "Instance is not in the stopped state: the instance must be TERMINATED for this.")
    if call.method.verb == "setMachineType":
        machine = cloud.refer(values.get("machineType", ""), "compute.machineTypes", project=call.project, field="machineType")
        return _done(cloud, call, thing, machineType=machine["selfLink"])
    launching.check_account(cloud, values, "resource")
    return _done(cloud, call, thing, serviceAccounts=[values])


@handles("compute.instances.setScheduling")
def set_scheduling(cloud: "Cloud", call: Call) -> Any:
    thing, values = _target(cloud, call), verbs.form(call)
    machine = facts.machine(thing["machineType"].rpartition("/")[2]) or {}
    launching.check_scheduling({**thing["scheduling"], **values}, machine, "scheduling")
    return _done(cloud, call, thing, scheduling={**thing["scheduling"], **values})


@handles("compute.instances.setDeletionProtection")
def set_deletion_protection(cloud: "Cloud", call: Call) -> Any:
    return _done(cloud, call, _target(cloud, call), deletionProtection=call.parameters.get("deletionProtection", True))


@handles("compute.instances.stop")
def stop(cloud: "Cloud", call: Call) -> Any:
    """Stop an instance; its room goes back to the zone."""
    thing = _target(cloud, call)
    if thing["status"] in RUNS:
        count(cloud, thing, -1)
        cloud.note(thing, status="STOPPING")
    ended = {"status": "TERMINATED", "lastStopTimestamp": operations.stamp(cloud.store.clock.now_s())}
    return operations.begin(cloud, call, thing.id, "stop", target_id=thing["id"], effects=[{"set": [thing.kind, thing.id, ended]}])


@handles("compute.instances.start")
def start(cloud: "Cloud", call: Call) -> Any:
    thing = _target(cloud, call)
    if thing["status"] in RUNS:
        return operations.begin(cloud, call, thing.id, "start", target_id=thing["id"])
    machine = thing["machineType"].rpartition("/")[2]
    if failure := launching.shortage(cloud, machine, thing.region):
        return operations.begin(cloud, call, thing.id, "start", target_id=thing["id"], failure=failure)
    count(cloud, thing, 1)
    cloud.note(thing, status="PROVISIONING")
    begun = {"status": "RUNNING", "lastStartTimestamp": operations.stamp(cloud.store.clock.now_s())}
    return operations.begin(cloud, call, thing.id, "start", target_id=thing["id"], effects=[{"set": [thing.kind, thing.id, begun]}])


@handles(
    "compute.instances.reset", "compute.instances.reportHostAsFaulty", "compute.instances.performMaintenance", "compute.instances.simulateMaintenanceEvent"
)
def restart(cloud: "Cloud", call: Call) -> Any:
    thing = _target(cloud, call)
    if thing["status"] != "RUNNING":
        raise Refused("resourceNotReady", f"The resource '{thing.id}' is not ready")
    if call.method.request:
        verbs.form(call)
    return _done(cloud, call, thing)


@handles("compute.instances.getSerialPortOutput")
def serial_port_output(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path.rpartition("/")[0], "compute.instances")
    said = cloud.console(thing) if cloud.console else thing.get("_console", "")
    return {"kind": "compute#serialPortOutput", "contents": said, "start": "0", "next": str(len(said)), "selfLink": thing["selfLink"]}


@handles("compute.instances.attachDisk")
def attach_disk(cloud: "Cloud", call: Call) -> Any:
    """Attach a disk that exists."""
    thing, values = _target(cloud, call), verbs.form(call)
    disk = cloud.refer(values.get("source", ""), "compute.disks", project=call.project, field="source")
    if others := [user for user in cloud.users(disk.id) if user.kind == "compute.instances"]:
        raise errors.in_use("disk", disk.id, others[0].id)
    attached = {
        "kind": "compute#attachedDisk",
        "index": len(thing["disks"]),
        **_attached(cloud, thing, {**values, "source": disk["selfLink"]}, len(thing["disks"]), thing.id),
    }
    return _done(cloud, call, thing, disks=[*thing["disks"], attached])


@handles("compute.instances.detachDisk")
def detach_disk(cloud: "Cloud", call: Call) -> Any:
    thing = _target(cloud, call)
    rest = [disk for disk in thing["disks"] if disk["deviceName"] != call["deviceName"]]
    if len(rest) == len(thing["disks"]):
        raise errors.invalid("deviceName", call["deviceName"], "No attached disk found with device name.")
    return _done(cloud, call, thing, disks=rest)


@handles("compute.disks.resize")
def resize(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path.rpartition("/")[0], "compute.disks")
    size = verbs.form(call)["sizeGb"]
    if int(size) < int(thing["sizeGb"]):
        raise errors.invalid("sizeGb", size, "Disks can't become smaller.")
    cloud.note(thing, sizeGb=size)
    return operations.begin(cloud, call, thing.id, "resize", target_id=thing["id"])


# Templates


@rules_of("compute.instanceTemplates", "compute.regionInstanceTemplates")
class Templates(Rules):
    """Templates name machine types and disk types without a zone, and can't change."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        properties = want["properties"]
        if not properties.get("machineType"):
            raise errors.required("resource.properties.machineType")
        if "/" in properties["machineType"]:
            raise errors.invalid("resource.properties.machineType", properties["machineType"], "A template names a machine type without its zone.")
        for place, disk in enumerate(properties.get("disks", ())):
            if "/" in (disk.get("initializeParams") or {}).get("diskType", ""):
                raise errors.invalid(
                    f"resource.properties.disks[{place}].initializeParams.diskType",
                    disk["initializeParams"]["diskType"],
                    "A template names a disk type without its zone.",
                )
        verbs.check_labels(properties.get("labels"), "resource.properties.labels")
        launching.check_properties(cloud, properties, properties["machineType"], field="resource.properties")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        properties = dict(want["properties"])
        for name in ("metadata", "tags"):
            if name in properties:
                properties[name] = {**properties[name], "fingerprint": verbs.fingerprint(properties[name])}
        return {"properties": properties}


def image_family(cloud: "Cloud", call: Call) -> Any:
    found = facts.newest(cloud, call.path)
    if found is None:
        raise errors.missing(call.path)
    return cloud.show(found)


handles("compute.images.getFromFamily")(image_family)


@rules_of("compute.images")
class Images(Rules):
    """Images are made from a disk whose instance does not run."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is not None:
            return
        if not any(want.get(name) for name in ("sourceDisk", "sourceImage", "sourceSnapshot", "rawDisk")):
            raise errors.required("resource.sourceDisk")
        if want.get("sourceDisk") and not want.call.parameters.get("forceCreate"):
            disk = cloud.need(want["sourceDisk"].removeprefix(links.BASE), "compute.disks")
            for user in cloud.users(disk.id):
                if user.kind == "compute.instances" and user["status"] != "TERMINATED":
                    raise errors.in_use("disk", disk.id, user.id)

    def ready(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"status": "READY"}

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former is not None:
            return {}
        named = want.get("sourceDisk") or want.get("sourceImage") or ""
        source = cloud.find(named.removeprefix(links.BASE)) if named else None
        size = source.get("sizeGb") or source.get("diskSizeGb") if source else "10"
        makers = [user for user in cloud.users(source.id) if user.kind == "compute.instances"] if source else []
        return {
            # What the instance whose disk it is was told, for whoever wants to know what is in the image.
            "_told": {one["key"]: one["value"] for maker in makers for one in (maker.get("metadata") or {}).get("items", ())},
            "status": "PENDING",
            "diskSizeGb": str(size),
            "archiveSizeBytes": "1000000000",
            "sourceType": "RAW",
            "architecture": want.get("architecture") or (source.get("architecture") if source else None) or "X86_64",
        }
