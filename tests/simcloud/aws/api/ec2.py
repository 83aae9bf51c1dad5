"""EC2: describing things, tags, terminating. The other operations that start instances are in `fleet`."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...core.failure import Refused, refuse_all
from ...core.store import Thing
from .. import facts, images, instances, layout, machines
from ..cloud import Cloud, tag_problems
from ..resources import network, reservations, templates
from . import listing

Values = Mapping[str, Any]
INSTANCE_FILTERS: Mapping[str, Callable[[Values], Any]] = {
    "instance-state-name": lambda one: one["State"]["Name"], "instance-state-code": lambda one: str(one["State"]["Code"]), "instance-type": lambda one: one["InstanceType"],
    "vpc-id": lambda one: one.get("VpcId"), "subnet-id": lambda one: one.get("SubnetId"), "availability-zone": lambda one: one["Placement"]["AvailabilityZone"],
    "image-id": lambda one: one["ImageId"], "private-ip-address": lambda one: one.get("PrivateIpAddress"), "private-dns-name": lambda one: one.get("PrivateDnsName"),
    "instance-lifecycle": lambda one: one.get("InstanceLifecycle"), "placement-group-name": lambda one: one["Placement"].get("GroupName"), "instance-id": lambda one: one["InstanceId"],
    "capacity-reservation-id": lambda one: one.get("CapacityReservationId"), "key-name": lambda one: one.get("KeyName"),
}  # fmt: skip


def describe_instances(cloud: Cloud, asked: Values, region: str) -> Values:
    things = _instances(cloud, asked.get("InstanceIds"), region)
    shown = [(thing, instances.describe(cloud, thing)) for thing in things]
    shown = [(thing, one) for thing, one in shown if listing.passes(asked.get("Filters", ()), one, INSTANCE_FILTERS)]
    page, token = listing.page(asked, shown, listed=bool(asked.get("InstanceIds")))
    reservation = {"OwnerId": facts.ACCOUNT, "Groups": []}
    return {"Reservations": [{**reservation, "ReservationId": f"r-{thing.id[2:]}", "Instances": [one]} for thing, one in page], "NextToken": token}


STATUS_FILTERS: Mapping[str, Callable[[Values], Any]] = {
    "availability-zone": lambda one: one["AvailabilityZone"], "instance-state-name": lambda one: one["InstanceState"]["Name"],
    "instance-state-code": lambda one: str(one["InstanceState"]["Code"]), "instance-status.status": lambda one: one["InstanceStatus"]["Status"],
    "system-status.status": lambda one: one["SystemStatus"]["Status"], "event.code": lambda one: [event["Code"] for event in one["Events"]],
}  # fmt: skip
"""Tags are none of them (EC2 API reference, DescribeInstanceStatus)."""
STATUSES_OF_LISTED = 100  # the same: explicitly named instances


def describe_instance_status(cloud: Cloud, asked: Values, region: str) -> Values:
    if len(asked.get("InstanceIds", ())) > STATUSES_OF_LISTED:
        raise Refused("InvalidParameterValue", f"The maximum number of instance IDs is {STATUSES_OF_LISTED}")
    if any(one.get("Name", "").startswith("tag") for one in asked.get("Filters", ())):
        raise Refused("InvalidParameterValue", "The filter 'tag' is invalid")
    shown = [_status(cloud, thing) for thing in _instances(cloud, asked.get("InstanceIds"), region)]
    shown = [one for one in shown if asked.get("IncludeAllInstances") or one["InstanceState"]["Name"] == "running"]
    return listing.paged(asked, "InstanceStatuses", shown, STATUS_FILTERS, listed=bool(asked.get("InstanceIds")))


def _status(cloud: Cloud, thing: Thing) -> Values:
    state = instances.state(cloud, thing)
    health = "not-applicable" if state != "running" else "impaired" if thing.get("impaired") else "ok"
    summary = {"Status": health, "Details": [{"Name": "reachability", "Status": "failed" if health == "impaired" else "passed"}]}
    return {
        "InstanceId": thing.id, "AvailabilityZone": thing["api"]["Placement"]["AvailabilityZone"], "InstanceState": {"Code": instances.CODES[state], "Name": state},
        "InstanceStatus": summary, "SystemStatus": summary, "Events": thing.get("events", []),
    }  # fmt: skip


def terminate_instances(cloud: Cloud, asked: Values, region: str) -> Values:
    """End instances; a protected one is refused, and with it the others of its zone (Amazon EC2 API Reference, TerminateInstances)."""
    things = _instances(cloud, asked["InstanceIds"], region)
    protected = [thing for thing in things if (thing.get("protected") or thing.get("disableApiTermination")) and not thing.get("ended")]
    zones = {_zone(thing) for thing in protected}
    changes = []
    for thing in things:
        if _zone(thing) in zones:
            continue
        before = instances.describe(cloud, thing)["State"]
        changes.append({"InstanceId": thing.id, "PreviousState": before, "CurrentState": instances.describe(cloud, instances.end(cloud, thing))["State"]})
    for thing in protected:
        raise Refused(
            "OperationNotPermitted", f"The instance '{thing.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again."
        )
    return {"TerminatingInstances": changes}


def _zone(thing: Thing) -> str:
    return str(thing["api"]["Placement"]["AvailabilityZone"])


def get_console_output(cloud: Cloud, asked: Values, region: str) -> Values:
    (thing,) = _instances(cloud, [asked["InstanceId"]], region)
    text = instances.backing.describe(thing.id).get("ConsoleOutput", "")
    return {"InstanceId": thing.id, "Output": _base64(text), "Timestamp": cloud.store.clock.now_s()}


def describe_subnets(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [_subnet(cloud, thing) for thing in _listed(cloud, "ec2.Subnet", asked.get("SubnetIds"), region)]
    filters = {"vpc-id": lambda one: one["VpcId"], "subnet-id": lambda one: one["SubnetId"], "availability-zone": lambda one: one["AvailabilityZone"],
               "cidr-block": lambda one: one["CidrBlock"], "state": lambda one: one["State"]}  # fmt: skip
    return listing.paged(asked, "Subnets", shown, filters, listed=bool(asked.get("SubnetIds")))


def _subnet(cloud: Cloud, thing: Thing) -> Values:
    return {
        "SubnetId": thing.id, "VpcId": thing["vpcId"], "CidrBlock": thing["cidrBlock"], "AvailabilityZone": thing["availabilityZone"], "State": "available",
        "AvailabilityZoneId": thing["availabilityZoneId"], "AvailableIpAddressCount": network.free_addresses(cloud, thing), "MapPublicIpOnLaunch": thing["mapPublicIpOnLaunch"],
        "OwnerId": facts.ACCOUNT, "SubnetArn": thing["arn"], "Tags": _tags(thing),
    }  # fmt: skip


def describe_vpcs(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [
        {"VpcId": thing.id, "CidrBlock": thing["cidrBlock"], "State": "available", "IsDefault": False, "OwnerId": facts.ACCOUNT, "InstanceTenancy": thing["instanceTenancy"],
         "CidrBlockAssociationSet": [{"AssociationId": f"vpc-cidr-assoc-{thing.id[4:]}", "CidrBlock": thing["cidrBlock"], "CidrBlockState": {"State": "associated"}}], "Tags": _tags(thing)}
        for thing in _listed(cloud, "ec2.Vpc", asked.get("VpcIds"), region)
    ]  # fmt: skip
    filters = {"vpc-id": lambda one: one["VpcId"], "cidr": lambda one: one["CidrBlock"], "state": lambda one: one["State"], "is-default": lambda one: "false"}
    return listing.paged(asked, "Vpcs", shown, filters, listed=bool(asked.get("VpcIds")))


def describe_vpc_attribute(cloud: Cloud, asked: Values, region: str) -> Values:
    thing = cloud.need("ec2.Vpc", asked["VpcId"], region=region)
    name = asked["Attribute"][0].upper() + asked["Attribute"][1:]
    if asked["Attribute"] not in ("enableDnsSupport", "enableDnsHostnames"):
        raise Refused("InvalidParameterValue", f"the simulated cloud does not know the attribute {asked['Attribute']}")
    return {"VpcId": thing.id, name: {"Value": thing[asked["Attribute"]]}}


def describe_zones(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [
        {
            "ZoneName": name,
            "ZoneId": ident,
            "RegionName": region,
            "State": "available",
            "ZoneType": "availability-zone" if name in machines.zones(region) else "local-zone",
            "OptInStatus": "opt-in-not-required" if name in machines.zones(region) else "opted-in",
            "GroupName": region if name in machines.zones(region) else name[:-1],
        }
        for name, ident in cloud.zones(region).items()
    ]
    names, idents = asked.get("ZoneNames", ()), asked.get("ZoneIds", ())
    for missing in (set(names) - set(cloud.zones(region))) | (set(idents) - set(cloud.zones(region).values())):
        raise Refused("InvalidParameterValue", f"Invalid availability zone: [{missing}]")
    shown = [one for one in shown if (not names or one["ZoneName"] in names) and (not idents or one["ZoneId"] in idents)]
    filters = {"zone-name": lambda one: one["ZoneName"], "zone-id": lambda one: one["ZoneId"], "state": lambda one: one["State"], "zone-type": lambda one: one["ZoneType"],
               "region-name": lambda one: one["RegionName"], "opt-in-status": lambda one: one["OptInStatus"]}  # fmt: skip
    return {"AvailabilityZones": [one for one in shown if listing.passes(asked.get("Filters", ()), one, filters)]}


def describe_instance_types(cloud: Cloud, asked: Values, region: str) -> Values:
    here = {name for name, _ in cloud.offered(region)}
    names = asked.get("InstanceTypes") or sorted(here)
    for name in names:
        if name not in here:
            raise Refused("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
    shown = [{key: value for key, value in layout.record(name).items() if key in KNOWN_OF_TYPES} for name in names]
    filters = {"instance-type": lambda one: one["InstanceType"], "network-info.efa-supported": lambda one: str(one["NetworkInfo"]["EfaSupported"]).lower(),
               "processor-info.supported-architecture": lambda one: one["ProcessorInfo"]["SupportedArchitectures"]}  # fmt: skip
    return listing.paged(asked, "InstanceTypes", shown, filters, listed=bool(asked.get("InstanceTypes")))


KNOWN_OF_TYPES = frozenset(
    [
        "InstanceType",
        "CurrentGeneration",
        "BareMetal",
        "Hypervisor",
        "ProcessorInfo",
        "VCpuInfo",
        "MemoryInfo",
        "InstanceStorageSupported",
        "InstanceStorageInfo",
        "EbsInfo",
        "NetworkInfo",
        "GpuInfo",
        "PlacementGroupInfo",
        "SupportedUsageClasses",
        "SupportedRootDeviceTypes",
        "SupportedVirtualizationTypes",
        "SupportedBootModes",
    ]
)


def describe_offerings(cloud: Cloud, asked: Values, region: str) -> Values:
    return listing.paged({name: value for name, value in asked.items() if name != "Filters"}, "InstanceTypeOfferings", offerings(cloud, asked, region), {})


def offerings(cloud: Cloud, asked: Values, region: str) -> list[Values]:
    """Give what is offered where, all of it."""
    where, zones = asked.get("LocationType", "region"), cloud.zones(region)
    pairs = {(name, region) for name, _ in cloud.offered(region)} if where == "region" else set(cloud.offered(region))
    if where == "availability-zone-id":
        pairs = {(name, zones[zone]) for name, zone in pairs}
    shown = [{"InstanceType": name, "Location": place, "LocationType": where} for name, place in sorted(pairs)]
    filters = {"instance-type": lambda one: one["InstanceType"], "location": lambda one: one["Location"]}
    return [one for one in shown if listing.passes(asked.get("Filters", ()), one, filters)]


def describe_reservations(cloud: Cloud, asked: Values, region: str) -> Values:
    for ident in asked.get("CapacityReservationIds", ()):
        if not re.fullmatch("cr-[0-9a-f]+", ident):
            raise Refused("InvalidCapacityReservationId.Malformed", f"The ID '{ident}' is not valid.")  # an ARN of a group is none
    shown = [_reservation(cloud, thing) for thing in _listed(cloud, "ec2.CapacityReservation", asked.get("CapacityReservationIds"), region)]
    filters = {"state": lambda one: one["State"], "instance-type": lambda one: one["InstanceType"], "availability-zone": lambda one: one["AvailabilityZone"]}
    return listing.paged(asked, "CapacityReservations", shown, filters)


def _reservation(cloud: Cloud, thing: Thing) -> Values:
    return {
        "CapacityReservationId": thing.id, "CapacityReservationArn": thing["arn"], "OwnerId": facts.ACCOUNT, "InstanceType": thing["instanceType"],
        "InstancePlatform": thing["instancePlatform"], "AvailabilityZone": thing["availabilityZone"], "Tenancy": thing.get("tenancy", "default"),
        "TotalInstanceCount": thing["instanceCount"], "AvailableInstanceCount": reservations.left(cloud, thing), "State": reservations.state(cloud, thing),
        "StartDate": thing.get("startDate"), "EndDate": thing.get("endDate"), "EndDateType": thing.get("endDateType", "unlimited"),
        "InstanceMatchCriteria": thing.get("instanceMatchCriteria", "open"), "ReservationType": thing.get("reservationType", "default"), "CreateDate": thing.made_s,
        "PlacementGroupArn": thing.get("placementGroupArn"), "Tags": _tags(thing),
    }  # fmt: skip


def describe_templates(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [_template(thing) for thing in cloud.store.all("ec2.LaunchTemplate", region=region)]
    wanted, names = asked.get("LaunchTemplateIds", ()), asked.get("LaunchTemplateNames", ())
    for missing in set(wanted) - {one["LaunchTemplateId"] for one in shown}:
        raise Refused("InvalidLaunchTemplateId.NotFound", f"The specified launch template, with template ID {missing}, does not exist.")
    for missing in set(names) - {one["LaunchTemplateName"] for one in shown}:
        raise Refused("InvalidLaunchTemplateName.NotFoundException", f"At least one of the launch templates specified in the request does not exist: {missing}")
    shown = [one for one in shown if (not wanted or one["LaunchTemplateId"] in wanted) and (not names or one["LaunchTemplateName"] in names)]
    return listing.paged(asked, "LaunchTemplates", shown, {"launch-template-name": lambda one: one["LaunchTemplateName"]})


def _template(thing: Thing) -> Values:
    return {
        "LaunchTemplateId": thing.id, "LaunchTemplateName": thing["name"], "CreateTime": thing.made_s, "DefaultVersionNumber": thing["defaultVersion"],
        "LatestVersionNumber": thing["latestVersion"], "Tags": _tags(thing),
    }  # fmt: skip


def describe_template_versions(cloud: Cloud, asked: Values, region: str) -> Values:
    """Without a template: the latest or the default versions of all of them, and no others."""
    chosen = {key: asked[key] for key in ("LaunchTemplateId", "LaunchTemplateName") if key in asked}
    wanted = asked.get("Versions")
    if chosen:
        things = [templates.versioned(cloud, chosen, region)[0]]
    elif wanted and set(wanted) <= {"$Latest", "$Default"}:
        things = list(cloud.store.all("ec2.LaunchTemplate", region=region))
    else:
        raise Refused("MissingParameter", "Either the launch template, or the versions $Latest and $Default of all must be given")
    shown = {}
    for thing in things:
        for version in wanted or thing["versions"]:
            _, number, data = templates.versioned(cloud, {"LaunchTemplateId": thing.id, "Version": version}, region)
            made = thing["versions"][number]
            shown[thing.id, number] = {
                "LaunchTemplateId": thing.id, "LaunchTemplateName": thing["name"], "VersionNumber": int(number), "VersionDescription": made["description"], "CreateTime": made["made_s"],
                "DefaultVersion": int(number) == thing["defaultVersion"], "LaunchTemplateData": data,
            }  # fmt: skip
    filters = {"image-id": lambda one: one["LaunchTemplateData"].get("ImageId")}
    return listing.paged(asked, "LaunchTemplateVersions", [*shown.values()], filters)


def describe_spot_requests(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = []
    for thing in cloud.store.all("ec2.Instance", region=region):
        ident = thing["api"].get("SpotInstanceRequestId")
        if not ident or (asked.get("SpotInstanceRequestIds") and ident not in asked["SpotInstanceRequestIds"]):
            continue
        status = "marked-for-termination" if thing.get("interruptedAt") else "fulfilled"
        if thing.get("ended"):
            status = "instance-terminated-no-capacity" if thing.get("interruptedAt") else "instance-terminated-by-user"
        state = "closed" if thing.get("ended") else "active"
        shown.append(
            {"SpotInstanceRequestId": ident, "InstanceId": thing.id, "State": state, "Status": {"Code": status}, "Type": "one-time", "Tags": _tags(thing)}
        )
    return listing.paged(
        asked,
        "SpotInstanceRequests",
        shown,
        {"instance-id": lambda one: one["InstanceId"], "status-code": lambda one: one["Status"]["Code"], "state": lambda one: one["State"]},
    )


def describe_images(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [{key: value for key, value in one.items() if key != "Parameter"} for one in images.every(cloud, region)]
    wanted = asked.get("ImageIds", ())
    for ident in wanted:
        images.need(cloud, ident, region)
    owners = {"self": facts.ACCOUNT, "amazon": images.AMAZON}
    chosen = {owners.get(owner, owner) for owner in asked.get("Owners", ())}
    shown = [one for one in shown if (not wanted or one["ImageId"] in wanted) and (not chosen or one["OwnerId"] in chosen)]
    filters = {"name": lambda one: one["Name"], "architecture": lambda one: one["Architecture"], "state": lambda one: one["State"], "owner-id": lambda one: one["OwnerId"],
               "image-id": lambda one: one["ImageId"], "root-device-type": lambda one: one["RootDeviceType"], "virtualization-type": lambda one: one["VirtualizationType"]}  # fmt: skip
    return listing.paged(asked, "Images", shown, filters)


def deregister_image(cloud: Cloud, asked: Values, region: str) -> Values:
    image = cloud.store.get("ec2.Ami", asked["ImageId"])
    if image is None or image.region != region:
        raise Refused("InvalidAMIID.NotFound", f"The image id '[{asked['ImageId']}]' does not exist")
    cloud.store.remove(image)
    results = []
    if asked.get("DeleteAssociatedSnapshots") and image.get("snapshotId"):
        cloud.store.remove(cloud.need("ebs.Snapshot", image["snapshotId"]))
        results.append({"SnapshotId": image["snapshotId"], "ReturnCode": "success"})
    return {"Return": True, "DeleteSnapshotResults": results}


def describe_groups(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [
        {
            "GroupId": thing.id,
            "GroupName": thing["name"],
            "Description": thing["description"],
            "VpcId": thing["vpcId"],
            "OwnerId": facts.ACCOUNT,
            "Tags": _tags(thing),
        }
        for thing in _listed(cloud, "ec2.SecurityGroup", asked.get("GroupIds"), region)
    ]
    filters = {"vpc-id": lambda one: one["VpcId"], "group-name": lambda one: one["GroupName"], "group-id": lambda one: one["GroupId"]}
    return listing.paged(asked, "SecurityGroups", shown, filters)


def describe_placement_groups(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = [
        {
            "GroupName": thing.id,
            "State": "available",
            "Strategy": thing["strategy"],
            "GroupId": thing["placementGroupId"],
            "GroupArn": thing["arn"],
            "Tags": _tags(thing),
        }
        for thing in _listed(cloud, "ec2.PlacementGroup", asked.get("GroupNames"), region)
    ]
    return {
        "PlacementGroups": [
            one
            for one in shown
            if listing.passes(asked.get("Filters", ()), one, {"group-name": lambda one: one["GroupName"], "strategy": lambda one: one["Strategy"]})
        ]
    }


def describe_tags(cloud: Cloud, asked: Values, region: str) -> Values:
    shown = []
    for thing in cloud.store.everything():
        if thing.kind.startswith(("ec2.", "vpc.", "ebs.")) and thing.region == region:
            kind = thing.kind.partition(".")[2]
            words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind).strip("-")
            shown += [
                {"ResourceId": thing.id, "ResourceType": words, "Key": key, "Value": value}
                for key, value in {**thing.tags, **thing.get("systemTags", {})}.items()
                if not thing.get("ended")
            ]
    filters = {
        "resource-id": lambda one: one["ResourceId"],
        "resource-type": lambda one: one["ResourceType"],
        "key": lambda one: one["Key"],
        "value": lambda one: one["Value"],
    }
    return listing.paged(asked, "Tags", shown, filters)


def create_tags(cloud: Cloud, asked: Values, region: str) -> Values:
    added = {tag["Key"]: tag.get("Value", "") for tag in asked["Tags"]}
    refuse_all(tag_problems(added), code="InvalidParameterValue")
    for thing in [_any(cloud, ident) for ident in asked["Resources"]]:
        cloud.note(thing, tags={**thing.tags, **added}, tagsAll={**thing.tags, **added})
    return {}


def delete_tags(cloud: Cloud, asked: Values, region: str) -> Values:
    gone = {tag["Key"] for tag in asked.get("Tags", ())}
    for thing in [_any(cloud, ident) for ident in asked["Resources"]]:
        kept = {key: value for key, value in thing.tags.items() if gone and key not in gone}
        cloud.note(thing, tags=kept, tagsAll=kept)
    return {}


def _any(cloud: Cloud, ident: str) -> Thing:
    for thing in cloud.store.everything():
        if thing.id == ident and thing.kind == "ec2.Instance" and not instances.visible(cloud, thing):
            raise Refused("InvalidInstanceID.NotFound", f"The instance ID '{ident}' does not exist")
        if thing.id == ident and thing.kind.startswith(("ec2.", "vpc.", "ebs.")):
            return thing
    raise Refused("InvalidID", f"The ID '{ident}' is not valid")


def _instances(cloud: Cloud, idents: Sequence[str] | None, region: str) -> list[Thing]:
    if not idents:
        return [thing for thing in cloud.store.all("ec2.Instance", region=region) if instances.visible(cloud, thing)]
    found = []
    missing = []
    for ident in idents:
        if not ident.startswith("i-"):
            raise Refused("InvalidInstanceID.Malformed", f'Invalid id: "{ident}" (expecting "i-...")')
        thing = cloud.store.get("ec2.Instance", ident)
        if thing is None or thing.region != region or not instances.visible(cloud, thing):
            missing.append(ident)
        else:
            found.append(thing)
    if missing:
        words = f"The instance IDs '{', '.join(missing)}' do not exist" if len(missing) > 1 else f"The instance ID '{missing[0]}' does not exist"
        raise Refused("InvalidInstanceID.NotFound", words)
    return found


def _listed(cloud: Cloud, kind: str, idents: Sequence[str] | None, region: str) -> list[Thing]:
    return [cloud.need(kind, ident, region=region) for ident in idents] if idents else list(cloud.store.all(kind, region=region))


def _tags(thing: Thing) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in thing.tags.items()]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OPERATIONS = {
    "ec2.DescribeInstances": describe_instances, "ec2.DescribeInstanceStatus": describe_instance_status, "ec2.TerminateInstances": terminate_instances,
    "ec2.GetConsoleOutput": get_console_output, "ec2.DescribeSubnets": describe_subnets, "ec2.DescribeVpcs": describe_vpcs, "ec2.DescribeVpcAttribute": describe_vpc_attribute,
    "ec2.DescribeAvailabilityZones": describe_zones, "ec2.DescribeInstanceTypes": describe_instance_types, "ec2.DescribeInstanceTypeOfferings": describe_offerings,
    "ec2.DescribeCapacityReservations": describe_reservations, "ec2.DescribeLaunchTemplates": describe_templates,
    "ec2.DescribeLaunchTemplateVersions": describe_template_versions, "ec2.DescribeSpotInstanceRequests": describe_spot_requests, "ec2.DescribeImages": describe_images, "ec2.DeregisterImage": deregister_image,
    "ec2.DescribeSecurityGroups": describe_groups, "ec2.DescribePlacementGroups": describe_placement_groups, "ec2.DescribeTags": describe_tags, "ec2.CreateTags": create_tags,
    "ec2.DeleteTags": delete_tags,
}  # fmt: skip
