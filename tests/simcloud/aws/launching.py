"""Start instances: every check that EC2 makes when a launch comes, from a program's Instance, RunInstances or CreateFleet alike.

Codes: EC2 API reference, "Error codes". Volume limits: EBS user guide, "Amazon EBS volume types".
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused, refuse_all
from ..core.store import Interface, Thing
from . import images, layout, quotas
from .cloud import tag_problems
from .resources import network, reservations
from .resources.templates import check_user_data, versioned

if TYPE_CHECKING:
    from .cloud import Cloud

# GiB, IOPS and MB/s that a volume type takes.
VOLUMES: Mapping[str, tuple[tuple[int, int], tuple[int, int] | None, tuple[int, int] | None]] = {
    "gp3": ((1, 65536), (3000, 80000), (125, 2000)), "gp2": ((1, 16384), None, None), "io1": ((4, 16384), (100, 64000), None), "io2": ((4, 65536), (100, 256000), None),
    "st1": ((125, 16384), None, None), "sc1": ((125, 16384), None, None), "standard": ((1, 1024), None, None),
}  # fmt: skip
SPREAD_MOST = 7
GROUPS_OF_ONE_MACHINE = frozenset({"t2", "t3", "t3a", "t4g", "mac1", "mac2"})


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """A launch that every rule let pass.

    Args:
        request: RunInstances' parameters with the template's under them.
        layouts: the wanted interfaces, all in one subnet each, the primary one first.
        lifecycle: `on-demand`, `spot` or `capacity-block`.
    """

    request: Mapping[str, Any]
    machine: str
    image: Mapping[str, Any]
    layouts: Sequence[Mapping[str, Any]]
    vpc: str
    zone: str
    lifecycle: str
    reservation: Thing | None
    template: Mapping[str, str] | None

    @property
    def vcpus(self) -> int:
        return int(layout.record(self.machine)["VCpuInfo"]["DefaultVCpus"])


def prepare(cloud: "Cloud", request: Mapping[str, Any], region: str) -> Launch:
    """Check a launch of one instance, whatever their number will be.

    Raises:
        Refused: as EC2 would.
    """
    merged, template = _with_template(cloud, request, region)
    machine = merged.get("InstanceType") or "m1.small"  # EC2's default, offered nowhere new
    record = layout.record(machine)
    if not merged.get("ImageId"):
        raise Refused("MissingParameter", "The request must contain the parameter ImageId")
    image = images.need(cloud, merged["ImageId"], region)
    if image["Architecture"] not in record["ProcessorInfo"]["SupportedArchitectures"]:
        raise Refused("InvalidParameterValue", f"The architecture '{image['Architecture']}' of {image['ImageId']} does not match that of {machine}")
    layouts = _layouts(merged)
    layout.check(machine, layouts)
    vpc, zone = _place(cloud, layouts, merged, machine, region)
    _check_names(cloud, merged, region)
    _check_volumes(merged.get("BlockDeviceMappings", ()), image)
    _check_cpus(merged.get("CpuOptions"), record, machine)
    check_user_data(merged.get("UserData"))
    for one in merged.get("TagSpecifications", ()):
        refuse_all(tag_problems({tag["Key"]: tag.get("Value", "") for tag in one.get("Tags", ())}), code="InvalidParameterValue")
    market = merged.get("InstanceMarketOptions", {}).get("MarketType")
    lifecycle = market or "on-demand"
    reservation = reservations.targeted(cloud, merged, machine=machine, zone=zone, lifecycle=lifecycle)
    _check_placement(cloud, merged, machine, reservation)
    return Launch(merged, machine, image, layouts, vpc, zone, lifecycle, reservation, template)


def room(cloud: "Cloud", launch: Launch) -> tuple[int | None, Refused | None]:
    """Give how many instances of a launch could start now (None: no limit), and what stops the next one."""
    stops: list[tuple[int, Refused]] = []
    running = [thing for thing in cloud.store.all("ec2.Instance") if not thing.get("ended") and thing["api"]["InstanceType"] == launch.machine]
    if launch.reservation is not None:
        left = reservations.left(cloud, launch.reservation)
        stops.append(
            (
                left,
                Refused("ReservationCapacityExceeded", f"{launch.reservation.id} does not have sufficient compatible and available capacity for this request."),
            )
        )
    else:
        stops += _capacity_stops(cloud, launch, running)
    stops += _spread_stops(cloud, launch)
    if launch.lifecycle != "capacity-block" and (quota := quotas.of_machine(launch.machine, is_spot=launch.lifecycle == "spot")):
        used = sum(thing["vcpus"] for thing in cloud.store.all("ec2.Instance") if not thing.get("ended") and thing.get("quota") == quota.code)
        limit = quotas.value(cloud, quota.code)
        code = "MaxSpotInstanceCountExceeded" if quota.is_spot else "VcpuLimitExceeded"
        message = f"You have requested more vCPU capacity than your current vCPU limit of {limit:g} allows for the instance bucket of {quota.code}."
        stops.append((int((limit - used) // launch.vcpus), Refused(code, message)))
    return min(stops, key=lambda stop: stop[0], default=(None, None))


def disk_keys(request: Mapping[str, Any]) -> list[str]:
    """Give the keys of the disks that a launch asks to be encrypted; an empty text is the account's default."""
    volumes = [one["Ebs"] for one in request.get("BlockDeviceMappings", ()) if one.get("Ebs", {}).get("Encrypted")]
    return [str(one.get("KmsKeyId") or "") for one in volumes]


def addresses(cloud: "Cloud", launch: Launch, number: int) -> list[tuple[Interface, ...]]:
    """Take the addresses for so many instances; all of them or none."""
    fresh: dict[str, set[str]] = {}
    return [_own_interfaces(cloud, launch, fresh) for _ in range(number)]


def _own_interfaces(cloud: "Cloud", launch: Launch, fresh: dict[str, set[str]]) -> tuple[Interface, ...]:
    return tuple(_interface(cloud, wanted, fresh) for wanted in launch.layouts)


def _interface(cloud: "Cloud", wanted: Mapping[str, Any], fresh: dict[str, set[str]]) -> Interface:
    kind = wanted.get("InterfaceType", "interface")
    groups = tuple(wanted.get("Groups", ()))
    if wanted.get("NetworkInterfaceId"):
        own = cloud.need("ec2.NetworkInterface", wanted["NetworkInterfaceId"]).interfaces[0]
        return Interface(own.subnet, None, own.groups, own.id, kind)
    if kind == "efa-only":
        return Interface(wanted["SubnetId"], None, groups, f"eni-{cloud.store.new_hex()}", kind)
    taken = fresh.setdefault(wanted["SubnetId"], set())
    interface = network.new_interface(cloud, wanted["SubnetId"], groups, address=wanted.get("PrivateIpAddress"), taken=taken)
    if interface.address:
        taken.add(interface.address)
    return dataclasses.replace(interface, fabric=kind)


def _with_template(cloud: "Cloud", request: Mapping[str, Any], region: str) -> tuple[Mapping[str, Any], Mapping[str, str] | None]:
    if "LaunchTemplate" not in request:
        return request, None
    template, version, data = versioned(cloud, request["LaunchTemplate"], region)
    specifications = [*data.get("TagSpecifications", ()), *request.get("TagSpecifications", ())]
    placement = {**data.get("Placement", {}), **request.get("Placement", {})}
    merged = {**data, **{name: value for name, value in request.items() if name != "LaunchTemplate"}, "TagSpecifications": specifications}
    if placement:
        merged["Placement"] = placement
    return merged, {"LaunchTemplateId": template.id, "LaunchTemplateName": template["name"], "Version": version}


def _layouts(merged: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    wanted = merged.get("NetworkInterfaces")
    if not wanted:
        if not merged.get("SubnetId"):
            raise Refused("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
        single = {"DeviceIndex": 0, "SubnetId": merged["SubnetId"], "Groups": merged.get("SecurityGroupIds", [])}
        return [{**single, **({"PrivateIpAddress": merged["PrivateIpAddress"]} if merged.get("PrivateIpAddress") else {})}]
    for name, what in (("SubnetId", "subnet ID"), ("SecurityGroupIds", "security groups"), ("PrivateIpAddress", "private address")):
        if merged.get(name):
            raise Refused("InvalidParameterCombination", f"Network interfaces and an instance-level {what} may not be specified on the same request")
    return sorted(wanted, key=lambda one: (one.get("NetworkCardIndex", 0), one.get("DeviceIndex", 0)))


def _place(cloud: "Cloud", layouts: Sequence[Mapping[str, Any]], merged: Mapping[str, Any], machine: str, region: str) -> tuple[str, str]:
    homes = []
    for one in layouts:
        if one.get("NetworkInterfaceId"):
            own = cloud.need("ec2.NetworkInterface", one["NetworkInterfaceId"])
            homes.append(cloud.need("ec2.Subnet", own["subnetId"], region=region))
            continue
        if not one.get("SubnetId"):
            raise Refused("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
        home = cloud.need("ec2.Subnet", one["SubnetId"], region=region)
        groups = one.get("Groups", ())
        quotas.refuse_beyond(cloud, "L-2AFB9258", len(groups), refusal="SecurityGroupsPerInterfaceLimitExceeded")
        network.refuse_foreign_groups(cloud, groups, home["vpcId"])
        homes.append(home)
    zones, vpcs = {home["availabilityZone"] for home in homes}, {home["vpcId"] for home in homes}
    if len(zones) > 1 or len(vpcs) > 1:
        raise Refused(
            "InvalidParameterCombination", f"Network interfaces of one instance lie in different zones or networks: {', '.join(sorted(zones | vpcs))}"
        )
    ((zone,), (vpc,)) = zones, vpcs
    asked = merged.get("Placement", {}).get("AvailabilityZone")
    if asked and asked != zone:
        raise Refused("InvalidParameterValue", f"The availability zone '{asked}' does not match the subnet's, {zone}")
    if (machine, zone) not in cloud.offered(region):
        offered = sorted(place for name, place in cloud.offered(region) if name == machine)
        where = f"Please retry your request by choosing {', '.join(offered)}." if offered else f"It is not offered in {region}."
        raise Refused("Unsupported", f"Your requested instance type ({machine}) is not supported in your requested Availability Zone ({zone}). {where}")
    return vpc, zone


def _check_names(cloud: "Cloud", merged: Mapping[str, Any], region: str) -> None:
    if key := merged.get("KeyName"):
        cloud.need("ec2.KeyPair", key, region=region)
    if profile := merged.get("IamInstanceProfile"):
        given = profile.get("Arn") or profile.get("Name")
        found = cloud.find("iam.InstanceProfile", given) if given else None
        if found is None or not found.get("role"):
            raise Refused("InvalidParameterValue", f"Value ({given}) for parameter iamInstanceProfile is invalid. Invalid IAM Instance Profile")
    if group := merged.get("Placement", {}).get("GroupName"):
        cloud.need("ec2.PlacementGroup", group, region=region)
    for mapping in merged.get("BlockDeviceMappings", ()):
        if key := mapping.get("Ebs", {}).get("KmsKeyId"):
            cloud.need("kms.Key|kms.Alias", key, region=region)


def _check_placement(cloud: "Cloud", merged: Mapping[str, Any], machine: str, reservation: Thing | None) -> None:
    group = merged.get("Placement", {}).get("GroupName")
    if not group:
        return
    strategy = cloud.need("ec2.PlacementGroup", group)["strategy"]
    if strategy == "cluster" and machine.split(".")[0] in GROUPS_OF_ONE_MACHINE:
        raise Refused("InvalidParameterCombination", f"Cluster placement groups are not supported by the '{machine}' instance type.")
    if reservation is not None and reservation.get("reservationType") == "capacity-block":
        raise Refused("InvalidParameterCombination", "Placement groups can't be used with a Capacity Block: it brings its own placement.")


def _check_volumes(mappings: Sequence[Mapping[str, Any]], image: Mapping[str, Any]) -> None:
    least = {one["DeviceName"]: one["Ebs"]["VolumeSize"] for one in image["BlockDeviceMappings"]}
    for mapping in mappings:
        volume, device = mapping.get("Ebs"), mapping.get("DeviceName")
        if volume is None:
            continue
        size = volume.get("VolumeSize")
        if size is None and device not in least and not volume.get("SnapshotId"):
            raise Refused("MissingParameter", f"The request must contain the parameter size or snapshotId for {device}")
        if size is not None and size < least.get(device, 0):
            raise Refused("InvalidBlockDeviceMapping", f"Volume of size {size}GB is smaller than snapshot of the image, expect size >= {least[device]}GB")
        check_volume(volume.get("VolumeType", "gp2"), size=size, iops=volume.get("Iops"), throughput=volume.get("Throughput"))
        if volume.get("KmsKeyId") and volume.get("Encrypted") is not True:
            raise Refused("InvalidParameterDependency", "The parameter KmsKeyId requires the parameter Encrypted to be set.")


def check_volume(kind: str, *, size: int | None, iops: int | None, throughput: int | None) -> None:
    """Refuse a volume that its type does not allow."""
    sizes, rates, flows = VOLUMES[kind]
    for name, value, span in (("size", size, sizes), ("iops", iops, rates), ("throughput", throughput, flows)):
        if value is None:
            continue
        if span is None:
            raise Refused("InvalidParameterCombination", f"The parameter {name} is not supported for {kind} volumes.")
        if not span[0] <= value <= span[1]:
            raise Refused("InvalidParameterValue", f"{name} {value} of a {kind} volume is not from {span[0]} to {span[1]}")
    if kind in ("io1", "io2") and iops is None:
        raise Refused("MissingParameter", f"The request must contain the parameter iops for {kind} volumes")
    if throughput is not None and throughput > max(iops or 3000, 3000) / 4:
        raise Refused("InvalidParameterValue", f"throughput {throughput} needs at least {throughput * 4} iops")


def _check_cpus(options: Mapping[str, Any] | None, record: Mapping[str, Any], machine: str) -> None:
    if not options:
        return
    cpus = record["VCpuInfo"]
    if options.get("CoreCount") is not None and options["CoreCount"] not in cpus.get("ValidCores", [cpus["DefaultCores"]]):
        raise Refused("InvalidParameterValue", f"CoreCount {options['CoreCount']} is not valid for {machine}")
    if options.get("ThreadsPerCore") is not None and options["ThreadsPerCore"] not in cpus.get("ValidThreadsPerCore", [cpus["DefaultThreadsPerCore"]]):
        raise Refused("InvalidParameterValue", f"ThreadsPerCore {options['ThreadsPerCore']} is not valid for {machine}")


def _spread_stops(cloud: "Cloud", launch: Launch) -> list[tuple[int, Refused]]:
    """EC2 User Guide, "Placement strategies for your placement groups": seven running instances of a spread group in a zone."""
    group = launch.request.get("Placement", {}).get("GroupName")
    if not group or cloud.need("ec2.PlacementGroup", group)["strategy"] != "spread":
        return []
    places = [thing["api"]["Placement"] for thing in cloud.store.all("ec2.Instance") if not thing.get("ended")]
    there = sum(1 for one in places if (one.get("GroupName"), one["AvailabilityZone"]) == (group, launch.zone))
    message = f"The placement group {group} has {SPREAD_MOST} running instances in {launch.zone}, the most of a spread placement group in one zone."
    return [(SPREAD_MOST - there, Refused("InsufficientInstanceCapacity", message))]


def _capacity_stops(cloud: "Cloud", launch: Launch, running: Sequence[Thing]) -> list[tuple[int, Refused]]:
    stops = []
    unreserved = [thing for thing in running if not thing["api"].get("CapacityReservationId")]
    for place, there in (
        (launch.machine, unreserved),
        (f"{launch.machine}/{launch.zone}", [one for one in unreserved if one["api"]["Placement"]["AvailabilityZone"] == launch.zone]),
    ):
        limit = cloud.store.settings.get("capacity", {}).get(place)
        if limit is not None:
            message = f"We currently do not have sufficient {launch.machine} capacity in the Availability Zone you requested ({launch.zone})."
            stops.append((int(limit) - len(there), Refused("InsufficientInstanceCapacity", message)))
    return stops
