"""What finds things again: by tags over all services, by name, or as parts of others."""

from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused, refuse_all
from ...core.store import Thing
from .. import facts
from ..cloud import Cloud, tag_problems
from ..resources import gateways
from .listing import page, paged

Values = Mapping[str, Any]
GLOBAL = ("iam.",)
"""Kinds of services without regions."""
NOT_LISTED = ("iam.Role", "s3.BucketObjectv2")
"""Resource Groups and Tagging user guide, "Resources you can use with …": what carries tags and is not listed all the same."""
PAGE_MOST = 100


def get_resources(cloud: Cloud, asked: Values, region: str) -> Values:
    """List what has tags, or had: those of ended instances are still there for a while."""
    if asked.get("ResourceARNList") or asked.get("ResourceTypeFilters") or asked.get("ExcludeCompliantResources"):
        raise Refused("InvalidParameterException", "the simulated cloud has rules for TagFilters alone")
    filters = asked.get("TagFilters", ())
    shown = []
    for thing in cloud.store.everything():
        arn = _arn(thing)
        if not thing.tags or not arn or thing.kind in NOT_LISTED or (thing.region != region and not thing.kind.startswith(GLOBAL)):
            continue
        if all(one["Key"] in thing.tags and (not one.get("Values") or thing.tags[one["Key"]] in one["Values"]) for one in filters):
            shown.append({"ResourceARN": arn, "Tags": [{"Key": key, "Value": value} for key, value in thing.tags.items()]})
    most = asked.get("ResourcesPerPage") or PAGE_MOST
    part, token = page({"MaxResults": min(most, PAGE_MOST), "NextToken": asked.get("PaginationToken")}, shown, listed=False)
    return {"ResourceTagMappingList": part, "PaginationToken": token or ""}


def tag_resources(cloud: Cloud, asked: Values, region: str) -> Values:
    """Add tags; what can't be tagged is named in the answer, which is no failure of the whole."""
    failed = {}
    for arn in asked["ResourceARNList"]:
        thing = next((one for one in cloud.store.everything() if _arn(one) == arn), None)
        if thing is None or thing.region != region:
            failed[arn] = {"StatusCode": 400, "ErrorCode": "InvalidParameterException", "ErrorMessage": f"{arn} does not exist in {region}"}
            continue
        refuse_all(tag_problems({**thing.tags, **asked["Tags"]}), code="InvalidParameterException")
        cloud.note(thing, tags={**(thing.get("tags") or {}), **asked["Tags"]}, tagsAll={**thing.tags, **asked["Tags"]})
    return {"FailedResourcesMap": failed}


def get_role(cloud: Cloud, asked: Values, region: str) -> Values:
    role = cloud.need("iam.Role", asked["RoleName"])
    return {"Role": {**_identity(role), "RoleName": role.id, "RoleId": role["uniqueId"], "Tags": _tags(role)}}


def get_instance_profile(cloud: Cloud, asked: Values, region: str) -> Values:
    profile = cloud.need("iam.InstanceProfile", asked["InstanceProfileName"])
    role = cloud.store.get("iam.Role", profile.get("role", ""))
    roles = [{**_identity(role), "RoleName": role.id, "RoleId": role["uniqueId"]}] if role else []
    named = {"InstanceProfileName": profile.id, "InstanceProfileId": profile.get("uniqueId", "AIPASIMULATED"), "Roles": roles, "Tags": _tags(profile)}
    return {"InstanceProfile": {**_identity(profile), **named}}


def describe_route_tables(cloud: Cloud, asked: Values, region: str) -> Values:
    chosen = asked.get("RouteTableIds")
    tables = [cloud.need("ec2.RouteTable", one, region=region) for one in chosen] if chosen else cloud.store.all("ec2.RouteTable", region=region)
    filters = {
        "vpc-id": lambda one: one["VpcId"],
        "route-table-id": lambda one: one["RouteTableId"],
        "association.subnet-id": lambda one: [row.get("SubnetId") for row in one["Associations"]],
        "association.route-table-association-id": lambda one: [row["RouteTableAssociationId"] for row in one["Associations"]],
        "association.main": lambda one: [str(row["Main"]).lower() for row in one["Associations"]],
    }
    return paged(asked, "RouteTables", [_route_table(cloud, table) for table in tables], filters, listed=bool(chosen))


def describe_mount_targets(cloud: Cloud, asked: Values, region: str) -> Values:
    if len({"FileSystemId", "MountTargetId", "AccessPointId"} & asked.keys()) != 1 or asked.get("AccessPointId"):
        raise Refused("BadRequest", "exactly one of FileSystemId and MountTargetId is wanted")
    if asked.get("FileSystemId"):
        cloud.need("efs.FileSystem", asked["FileSystemId"], region=region)
    found = [
        thing
        for thing in cloud.store.all("efs.MountTarget", region=region)
        if asked.get("FileSystemId") in (None, thing["fileSystemId"]) and asked.get("MountTargetId") in (None, thing.id)
    ]
    return {
        "MountTargets": [
            {
                "MountTargetId": one.id,
                "FileSystemId": one["fileSystemId"],
                "SubnetId": one["subnetId"],
                "LifeCycleState": "available",
                "OwnerId": facts.ACCOUNT,
                "AvailabilityZoneName": one["availabilityZoneName"],
                "VpcId": cloud.need("ec2.Subnet", one["subnetId"])["vpcId"],
            }
            for one in found
        ]
    }


def list_backup_selections(cloud: Cloud, asked: Values, region: str) -> Values:
    cloud.need("backup.Plan", asked["BackupPlanId"], region=region)
    found = [thing for thing in cloud.store.all("backup.Selection", region=region) if thing["planId"] == asked["BackupPlanId"]]
    return {
        "BackupSelectionsList": [
            {"SelectionId": one.id, "SelectionName": one["name"], "BackupPlanId": one["planId"], "IamRoleArn": one["iamRoleArn"]} for one in found
        ]
    }


def list_secret_versions(cloud: Cloud, asked: Values, region: str) -> Values:
    """List a secret's versions; the newest is the current one, and the one before it the previous."""
    secret = cloud.need("secretsmanager.Secret", asked["SecretId"], region=region)
    versions = [one for one in cloud.store.all("secretsmanager.SecretVersion") if one["secretId"] == secret.id]
    stages = {one.id: stage for one, stage in zip(reversed(versions), ("AWSCURRENT", "AWSPREVIOUS"), strict=False)}
    shown = [{"VersionId": one.id.rpartition("|")[2], "VersionStages": [stages[one.id]], "CreatedDate": one.made_s} for one in versions if one.id in stages]
    return {"ARN": secret.id, "Name": secret["name"], "Versions": shown}


def _arn(thing: Thing) -> str:
    if thing.kind == "ec2.NatGateway":  # the provider's resource has no ARN
        return f"arn:aws:ec2:{thing.region}:{facts.ACCOUNT}:natgateway/{thing.id}"
    return str(thing.get("arn", ""))


def _identity(thing: Thing) -> Values:
    return {"Path": thing["path"], "Arn": thing["arn"], "CreateDate": thing.made_s}


def _route_table(cloud: Cloud, table: Thing) -> Values:
    own = [thing for thing in cloud.store.all("ec2.RouteTableAssociation") if thing["routeTableId"] == table.id and thing.get("subnetId")]
    rows = [{"RouteTableAssociationId": one.id, "RouteTableId": table.id, "SubnetId": one["subnetId"], "Main": False} for one in own]
    if table.get("isMain"):
        rows.append({"RouteTableAssociationId": f"rtbassoc-{table.id[4:]}", "RouteTableId": table.id, "Main": True})
    routes = [{"DestinationCidrBlock": "0.0.0.0/0", **_target(target), "State": "active"} for target in gateways.default_routes(cloud, table.id)]
    return {"RouteTableId": table.id, "VpcId": table["vpcId"], "OwnerId": facts.ACCOUNT, "Associations": rows, "Routes": routes, "Tags": _tags(table)}


def _target(ident: str) -> Values:
    kinds = {"nat-": "NatGatewayId", "tgw-": "TransitGatewayId", "eni-": "NetworkInterfaceId"}
    return {next((name for prefix, name in kinds.items() if ident.startswith(prefix)), "GatewayId"): ident}


def _tags(thing: Thing) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in thing.tags.items()]


OPERATIONS = {
    "resourcegroupstaggingapi.GetResources": get_resources, "resourcegroupstaggingapi.TagResources": tag_resources, "iam.GetRole": get_role,
    "iam.GetInstanceProfile": get_instance_profile, "ec2.DescribeRouteTables": describe_route_tables, "efs.DescribeMountTargets": describe_mount_targets,
    "backup.ListBackupSelections": list_backup_selections, "secretsmanager.ListSecretVersionIds": list_secret_versions,
}  # fmt: skip
