"""The functions of the SDK that programs call (`aws.get_caller_identity`)."""

from collections.abc import Callable, Mapping
from typing import Any

from ..core.failure import NotSimulated, Refused
from . import facts
from .api import ec2, looking, others
from .cloud import Cloud


def invoke(cloud: Cloud, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Call one function.

    Raises:
        NotSimulated: there is no rule for it.
    """
    try:
        function = _FUNCTIONS[asked["token"]]
    except KeyError:
        raise NotSimulated(f"the function {asked['token']}") from None
    region = asked["arguments"].get("region") or asked["region"]
    return {**function(cloud, asked["arguments"], region), "region": region}


def _caller_identity(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    return {"id": facts.ACCOUNT, "accountId": facts.ACCOUNT, "arn": f"arn:aws:iam::{facts.ACCOUNT}:user/simulated", "userId": "AIDASIMULATED"}


def _region(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    return {"id": region, "name": region, "description": region, "endpoint": f"ec2.{region}.amazonaws.com"}


def _partition(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    return {"id": "aws", "partition": "aws", "dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}


def _zones(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    shown = ec2.describe_zones(cloud, {"Filters": _filters(arguments)}, region)["AvailabilityZones"]
    if arguments.get("state"):
        shown = [one for one in shown if one["State"] == arguments["state"]]
    excluded = {*arguments.get("excludeNames", ()), *arguments.get("excludeZoneIds", ())}
    shown = [one for one in shown if not excluded & {one["ZoneName"], one["ZoneId"]}]
    return {
        "id": region,
        "names": [one["ZoneName"] for one in shown],
        "zoneIds": [one["ZoneId"] for one in shown],
        "groupNames": [one["GroupName"] for one in shown],
    }


def _offerings(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    asked = {"LocationType": arguments.get("locationType") or "region", "Filters": _filters(arguments)}
    shown = ec2.offerings(cloud, asked, region)
    kinds = {"instanceTypes": "InstanceType", "locations": "Location", "locationTypes": "LocationType"}
    return {"id": region, **{name: [one[key] for one in shown] for name, key in kinds.items()}}


def _image(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    found = ec2.describe_images(cloud, {"Owners": arguments.get("owners") or [], "Filters": _filters(arguments)}, region)["Images"]
    if not found:
        raise Refused("InvalidAMIID.NotFound", "Your query returned no results. Please change your search criteria and try again.")
    if len(found) > 1 and not arguments.get("mostRecent"):
        raise Refused(
            "InvalidParameterValue",
            "Your query returned more than one result. Please try a more specific search criteria, or set `most_recent` attribute to true.",
        )
    image = found[-1]
    arn = f"arn:aws:ec2:{region}::image/{image['ImageId']}"
    return {"id": image["ImageId"], "imageId": image["ImageId"], "name": image["Name"], "architecture": image["Architecture"], "ownerId": image["OwnerId"],
            "rootDeviceName": image["RootDeviceName"], "arn": arn, "state": "available", "creationDate": image["CreationDate"]}  # fmt: skip


def _parameter(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    found = others.get_parameter(cloud, {"Name": arguments["name"], "WithDecryption": arguments.get("withDecryption", True)}, region)["Parameter"]
    return {
        "id": found["Name"],
        "name": found["Name"],
        "type": found["Type"],
        "value": found["Value"],
        "insecureValue": found["Value"],
        "version": found["Version"],
        "arn": found["ARN"],
    }


def _key(cloud: Cloud, arguments: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    found = looking.describe_key(cloud, {"KeyId": arguments["keyId"]}, region)["KeyMetadata"]
    names = {"id": "KeyId", "arn": "Arn", "enabled": "Enabled", "keyState": "KeyState", "keyUsage": "KeyUsage", "awsAccountId": "AWSAccountId"}
    return {"keyId": arguments["keyId"], **{name: found[theirs] for name, theirs in names.items()}}


def _filters(arguments: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [{"Name": one["name"], "Values": one["values"]} for one in arguments.get("filters") or ()]


_FUNCTIONS: Mapping[str, Callable[[Cloud, Mapping[str, Any], str], Mapping[str, Any]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _caller_identity,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _offerings,
    "aws:ec2/getAmi:getAmi": _image,
    "aws:kms/getKey:getKey": _key,
    "aws:ssm/getParameter:getParameter": _parameter,
}
