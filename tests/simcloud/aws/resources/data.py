"""Databases, keys, secrets, log groups and images.

Sources: RDS, KMS, CloudWatch Logs and Image Builder API references.
"""

import dataclasses
import re
import uuid
from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import KEPT, LEFT, SERVICE, Interface, Thing
from .. import facts
from ..cloud import Cloud
from ..rules import Rules, Want, of
from . import network

IDENTIFIER = re.compile(r"[a-z](?:-?[a-z0-9])*")
IDENTIFIER_MOST = 63
PASSWORD_LEAST, PASSWORD_FORBIDDEN = 8, re.compile(r'[/@" ]')
ZONES_LEAST = 2  # RDS user guide, "Working with DB subnet groups"
RETENTION_DAYS = (0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653)
BUILDS = "/aws/imagebuilder/"
STRAY = "stray"
ALIAS = re.compile(r"alias/(?!aws/)[a-zA-Z0-9/_-]+")


@of("rds.SubnetGroup")
class SubnetGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        homes = [cloud.need("ec2.Subnet", subnet) for subnet in want["subnetIds"]]
        if len({home["availabilityZone"] for home in homes}) < ZONES_LEAST:
            raise Refused(
                "DBSubnetGroupDoesNotCoverEnoughAZs",
                f"The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement: at least {ZONES_LEAST} zones",
            )
        if len({home["vpcId"] for home in homes}) > 1:
            raise Refused("InvalidSubnet", "The subnets belong to different VPCs")
        if want["name"] != want["name"].lower() or want["name"] == "default":
            raise Refused("InvalidParameterValue", f"The parameter DBSubnetGroupName is not a valid identifier: {want['name']}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"vpcId": network.vpc_of(cloud, want["subnetIds"][0])}


@of("rds.Cluster")
class Cluster(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _check_identifier(want["clusterIdentifier"])
        _check_password(want, "masterPassword", "masterUsername")
        _check_groups(cloud, want)

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        _check_protected(thing)


@of("rds.ClusterInstance")
class ClusterInstance(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _check_identifier(want["identifier"])
        cluster = cloud.need("rds.Cluster", want["clusterIdentifier"])
        if cluster["engine"] != want["engine"]:
            raise Refused(
                "InvalidParameterCombination",
                f"The engine name requested for your DB instance ({want['engine']}) doesn't match the engine name of your DB cluster ({cluster['engine']}).",
            )

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        cluster = cloud.need("rds.Cluster", want["clusterIdentifier"])
        return _address(cloud, want, cluster.get("dbSubnetGroupName"), cluster.get("vpcSecurityGroupIds", ()))


@of("rds.Instance")
class DatabaseInstance(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _check_identifier(want["identifier"])
        if not want.get("allocatedStorage") or not want.get("engine"):
            raise Refused("MissingParameter", "The request must contain the parameters AllocatedStorage and Engine")
        _check_password(want, "password", "username")
        _check_groups(cloud, want)
        if want.former and want["allocatedStorage"] < want.former["allocatedStorage"]:
            raise Refused("InvalidParameterCombination", "Allocated storage can't be made smaller")

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        return _address(cloud, want, want.get("dbSubnetGroupName"), want.get("vpcSecurityGroupIds", ()))

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        _check_protected(thing)
        last = thing.get("finalSnapshotIdentifier")
        if not thing["skipFinalSnapshot"] and cloud.store.get("rds.Snapshot", last):
            raise Refused("DBSnapshotAlreadyExists", f"Cannot create the snapshot because a snapshot with the identifier {last} already exists.")

    def deleted(self, cloud: Cloud, thing: Thing) -> None:
        if not thing["skipFinalSnapshot"]:
            tags = thing.tags if thing.get("copyTagsToSnapshot") else {}
            properties = {"dbSnapshotIdentifier": thing["finalSnapshotIdentifier"], "dbInstanceIdentifier": thing["identifier"], "tags": tags, "tagsAll": tags}
            cloud.store.put(Thing("rds.Snapshot", thing["finalSnapshotIdentifier"], thing.region, properties, KEPT, cloud.store.clock.now_s()))

    def made(self, cloud: Cloud, thing: Thing) -> None:
        for log in thing.get("enabledCloudwatchLogsExports", ()):
            _write_log(cloud, f"/aws/rds/instance/{thing.id}/{log}", thing.region)  # RDS user guide, "Publishing database logs to Amazon CloudWatch Logs"

    def changed(self, cloud: Cloud, thing: Thing, former: Thing) -> None:
        self.made(cloud, thing)


@of("kms.Key")
class Key(Rules):
    def identity(self, cloud: Cloud, want: Want) -> str:
        return str(uuid.UUID(hex=cloud.store.new_hex(32)))

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        root = f'{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{{"AWS":"arn:aws:iam::{facts.ACCOUNT}:root"}},"Action":"kms:*","Resource":"*"}}]}}'
        return {} if want.get("policy") else {"policy": root}


@of("kms.Alias")
class Alias(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if not ALIAS.fullmatch(want["name"]):
            raise Refused("InvalidAliasName", f"{want['name']} is no name for an alias: it begins with alias/ and not with alias/aws/")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"targetKeyArn": cloud.need("kms.Key", want["targetKeyId"])["arn"]}


@of("cloudwatch.LogGroup")
class LogGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want["retentionInDays"] not in RETENTION_DAYS:
            raise Refused("InvalidParameterException", f"retentionInDays {want['retentionInDays']} is none of {', '.join(map(str, RETENTION_DAYS))}")


@of("imagebuilder.Component", "imagebuilder.ImageRecipe", "imagebuilder.InfrastructureConfiguration", "imagebuilder.DistributionConfiguration")
class BuilderPart(Rules):
    def words(self, want: Want) -> Mapping[str, str]:
        return {"slug": re.sub(r"[^a-z0-9-]+", "-", want["name"].lower())}

    def check(self, cloud: Cloud, want: Want) -> None:
        version = want.get("version")
        if version is not None and not re.fullmatch(r"\d+\.\d+\.\d+", version):
            raise Refused("InvalidParameterValueException", f"The version {version} must be major.minor.patch")
        if want.kind.name.endswith("Component") and bool(want.get("data")) is bool(want.get("uri")):
            raise Refused("InvalidParameterCombinationException", "exactly one of data and uri is wanted")


@of("imagebuilder.Image")
class BuiltImage(Rules):
    def identity(self, cloud: Cloud, want: Want) -> str:
        recipe = cloud.need("imagebuilder.ImageRecipe", want["imageRecipeArn"])
        number = 1 + sum(1 for one in cloud.store.all("imagebuilder.Image") if one["imageRecipeArn"] == recipe.id)
        return recipe.id.replace(":image-recipe/", ":image/") + f"/{number}"

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        if want.former:
            return {}
        recipe = cloud.need("imagebuilder.ImageRecipe", want["imageRecipeArn"])
        image, snapshot = f"ami-{cloud.store.new_hex()}", f"snap-{cloud.store.new_hex()}"
        arm = any("arm64" in str(cloud.need("imagebuilder.Component", one["componentArn"]).tags) for one in recipe["components"])
        properties = {
            "name": f"{recipe['name']} {ident.rpartition('/')[2]}",
            "architecture": "arm64" if arm else "x86_64",
            "tags": dict(recipe.get("amiTags", {})),
            "builtBy": ident,
            "snapshotId": snapshot,
        }
        cloud.store.put(Thing("ec2.Ami", image, want.region, {**properties, "tagsAll": properties["tags"]}, SERVICE, cloud.store.clock.now_s()))
        disk = {"imageId": image, "tags": {}, "tagsAll": {}}
        cloud.store.put(Thing("ebs.Snapshot", snapshot, want.region, disk, SERVICE, cloud.store.clock.now_s()))
        made = {"region": want.region, "image": image, "name": properties["name"], "accountId": facts.ACCOUNT}
        return {"name": recipe["name"], "version": f"{recipe['version']}/1", "outputResources": [{"amis": [made]}]}

    def deleted(self, cloud: Cloud, thing: Thing) -> None:
        """Leave what was built: DeleteImage deletes neither the AMI nor its snapshots (Image Builder API Reference)."""
        for image in [one for one in cloud.store.all("ec2.Ami") if one.get("builtBy") == thing.id]:
            for left in (image, cloud.need("ebs.Snapshot", image["snapshotId"])):
                cloud.store.put(dataclasses.replace(left, door=LEFT))

    def made(self, cloud: Cloud, thing: Thing) -> None:
        """Image Builder API reference, ImageLoggingConfiguration: without a name it is that of the image. The builder's role may write where AWS's policy for it says so."""
        name = (thing.get("loggingConfiguration") or {}).get("logGroupName") or f"{BUILDS}{thing['name']}"
        if not name.startswith(BUILDS):
            raise Refused("InvalidParameterValueException", f"EC2InstanceProfileForImageBuilder lets no instance write logs to {name}: only below {BUILDS}")
        _write_log(cloud, name, thing.region)


def _write_log(cloud: Cloud, name: str, region: str) -> None:
    """Have a service write into a group of logs: it makes one that isn't there, which then belongs to nobody and stays for ever."""
    if cloud.store.get("cloudwatch.LogGroup", name) is None:
        properties = {"name": name, "arn": f"arn:aws:logs:{region}:{facts.ACCOUNT}:log-group:{name}", "retentionInDays": 0, "tags": {}, "tagsAll": {}}
        cloud.store.put(Thing("cloudwatch.LogGroup", name, region, properties, STRAY, cloud.store.clock.now_s()))


def _check_identifier(name: str) -> None:
    if not IDENTIFIER.fullmatch(name) or len(name) > IDENTIFIER_MOST:
        raise Refused(
            "InvalidParameterValue", f"The parameter {name} is not a valid identifier: small letters, digits, single hyphens, at most {IDENTIFIER_MOST}"
        )


def _check_password(want: Want, password: str, user: str) -> None:
    managed, given = want.get("manageMasterUserPassword"), want.get(password)
    if want.former is None and not want.get("snapshotIdentifier") and not want.get("replicateSourceDb") and bool(managed) is bool(given):
        raise Refused("InvalidParameterCombination", f"exactly one of {password} and manageMasterUserPassword is wanted")
    if not want.get(user):
        raise Refused("MissingParameter", f"The request must contain the parameter {user}")
    if given and (len(given) < PASSWORD_LEAST or PASSWORD_FORBIDDEN.search(given)):
        raise Refused(
            "InvalidParameterValue", f'The parameter MasterUserPassword is not a valid password: at least {PASSWORD_LEAST} letters without / @ " and space'
        )


def _check_groups(cloud: Cloud, want: Want) -> None:
    if not want.get("dbSubnetGroupName"):
        raise Refused("InvalidVPCNetworkStateFault", "No default VPC: a DB subnet group must be given")
    vpc = cloud.need("rds.SubnetGroup", want["dbSubnetGroupName"])["vpcId"]
    network.refuse_foreign_groups(cloud, want.get("vpcSecurityGroupIds", ()), vpc, code="InvalidParameterCombination")


def _check_protected(thing: Thing) -> None:
    if thing["deletionProtection"]:
        raise Refused("InvalidParameterCombination", f"Cannot delete protected {thing.id}, please disable deletion protection and try again.")
    if not thing["skipFinalSnapshot"] and not thing.get("finalSnapshotIdentifier"):
        raise Refused("InvalidParameterCombination", "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified")


def _address(cloud: Cloud, want: Want, group: str | None, groups: Any) -> tuple[Interface, ...]:
    if want.former:
        return tuple(Interface(one.subnet, one.address, tuple(groups), one.id) for one in want.former.interfaces)
    return (network.new_interface(cloud, cloud.need("rds.SubnetGroup", group or "")["subnetIds"][0], groups),)
