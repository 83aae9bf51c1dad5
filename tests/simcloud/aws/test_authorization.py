"""Who signs with the keys of an instance's role may do what its policies say, and nothing else."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from components.aws import policies
from tests.simcloud.aws import attempts, temporary
from tests.simcloud.aws.landscape import Account
from tests.simcloud.core.authorization import Attempt, is_allowed
from tests.simcloud.core.failure import NotSimulated, Refused
from tests.simcloud.core.store import Thing

REGION = "us-east-1"
STACK, OWNER_TAG = "clusterwright:stack", "clusterwright:owner"
OWNER = "0123456789abcdef"


def document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def statement(effect: str = "Allow", action: str = "ec2:Describe*", resource: str = "*", **more: Any) -> Mapping[str, Any]:
    return {"Effect": effect, "Action": action, "Resource": resource, **more}


LOOK = Attempt("ec2:DescribeInstances", "*", {"aws:RequestedRegion": [REGION]})
BOUND = {"StringEquals": {"aws:RequestedRegion": REGION}}


@pytest.mark.parametrize(
    ("statements", "allowed"),
    [
        ((), False),
        ((statement(),), True),
        ((statement(action="EC2:describeinstances"),), True),
        ((statement(action="ec2:Terminate*"),), False),
        ((statement(), statement("Deny", action="ec2:DescribeInstances")), False),
        ((statement(Condition=BOUND),), True),
        ((statement(Condition={"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}),), False),
        ((statement(Condition={"StringEquals": {"aws:requestedregion": [REGION, "eu-west-1"]}}),), True),
        ((statement(Condition={"StringEquals": {"aws:RequestTag/x": "y"}}),), False),
        ((statement(Condition={"StringEqualsIfExists": {"aws:RequestTag/x": "y"}}),), True),
        ((statement(Condition={"StringNotEquals": {"aws:RequestedRegion": REGION}}),), False),
        ((statement(Condition={"StringLike": {"aws:RequestedRegion": "us-*"}}),), True),
        ((statement(Condition={"ForAllValues:StringEquals": {"aws:TagKeys": ["Name"]}}),), True),
    ],
)
def test_statements_decide(statements: Sequence[Mapping[str, Any]], allowed: bool) -> None:
    assert is_allowed([document(*statements)] if statements else [], LOOK) is allowed


def test_all_values_are_compared() -> None:
    named = document(statement(action="ec2:CreateTags", Condition={"ForAllValues:StringEquals": {"aws:TagKeys": ["Name", "node"]}}))
    assert is_allowed([named], Attempt("ec2:CreateTags", "*", {"aws:TagKeys": ["node", "Name"]}))
    assert not is_allowed([named], Attempt("ec2:CreateTags", "*", {"aws:TagKeys": ["node", "owner"]}))


@pytest.mark.parametrize("condition", [{"NumericLessThan": {"ec2:x": "5"}}, {"StringEquals": {"aws:RequestedRegion": "${aws:x}"}}])
def test_what_has_no_rule_is_said(condition: Mapping[str, Any]) -> None:
    with pytest.raises(NotSimulated):
        is_allowed([document(statement(Condition=condition))], Attempt("ec2:DescribeInstances", "*", {"aws:RequestedRegion": [REGION], "ec2:x": ["1"]}))


@pytest.fixture
def controller(account: Account) -> Thing:
    """A role with the controllers' policy, and a template of the stack to start nodes from."""
    account.named("compute-role", "iam.Role", name="compute", assumeRolePolicy=policies.as_json(policies.trust("ec2.amazonaws.com")))
    account.named("compute-profile", "iam.InstanceProfile", name="compute", role="{compute-role}")
    tags = {STACK: "prod", "clusterwright:part": "compute"}
    account.named(
        "template", "ec2.LaunchTemplate", name="nodes", imageId="{image}", instanceType="m5.large", tags=tags, iamInstanceProfile={"name": "compute"},
        networkInterfaces=[{"subnetId": "{a}", "securityGroups": ["{group}"]}],
        tagSpecifications=[{"resourceType": kind, "tags": tags} for kind in ("instance", "volume", "network-interface")],
    )  # fmt: skip
    account.named("foreign", "ec2.LaunchTemplate", name="others", imageId="{image}", instanceType="m5.large", tags={STACK: "other"})
    return let_start(account, policies.Nodes(REGION, "prod", ("m5.large", "m5.xlarge")))


def let_start(account: Account, nodes: policies.Nodes) -> Thing:
    """Give the role with the controllers' policy for these nodes."""
    compute = account.cloud.need("iam.Role", account.names["compute-role"])
    text = policies.as_json(policies.start_nodes(nodes, owner=OWNER, compute_role_arn=compute["arn"]))
    for former in list(account.cloud.store.all("iam.RolePolicy")):
        account.cloud.delete(former)  # both are more than a role may have
    account.make("iam.RolePolicy", name="control", role="{role}", policy=text)
    return account.cloud.need("iam.Role", account.names["role"])


def tagged(kind: str, **tags: str) -> Mapping[str, Any]:
    return {"ResourceType": kind, "Tags": [{"Key": key.replace("_", ":"), "Value": value} for key, value in tags.items()]}


def fleet(account: Account, template: str = "template", *, stack: str = "prod", owner: str = OWNER, **override: str) -> Mapping[str, Any]:
    specification = {"LaunchTemplateId": account.names[template], "Version": "1"}
    own = [tagged(kind, clusterwright_stack=stack, clusterwright_part="compute", clusterwright_owner=owner) for kind in ("fleet", "instance")]
    return {
        "LaunchTemplateConfigs": [{"LaunchTemplateSpecification": specification, **({"Overrides": [override]} if override else {})}],
        "TagSpecifications": own,
    }


def run(account: Account, template: str = "template", **more: Any) -> Mapping[str, Any]:
    own = [tagged("instance", clusterwright_stack="prod", clusterwright_part="compute", clusterwright_owner=OWNER)]
    return {"LaunchTemplate": {"LaunchTemplateId": account.names[template], "Version": "1"}, "TagSpecifications": own, **account.filled(more)}


def refuse(account: Account, role: Thing, call: str, asked: Mapping[str, Any]) -> None:
    attempts.refuse_unallowed(account.cloud, role, "arn:aws:sts::123456789012:assumed-role/node/i-1", call=call, asked=asked, region=REGION)


def test_a_controller_starts_its_own_nodes(account: Account, controller: Thing) -> None:
    refuse(account, controller, "ec2.CreateFleet", fleet(account))
    refuse(account, controller, "ec2.CreateFleet", fleet(account, SubnetId=account.names["b"], InstanceType="m5.xlarge"))
    refuse(account, controller, "ec2.RunInstances", run(account))
    refuse(account, controller, "ec2.DescribeInstances", {})
    refuse(account, controller, "sts.GetCallerIdentity", {})


@pytest.mark.parametrize("which", [{"template": "foreign"}, {"stack": "other"}, {"owner": "another"}])
def test_a_controller_starts_nothing_of_another_stack(account: Account, controller: Thing, which: Mapping[str, str]) -> None:
    asked = fleet(account, **which)
    with pytest.raises(Refused, match="UnauthorizedOperation"):
        refuse(account, controller, "ec2.CreateFleet", asked)


@pytest.mark.parametrize(
    "changed",
    [
        {"ImageId": "ami-0123456789abcdef0"},
        {"InstanceType": "m5.24xlarge"},
        {"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "{a}", "Groups": ["{other-group}"]}]},
        {"BlockDeviceMappings": [{"DeviceName": "/dev/xvdb", "Ebs": {"SnapshotId": "snap-0123456789abcdef0"}}]},
    ],
)
def test_a_controller_starts_nothing_but_what_the_template_says(account: Account, controller: Thing, changed: Mapping[str, Any]) -> None:
    asked = run(account, **changed)
    with pytest.raises(Refused, match="UnauthorizedOperation"):
        refuse(account, controller, "ec2.RunInstances", asked)


@pytest.mark.parametrize("call", ["ec2.CreateFleet", "ec2.RunInstances"])
def test_a_controller_uses_the_groups_of_reservations_that_its_nodes_have(account: Account, controller: Thing, call: str) -> None:
    arns = [f"arn:aws:resource-groups:{REGION}:123456789012:group/{name}" for name in ("ours", "theirs")]
    let_start(account, policies.Nodes(REGION, "prod", ("m5.large",), reservation_groups=(arns[0],)))
    for name, arn in zip(("in-ours", "in-theirs"), arns, strict=True):
        wanted = {"capacityReservationTarget": {"capacityReservationResourceGroupArn": arn}}
        account.named(
            name, "ec2.LaunchTemplate", name=name, imageId="{image}", instanceType="m5.large", tags={STACK: "prod"}, capacityReservationSpecification=wanted,
            networkInterfaces=[{"subnetId": "{a}", "securityGroups": ["{group}"]}],
            tagSpecifications=[{"resourceType": kind, "tags": {STACK: "prod"}} for kind in ("volume", "network-interface")],
        )  # fmt: skip
    ask = {"ec2.CreateFleet": fleet, "ec2.RunInstances": run}[call]
    refuse(account, controller, call, ask(account, "in-ours"))
    with pytest.raises(Refused, match="group/theirs"):
        refuse(account, controller, call, ask(account, "in-theirs"))


def test_a_condition_that_the_action_does_not_know_never_holds(account: Account, controller: Thing) -> None:
    """Service Authorization Reference: CreateFleet can't be asked for the launch template, though RunInstances can."""
    seen = {
        attempt.action: attempt.context
        for attempt in attempts.attempts(account.cloud, "ec2.CreateFleet", fleet(account), REGION)
        if ":subnet/" in attempt.resource
    }
    assert "ec2:LaunchTemplate" in seen["ec2:RunInstances"]
    assert "ec2:LaunchTemplate" not in seen["ec2:CreateFleet"]


def test_a_controller_ends_and_names_compute_nodes_alone(account: Account, controller: Thing) -> None:
    tags = {STACK: "prod", "clusterwright:part": "compute"}
    node, older, login, foreign = (
        account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", tags=own)
        for own in (tags | {OWNER_TAG: OWNER}, tags, tags | {"clusterwright:part": "access"}, tags | {OWNER_TAG: "another"})
    )
    name = [{"Key": "clusterwright:node", "Value": "cpu-0"}]
    refuse(account, controller, "ec2.TerminateInstances", {"InstanceIds": [node.id, older.id]})
    refuse(account, controller, "ec2.CreateTags", {"Resources": [node.id], "Tags": name})
    for call, asked in (
        ("ec2.TerminateInstances", {"InstanceIds": [node.id, login.id]}),
        ("ec2.TerminateInstances", {"InstanceIds": [foreign.id]}),
        ("ec2.CreateTags", {"Resources": [login.id], "Tags": name}),
        ("ec2.CreateTags", {"Resources": [node.id], "Tags": [{"Key": STACK, "Value": "other"}]}),
        ("ec2.RunInstances", {"ImageId": account.names["image"], "InstanceType": "m5.large", "SubnetId": account.names["a"]}),
        ("ssm.GetParameter", {"Name": "/x"}),
    ):
        with pytest.raises(Refused, match="not authorized"):
            refuse(account, controller, call, asked)


def test_keys_of_a_role_end_with_the_instance(account: Account) -> None:
    instance = account.make("ec2.Instance", ami="{image}", instanceType="m5.large", subnetId="{a}", iamInstanceProfile="node")
    role = temporary.role_of(account.cloud, instance)
    assert role is not None
    given = temporary.credentials(account.cloud, instance, role)
    caller = temporary.caller(account.cloud, given["AccessKeyId"])
    assert caller is not None
    assert (caller.secret, caller.token, caller.role) == (given["SecretAccessKey"], given["Token"], "node")
    account.cloud.delete(instance)
    assert temporary.caller(account.cloud, given["AccessKeyId"]) is None
