"""What is attached to things of a stack without being recorded, by looking only: listeners, targets, mount targets, a file system's own policy, peerings of the network."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .instances import WITHOUT_SDK

LISTENER, TARGET, MOUNT_TARGET, FILE_SYSTEM_POLICY, PEERING = "listener", "target", "mount target", "file system policy", "peering"
_PEERS = ("requester", "accepter")
_STANDING_PEERINGS = ("active", "pending-acceptance", "provisioning")
"""Others are over, and described for some hours (Amazon VPC peering guide, "VPC peering connection lifecycle")."""
_NO_POLICY = "PolicyNotFound"  # Amazon EFS API Reference, DescribeFileSystemPolicy


@dataclasses.dataclass(frozen=True, slots=True)
class Things:
    """Ids of the things of a stack that something can be attached to."""

    balancers: tuple[str, ...] = ()
    target_groups: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    """EFS."""
    networks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Attached:
    """One thing that is attached."""

    kind: str
    id: str
    to: str
    """Id of the stack's thing."""
    shown: str
    """What it is, in a few words."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What the account says."""

    attached: tuple[Attached, ...]
    refused: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Kind → why nobody could say."""
    answered: bool = True
    """Whether any question was answered, or none was asked."""


def look(things: Things, *, region: str) -> Seen:
    """List what is attached to things of a stack. A question that is refused hides no other."""
    try:
        import boto3
        import botocore.config
        import botocore.exceptions
    except ImportError as missing:
        return Seen((), dict.fromkeys((LISTENER, TARGET, MOUNT_TARGET, FILE_SYSTEM_POLICY, PEERING), WITHOUT_SDK.format(missing.name)), answered=False)

    settings = botocore.config.Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60)
    questions: tuple[tuple[str, str, Sequence[str], Callable[[Any, str], Iterator[Attached]]], ...] = (
        (LISTENER, "elbv2", things.balancers, _listeners),
        (TARGET, "elbv2", things.target_groups, _targets),
        (MOUNT_TARGET, "efs", things.file_systems, _mount_targets),
        (FILE_SYSTEM_POLICY, "efs", things.file_systems, _policies),
        (PEERING, "ec2", things.networks, _peerings),
    )
    asked = [one for one in questions if one[2]]
    session = boto3.session.Session()  # of its own: others ask at the same time
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
    return Seen(tuple(dict.fromkeys(found)), refused, answered=len(refused) < len(asked) or not asked)


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
