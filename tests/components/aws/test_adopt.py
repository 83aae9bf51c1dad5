"""What a killed run made is told from what is somebody else's: the account as boto3 shows it, without an engine."""

import json
from typing import Any

import pytest

from components.adoption import ABSENT, Ambiguous, Certainty, Creation, NotAsked, Trace
from components.aws import adopt
from components.aws.adopt import KEPT_TAG, Account
from tests.simcloud.aws.client import REGION, SimulatedCloud
from tests.simcloud.aws.landscape import TRUST

TAGS = {
    "clusterwright:stack": "dev",
    "clusterwright:cluster": "starter",
    "clusterwright:owner": "mine",
    "clusterwright:part": "network",
    "Name": "starter-dev-network",
}


def trace(kind: str, inputs: dict[str, Any], *recorded: str) -> Trace:
    return Account(REGION).trace(Creation(f"urn:pulumi:dev::clusterwright::{kind}::one", kind, inputs), recorded=recorded)


VPC, SYSTEM, ROLE = "aws:ec2/vpc:Vpc", "aws:efs/fileSystem:FileSystem", "aws:iam/role:Role"
NETWORK: dict[str, Any] = {"cidrBlock": "10.0.0.0/16", "tags": TAGS}


def test_what_carries_all_tags_is_it(cloud: SimulatedCloud) -> None:
    vpc = cloud.make("ec2.Vpc", **NETWORK)
    assert trace(VPC, NETWORK) == Trace(Certainty.FOUND, (vpc.id,))
    assert trace(VPC, NETWORK, vpc.id) == ABSENT, "what is recorded is another resource's"


@pytest.mark.parametrize(
    "tags",
    [
        {**TAGS, "clusterwright:stack": "prod"},
        {**TAGS, "clusterwright:cluster": "other"},
        {**TAGS, "clusterwright:part": "control"},
        {**TAGS, "clusterwright:owner": "theirs"},
        {**TAGS, KEPT_TAG: "2026-11-21"},
        {},
    ],
    ids=["another stack's", "another cluster's", "another part", "that of another stack of the same name", "kept by an earlier life", "nobody's"],
)
def test_what_is_not_ours_is_not_found(cloud: SimulatedCloud, tags: dict[str, str]) -> None:
    cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16", tags=tags)
    cloud.make("iam.Role", name="starter-dev-one", assumeRolePolicy=json.dumps(TRUST), tags=tags)
    assert trace(VPC, NETWORK) == ABSENT
    assert trace(ROLE, {"name": "starter-dev-one", "tags": TAGS}) == ABSENT


def test_without_the_stacks_tag_nothing_is_looked_for(cloud: SimulatedCloud) -> None:
    cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16", tags={})
    assert trace(VPC, {"cidrBlock": "10.0.0.0/16"}) == ABSENT


def test_what_was_made_twice_is_named_twice_unless_it_holds_data(cloud: SimulatedCloud) -> None:
    twice = [cloud.make("ec2.Vpc", **NETWORK).id for _ in range(2)]
    assert trace(VPC, NETWORK).identities == tuple(twice)
    systems = [cloud.make("efs.FileSystem", creationToken=token, tags=TAGS).id for token in ("a", "b")]
    with pytest.raises(Ambiguous) as failed:
        trace(SYSTEM, {"creationToken": "c", "tags": TAGS})
    assert failed.value.identities == tuple(systems)


def test_many_pages_are_read(cloud: SimulatedCloud) -> None:
    for number in range(120):
        cloud.make("cloudwatch.LogGroup", name=f"group-{number}", retentionInDays=30, tags={**TAGS, "Name": f"{number}"})
    vpc = cloud.make("ec2.Vpc", **NETWORK)
    assert trace(VPC, NETWORK).identities == (vpc.id,)


def test_an_account_that_does_not_answer_is_no_empty_one(cloud: SimulatedCloud) -> None:
    cloud.expire_credentials()
    with pytest.raises(NotAsked, match="ExpiredToken"):
        trace(VPC, NETWORK)


def test_parts_are_found_by_what_they_are_part_of(cloud: SimulatedCloud) -> None:
    vpc = cloud.make("ec2.Vpc", **NETWORK).id
    subnet = cloud.make("ec2.Subnet", vpcId=vpc, cidrBlock="10.0.0.0/24", availabilityZone=f"{REGION}a").id
    table = cloud.make("ec2.RouteTable", vpcId=vpc).id
    system = cloud.make("efs.FileSystem", creationToken="a").id
    secret = cloud.make("secretsmanager.Secret", name="keys").id
    role = cloud.make("iam.Role", name="backups", assumeRolePolicy=json.dumps(TRUST))["arn"]
    vault = cloud.make("backup.Vault", name="vault").id
    plan = cloud.make("backup.Plan", name="plan", rules=[{"ruleName": "daily", "targetVaultName": vault}]).id
    asked: dict[str, dict[str, Any]] = {
        "ec2/routeTableAssociation:RouteTableAssociation": {"routeTableId": table, "subnetId": subnet},
        "efs/mountTarget:MountTarget": {"fileSystemId": system, "subnetId": subnet},
        "secretsmanager/secretVersion:SecretVersion": {"secretId": secret, "secretString": "one"},
        "backup/selection:Selection": {"planId": plan, "name": "all", "iamRoleArn": role},
    }
    assert {f"aws:{kind}" for kind in asked} == adopt.ASKED.keys()
    for kind, inputs in asked.items():
        assert trace(f"aws:{kind}", inputs) == ABSENT
        made = cloud.make(f"{kind.partition('/')[0]}.{kind.rpartition(':')[2]}", **inputs)
        assert trace(f"aws:{kind}", inputs) == Trace(Certainty.FOUND, (made.id,))
        assert trace(f"aws:{kind}", inputs, made.id) == ABSENT


def test_what_has_the_name_and_the_tags_is_it(cloud: SimulatedCloud) -> None:
    role = cloud.make("iam.Role", name="starter-dev-one", assumeRolePolicy=json.dumps(TRUST), tags=TAGS)
    cloud.make("iam.InstanceProfile", name="starter-dev-one", role=role.id, tags=TAGS)
    for kind in adopt.NAMED:
        assert trace(kind, {"name": "starter-dev-one", "tags": TAGS}) == Trace(Certainty.FOUND, ("starter-dev-one",))
        assert trace(kind, {"name": "starter-dev-two", "tags": TAGS}) == ABSENT


def test_what_is_kept_is_not_found_again(cloud: SimulatedCloud) -> None:
    made = [
        cloud.make("ec2.Vpc", **NETWORK),
        *(cloud.make("cloudwatch.LogGroup", name=f"group-{number}", retentionInDays=30, tags=TAGS) for number in range(30)),
    ]
    Account(REGION).keep([one["arn"] for one in made])
    assert all(one.tags.keys() == {*TAGS, KEPT_TAG} for one in cloud.things())
    assert trace(VPC, NETWORK) == ABSENT
    with pytest.raises(NotAsked, match="vpc-0"):
        Account(REGION).keep([f"arn:aws:ec2:{REGION}:123456789012:vpc/vpc-0"])
