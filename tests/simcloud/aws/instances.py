"""Instances as they live: started, seen by the clock, ended. They are kept in the form of DescribeInstances, whoever started them."""

import dataclasses
import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.store import Interface, Thing
from . import facts, launching, layout, machines, quotas
from .backing import Backing, Pretended

if TYPE_CHECKING:
    from .cloud import Cloud

ENDING_S = 2.0  # shutting-down before terminated
BLOCK_ENDS_EARLY_S = 1800.0  # EC2 user guide, "Capacity Blocks for ML": instances are terminated 30 minutes before the block ends
SEEN_S = 3600.0  # EC2 user guide, "Terminate your instance": it remains visible for a while
PENDING_S = 5.0
CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

backing: Backing = Pretended()


def start(cloud: "Cloud", launch: launching.Launch, number: int, *, region: str, door: str, extra: Sequence[Mapping[str, Any]] = ()) -> list[Thing]:
    """Start so many instances of a launch that has room for them.

    Raises:
        Refused: the addresses do not suffice; nothing is started then.
    """
    taken = launching.addresses(cloud, launch, number)
    return [cloud.store.put(new(cloud, launch, interfaces, region=region, door=door, extra=extra)) for interfaces in taken]


def new(
    cloud: "Cloud", launch: launching.Launch, interfaces: tuple[Interface, ...], *, region: str, door: str, ident: str | None = None, extra: Sequence[Mapping[str, Any]] = ()
) -> Thing:  # fmt: skip
    """Make one instance, without putting it into the store."""
    ident, now = ident or f"i-{cloud.store.new_hex()}", cloud.store.clock.now_s()
    tags = _tags([*launch.request.get("TagSpecifications", ()), *extra], "instance")
    api = _described(launch, ident, interfaces, now, [address(cloud, one) for one in interfaces])
    quota = quotas.of_machine(launch.machine, is_spot=launch.lifecycle == "spot")
    template = launch.template or {}
    own = {f"aws:ec2launchtemplate:{name}": template[key] for name, key in (("id", "LaunchTemplateId"), ("version", "Version")) if template}
    pending_s = 0.0 if door == "provider" else float(cloud.store.settings.get("pending_s", PENDING_S))
    properties: dict[str, Any] = {
        "api": api, "tags": tags, "tagsAll": tags, "vcpus": launch.vcpus, "quota": quota.code if quota else None, "vpcId": launch.vpc, "runsAt": now + pending_s,
        "publicIp": api.get("PublicIpAddress"), "backing": backing.name, "userData": launch.request.get("UserData"), "systemTags": own,
        "protected": bool(launch.request.get("DisableApiTermination")), "short": _short(cloud, launch), "diskKeys": launching.disk_keys(launch.request),
    }  # fmt: skip
    backing.start({**api, "Tags": _tag_list(tags), "UserData": launch.request.get("UserData")})
    return Thing("ec2.Instance", ident, region, properties, door, now, interfaces)


def _short(cloud: "Cloud", launch: launching.Launch) -> Mapping[str, int]:
    """Say what an instance comes without; a test asks for it (`short`), one entry for each of the next instances with GPUs."""
    first, *others = cloud.store.settings.get("short") or [{}]
    if not (first and machines.gpus(launch.machine)):
        return {}
    cloud.store.set_setting("short", others)
    return dict(first)


def address(cloud: "Cloud", interface: Interface) -> str | None:
    """Give an interface's private address; one that was there before its instance has its own."""
    kept = cloud.store.get("ec2.NetworkInterface", interface.id) if interface.address is None else None
    return kept.interfaces[0].address if kept else interface.address


def end(cloud: "Cloud", thing: Thing, *, reason: str = "User initiated", code: str = "Client.UserInitiatedShutdown") -> Thing:
    """Terminate an instance: its addresses are free at once, its description stays for a while."""
    if thing.get("ended"):
        return thing
    now = cloud.store.clock.now_s()
    backing.stop(thing.id)
    when = dt.datetime.fromtimestamp(now, dt.UTC).strftime("%Y-%m-%d %H:%M:%S GMT")
    ended = {**thing.properties, "ended": now, "reason": {"Code": code, "Message": f"{code}: {reason}"}, "transition": f"{reason} ({when})"}
    for attachment in [one for one in cloud.store.all("ec2.VolumeAttachment") if one["instanceId"] == thing.id]:
        cloud.store.remove(attachment)
    return cloud.store.put(dataclasses.replace(thing, properties=ended, interfaces=()))


def state(cloud: "Cloud", thing: Thing) -> str:
    """Give an instance's state by the clock."""
    now = cloud.store.clock.now_s()
    if ended := thing.get("ended"):
        return "shutting-down" if now < ended + ENDING_S else "terminated"
    if thing.get("stopped"):
        return "stopped"
    return "pending" if now < thing["runsAt"] else "running"


def describe(cloud: "Cloud", thing: Thing) -> dict[str, Any]:
    """Give an instance as DescribeInstances shows it now."""
    now, name = cloud.store.clock.now_s(), state(cloud, thing)
    shown = {
        **thing["api"],
        "State": {"Code": CODES[name], "Name": name},
        "Tags": _tag_list({**thing.tags, **thing.get("systemTags", {})}),
        "StateTransitionReason": thing.get("transition", ""),
    }
    if thing.get("ended"):
        for gone in ("PrivateIpAddress", "PublicIpAddress", "SubnetId", "VpcId"):
            shown.pop(gone, None)
        return {**shown, "StateReason": thing["reason"], "NetworkInterfaces": [], "SecurityGroups": []}
    if now < thing.made_s + float(cloud.store.settings.get("address_lag_s", 0)):
        # Seen in the real service when many instances start at once: aws-parallelcluster#7265.
        for late in ("PrivateIpAddress", "PrivateDnsName"):
            shown.pop(late, None)
        shown["NetworkInterfaces"] = []
    return shown


def visible(cloud: "Cloud", thing: Thing) -> bool:
    """Say whether DescribeInstances knows the instance: not yet for a while when a test makes it late, not for ever after its end."""
    now = cloud.store.clock.now_s()
    if now < thing.made_s + float(cloud.store.settings.get("describe_lag_s", 0)):
        return False
    return not (thing.get("ended") and now > thing["ended"] + SEEN_S)


def by_time(cloud: "Cloud") -> None:
    """Do what the clock has brought: interrupted spot instances end, those in a block whose time is over, too."""
    from .resources import reservations

    now = cloud.store.clock.now_s()
    for thing in cloud.store.all("ec2.Instance"):
        if thing.get("ended"):
            continue
        if thing.get("interruptedAt") and now >= thing["interruptedAt"]:
            end(cloud, thing, reason="Spot interruption", code="Server.SpotInstanceTermination")
            continue
        ident = thing["api"].get("CapacityReservationId")
        reservation = cloud.store.get("ec2.CapacityReservation", ident) if ident else None
        if (
            reservation
            and reservation.get("reservationType") == reservations.BLOCK
            and reservations.seconds(reservation["endDate"]) - BLOCK_ENDS_EARLY_S <= now
        ):
            end(cloud, thing, reason="Capacity Block expired", code="Server.ScheduledStop")


def _described(launch: launching.Launch, ident: str, interfaces: tuple[Interface, ...], now: float, addresses: Sequence[str | None]) -> dict[str, Any]:
    request, record = launch.request, layout.record(launch.machine)
    primary, cpus = interfaces[0], record["VCpuInfo"]
    placement = {**request.get("Placement", {}), "AvailabilityZone": launch.zone}
    placement.setdefault("Tenancy", "default")
    described: dict[str, Any] = {
        "InstanceId": ident, "ImageId": launch.image["ImageId"], "InstanceType": launch.machine, "LaunchTime": now, "Placement": placement, "VpcId": launch.vpc,
        "SubnetId": primary.subnet, "PrivateIpAddress": addresses[0], "PrivateDnsName": f"ip-{(addresses[0] or '').replace('.', '-')}.ec2.internal",
        "Architecture": launch.image["Architecture"], "RootDeviceName": launch.image["RootDeviceName"], "RootDeviceType": "ebs", "VirtualizationType": "hvm", "Hypervisor": "xen",
        "EbsOptimized": bool(request.get("EbsOptimized")), "EnaSupport": True, "SecurityGroups": [{"GroupId": group, "GroupName": group} for group in primary.groups],
        "CpuOptions": {"CoreCount": cpus["DefaultCores"], "ThreadsPerCore": cpus["DefaultThreadsPerCore"], **request.get("CpuOptions", {})},
        "MetadataOptions": {"State": "applied", "HttpTokens": "optional", "HttpEndpoint": "enabled", "HttpPutResponseHopLimit": 1, **request.get("MetadataOptions", {})},
        "Monitoring": {"State": "enabled" if request.get("Monitoring", {}).get("Enabled") else "disabled"},
        "NetworkInterfaces": [_interface(*one) for one in zip(interfaces, launch.layouts, addresses, strict=True)],
    }  # fmt: skip
    if launch.lifecycle != "on-demand":
        described["InstanceLifecycle"] = launch.lifecycle
    if launch.lifecycle == "spot":
        described["SpotInstanceRequestId"] = f"sir-{ident[2:10]}"
    if launch.reservation is not None:
        described["CapacityReservationId"] = launch.reservation.id
    if request.get("KeyName"):
        described["KeyName"] = request["KeyName"]
    if profile := request.get("IamInstanceProfile"):
        name = profile.get("Name") or profile["Arn"].rpartition("/")[2]
        described["IamInstanceProfile"] = {"Arn": f"arn:aws:iam::{facts.ACCOUNT}:instance-profile/{name}", "Id": f"AIPA{ident[2:18].upper()}"}
    return described


def _interface(interface: Interface, wanted: Mapping[str, Any], address: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "NetworkInterfaceId": interface.id, "SubnetId": interface.subnet, "InterfaceType": interface.fabric, "Groups": [{"GroupId": group, "GroupName": group} for group in interface.groups],
        "Status": "in-use",
        "Attachment": {"DeviceIndex": wanted.get("DeviceIndex", 0), "NetworkCardIndex": wanted.get("NetworkCardIndex", 0), "Status": "attached",
                       "DeleteOnTermination": wanted.get("DeleteOnTermination", True), "AttachmentId": f"eni-attach-{interface.id[4:]}"},
    }  # fmt: skip
    if address:
        shown |= {"PrivateIpAddress": address, "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": address}]}
    return shown


def _tags(specifications: Sequence[Mapping[str, Any]], kind: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for one in specifications if one.get("ResourceType") == kind for tag in one.get("Tags", ())}


def _tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
