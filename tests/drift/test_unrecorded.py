"""Instances under the stack's name: nodes, those on their way, those that are nobody's. Pure."""

import datetime as dt
import sys
from typing import Any

import pytest

from blueprints.finding import Level
from components.aws import attached
from components.aws.instances import Instance
from stacks.drift import unrecorded
from stacks.drift.record import Known
from stacks.drift.report import Unchecked
from tests.drift.examples import MOMENT, known, told

TEMPLATE = {
    "latestVersion": 3.0,
    "networkInterfaces": [{"securityGroups": ["sg-hosts"]}, {"securityGroups": ["sg-hosts"]}],
    "iamInstanceProfile": {"arn": "arn:compute"},
}


def stack() -> Known:
    resources = (
        {"type": unrecorded.SITE_TYPE, "name": "site", "id": "dev", "outputs": {"owner": "mine"}},
        {"type": unrecorded.INSTANCE_TYPE, "name": "control-0", "id": "i-control", "outputs": {}},
        {"type": unrecorded.TEMPLATE_TYPE, "name": "train-template", "id": "lt-1", "outputs": TEMPLATE},
    )
    return known(resources=resources)


def instance(id: str = "i-1", **changes: Any) -> Instance:  # noqa: A002 - EC2's word
    whole: dict[str, Any] = {
        "machine": "p5.48xlarge", "state": "running", "part": "compute", "node_set": "train", "node": "train-0", "launched": MOMENT - dt.timedelta(hours=1),
        "groups": frozenset({"sg-hosts"}), "profile": "arn:compute", "template_version": "3",
    }  # fmt: skip
    return Instance(id, **{**whole, **changes})


def judge(*instances: Instance) -> tuple[list[tuple[str, str]], list[Unchecked]]:
    found, unchecked = unrecorded.findings(instances, stack(), moment=MOMENT)
    return told(found), unchecked


def test_nodes_and_what_the_stack_made_are_no_findings() -> None:
    assert judge(instance(), instance("i-control", part="control", node_set="", node="control-0")) == ([], [])


def test_what_another_stack_of_the_same_name_started_is_none_of_our_business() -> None:
    stray = {"node_set": "gone", "node": "gone-0"}
    assert judge(instance(**stray, owner="theirs")) == ([], [])
    assert [where for _, where in judge(instance(**stray, owner="mine"), instance("i-2", **stray))[0]] == ["instance i-1", "instance i-2"]


NOBODYS = [
    {"node": "train-7"},
    {"node": ""},
    {"node_set": "gone", "node": "gone-0"},
    {"part": "control", "node_set": "", "node": "control-0"},
    {"part": "", "node_set": "", "node": ""},
]


@pytest.mark.parametrize("changes", NOBODYS)
def test_an_instance_that_is_no_node_is_perhaps_left_over(changes: dict[str, str]) -> None:
    [one], _ = unrecorded.findings([instance(**changes)], stack(), moment=MOMENT)
    assert (one.code, one.where, one.level) == ("CW706", "instance i-1", Level.WARNING)


def test_of_two_instances_for_one_node_the_older_one_is_left_over() -> None:
    found, _ = judge(instance("i-old", launched=MOMENT - dt.timedelta(days=1)), instance("i-new"))
    assert found == [("CW706", "instance i-old")]


def test_an_instance_on_its_way_and_one_that_builds_an_image_are_not_checked() -> None:
    found, unchecked = judge(instance("i-a", node="", launched=MOMENT - dt.timedelta(seconds=20)), instance("i-b", part="image", builds_image=True))
    assert found == []
    assert {one.where for one in unchecked} == {"instance i-a", "instance i-b"}


def test_a_node_with_other_security_groups_or_another_role_is_found() -> None:
    found, _ = judge(instance(groups=frozenset({"sg-hosts", "sg-open"}), profile="arn:admin"))
    assert found == [("CW707", "instance i-1 (train-0): security groups"), ("CW707", "instance i-1 (train-0): instance profile")]


def test_a_node_of_an_older_template_is_not_compared_with_the_new_one() -> None:
    found, unchecked = judge(instance(template_version="2", groups=frozenset({"sg-before"})))
    assert found == []
    assert ["another version" in one.why for one in unchecked] == [True]


def test_where_nobody_can_list_instances_there_are_none() -> None:
    assert unrecorded.look("prod", {"target": "local"}) == ()


def test_without_the_sdk_of_the_cloud_that_is_said_and_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(unrecorded.Unanswered, match="make setup EXTRAS=aws"):
        unrecorded.look("prod", {"target": "aws", "network": {"region": "us-east-1"}})
    seen = attached.look(attached.Things(networks=("vpc-1",)), region="us-east-1")
    assert (seen.attached, seen.answered) == ((), False)
