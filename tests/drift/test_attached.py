"""What somebody attached to things of the stack: found, whoever made it, and what the stack itself attached is not. Pure."""

import dataclasses
from typing import Any

import pytest

from components.aws.attached import Attached, Seen, Things
from stacks.drift import attached
from stacks.drift.record import Known
from tests.drift.examples import known, told

OURS: tuple[dict[str, Any], ...] = (
    {"type": attached.BALANCER, "name": "login-balancer", "id": "arn:lb", "outputs": {}},
    {"type": attached.GROUP, "name": "login-targets", "id": "arn:tg", "outputs": {}},
    {"type": attached.FILE_SYSTEM, "name": "home", "id": "fs-1", "outputs": {}},
    {"type": attached.NETWORK, "name": "vpc", "id": "vpc-1", "outputs": {}},
    {"type": "aws:lb/listener:Listener", "name": "login-listener", "id": "arn:listener", "outputs": {"loadBalancerArn": "arn:lb"}},
    {"type": "aws:lb/targetGroupAttachment:TargetGroupAttachment", "name": "login-0", "id": "x", "outputs": {"targetId": "i-1", "targetGroupArn": "arn:tg"}},
    {"type": "aws:efs/mountTarget:MountTarget", "name": "home", "id": "fsmt-1", "outputs": {"fileSystemId": "fs-1"}},
    {"type": "aws:efs/fileSystemPolicy:FileSystemPolicy", "name": "home", "id": "fs-1", "outputs": {"fileSystemId": "fs-1"}},
    {"type": "aws:ec2/vpcPeeringConnection:VpcPeeringConnection", "name": "office", "id": "pcx-1", "outputs": {"vpcId": "vpc-1"}},
)
RECORDED = (
    Attached("listener", "arn:listener", "arn:lb", "TCP on port 22"),
    Attached("target", "i-1", "arn:tg", "port 22"),
    Attached("mount target", "fsmt-1", "fs-1", "in subnet subnet-1"),
    Attached("file system policy", "fs-1", "fs-1", "{}"),
    Attached("peering", "pcx-1", "vpc-1", "active"),
)


def stack(*resources: dict[str, Any]) -> Known:
    return known(spec={**known().spec, "target": "aws"}, resources=resources)


def test_what_the_stack_attached_is_no_finding_and_it_is_asked_of_all_its_things() -> None:
    assert list(attached.findings(Seen(RECORDED), stack(*OURS))) == []
    assert attached.things(stack(*OURS)) == Things(("arn:lb",), ("arn:tg",), ("fs-1",), ("vpc-1",))


@pytest.mark.parametrize(
    ("one", "where"),
    [
        (RECORDED[0], f"{attached.BALANCER} login-balancer: listener arn:listener"),
        (RECORDED[1], f"{attached.GROUP} login-targets: target i-1"),
        (RECORDED[2], f"{attached.FILE_SYSTEM} home: mount target fsmt-1"),
        (RECORDED[3], f"{attached.FILE_SYSTEM} home: file system policy"),
        (RECORDED[4], f"{attached.NETWORK} vpc: peering pcx-1"),
    ],
)
def test_what_nobody_recorded_is_a_finding_that_names_the_thing_and_what_is_attached(one: Attached, where: str) -> None:
    found = attached.findings(Seen(RECORDED), stack(*(resource for resource in OURS if resource["type"] != attached.KINDS[one.kind].type)))
    assert told(found) == [("CW708", where)]


def test_a_target_of_another_group_is_not_the_stacks() -> None:
    other = dataclasses.replace(RECORDED[1], to="arn:other")
    assert told(attached.findings(Seen((other,)), stack(*OURS))) == [("CW708", "arn:other: target i-1")]


def test_a_question_that_was_refused_is_named() -> None:
    [one] = attached.unchecked(Seen((), {"listener": "AccessDenied"}))
    assert (one.where, one.why) == ("listener that no resource stands for", "it could not be listed: AccessDenied")


def test_elsewhere_nobody_is_asked() -> None:
    assert attached.look(known()) is None
