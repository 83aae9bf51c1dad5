"""What is asked before anything is made: regions, blocks on offer, keys, file systems, addresses."""

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import facts, machines
from ..cloud import Cloud
from .listing import page, paged

Values = Mapping[str, Any]
ALWAYS_THERE = ("ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ca-central-1", "eu-central-1", "eu-north-1",
                "eu-west-1", "eu-west-2", "eu-west-3", "sa-east-1", "us-east-1", "us-east-2", "us-west-1", "us-west-2")  # fmt: skip
"""Regions that every account has; others are opted in to (AWS Account Management reference guide, "Enable or disable AWS Regions")."""


def describe_regions(cloud: Cloud, asked: Values, region: str) -> Values:
    opted: Mapping[str, str] = cloud.store.settings.get("regions", {})
    shown = [_region(name, opted) for name in machines.regions()]
    wanted = asked.get("RegionNames", ())
    for missing in set(wanted) - {one["RegionName"] for one in shown}:
        raise Refused("InvalidParameterValue", f"Invalid region: [{missing}]")
    return {
        "Regions": [one for one in shown if one["RegionName"] in wanted or (not wanted and (asked.get("AllRegions") or one["OptInStatus"] != "not-opted-in"))]
    }


def _region(name: str, opted: Mapping[str, str]) -> Values:
    status = opted.get(name, "opt-in-not-required" if name in ALWAYS_THERE else "not-opted-in")
    return {"RegionName": name, "Endpoint": f"ec2.{name}.amazonaws.com", "OptInStatus": status}


def describe_block_offerings(cloud: Cloud, asked: Values, region: str) -> Values:
    """List what a test put on offer: the setting `blocks`, a list of [machine, zone, count, hours, starts in s, fee]."""
    if "CapacityDurationHours" not in asked:
        raise Refused("MissingParameter", "The request must contain the parameter CapacityDurationHours")
    shown: list[Values] = []
    for machine, zone, count, hours, starts_in_s, fee in cloud.store.settings.get("blocks", ()):
        if (machine, count, hours) != (asked.get("InstanceType"), asked.get("InstanceCount"), asked["CapacityDurationHours"]) or zone not in cloud.zones(
            region
        ):
            continue
        starts = dt.datetime.fromtimestamp(cloud.store.clock.now_s() + starts_in_s, dt.UTC)
        shown.append({
            "CapacityBlockOfferingId": f"cbo-{len(shown):017x}", "InstanceType": machine, "AvailabilityZone": zone, "InstanceCount": count, "StartDate": starts.isoformat(),
            "EndDate": (starts + dt.timedelta(hours=hours)).isoformat(), "CapacityBlockDurationHours": hours, "UpfrontFee": str(fee), "CurrencyCode": "USD", "Tenancy": "default",
        })  # fmt: skip
    return paged(asked, "CapacityBlockOfferings", shown, {})


def head_bucket(cloud: Cloud, asked: Values, region: str) -> Values:
    """Say that a bucket is there; the setting `foreign_buckets` lists others' that let this account in."""
    found = cloud.store.get("s3.Bucket", asked["Bucket"])
    if found is None and asked["Bucket"] not in cloud.store.settings.get("foreign_buckets", ()):
        raise Refused("NoSuchBucket", "The specified bucket does not exist", status=404)
    return {"BucketRegion": found.region if found else region}


def describe_addresses(cloud: Cloud, asked: Values, region: str) -> Values:
    chosen = asked.get("AllocationIds")
    things: Iterable[Thing] = [cloud.need("ec2.Eip", one, region=region) for one in chosen] if chosen else cloud.store.all("ec2.Eip", region=region)
    shown = [
        {"AllocationId": one.id, "PublicIp": one["publicIp"], "Domain": one["domain"], "InstanceId": one.get("instance"), "Tags": _tags(one)} for one in things
    ]
    return {"Addresses": paged(asked, "Addresses", shown, {"allocation-id": lambda one: one["AllocationId"]})["Addresses"]}


def describe_key(cloud: Cloud, asked: Values, region: str) -> Values:
    # A key or an alias, by its name or its ARN (KMS API Reference, DescribeKey).
    name = asked["KeyId"].rpartition(":")[2].removeprefix("key/")
    alias = cloud.store.get("kms.Alias", name)
    key = cloud.store.get("kms.Key", alias["targetKeyArn"].rpartition("/")[2] if alias is not None else name)
    if key is None or key.region != region:
        raise Refused("NotFoundException", f"Key '{asked['KeyId']}' does not exist")
    state = "Enabled" if key["isEnabled"] else "Disabled"
    return {
        "KeyMetadata": {
            "KeyId": key.id,
            "Arn": key["arn"],
            "Enabled": key["isEnabled"],
            "KeyState": state,
            "KeyUsage": key["keyUsage"],
            "AWSAccountId": facts.ACCOUNT,
        }
    }


def describe_efs(cloud: Cloud, asked: Values, region: str) -> Values:
    if unknown := asked.keys() - {"FileSystemId", "MaxItems", "Marker"}:
        raise Refused("BadRequest", f"the simulated cloud has no rule for {', '.join(sorted(unknown))}")
    chosen = asked.get("FileSystemId")
    things = [cloud.need("efs.FileSystem", chosen, region=region)] if chosen else list(cloud.store.all("efs.FileSystem", region=region))
    part, marker = page({"NextToken": asked.get("Marker"), "MaxResults": asked.get("MaxItems")}, [_efs(cloud, one) for one in things], listed=bool(chosen))
    return {"FileSystems": part, "NextMarker": marker}


def _efs(cloud: Cloud, thing: Thing) -> Values:
    return {
        "FileSystemId": thing.id, "FileSystemArn": thing["arn"], "OwnerId": facts.ACCOUNT, "CreationToken": thing.get("creationToken", thing.id), "CreationTime": thing.made_s,
        "LifeCycleState": "available", "NumberOfMountTargets": sum(1 for one in cloud.store.all("efs.MountTarget") if one["fileSystemId"] == thing.id),
        "SizeInBytes": {"Value": 6144}, "PerformanceMode": thing["performanceMode"], "Encrypted": thing["encrypted"], "ThroughputMode": thing["throughputMode"],
        "Name": thing.tags.get("Name"), "Tags": _tags(thing),
    }  # fmt: skip


def describe_efs_policy(cloud: Cloud, asked: Values, region: str) -> Values:
    system = cloud.need("efs.FileSystem", asked["FileSystemId"], region=region)
    policy = next((one["policy"] for one in cloud.store.all("efs.FileSystemPolicy") if one["fileSystemId"] == system.id), None)
    if policy is None:
        raise Refused("PolicyNotFound", "FileSystemPolicy does not exist.", status=404)
    return {"FileSystemId": system.id, "Policy": policy}


def describe_peerings(cloud: Cloud, asked: Values, region: str) -> Values:
    """List what a test put there: the setting `peerings`, a list of [id, network that asked for it, network that was asked, account of the latter, status]."""
    shown = [
        {
            "VpcPeeringConnectionId": ident,
            "RequesterVpcInfo": {"VpcId": requester, "OwnerId": facts.ACCOUNT, "Region": region},
            "AccepterVpcInfo": {"VpcId": accepter, "OwnerId": account, "Region": region},
            "Status": {"Code": status},
        }
        for ident, requester, accepter, account, status in cloud.store.settings.get("peerings", ())
    ]
    filters = {
        "requester-vpc-info.vpc-id": lambda one: one["RequesterVpcInfo"]["VpcId"],
        "accepter-vpc-info.vpc-id": lambda one: one["AccepterVpcInfo"]["VpcId"],
        "status-code": lambda one: one["Status"]["Code"],
    }
    return paged(asked, "VpcPeeringConnections", shown, filters)


def describe_fsx(cloud: Cloud, asked: Values, region: str) -> Values:
    chosen = asked.get("FileSystemIds")
    things = (
        [cloud.need("fsx.LustreFileSystem", one, region=region) for one in chosen] if chosen else list(cloud.store.all("fsx.LustreFileSystem", region=region))
    )
    return paged(asked, "FileSystems", [_fsx(one) for one in things], {}, listed=bool(chosen))


def _fsx(thing: Thing) -> Values:
    return {
        "FileSystemId": thing.id, "OwnerId": facts.ACCOUNT, "CreationTime": thing.made_s, "FileSystemType": "LUSTRE", "Lifecycle": "AVAILABLE", "StorageCapacity": thing["storageCapacity"],
        "VpcId": thing["vpcId"], "SubnetIds": [thing["subnetIds"]], "DNSName": thing["dnsName"], "ResourceARN": thing["arn"], "Tags": _tags(thing),
        "LustreConfiguration": {"DeploymentType": thing["deploymentType"], "MountName": thing["mountName"]},
    }  # fmt: skip


def _tags(thing: Thing) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in thing.tags.items()]


OPERATIONS = {
    "ec2.DescribeRegions": describe_regions, "ec2.DescribeCapacityBlockOfferings": describe_block_offerings, "ec2.DescribeAddresses": describe_addresses,
    "kms.DescribeKey": describe_key, "s3.HeadBucket": head_bucket, "efs.DescribeFileSystems": describe_efs, "fsx.DescribeFileSystems": describe_fsx,
    "efs.DescribeFileSystemPolicy": describe_efs_policy, "ec2.DescribeVpcPeeringConnections": describe_peerings,
}  # fmt: skip
