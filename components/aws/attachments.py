"""Unrecorded attachments of a stack's resources: listeners, targets, mount targets, policies of file systems, network peerings. Read-only."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import discovery
from .instances import WITHOUT_SDK

BALANCER, GROUP, FILE_SYSTEM, NETWORK = "aws:lb/loadBalancer:LoadBalancer", "aws:lb/targetGroup:TargetGroup", "aws:efs/fileSystem:FileSystem", "aws:ec2/vpc:Vpc"
ATTACHABLE = (BALANCER, GROUP, FILE_SYSTEM, NETWORK)
"""Types of resources that can have attachments."""
LISTENER, TARGET, MOUNT_TARGET, FILE_SYSTEM_POLICY, PEERING = "listener", "target", "mount target", "file system policy", "peering"
_PEERS = ("requester", "accepter")
_STANDING_PEERINGS = ("active", "pending-acceptance", "provisioning")
"""Peerings in other states have ended; AWS describes them for some hours (Amazon VPC peering guide, "VPC peering connection lifecycle")."""
_NO_POLICY = "PolicyNotFound"  # Amazon EFS API Reference, DescribeFileSystemPolicy


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One kind of attachment, in the form in which the stack records its own."""

    type: str
    outputs: tuple[str, str]
    """Outputs with the id of the attached object and of the resource that it is attached to; an empty name: the resource's own id."""
    effect: str


KINDS = {
    LISTENER: Kind("aws:lb/listener:Listener", ("", "loadBalancerArn"), "users connect through it"),
    TARGET: Kind("aws:lb/targetGroupAttachment:TargetGroupAttachment", ("targetId", "targetGroupArn"), "the balancer may send users' logins to it"),
    MOUNT_TARGET: Kind("aws:efs/mountTarget:MountTarget", ("", "fileSystemId"), "hosts mount the data through it"),
    FILE_SYSTEM_POLICY: Kind("aws:efs/fileSystemPolicy:FileSystemPolicy", ("fileSystemId", "fileSystemId"), "it controls access to the data"),
    PEERING: Kind("aws:ec2/vpcPeeringConnection:VpcPeeringConnection", ("", ""), "another network reaches the hosts through it"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Attachable:
    """Ids of the stack's resources that can have attachments."""

    balancers: tuple[str, ...] = ()
    target_groups: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    """EFS."""
    networks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Attached:
    """One attachment, as the account lists it."""

    kind: str
    id: str
    to: str
    """Id of the stack's resource that it is attached to."""
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The account's answer."""

    attached: tuple[Attached, ...]
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Kind → why the account did not list it."""
    answered: bool = True
    """Whether the account answered at least one question, or none was asked."""


def attachable(stack: discovery.Stack) -> Attachable:
    """Select the ids of resources that can have attachments. Pure."""
    ids = {kind: tuple(str(one["id"]) for one in stack.resources if one["type"] == kind and one["id"]) for kind in ATTACHABLE}
    return Attachable(balancers=ids[BALANCER], target_groups=ids[GROUP], file_systems=ids[FILE_SYSTEM], networks=ids[NETWORK])


def unrecorded(listing: Listing, stack: discovery.Stack) -> discovery.Attachments:
    """Omit the stack's own attachments. Pure."""
    names = {str(one["id"]): f"{one['type']} {one['name']}" for one in stack.resources if one["type"] in ATTACHABLE}
    found = []
    for one in listing.attached:
        kind, recorded = KINDS[one.kind], _recorded(KINDS[one.kind], stack)
        if (one.id, one.to) in recorded or (not kind.outputs[1] and one.id in {own for own, _ in recorded}):
            continue
        what = one.kind if one.id == one.to else f"{one.kind} {one.id}"
        found.append(discovery.Attachment(names.get(one.to, one.to), what, kind.effect, one.description))
    return discovery.Attachments(tuple(found), listing.refused, answered=listing.answered)


def look(things: Attachable, *, region: str) -> Listing:
    """List attachments of a stack's resources. A refused question does not affect the others."""
    try:
        import boto3
        import botocore.config
        import botocore.exceptions
    except ImportError as missing:
        return Listing((), dict.fromkeys((LISTENER, TARGET, MOUNT_TARGET, FILE_SYSTEM_POLICY, PEERING), WITHOUT_SDK.format(missing.name)), answered=False)

    settings = botocore.config.Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
    questions: tuple[tuple[str, str, Sequence[str], Callable[[Any, str], Iterator[Attached]]], ...] = (
        (LISTENER, "elbv2", things.balancers, _listeners),
        (TARGET, "elbv2", things.target_groups, _targets),
        (MOUNT_TARGET, "efs", things.file_systems, _mount_targets),
        (FILE_SYSTEM_POLICY, "efs", things.file_systems, _policies),
        (PEERING, "ec2", things.networks, _peerings),
    )
    asked = [one for one in questions if one[2]]
    session = boto3.session.Session()  # a session of its own: other threads query at the same time
    clients: dict[str, Any] = {}
    found: list[Attached] = []
    refused: dict[str, str] = {}
    for kind, service, ids, question in asked:
        try:
            if service not in clients:
                clients[service] = session.client(service, region_name=region, config=settings)
            for one in ids:
                found += question(clients[service], one)
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
            refused[kind] = str(error)
    return Listing(tuple(dict.fromkeys(found)), refused, answered=len(refused) < len(asked) or not asked)


def _recorded(kind: Kind, stack: discovery.Stack) -> set[tuple[Any, Any]]:
    own, to = kind.outputs
    return {(one["outputs"].get(own) if own else one["id"], one["outputs"].get(to) if to else "") for one in stack.resources if one["type"] == kind.type}


def _listeners(client: Any, balancer: str) -> Iterator[Attached]:
    for page in client.get_paginator("describe_listeners").paginate(LoadBalancerArn=balancer):
        for one in page["Listeners"]:
            yield Attached(LISTENER, one["ListenerArn"], balancer, f"{one.get('Protocol', 'any protocol')} on port {one.get('Port', 'any')}")


def _targets(client: Any, group: str) -> Iterator[Attached]:
    for one in client.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]:
        yield Attached(TARGET, one["Target"]["Id"], group, f"port {one['Target'].get('Port', 'of the group')}")


def _mount_targets(client: Any, file_system: str) -> Iterator[Attached]:
    for page in client.get_paginator("describe_mount_targets").paginate(FileSystemId=file_system):
        for one in page["MountTargets"]:
            yield Attached(MOUNT_TARGET, one["MountTargetId"], file_system, f"in subnet {one['SubnetId']}")


def _policies(client: Any, file_system: str) -> Iterator[Attached]:
    import botocore.exceptions

    try:
        policy = client.describe_file_system_policy(FileSystemId=file_system)["Policy"]
    except botocore.exceptions.ClientError as error:
        if error.response.get("Error", {}).get("Code") == _NO_POLICY:
            return
        raise
    yield Attached(FILE_SYSTEM_POLICY, file_system, file_system, str(policy))


def _peerings(client: Any, network: str) -> Iterator[Attached]:
    for side, other in zip(_PEERS, reversed(_PEERS), strict=True):
        filters = [{"Name": f"{side}-vpc-info.vpc-id", "Values": [network]}, {"Name": "status-code", "Values": [*_STANDING_PEERINGS]}]
        for page in client.get_paginator("describe_vpc_peering_connections").paginate(Filters=filters):
            for one in page["VpcPeeringConnections"]:
                peer = one[f"{other.capitalize()}VpcInfo"]
                shown = f"{one['Status']['Code']}, with {peer.get('VpcId', 'a network')} of account {peer.get('OwnerId', 'unknown')}"
                yield Attached(PEERING, one["VpcPeeringConnectionId"], network, shown)
