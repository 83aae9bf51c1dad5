"""Instances that programs declare, key pairs, placement groups, volumes, Auto Scaling groups."""

import base64
import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from ...core.typed import UNKNOWN
from .. import facts, instances, launching, shapes
from ..cloud import Cloud, same
from ..rules import Rules, Want, of
from . import network

PUBLIC_KEY = re.compile(r"(ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp\d+) [A-Za-z0-9+/]+=*( .*)?\s*")
KEY_NAME_MOST = 255
PARTITIONS_MOST = 7  # EC2 user guide, "Partition placement groups"
ATTACHABLE_DEVICE = re.compile(r"/dev/(sd[b-z]|xvd[a-z]{1,2}|sd[a-z]\d{1,2})")
# Inputs of a program's Instance that are no parameters of RunInstances by the same name.
NAMES = {"ami": "ImageId", "vpcSecurityGroupIds": "SecurityGroupIds", "privateIp": "PrivateIpAddress", "hibernation": ""}
OWN = frozenset({
    "associatePublicIpAddress", "availabilityZone", "ebsBlockDevices", "ephemeralBlockDevices", "forceDestroy", "getPasswordData", "hostId", "hostResourceGroupArn", "iamInstanceProfile",
    "launchTemplate", "monitoring", "networkInterfaces", "placementGroup", "placementGroupId", "placementPartitionNumber", "primaryNetworkInterface", "region", "rootBlockDevice",
    "secondaryNetworkInterfaces", "secondaryPrivateIps", "sourceDestCheck", "tags", "tenancy", "userData", "userDataBase64", "userDataReplaceOnChange", "volumeTags",
})  # fmt: skip
UNRULED = (
    "getPasswordData",
    "hostId",
    "hostResourceGroupArn",
    "placementGroupId",
    "placementPartitionNumber",
    "secondaryNetworkInterfaces",
    "secondaryPrivateIps",
    "securityGroups",
)


@of("ec2.Instance")
class Instance(Rules):
    def problems(self, inputs: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        return shapes.problems(
            facts.service("ec2").operation_model("RunInstances").input_shape, {**run_request(inputs), "MinCount": 1, "MaxCount": 1}, "RunInstances"
        )

    def replaced_by(self, olds: Mapping[str, Any], news: Mapping[str, Any]) -> frozenset[str]:
        replaced = set(super().replaced_by(olds, news))
        if news.get("userDataReplaceOnChange"):
            replaced |= {"userData", "userDataBase64"}
        old_root, new_root = olds.get("rootBlockDevice") or {}, news.get("rootBlockDevice") or {}
        if any(name in new_root and not same(old_root.get(name), new_root[name]) for name in ("encrypted", "kmsKeyId")):
            replaced.add("rootBlockDevice")
        return frozenset(replaced)

    def check(self, cloud: Cloud, want: Want) -> None:
        if want.former is None:
            launch = launching.prepare(cloud, run_request(want.values), want.region)
            left, stop = launching.room(cloud, launch)
            if left is not None and left < 1 and stop is not None:
                raise stop

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        if want.former:
            api = {**want.former["api"], "InstanceType": want.get("instanceType", want.former["api"]["InstanceType"])}
            return {"api": api}
        launch = launching.prepare(cloud, run_request(want.values), want.region)
        (interfaces,) = launching.addresses(cloud, launch, 1)
        made = instances.new(cloud, launch, interfaces, region=want.region, door=want.door, ident=ident)
        public = None
        if want.get("associatePublicIpAddress") or (want.get("associatePublicIpAddress") is None and len(interfaces) == 1 and _is_public(cloud, interfaces[0])):
            public = network.new_public_address(cloud)
        outputs = {name: value for name, value in made.properties.items() if name not in ("tags", "tagsAll", "userData")}
        (api,) = (outputs["api"],)
        if public:
            api["PublicIpAddress"] = public
        return {
            **outputs, "publicIp": public, "privateIp": api.get("PrivateIpAddress"), "privateDns": api["PrivateDnsName"], "instanceState": "running", "subnetId": interfaces[0].subnet,
            "availabilityZone": launch.zone, "primaryNetworkInterfaceId": interfaces[0].id, "pendingInterfaces": [_as_map(one) for one in interfaces],
            "vpcSecurityGroupIds": list(interfaces[0].groups), "ami": launch.image["ImageId"], "instanceType": launch.machine,
        }  # fmt: skip

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        former = want.former.interfaces if want.former else ()
        wanted = want.get("vpcSecurityGroupIds")
        if wanted is None or not former:
            return former
        network.refuse_foreign_groups(cloud, wanted, network.vpc_of(cloud, former[0].subnet))
        return (dataclasses.replace(former[0], groups=tuple(wanted)), *former[1:])

    def made(self, cloud: Cloud, thing: Thing) -> None:
        properties = {name: value for name, value in thing.properties.items() if name != "pendingInterfaces"}
        interfaces = tuple(Interface(**{**one, "groups": tuple(one["groups"])}) for one in thing["pendingInterfaces"])
        cloud.store.put(Thing(thing.kind, thing.id, thing.region, properties, thing.door, thing.made_s, interfaces))

    def observed(self, cloud: Cloud, thing: Thing) -> Mapping[str, Any]:
        return {**thing.properties, "instanceState": instances.state(cloud, thing)}

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        """Refuse a protected instance, unless the program has the provider lift the protection first."""
        if thing.get("disableApiTermination") and not thing.get("forceDestroy"):
            raise Refused(
                "OperationNotPermitted",
                f"The instance '{thing.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
            )

    def deleted(self, cloud: Cloud, thing: Thing) -> None:
        """Leave the description of a terminated instance, as EC2 does."""
        instances.end(cloud, thing)


@of("ec2.KeyPair")
class KeyPair(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if not PUBLIC_KEY.fullmatch(want["publicKey"]):
            raise Refused("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
        if len(want["keyName"]) > KEY_NAME_MOST:
            raise Refused("InvalidParameterValue", f"keyName is longer than {KEY_NAME_MOST}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        own = want.former["keyPairId"] if want.former else f"key-{cloud.store.new_hex()}"
        return {"keyPairId": own, "keyType": "ed25519" if want["publicKey"].startswith("ssh-ed25519") else "rsa"}


@of("ec2.PlacementGroup")
class PlacementGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        number = want.get("partitionCount")
        if number is not None and (want["strategy"] != "partition" or not 1 <= number <= PARTITIONS_MOST):
            raise Refused("InvalidParameterValue", f"partitionCount is for the strategy partition and from 1 to {PARTITIONS_MOST}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {} if want.former else {"placementGroupId": f"pg-{cloud.store.new_hex()}"}

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        users = [one.id for one in cloud.store.all("ec2.Instance") if not one.get("ended") and one["api"]["Placement"].get("GroupName") == thing.id]
        if users:
            raise Refused("InvalidPlacementGroup.InUse", f"The placement group '{thing.id}' is in use by {', '.join(users[:5])}")


@of("ebs.Volume")
class Volume(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want["availabilityZone"] not in cloud.zones(want.region):
            raise Refused("InvalidZone.NotFound", f"The zone '{want['availabilityZone']}' does not exist.")
        if not want.get("size") and not want.get("snapshotId"):
            raise Refused("MissingParameter", "The request must contain the parameter size/snapshot")
        if want.get("kmsKeyId") and not want["encrypted"]:
            raise Refused("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")
        launching.check_volume(want["type"], size=want.get("size"), iops=want.get("iops"), throughput=want.get("throughput"))
        if want.former and want.get("size", 0) < want.former.get("size", 0):
            raise Refused("InvalidParameterValue", f"New size cannot be smaller than existing size {want.former['size']}")


@of("ec2.VolumeAttachment")
class VolumeAttachment(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        volume, instance = cloud.need("ebs.Volume", want["volumeId"]), cloud.need("ec2.Instance", want["instanceId"])
        if volume["availabilityZone"] != instance["api"]["Placement"]["AvailabilityZone"]:
            raise Refused("InvalidVolume.ZoneMismatch", f"The volume '{volume.id}' is not in the same availability zone as instance '{instance.id}'")
        if not ATTACHABLE_DEVICE.fullmatch(want["deviceName"]):
            raise Refused(
                "InvalidParameterValue", f"Value ({want['deviceName']}) for parameter device is invalid. {want['deviceName']} is not a valid EBS device name."
            )
        for other in cloud.store.all("ec2.VolumeAttachment"):
            if other["volumeId"] == volume.id and other is not want.former and not volume.get("multiAttachEnabled"):
                raise Refused("VolumeInUse", f"{volume.id} is already attached to an instance")
            if other["instanceId"] == instance.id and other["deviceName"] == want["deviceName"] and other is not want.former:
                raise Refused(
                    "InvalidParameterValue", f"Invalid value '{want['deviceName']}' for unixDevice. Attachment point {want['deviceName']} is already in use"
                )


@of("autoscaling.Group")
class AutoScalingGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        least, most, wished = want["minSize"], want["maxSize"], want.get("desiredCapacity", want["minSize"])
        if not 0 <= least <= wished <= most:
            raise Refused("ValidationError", f"desiredCapacity {wished} is not from minSize {least} to maxSize {most}")
        template = want.get("launchTemplate")
        if not template:
            raise Refused("ValidationError", "Valid requests must contain a launch template; the simulated cloud has no other kind")
        specification = {"LaunchTemplateId": template.get("id"), "LaunchTemplateName": template.get("name"), "Version": template.get("version")}
        for subnet in want.get("vpcZoneIdentifiers", ()):
            request = {"LaunchTemplate": {name: value for name, value in specification.items() if value}, "SubnetId": subnet}
            launching.prepare(cloud, request, want.region)

    def made(self, cloud: Cloud, thing: Thing) -> None:
        self._scale(cloud, thing)

    def changed(self, cloud: Cloud, thing: Thing, former: Thing) -> None:
        self._scale(cloud, thing)

    def deleted(self, cloud: Cloud, thing: Thing) -> None:
        for instance in self._own(cloud, thing):
            instances.end(cloud, instance)

    def _own(self, cloud: Cloud, thing: Thing) -> list[Thing]:
        return [one for one in cloud.store.all("ec2.Instance") if one.get("group") == thing.id and not one.get("ended")]

    def _scale(self, cloud: Cloud, thing: Thing) -> None:
        own, wished = self._own(cloud, thing), thing.get("desiredCapacity", thing["minSize"])
        for instance in own[wished:]:
            instances.end(cloud, instance)
        tags = [{"ResourceType": "instance", "Tags": [{"Key": tag["key"], "Value": tag["value"]} for tag in thing.get("tags", ()) if tag["propagateAtLaunch"]]}]
        template = thing["launchTemplate"]
        specification = {"LaunchTemplateId": template.get("id"), "LaunchTemplateName": template.get("name"), "Version": template.get("version")}
        subnets = thing.get("vpcZoneIdentifiers", [])
        for place in range(len(own), wished):
            request = {"LaunchTemplate": {name: value for name, value in specification.items() if value}, "SubnetId": subnets[place % len(subnets)]}
            launch = launching.prepare(cloud, request, thing.region)
            for made in instances.start(cloud, launch, 1, region=thing.region, door="service", extra=tags):
                cloud.note(made, group=thing.id)


def run_request(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give a program's Instance in the form of RunInstances."""
    for name in UNRULED:
        if inputs.get(name):
            raise Refused("NotSimulated", f"the simulated cloud has no rule for ec2.Instance.{name}")
    values = {name: value for name, value in inputs.items() if name not in OWN and not name.startswith("__") and value is not None}
    request: dict[str, Any] = shapes.formed(facts.service("ec2").operation_model("RunInstances").input_shape, values, NAMES)
    if inputs.get("launchTemplate") and inputs["launchTemplate"] != UNKNOWN:
        template = inputs["launchTemplate"]
        given = {"LaunchTemplateId": template.get("id"), "LaunchTemplateName": template.get("name"), "Version": template.get("version")}
        request["LaunchTemplate"] = {name: value for name, value in given.items() if value is not None}
    placement = {"AvailabilityZone": inputs.get("availabilityZone"), "GroupName": inputs.get("placementGroup"), "Tenancy": inputs.get("tenancy")}
    if any(placement.values()):
        request["Placement"] = {name: value for name, value in placement.items() if value}
    if inputs.get("iamInstanceProfile"):
        request["IamInstanceProfile"] = {"Name": inputs["iamInstanceProfile"]}
    if inputs.get("monitoring") is not None:
        request["Monitoring"] = {"Enabled": inputs["monitoring"]}
    if inputs.get("userDataBase64"):
        request["UserData"] = inputs["userDataBase64"]
    elif inputs.get("userData"):
        request["UserData"] = UNKNOWN if inputs["userData"] == UNKNOWN else base64.b64encode(inputs["userData"].encode()).decode()
    if inputs.get("tags"):
        request["TagSpecifications"] = [{"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in inputs["tags"].items()]}]
    return {**request, **_interfaces(inputs), **_volumes(inputs)}


def _interfaces(inputs: Mapping[str, Any]) -> dict[str, Any]:
    own = inputs.get("primaryNetworkInterface")
    attached = inputs.get("networkInterfaces") or ([{**own, "deviceIndex": 0}] if own and own != UNKNOWN else [])
    if not attached or attached == UNKNOWN:
        return {}
    return {
        "NetworkInterfaces": [
            {"DeviceIndex": one["deviceIndex"], "NetworkCardIndex": one.get("networkCardIndex", 0), "NetworkInterfaceId": one["networkInterfaceId"]}
            for one in attached
        ]
    }


def _volumes(inputs: Mapping[str, Any]) -> dict[str, Any]:
    shape = facts.shape("ec2.BlockDeviceMapping")
    volumes: list[Mapping[str, Any]] = [{"deviceName": "/dev/xvda", **inputs["rootBlockDevice"]}] if isinstance(inputs.get("rootBlockDevice"), Mapping) else []
    volumes += [one for one in inputs.get("ebsBlockDevices") or () if isinstance(one, Mapping)]
    mappings = []
    for volume in volumes:
        own = {name: value for name, value in volume.items() if name not in ("deviceName", "tags", "tagsAll", "volumeId")}
        mappings.append(shapes.formed(shape, {"deviceName": volume["deviceName"], "ebs": own}, {}))
    return {"BlockDeviceMappings": mappings} if mappings else {}


def _is_public(cloud: Cloud, interface: Interface) -> bool:
    return bool(cloud.need("ec2.Subnet", interface.subnet).get("mapPublicIpOnLaunch"))


def _as_map(interface: Interface) -> dict[str, Any]:
    return {"subnet": interface.subnet, "address": interface.address, "groups": list(interface.groups), "id": interface.id, "fabric": interface.fabric}
