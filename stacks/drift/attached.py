"""What somebody attached to things of the stack, and no resource stands for: a refresh looks at what is recorded, and finds those things as they were. `look` asks; all else is pure."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .codes import Code
from .differences import shown
from .record import Known
from .report import Drift, Layer, Unchecked, drift

if TYPE_CHECKING:
    from components.aws.attached import Seen, Things

TARGET = "aws"
"""The only target whose account is asked."""
BALANCER, GROUP, FILE_SYSTEM, NETWORK = "aws:lb/loadBalancer:LoadBalancer", "aws:lb/targetGroup:TargetGroup", "aws:efs/fileSystem:FileSystem", "aws:ec2/vpc:Vpc"


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One kind of what can be attached."""

    type: str
    """Of the resources that stand for it."""
    outputs: tuple[str, str]
    """Where these say what it is, and what it is attached to; an empty name: the resource's own id."""
    why: str


KINDS = {
    "listener": Kind("aws:lb/listener:Listener", ("", "loadBalancerArn"), "people come in through it"),
    "target": Kind("aws:lb/targetGroupAttachment:TargetGroupAttachment", ("targetId", "targetGroupArn"), "people who log in may land there"),
    "mount target": Kind("aws:efs/mountTarget:MountTarget", ("", "fileSystemId"), "the data is reached through it"),
    "file system policy": Kind("aws:efs/fileSystemPolicy:FileSystemPolicy", ("fileSystemId", "fileSystemId"), "it decides who reads the data"),
    "peering": Kind("aws:ec2/vpcPeeringConnection:VpcPeeringConnection", ("", ""), "another network reaches the hosts through it"),
}
"""By the names that the target's list gives them."""


def look(known: Known) -> "Seen | None":
    """Ask the account; None where nobody is asked."""
    if known.spec["target"] != TARGET:
        return None
    from components.aws import attached

    return attached.look(things(known), region=known.spec["network"]["region"])


def things(known: Known) -> "Things":
    """Name what something can be attached to."""
    from components.aws import attached

    ids = {kind: tuple(str(one["id"]) for one in known.resources if one["type"] == kind and one["id"]) for kind in (BALANCER, GROUP, FILE_SYSTEM, NETWORK)}
    return attached.Things(balancers=ids[BALANCER], target_groups=ids[GROUP], file_systems=ids[FILE_SYSTEM], networks=ids[NETWORK])


def findings(seen: "Seen", known: Known) -> Iterator[Drift]:
    """Find what is attached and not recorded."""
    names = {str(one["id"]): f"{one['type']} {one['name']}" for one in known.resources if one["type"] in (BALANCER, GROUP, FILE_SYSTEM, NETWORK)}
    for one in seen.attached:
        kind = KINDS[one.kind]
        if (one.id, one.to) in _recorded(kind, known) or (not kind.outputs[1] and one.id in {own for own, _ in _recorded(kind, known)}):
            continue
        which = one.kind if one.id == one.to else f"{one.kind} {one.id}"
        yield drift(
            Layer.CLOUD,
            Code.ATTACHED,
            f"{names.get(one.to, one.to)}: {which}",
            f"somebody attached it; {kind.why}",
            remedy="take it away, and find out who made it; if it shall stay, put it into the program",
            actual=shown(one.shown),
        )


def unchecked(seen: "Seen") -> Iterator[Unchecked]:
    """Name what could not be asked."""
    for kind, why in seen.refused.items():
        yield Unchecked(Layer.CLOUD, f"{kind} that no resource stands for", f"it could not be listed: {why}")


def _recorded(kind: Kind, known: Known) -> set[tuple[Any, Any]]:
    own, to = kind.outputs
    return {(one["outputs"].get(own) if own else one["id"], one["outputs"].get(to) if to else "") for one in known.resources if one["type"] == kind.type}
