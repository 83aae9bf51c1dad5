"""Instances under the stack's name: nodes, those on their way, strays; which nodes can be inspected; what is attached to resources. Pure."""

import dataclasses
import datetime as dt
import sys
from typing import Any

import pytest

from components import errors
from components.aws import attachments, discovery, instances
from components.aws.attachments import Attached
from components.aws.instances import Instance
from components.cloud import instances as cloud_instances
from components.discovery import Instances, RunningNodes, Stack

MOMENT = dt.datetime(2026, 11, 10, 12, tzinfo=dt.UTC)
TEMPLATE = {
    "latestVersion": 3.0,
    "networkInterfaces": [{"securityGroups": ["sg-hosts"]}, {"securityGroups": ["sg-hosts"]}],
    "iamInstanceProfile": {"arn": "arn:compute"},
}


def stack(**changes: Any) -> Stack:
    resources = (
        {"type": discovery.SITE, "name": "site", "id": "dev", "outputs": {"owner": "mine"}},
        {"type": discovery.INSTANCE, "name": "control-0", "id": "i-control", "outputs": {}},
        {"type": discovery.TEMPLATE, "name": "train-template", "id": "lt-1", "outputs": TEMPLATE},
    )
    return Stack(**{"name": "dev", "region": "us-east-1", "resources": resources, "nodes": {"train": ("train-0", "train-1")}, **changes})


def instance(id: str = "i-1", **changes: Any) -> Instance:  # noqa: A002 - EC2's word
    whole: dict[str, Any] = {
        "machine": "p5.48xlarge", "state": "running", "part": "compute", "node_set": "train", "node": "train-0", "launched": MOMENT - dt.timedelta(hours=1),
        "groups": frozenset({"sg-hosts"}), "profile": "arn:compute", "template_version": "3",
    }  # fmt: skip
    return Instance(id, **{**whole, **changes})


def compare(*instances: Instance) -> Instances:
    return discovery.compare(instances, stack(), now=MOMENT)


def test_nodes_and_recorded_instances_are_no_strays() -> None:
    assert compare(instance(), instance("i-control", part="control", node_set="", node="control-0")) == Instances()


@pytest.mark.parametrize(
    ("owner", "template", "is_ours"),
    [("mine", "lt-9", True), ("theirs", "lt-1", False), ("", "lt-1", True), ("", "lt-9", False)],
    ids=["marked", "marked by another stack", "not marked, from our template", "not marked, from another template"],
)
def test_down_terminates_instances_with_the_stacks_mark_and_unmarked_ones_from_its_templates(owner: str, template: str, is_ours: bool) -> None:
    found = instance(owner=owner, template=template)
    assert instances.is_ours(found, owner="mine", templates={"lt-1"}) is is_ours
    assert instances.is_ours(found, owner="", templates=()), "a stack without a mark knows its instances by its name"


def test_instances_of_another_stack_of_the_same_name_are_left_alone() -> None:
    stray = {"node_set": "gone", "node": "gone-0"}
    assert compare(instance(**stray, owner="theirs")) == Instances()
    assert [one.id for one in compare(instance(**stray, owner="mine"), instance("i-2", **stray)).strays] == ["i-1", "i-2"]


NOBODYS = [
    {"node": "train-7"},
    {"node": ""},
    {"node_set": "gone", "node": "gone-0"},
    {"part": "control", "node_set": "", "node": "control-0"},
    {"part": "", "node_set": "", "node": ""},
]


@pytest.mark.parametrize("changes", NOBODYS)
def test_an_instance_that_is_no_node_is_a_stray(changes: dict[str, str]) -> None:
    assert [one.id for one in compare(instance(**changes)).strays] == ["i-1"]


def test_of_two_instances_for_one_node_the_older_one_is_a_stray() -> None:
    found = compare(instance("i-old", launched=MOMENT - dt.timedelta(days=1)), instance("i-new"))
    assert [(one.id, one.reason) for one in found.strays] == [("i-old", "i-new started later and is train-0")]


def test_a_starting_instance_and_one_that_builds_an_image_are_not_compared() -> None:
    found = compare(instance("i-a", node="", launched=MOMENT - dt.timedelta(seconds=20)), instance("i-b", part="image", builds_image=True))
    assert (found.strays, {which for which, _ in found.skipped}) == ((), {"i-a", "i-b"})


def test_a_node_with_other_security_groups_or_another_role_deviates() -> None:
    found = compare(instance(groups=frozenset({"sg-hosts", "sg-open"}), profile="arn:admin"))
    assert [(one.id, one.node, one.attribute, one.expected, one.actual) for one in found.deviations] == [
        ("i-1", "train-0", "security groups", "sg-hosts", "sg-hosts, sg-open"),
        ("i-1", "train-0", "instance profile", "arn:compute", "arn:admin"),
    ]


def test_a_node_of_an_older_template_is_not_compared_with_the_new_one() -> None:
    found = compare(instance(template_version="2", groups=frozenset({"sg-before"})))
    assert (found.deviations, ["another version" in why for _, why in found.skipped]) == ((), [True])


def test_without_boto3_discovery_says_so_and_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(errors.TargetUnanswered, match="make setup EXTRAS=aws"):
        discovery.Discovery().instances(stack())
    seen = discovery.Discovery().attachments(stack(resources=OURS))
    assert (seen.found, seen.answered) == ((), False)


KEY, MADE = "ssh-ed25519 AAAAnode", MOMENT - dt.timedelta(days=3)


def up(node: str = "train-0", **changes: Any) -> Instance:
    return instance(**{"id": f"i-{node}", "node": node, "launched": MADE + dt.timedelta(days=1), "address": "10.80.16.9", **changes})


def nodes_of(*instances: Instance) -> RunningNodes:
    return discovery.nodes_of(instances, stack(node_key=KEY, node_key_since=MADE))


def test_running_nodes_have_the_host_key_of_the_stack() -> None:
    found = nodes_of(up("train-1"), up("train-0"))
    assert [(one.name, one.node_set, one.address, one.id, one.host_key) for one in found.nodes] == [
        ("train-0", "train", "10.80.16.9", "i-train-0", KEY),
        ("train-1", "train", "10.80.16.9", "i-train-1", KEY),
    ]
    assert not found.skipped


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "pending"}, cloud_instances.STARTING_OR_ENDING),
        ({"address": ""}, cloud_instances.STARTING_OR_ENDING),
        ({"state": "stopping"}, cloud_instances.STARTING_OR_ENDING),
        ({"launched": MADE - dt.timedelta(seconds=1)}, cloud_instances.STARTED_BEFORE_KEY),
    ],
)
def test_nodes_that_cannot_be_inspected_are_named_with_the_reason(changes: dict[str, Any], why: str) -> None:
    found = nodes_of(up(**changes))
    assert (found.nodes, found.skipped) == ((), {"train-0": why})


def test_what_is_no_node_is_left_out_and_of_two_the_younger_is_the_node() -> None:
    assert nodes_of(up("train-7"), up(part="control"), up(node_set="gone"), up("")) == RunningNodes(boot_s=cloud_instances.BOOT_S)
    assert [one.id for one in nodes_of(up(id="i-new"), up(id="i-old", launched=MADE)).nodes] == ["i-new"]


def test_a_stack_without_a_key_for_its_nodes_lists_none_and_says_why() -> None:
    assert discovery.Discovery().running_nodes(stack()).reason == cloud_instances.NO_NODE_KEY


OURS: tuple[dict[str, Any], ...] = (
    {"type": attachments.BALANCER, "name": "login-balancer", "id": "arn:lb", "outputs": {}},
    {"type": attachments.GROUP, "name": "login-targets", "id": "arn:tg", "outputs": {}},
    {"type": attachments.FILE_SYSTEM, "name": "home", "id": "fs-1", "outputs": {}},
    {"type": attachments.NETWORK, "name": "vpc", "id": "vpc-1", "outputs": {}},
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


def unrecorded(*attached: Attached, resources: tuple[dict[str, Any], ...] = OURS) -> list[tuple[str, str]]:
    return [(one.resource, one.what) for one in attachments.unrecorded(attachments.Listing(attached), stack(resources=resources)).found]


def test_what_the_stack_attached_is_left_out_and_all_its_resources_are_asked_for() -> None:
    assert unrecorded(*RECORDED) == []
    assert attachments.attachable(stack(resources=OURS)) == attachments.Attachable(("arn:lb",), ("arn:tg",), ("fs-1",), ("vpc-1",))


@pytest.mark.parametrize(
    ("one", "resource", "what"),
    [
        (RECORDED[0], f"{attachments.BALANCER} login-balancer", "listener arn:listener"),
        (RECORDED[1], f"{attachments.GROUP} login-targets", "target i-1"),
        (RECORDED[2], f"{attachments.FILE_SYSTEM} home", "mount target fsmt-1"),
        (RECORDED[3], f"{attachments.FILE_SYSTEM} home", "file system policy"),
        (RECORDED[4], f"{attachments.NETWORK} vpc", "peering pcx-1"),
    ],
)
def test_an_unrecorded_attachment_names_the_resource_and_what_is_attached(one: Attached, resource: str, what: str) -> None:
    others = tuple(known for known in OURS if known["type"] != attachments.KINDS[one.kind].type)
    assert unrecorded(*RECORDED, resources=others) == [(resource, what)]


def test_a_target_of_another_group_is_not_the_stacks() -> None:
    assert unrecorded(dataclasses.replace(RECORDED[1], to="arn:other")) == [("arn:other", "target i-1")]
