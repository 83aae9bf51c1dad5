"""What only looks: keys that may read and no more, and what a read shows that somebody else did."""

from typing import Any

import botocore.exceptions
import pytest

from tests.simcloud.aws import rules
from tests.simcloud.aws.client import REGION, SimulatedCloud
from tests.simcloud.aws.landscape import Account
from tests.simcloud.aws.server import READS

TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
RIGHTS = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:DescribeInstances","Resource":"*"}]}'
ALL = "arn:aws:iam::aws:policy/AdministratorAccess"


def test_keys_that_may_only_read_are_refused_every_write(aws: Any, cloud: SimulatedCloud) -> None:
    vpc = cloud.make("ec2.Vpc", cidrBlock="10.0.0.0/16")
    cloud.deny_writes()
    ec2 = aws("ec2", region_name=REGION)
    assert [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]] == [vpc.id]
    with pytest.raises(botocore.exceptions.ClientError, match="UnauthorizedOperation"):
        ec2.create_tags(Resources=[vpc.id], Tags=[{"Key": "a", "Value": "b"}])
    cloud.deny_writes(False)
    ec2.create_tags(Resources=[vpc.id], Tags=[{"Key": "a", "Value": "b"}])


@pytest.mark.parametrize("call", ["read ec2.Vpc", "invoke aws:ec2/getAmi:getAmi", "ec2.DescribeInstances", "service-quotas.GetServiceQuota", "iam.ListRoles"])
def test_these_calls_look(call: str) -> None:
    assert READS.match(call)


@pytest.mark.parametrize(
    "call", ["create ec2.Vpc", "update ec2.Vpc", "delete ec2.Vpc", "ec2.CreateFleet", "ec2.RunInstances", "ec2.CreateTags", "ssm.PutParameter"]
)
def test_these_calls_change(call: str) -> None:
    assert not READS.match(call)


def test_a_read_of_a_role_shows_the_policies_that_it_has_by_now(account: Account) -> None:
    cloud = account.cloud
    role = cloud.create("iam.Role", {"name": "host", "assumeRolePolicy": TRUST}, region=REGION, door="provider")
    shown = rules.rules("iam.Role").observed(cloud, role)
    assert (shown["inlinePolicies"], shown["managedPolicyArns"]) == ([], [])
    cloud.create("iam.RolePolicy", {"role": "host", "name": "more", "policy": RIGHTS}, region=REGION, door="hand")
    cloud.create("iam.RolePolicyAttachment", {"role": "host", "policyArn": ALL}, region=REGION, door="hand")
    shown = cloud.read(role)
    assert ([one["name"] for one in shown["inlinePolicies"]], shown["managedPolicyArns"]) == (["more"], [ALL])


def test_drift_of_things_with_one_id_is_told_apart_by_kind(cloud: SimulatedCloud) -> None:
    bucket = cloud.make("s3.Bucket", bucket="sets")
    cloud.make("s3.BucketPublicAccessBlock", bucket="sets", blockPublicPolicy=True)
    cloud.drift(bucket.id, kind="s3.BucketPublicAccessBlock", blockPublicPolicy=False)
    assert cloud.thing("s3.BucketPublicAccessBlock")["blockPublicPolicy"] is False
    assert "blockPublicPolicy" not in cloud.thing("s3.Bucket").properties
