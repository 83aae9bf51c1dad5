"""IAM policies: who may do what, as plain documents. Pure.

A policy names the stack in its conditions, so that a controller which somebody took over can start and end this stack's compute nodes and nothing else. Where an action can't be bound to
the stack, the region is the bound. Which condition can be asked of which action on what is in the Service Authorization Reference: one that it doesn't list there never holds.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .names import NODE_TAG, OWNER_TAG, PART_TAG, STACK_TAG

Statement = Mapping[str, Any]
_MADE = ("network-interface", "volume")
"""What comes with an instance when it is started, and is tagged then."""
_KEPT = ("placement-group", "security-group")
"""What is there already, of the account, and is used by an instance as its launch template says."""
_CHOSEN = ("capacity-reservation", "subnet")
"""The same, but for what may be chosen at the start: a fleet puts instances into one of several subnets, EC2 takes one of several reservations of a group."""
_SERVICES_OF_FLEETS = ("ec2fleet.amazonaws.com", "spot.amazonaws.com")


def as_json(statements: Iterable[Statement]) -> str:
    """Write a policy document, the same text for the same statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": [*statements]}, sort_keys=True)


def letters(document: str) -> int:
    """Count the characters of a document as IAM does: white space doesn't count."""
    return len(json.dumps(json.loads(document), separators=(",", ":")))


def trust(service: str, *, source: str | None = None, says_source: bool = True) -> list[Statement]:
    """Let a service take a role.

    Args:
        source: on whose behalf, as an ARN pattern; without it a service could be talked into using the role for somebody else (the confused deputy).
        says_source: the service is documented to say on whose behalf it comes; where it is not, only another source than this is refused.
    """
    condition = {"Condition": {"ArnLike" if says_source else "ArnLikeIfExists": {"aws:SourceArn": source}}} if source else {}
    return [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole", **condition}]


def partition(region: str) -> str:
    """Give the partition of ARNs in a region (IAM User Guide, "Amazon Resource Names")."""
    return {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(region.rpartition("-")[0].rpartition("-")[0], "aws")


def read_secret(secret_arn: str) -> list[Statement]:
    """Let a host fetch the present keys of its own kind; the first program of a host asks for this version by name."""
    return [_allow("ReadOwnKeys", ["secretsmanager:GetSecretValue"], [secret_arn], {"StringEquals": {"secretsmanager:VersionStage": "AWSCURRENT"}})]


def use_buckets(bucket_arns: Sequence[str], *, region: str, keys: Sequence[str] = ()) -> list[Statement]:
    """Let a host mount buckets. Deleting a bucket or changing who may read it is not among what it may do.

    Args:
        keys: KMS keys that the buckets are encrypted with: ids, aliases, or the ARN of either. Whose policy lets the account decide needs no change.
    Source: S3 User Guide, "Using server-side encryption with AWS KMS keys", "Permissions": GenerateDataKey to upload, Decrypt to download and to upload in parts.
    """
    if not bucket_arns:
        return []
    objects = [f"{arn}/*" for arn in bucket_arns]
    only_encrypted = {"Bool": {"aws:SecureTransport": "true"}}
    return [
        _allow("ListBuckets", ["s3:ListBucket"], list(bucket_arns), only_encrypted),
        _allow("UseObjects", ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"], objects, only_encrypted),
        *_use_keys(sorted(set(keys)), region),
    ]


def _use_keys(keys: Sequence[str], region: str) -> Iterator[Statement]:
    """Let objects be written and read with keys, through S3 alone."""
    actions, via = ["kms:Decrypt", "kms:GenerateDataKey"], {"StringEquals": {"kms:ViaService": f"s3.{region}.{_suffix(region)}"}}
    any_key = f"arn:{partition(region)}:kms:{region}:*:key"
    aliases = [name for key in keys if (name := key.rpartition(":")[2]).startswith("alias/")]
    arns = [key if key.startswith("arn:") else f"{any_key}/{key}" for key in keys if not key.rpartition(":")[2].startswith("alias/")]
    if arns:
        yield _allow("UseKeysOfBuckets", actions, arns, via)
    if aliases:
        # An alias's ARN names no key (KMS Developer Guide, "Use aliases to control access to KMS keys").
        yield _allow("UseKeysOfBucketsByAlias", actions, [f"{any_key}/*"], via | {"ForAnyValue:StringEquals": {"kms:ResourceAliases": aliases}})


@dataclasses.dataclass(frozen=True, slots=True)
class Nodes:
    """What a controller's policy must know of the nodes that it starts."""

    region: str
    stack: str
    machines: tuple[str, ...]
    """Instance types of all node sets."""
    reservation_groups: tuple[str, ...] = ()
    """ARNs of resource groups whose reservations nodes are started in."""


def start_nodes(nodes: Nodes, *, owner: str, compute_role_arn: str) -> list[Statement]:
    """Let a controller start, name and end the compute nodes of its own stack.

    A fleet needs two rights on each thing that an instance is made of: to start the fleet with it (CreateFleet) and to start the instance with it (RunInstances). The second one is where the bounds
    are, since few conditions can be asked of the first.

    Args:
        owner: the stack's mark. What was started before there were marks has none, and the stack's name has to do.
        compute_role_arn: the only role that it may give to an instance.
    """
    region, stack = nodes.region, nodes.stack
    arn = f"arn:{partition(region)}:ec2:{region}"
    instances, made = f"{arn}:*:instance/*", [f"{arn}:*:{kind}/*" for kind in _MADE]
    kept, chosen = [f"{arn}:*:{kind}/*" for kind in _KEPT], [f"{arn}:*:{kind}/*" for kind in _CHOSEN]
    # They belong to no account (their ARN's field is empty).
    images = [f"{arn}::image/*", f"{arn}::snapshot/*"]
    here = {"StringEquals": {"aws:RequestedRegion": region}}
    tagged = {f"aws:RequestTag/{STACK_TAG}": stack}
    owned = {f"aws:RequestTag/{OWNER_TAG}": owner}
    machines = {"ec2:InstanceType": sorted(set(nodes.machines))}
    marked = {"StringEqualsIfExists": {f"aws:ResourceTag/{OWNER_TAG}": owner}}
    compute = {"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": stack, f"aws:ResourceTag/{PART_TAG}": "compute"}, **marked}
    by_template = {"ArnLike": {"ec2:LaunchTemplate": f"{arn}:*:launch-template/*"}}
    return [
        # Looking can't be bound to tags (Service Authorization Reference, EC2: these have no resource types).
        _allow(
            "Look",
            [
                "ec2:DescribeCapacityReservations",
                "ec2:DescribeInstanceStatus",
                "ec2:DescribeInstances",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:DescribeSpotInstanceRequests",
            ],
            ["*"],
            here,
        ),
        _allow("StartFleet", ["ec2:CreateFleet"], [f"{arn}:*:fleet/*"], {"StringEquals": tagged, "StringEqualsIfExists": owned}),
        # Whether a fleet's instance has its type before it is chosen isn't said; where it is started, it has one.
        _allow("StartNodesOfFleet", ["ec2:CreateFleet"], [instances], {"StringEquals": tagged, "StringEqualsIfExists": {**owned, **machines}}),
        # No template is seen here, and tags that stand in it aren't, either.
        _allow("UseForFleet", ["ec2:CreateFleet"], [*made, *kept, *chosen, *images], here),
        _allow("StartNodes", ["ec2:RunInstances"], [instances], {"StringEquals": {**tagged, **machines}, "StringEqualsIfExists": owned}),
        _allow("StartWhatNodesHave", ["ec2:RunInstances"], made, {"StringEquals": tagged, "StringEqualsIfExists": owned}),
        _allow(
            "StartFromOwnTemplates",
            ["ec2:CreateFleet", "ec2:RunInstances"],
            [f"{arn}:*:launch-template/*"],
            {"StringEquals": {f"aws:ResourceTag/{STACK_TAG}": stack}, **marked},
        ),
        # What stands in the template can be overridden, unless it is asked for as the template has it (EC2 User Guide, "Control launching with launch templates").
        _allow("StartOnlyAsTemplatesSay", ["ec2:RunInstances"], [*kept, *images], {**by_template, "Bool": {"ec2:IsLaunchTemplateResource": "true"}}),
        _allow("StartOnlyFromTemplates", ["ec2:RunInstances"], chosen, by_template),
        *_use_reservation_groups(nodes),
        *_encrypt_disks(region),
        _allow(
            "TagWhatIsStarted",
            ["ec2:CreateTags"],
            [instances, *made, f"{arn}:*:fleet/*"],
            {"StringEquals": {"ec2:CreateAction": ["CreateFleet", "RunInstances"]}},
        ),
        _allow(
            "NameNodes",
            ["ec2:CreateTags"],
            [instances],
            {**compute, "ForAllValues:StringEquals": {"aws:TagKeys": ["Name", NODE_TAG]}},
        ),
        _allow("ReadConsoles", ["ec2:GetConsoleOutput"], [instances], compute),
        _allow("EndNodes", ["ec2:TerminateInstances"], [instances], compute),
        _allow("GiveNodesTheirRole", ["iam:PassRole"], [compute_role_arn], {"StringEquals": {"iam:PassedToService": f"ec2.{_suffix(region)}"}}),
        # An account's first fleet, and its first spot request, make these roles of AWS's own.
        _allow(
            "FirstFleetOfAnAccount",
            ["iam:CreateServiceLinkedRole"],
            [f"arn:{partition(region)}:iam::*:role/aws-service-role/*"],
            {"StringEquals": {"iam:AWSServiceName": list(_SERVICES_OF_FLEETS)}},
        ),
    ]


def _use_reservation_groups(nodes: Nodes) -> list[Statement]:
    """Let nodes be started in the reservations of a group, whatever launch template names it: nothing but its ARN can be asked for (AWS ParallelCluster, AllowManagingReservedCapacity)."""
    if not nodes.reservation_groups:
        return []
    actions, here = ["ec2:CreateFleet", "ec2:RunInstances", "resource-groups:ListGroupResources"], {"StringEquals": {"aws:RequestedRegion": nodes.region}}
    return [_allow("UseReservationGroups", actions, sorted(set(nodes.reservation_groups)), here)]


def _encrypt_disks(region: str) -> list[Statement]:
    """Let EC2 use the key of nodes' disks for whoever starts them, which only the account knows: its default key for EBS may be one of its own.

    Without it such an instance ends as it starts, with `Client.InternalError`. A key whose policy doesn't leave it to the account to decide must name the role itself.
    Source: EBS User Guide, "Requirements for Amazon EBS encryption", "Permissions for IAM users".
    """
    keys, via = [f"arn:{partition(region)}:kms:{region}:*:key/*"], {"StringEquals": {"kms:ViaService": f"ec2.{region}.{_suffix(region)}"}}
    using = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"]
    return [
        _allow("EncryptDisks", using, keys, via),
        _allow("LetDisksBeDecrypted", ["kms:CreateGrant"], keys, {**via, "Bool": {"kms:GrantIsForAWSResource": "true"}}),
    ]


def flow_logs(log_group_arn: str) -> list[Statement]:
    """Let flow logs be written into one group."""
    return [
        {
            "Sid": "WriteFlows",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            "Resource": [f"{log_group_arn}:*"],
        }
    ]


def build_image(bundle_arn: str) -> list[Statement]:
    """Let the builder read what an image is made from."""
    return [_allow("ReadRoles", ["s3:GetObject"], [f"{bundle_arn}/*"], {"Bool": {"aws:SecureTransport": "true"}})]


def only_encrypted(bucket_arn: str) -> list[Statement]:
    """Refuse everything that comes in the clear: a bucket's policy."""
    return [
        {
            "Sid": "OnlyEncrypted",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [bucket_arn, f"{bucket_arn}/*"],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ]


def _allow(name: str, actions: Sequence[str], resources: Sequence[str], condition: Mapping[str, Any]) -> Statement:
    return {"Sid": name, "Effect": "Allow", "Action": [*actions], "Resource": [*resources], "Condition": {**condition}}


def _suffix(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
