"""An account in this process, without server and engine, with a network in it: what most requests need before they can be right or wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.failure import Refused
from ..core.store import Store, Thing
from . import images, rules
from .cloud import Cloud

REGION = "us-east-1"
TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}


def policy(*actions: str, **changed: Any) -> str:
    """Give a policy document that allows these actions; `changed` replaces or adds elements of its statement."""
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": "*", **changed}]})


class Account:
    """The simulated cloud by its rules alone."""

    def __init__(self, journal: Path, names: Mapping[str, str] | None = None):
        rules.load()
        self.cloud = Cloud(Store(journal))
        self.names: dict[str, str] = dict(names) if names else {"image": str(next(images.public(REGION))["ImageId"])}

    def make(self, kind: str, /, **inputs: Any) -> Thing:
        """Make a thing; `{name}` in a value stands for the id of a thing that `named` was given."""
        return self.cloud.create(kind, self.filled(inputs), region=REGION, door="hand")

    def named(self, name: str, kind: str, /, **inputs: Any) -> Thing:
        thing = self.make(kind, **inputs)
        self.names[name] = thing.id
        return thing

    def refusal(self, kind: str, /, **inputs: Any) -> Refused:
        """Ask for what must be refused, and give the refusal."""
        try:
            thing = self.make(kind, **inputs)
        except Refused as refused:
            return refused
        raise AssertionError(f"{kind} was made: {thing}")

    def close(self) -> None:
        self.cloud.store.close()

    def delete_refusal(self, thing: Thing) -> Refused:
        try:
            self.cloud.delete(thing)
        except Refused as refused:
            return refused
        raise AssertionError(f"{thing.id} was deleted")

    def filled(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self.filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        if isinstance(value, str) and value.startswith("{") and value.endswith("}") and value[1:-1] in self.names:
            return self.names[value[1:-1]]
        return value


def furnish(account: Account) -> None:
    """Make two VPCs, of which the first has a gateway out, two zones and a security group; a role, a key, a log group, a bucket."""
    account.named("vpc", "ec2.Vpc", cidrBlock="10.0.0.0/16", enableDnsHostnames=True)
    account.named("other-vpc", "ec2.Vpc", cidrBlock="10.8.0.0/16")
    account.named("gateway", "ec2.InternetGateway", vpcId="{vpc}")
    account.named("a", "ec2.Subnet", vpcId="{vpc}", cidrBlock="10.0.0.0/24", availabilityZone="us-east-1a")
    account.named("b", "ec2.Subnet", vpcId="{vpc}", cidrBlock="10.0.1.0/24", availabilityZone="us-east-1b")
    account.named("second-a", "ec2.Subnet", vpcId="{vpc}", cidrBlock="10.0.2.0/24", availabilityZone="us-east-1a")
    account.named("other", "ec2.Subnet", vpcId="{other-vpc}", cidrBlock="10.8.0.0/24", availabilityZone="us-east-1a")
    account.named("table", "ec2.RouteTable", vpcId="{vpc}")
    account.named("address", "ec2.Eip")
    account.named("group", "ec2.SecurityGroup", name="nodes", vpcId="{vpc}")
    account.named("other-group", "ec2.SecurityGroup", name="others", vpcId="{other-vpc}")
    account.named("role", "iam.Role", name="node", assumeRolePolicy=json.dumps(TRUST))
    account.names["role-arn"] = account.cloud.need("iam.Role", account.names["role"])["arn"]
    account.named("profile", "iam.InstanceProfile", name="node", role="{role}")
    account.named("key", "kms.Key", enableKeyRotation=True)
    account.names["key-arn"] = account.cloud.need("kms.Key", account.names["key"])["arn"]
    account.named("log", "cloudwatch.LogGroup", name="/flow", retentionInDays=30)
    account.named("bucket", "s3.Bucket", bucket="a-bucket")
