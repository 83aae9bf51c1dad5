"""Find resources that a killed run created in the account: by the stack's tags, by name, or by the resource that they belong to.

Each kind of resource of this target is found in one of these ways:

- `TAGGED`: it carries the stack's tags, and the Resource Groups Tagging API lists it with its ARN.
- `NAMED`: it has the requested name, and its tags name its stack; only IAM itself lists IAM's roles and profiles.
- `PARTS`: its identity follows from the request, since it is a property of a recorded resource (the policy of a role). The refresh that follows finds out whether it exists.
- `ASKED`: it is part of a recorded resource, and only its service knows its identity.

Resources with another stack's tags never match; nor do resources that an earlier stack of this name kept on purpose (`KEPT_TAG`).
"""

import dataclasses
import datetime as dt
import functools
import string
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import boto3
import botocore.config
import botocore.exceptions

from ..adoption import ABSENT, Ambiguous, Certainty, Creation, NotAsked, Trace
from .names import CLUSTER_TAG, STACK_TAG

KEPT_TAG = "clusterwright:kept"
"""On resources that stay in the account when their stack is deleted: a later stack of this name must not adopt them."""
Inputs = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The beginning of a kind's ARNs after `arn:<partition>:`, without region and account (`ec2:vpc/`).

    Args:
        is_whole: the provider's id is the ARN itself, not its end.
        holds_data: its content exists nowhere else.
    """

    begins: str
    is_whole: bool = False
    holds_data: bool = False


TAGGED: Mapping[str, Form] = {
    "aws:backup/plan:Plan": Form("backup:backup-plan:"),
    "aws:backup/vault:Vault": Form("backup:backup-vault:", holds_data=True),
    "aws:cloudwatch/logGroup:LogGroup": Form("logs:log-group:"),
    "aws:ebs/volume:Volume": Form("ec2:volume/", holds_data=True),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Form("ec2:security-group/"),
    "aws:ec2/eip:Eip": Form("ec2:elastic-ip/"),
    "aws:ec2/flowLog:FlowLog": Form("ec2:vpc-flow-log/"),
    "aws:ec2/instance:Instance": Form("ec2:instance/"),
    "aws:ec2/internetGateway:InternetGateway": Form("ec2:internet-gateway/"),
    "aws:ec2/launchTemplate:LaunchTemplate": Form("ec2:launch-template/"),
    "aws:ec2/natGateway:NatGateway": Form("ec2:natgateway/"),
    "aws:ec2/networkInterface:NetworkInterface": Form("ec2:network-interface/"),
    "aws:ec2/placementGroup:PlacementGroup": Form("ec2:placement-group/"),
    "aws:ec2/routeTable:RouteTable": Form("ec2:route-table/"),
    "aws:ec2/securityGroup:SecurityGroup": Form("ec2:security-group/"),
    "aws:ec2/subnet:Subnet": Form("ec2:subnet/"),
    "aws:ec2/vpc:Vpc": Form("ec2:vpc/"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Form("ec2:vpc-endpoint/"),
    "aws:efs/fileSystem:FileSystem": Form("elasticfilesystem:file-system/", holds_data=True),
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": Form("fsx:association/"),
    "aws:fsx/lustreFileSystem:LustreFileSystem": Form("fsx:file-system/", holds_data=True),
    "aws:imagebuilder/component:Component": Form("imagebuilder:component/", is_whole=True),
    "aws:imagebuilder/image:Image": Form("imagebuilder:image/", is_whole=True),
    "aws:imagebuilder/imageRecipe:ImageRecipe": Form("imagebuilder:image-recipe/", is_whole=True),
    "aws:imagebuilder/infrastructureConfiguration:InfrastructureConfiguration": Form("imagebuilder:infrastructure-configuration/", is_whole=True),
    "aws:lb/listener:Listener": Form("elasticloadbalancing:listener/", is_whole=True),
    "aws:lb/loadBalancer:LoadBalancer": Form("elasticloadbalancing:loadbalancer/", is_whole=True),
    "aws:lb/targetGroup:TargetGroup": Form("elasticloadbalancing:targetgroup/", is_whole=True),
    "aws:rds/instance:Instance": Form("rds:db:", holds_data=True),
    "aws:rds/parameterGroup:ParameterGroup": Form("rds:pg:"),
    "aws:rds/subnetGroup:SubnetGroup": Form("rds:subgrp:"),
    "aws:s3/bucket:Bucket": Form("s3:", holds_data=True),
    "aws:secretsmanager/secret:Secret": Form("secretsmanager:secret:", is_whole=True),
}
"""Service Authorization Reference, "Resource types defined by …", one page a service; ids as the provider's documentation has them under "Import"."""
PARTS: Mapping[str, str] = {
    "aws:ec2/volumeAttachment:VolumeAttachment": "{deviceName}:{volumeId}:{instanceId}",
    "aws:iam/rolePolicy:RolePolicy": "{role}:{name}",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "{role}/{policyArn}",
    "aws:lb/targetGroupAttachment:TargetGroupAttachment": "{targetGroupArn}-{targetId}",
    "aws:s3/bucketObjectv2:BucketObjectv2": "{bucket}/{key}",
    "aws:s3/bucketPolicy:BucketPolicy": "{bucket}",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": "{bucket}",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": "{bucket}",
    "aws:s3/bucketVersioning:BucketVersioning": "{bucket}",
}
"""The provider reads attachments by what they attach and gives them ids without a meaning, so any id does."""
_IS_UNKNOWN = "NoSuchEntity"  # IAM API Reference
_TAG_AT_ONCE = 20  # Resource Groups Tagging API Reference, TagResources
_CURRENT = "AWSCURRENT"  # Secrets Manager User Guide, "Staging labels"


class Account:
    """The account as AWS's services describe it.

    Args:
        region: of the stack.
        session: boto3's; None: credentials and endpoint come from the environment, as the provider's do.
    """

    def __init__(self, region: str, *, session: Any = None):
        settings = botocore.config.Config(retries={"mode": "standard", "max_attempts": 6}, connect_timeout=10, read_timeout=60)
        chosen = session or boto3.session.Session()
        self._client = functools.cache(lambda service: chosen.client(service, region_name=region, config=settings))

    def trace(self, creation: Creation, *, recorded: Collection[str]) -> Trace:
        try:
            return self._trace(creation, recorded)
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            raise NotAsked(f"{creation.shown}: {error}") from error

    def keep(self, names: Sequence[str]) -> None:
        day = dt.datetime.now(dt.UTC).date().isoformat()
        try:
            for start in range(0, len(names), _TAG_AT_ONCE):
                asked = {"ResourceARNList": [*names[start : start + _TAG_AT_ONCE]], "Tags": {KEPT_TAG: day}}
                failed = self._client("resourcegroupstaggingapi").tag_resources(**asked).get("FailedResourcesMap")
                if failed:
                    raise NotAsked(f"{', '.join(failed)} could not be marked as kept: {next(iter(failed.values())).get('ErrorMessage', '')}")
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            raise NotAsked(f"what is kept could not be marked: {error}") from error

    def _trace(self, creation: Creation, recorded: Collection[str]) -> Trace:
        kind, inputs = creation.kind, creation.inputs
        if kind in PARTS:
            # The resource that it belongs to must exist.
            return Trace(Certainty.LIKELY, (PARTS[kind].format_map(inputs),)) if _inputs_of(PARTS[kind]) <= inputs.keys() else ABSENT
        if kind in TAGGED:
            form = TAGGED[kind]
            found = [identity for identity in self._tagged(form, inputs) if identity not in recorded]
            if len(found) > 1 and form.holds_data:
                raise Ambiguous(creation, found)
        else:
            found = [identity for identity in _OTHERS[kind](self._client, inputs) if identity not in recorded] if kind in _OTHERS else []
        return Trace(Certainty.FOUND, tuple(found)) if found else ABSENT

    def _tagged(self, form: Form, inputs: Inputs) -> list[str]:
        """List resources with an ARN of this form and all the requested tags."""
        wanted: Mapping[str, str] = inputs.get("tags") or {}
        if STACK_TAG not in wanted:
            return []  # without the stack's tag the owner is unknown
        return [
            arn if form.is_whole else _end(arn, form)
            for arn, tags in self._listed(wanted[STACK_TAG], wanted.get(CLUSTER_TAG, ""))
            if _begins(arn, form) and wanted.items() <= tags.items() and KEPT_TAG not in tags
        ]

    @functools.cached_property
    def _seen(self) -> dict[tuple[str, str], list[tuple[str, Mapping[str, str]]]]:
        return {}

    def _listed(self, stack: str, cluster: str) -> list[tuple[str, Mapping[str, str]]]:
        """List all resources with the tags of a stack; queried once."""
        if (stack, cluster) not in self._seen:
            filters = [{"Key": STACK_TAG, "Values": [stack]}, {"Key": CLUSTER_TAG, "Values": [cluster]}]
            pages = self._client("resourcegroupstaggingapi").get_paginator("get_resources").paginate(TagFilters=filters)
            rows = [row for page in pages for row in page["ResourceTagMappingList"]]
            self._seen[stack, cluster] = [(row["ResourceARN"], {tag["Key"]: tag["Value"] for tag in row["Tags"]}) for row in rows]
        return self._seen[stack, cluster]


Client = Callable[[str], Any]


def _role(client: Client, asked: Inputs) -> list[str]:
    return _named(asked, lambda name: client("iam").get_role(RoleName=name)["Role"])


def _profile(client: Client, asked: Inputs) -> list[str]:
    return _named(asked, lambda name: client("iam").get_instance_profile(InstanceProfileName=name)["InstanceProfile"])


def _named(asked: Inputs, describe: Callable[[str], Mapping[str, Any]]) -> list[str]:
    """Return resources with the requested name and tags; one with the name alone belongs to somebody else."""
    try:
        tags = {tag["Key"]: tag["Value"] for tag in describe(asked["name"]).get("Tags", ())}
    except botocore.exceptions.ClientError as error:
        if error.response.get("Error", {}).get("Code") == _IS_UNKNOWN:
            return []
        raise
    return [asked["name"]] if asked["tags"].items() <= tags.items() and KEPT_TAG not in tags else []


def _route_table_association(client: Client, asked: Inputs) -> list[str]:
    pages = client("ec2").get_paginator("describe_route_tables").paginate(Filters=[{"Name": "association.subnet-id", "Values": [asked["subnetId"]]}])
    rows = [row for page in pages for table in page["RouteTables"] for row in table["Associations"]]
    return [row["RouteTableAssociationId"] for row in rows if row.get("SubnetId") == asked["subnetId"]]


def _mount_target(client: Client, asked: Inputs) -> list[str]:
    pages = client("efs").get_paginator("describe_mount_targets").paginate(FileSystemId=asked["fileSystemId"])
    return [row["MountTargetId"] for page in pages for row in page["MountTargets"] if row["SubnetId"] == asked["subnetId"]]


def _backup_selection(client: Client, asked: Inputs) -> list[str]:
    pages = client("backup").get_paginator("list_backup_selections").paginate(BackupPlanId=asked["planId"])
    return [row["SelectionId"] for page in pages for row in page["BackupSelectionsList"] if row["SelectionName"] == asked["name"]]


def _secret_version(client: Client, asked: Inputs) -> list[str]:
    """Return the current version: a new one replaces the earlier one, which is recorded or belongs to others."""
    secret = asked["secretId"]
    versions = client("secretsmanager").list_secret_version_ids(SecretId=secret)["Versions"]  # lists labelled versions only: a few
    return [f"{secret}|{row['VersionId']}" for row in versions if _CURRENT in row.get("VersionStages", ())]


NAMED = {"aws:iam/role:Role": _role, "aws:iam/instanceProfile:InstanceProfile": _profile}
ASKED = {
    "aws:backup/selection:Selection": _backup_selection,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _route_table_association,
    "aws:efs/mountTarget:MountTarget": _mount_target,
    "aws:secretsmanager/secretVersion:SecretVersion": _secret_version,
}
_OTHERS: Mapping[str, Callable[[Client, Inputs], list[str]]] = {**NAMED, **ASKED}
KINDS = frozenset({*TAGGED, *NAMED, *PARTS, *ASKED})
"""Every kind for which this module can find out whether it was created."""


def _inputs_of(identity: str) -> set[str]:
    """Name the inputs that form an identity."""
    return {name for _, name, _, _ in string.Formatter().parse(identity) if name}


def _begins(arn: str, form: Form) -> bool:
    _, _, service, _, _, rest = arn.split(":", 5)
    return f"{service}:{rest}".startswith(form.begins)


def _end(arn: str, form: Form) -> str:
    _, _, service, _, _, rest = arn.split(":", 5)
    # A log group's ARN ends in `:*` in some answers; an association's begins with its file system.
    return f"{service}:{rest}".removeprefix(form.begins).removesuffix(":*").rpartition("/")[2]
