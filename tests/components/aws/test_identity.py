"""Roles, keys and what a host does with them at its first boot."""

import datetime as dt
import itertools
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.session
import pulumi
import pytest

from blueprints import catalog
from components.aws import identity, policies
from components.aws.guest import first_boot
from components.bootstrap import first_program
from tests.components.aws import programs
from tests.components.registered import Program
from tests.simcloud.aws import rights

NO_CONDITION = {
    "logs:CreateLogStream": "the group's ARN is its resource",
    "logs:DescribeLogStreams": "the group's ARN is its resource",
    "logs:PutLogEvents": "the group's ARN is its resource",
}
"""Actions that are bound to a stack by their resource alone."""
SEEN_IN_PRACTICE = {"ec2:CreateFleet": ("capacity-reservation", "group", "network-interface", "security-group", "snapshot")}
"""What CreateFleet is also refused on, which its table in the reference doesn't have: policies of AWS ParallelCluster and Karpenter. Only what every request has can be asked there."""
MADE_HERE = "arn:aws:service:"


def policy_statements(found: Program) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in programs.of(found, "RolePolicy"):
        yield from ((one.name, statement) for statement in programs.statements(one.inputs["policy"]))


def statements_of(found: Program, policy: str) -> dict[str, dict[str, Any]]:
    return {one["Sid"]: one for one in programs.statements(programs.one(found, "RolePolicy", policy).inputs["policy"])}


# What roles may do


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_every_right_has_a_condition_or_one_resource(blueprint: str) -> None:
    for policy, statement in policy_statements(programs.library(blueprint)):
        if set(statement["Action"]) <= NO_CONDITION.keys():
            assert all("LogGroup/flow-logs" in resource for resource in statement["Resource"])
            continue
        assert statement["Condition"], (policy, statement["Sid"])
        assert not any(action.endswith("*") for action in statement["Action"]), (policy, statement["Sid"])


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_every_right_is_one_that_there_is(blueprint: str) -> None:
    """An action is allowed on what it can be allowed on, under conditions that can be asked of it: of anything else AWS says nothing, and the right is none."""
    checked = 0
    for policy, statement in policy_statements(programs.library(blueprint)):
        asked = {key for of_operator in statement.get("Condition", {}).values() for key in of_operator}
        for action, resource in itertools.product(statement["Action"], statement["Resource"]):
            kind, where = rights.type_of(resource), (policy, statement["Sid"], action, resource)
            if resource.startswith(MADE_HERE):
                continue  # no account has made it, so its ARN tells no type
            if action in SEEN_IN_PRACTICE and kind in SEEN_IN_PRACTICE[action]:
                assert all(rights.has(frozenset(), key) for key in asked), where
                continue
            assert rights.takes(action, kind), where
            assert [key for key in asked if not rights.has(rights.keys(action, kind), key)] == [], where
            checked += 1
    assert checked


@pytest.mark.parametrize(
    ("action", "resource", "key"),
    [
        ("ec2:CreateFleet", "arn:aws:ec2:us-east-1:*:subnet/*", "ec2:LaunchTemplate"),
        ("ec2:CreateFleet", "arn:aws:ec2:us-east-1:*:image/*", "ec2:IsLaunchTemplateResource"),
        ("ec2:RunInstances", "arn:aws:ec2:us-east-1:*:volume/*", "ec2:InstanceType"),
        ("ec2:RunInstances", "arn:aws:ec2:us-east-1:*:instance/*", "aws:ResourceTag/clusterwright:stack"),
        ("kms:Decrypt", "arn:aws:kms:us-east-1:*:key/*", "kms:GrantIsForAWSResource"),
    ],
)
def test_conditions_that_never_hold_are_known(action: str, resource: str, key: str) -> None:
    assert not rights.has(rights.keys(action, rights.type_of(resource)), key)


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_only_looking_is_allowed_everywhere(blueprint: str) -> None:
    for policy, statement in policy_statements(programs.library(blueprint)):
        if "*" in statement["Resource"]:
            assert all(action.startswith("ec2:Describe") for action in statement["Action"]), (policy, statement["Sid"])


def test_a_controller_starts_and_ends_nodes_of_its_own_stack_only() -> None:
    found = statements_of(programs.library("starter"), "control-policy")
    own = {"aws:RequestTag/clusterwright:stack": "test"}
    machines = {"ec2:InstanceType": [one.hosts.machine.name for one in programs.resolved("starter").node_sets]}
    assert found["StartFleet"]["Condition"]["StringEquals"] == own
    assert found["StartWhatNodesHave"]["Condition"]["StringEquals"] == own
    assert found["StartNodes"]["Condition"]["StringEquals"] == own | machines
    assert found["StartNodesOfFleet"]["Condition"]["StringEquals"] == own
    assert found["StartFromOwnTemplates"]["Condition"]["StringEquals"] == {"aws:ResourceTag/clusterwright:stack": "test"}
    compute = {"aws:ResourceTag/clusterwright:stack": "test", "aws:ResourceTag/clusterwright:part": "compute"}
    assert found["EndNodes"]["Condition"]["StringEquals"] == compute
    assert found["NameNodes"]["Condition"]["StringEquals"] == compute
    assert set(found["NameNodes"]["Condition"]["ForAllValues:StringEquals"]["aws:TagKeys"]) == {"Name", "clusterwright:node"}
    tagging = [statement for statement in found.values() if "ec2:CreateTags" in statement["Action"]]
    assert {one["Sid"] for one in tagging} == {"NameNodes", "TagWhatIsStarted"}
    assert found["TagWhatIsStarted"]["Condition"]["StringEquals"]["ec2:CreateAction"] == ["CreateFleet", "RunInstances"]


def test_a_controller_gives_nodes_no_role_but_theirs() -> None:
    passing = statements_of(programs.library("starter"), "control-policy")["GiveNodesTheirRole"]
    assert passing["Resource"] == ["arn:aws:service:us-east-1:123456789012:Role/compute-role"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


@pytest.mark.parametrize("part", ["compute", "access"])
def test_other_hosts_may_nearly_nothing(part: str) -> None:
    found = statements_of(programs.library("starter"), f"{part}-policy")
    assert {name: one["Action"] for name, one in found.items()} == {"ReadOwnKeys": ["secretsmanager:GetSecretValue"]}


@pytest.mark.parametrize("part", ["compute", "access", "control"])
def test_a_host_reads_the_keys_of_its_own_kind_only(part: str) -> None:
    reading = statements_of(programs.library("starter"), f"{part}-policy")["ReadOwnKeys"]
    assert reading["Resource"] == [f"arn:aws:service:us-east-1:123456789012:Secret/{part}-keys"]


def test_hosts_use_the_buckets_that_they_mount_and_no_other() -> None:
    found = programs.program("starter", storage__sets={"kind": "object", "mount": "/sets"})
    bucket = "arn:aws:service:us-east-1:123456789012:Bucket/sets-bucket"
    for part in ("compute", "access", "control"):
        rights = statements_of(found, f"{part}-policy")
        assert (rights["ListBuckets"]["Resource"], rights["UseObjects"]["Resource"]) == ([bucket], [f"{bucket}/*"])


def test_hosts_use_the_keys_of_their_buckets_through_s3_alone() -> None:
    keys = {
        "sets": "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001",
        "more": "00000000-0000-0000-0000-00001234abcd",
        "rest": "alias/research",
        "last": "arn:aws:kms:us-east-1:123456789012:alias/data",
    }
    overrides: dict[str, Any] = {f"storage__{name}": {"kind": "object", "mount": f"/{name}", "key": key} for name, key in keys.items()}
    found = programs.program("starter", **overrides)
    via = {"kms:ViaService": "s3.us-east-1.amazonaws.com"}
    for part in ("compute", "access", "control"):
        of_keys = statements_of(found, f"{part}-policy")
        by_id, by_alias = of_keys["UseKeysOfBuckets"], of_keys["UseKeysOfBucketsByAlias"]
        assert by_id["Action"] == by_alias["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
        assert set(by_id["Resource"]) == {keys["sets"], "arn:aws:kms:us-east-1:*:key/00000000-0000-0000-0000-00001234abcd"}
        assert by_id["Condition"] == {"StringEquals": via}
        assert by_alias["Resource"] == ["arn:aws:kms:us-east-1:*:key/*"], "an alias can't be named there"
        assert set(by_alias["Condition"]["ForAnyValue:StringEquals"]["kms:ResourceAliases"]) == {"alias/research", "alias/data"}
        assert by_alias["Condition"]["StringEquals"] == via


def test_a_controller_lets_ec2_encrypt_disks_and_does_nothing_else_with_keys() -> None:
    found = statements_of(programs.library("starter"), "control-policy")
    of_keys = {name: one for name, one in found.items() if any(action.startswith("kms:") for action in one["Action"])}
    assert {action for one in of_keys.values() for action in one["Action"]} == {
        f"kms:{name}" for name in ("CreateGrant", "Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo")
    }
    assert all(one["Condition"]["StringEquals"] == {"kms:ViaService": "ec2.us-east-1.amazonaws.com"} for one in of_keys.values())
    assert [one["Condition"].get("Bool") for one in of_keys.values() if "kms:CreateGrant" in one["Action"]] == [{"kms:GrantIsForAWSResource": "true"}]


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_roles_are_taken_by_services_only(blueprint: str) -> None:
    services = {"ec2.amazonaws.com", "vpc-flow-logs.amazonaws.com", "backup.amazonaws.com"}
    for one in programs.of(programs.library(blueprint), "Role"):
        (statement,) = programs.statements(one.inputs["assumeRolePolicy"])
        assert statement["Principal"].keys() == {"Service"}
        assert statement["Principal"]["Service"] in services
        assert "Condition" in statement or statement["Principal"]["Service"] == "ec2.amazonaws.com"


@pytest.mark.parametrize(("region", "expected"), [("us-east-1", "aws"), ("ap-southeast-2", "aws"), ("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn")])
def test_arns_have_the_partition_of_their_region(region: str, expected: str) -> None:
    assert policies.partition(region) == expected


# Keys


def test_each_kind_of_host_has_a_secret_with_its_keys() -> None:
    found = programs.library("starter")
    held = {one.name: json.loads(one.inputs["secretString"]).keys() for one in programs.of(found, "SecretVersion")}
    assert held == {"compute-keys": {"host_key", "munge_key"}, "access-keys": {"host_key", "munge_key"}, "control-keys": {"host_key", "munge_key"}}
    assert all(one.secret_inputs == {"secretString"} for one in programs.of(found, "SecretVersion"))


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_a_host_waits_for_its_keys_and_its_right_to_read_them(blueprint: str) -> None:
    found = programs.library(blueprint)
    for one in programs.of(found, "Instance"):
        if one.type.startswith("aws:ec2"):
            part = one.inputs["tags"]["clusterwright:part"]
            assert {f"{part}-keys", f"{part}-policy", f"{part}-profile"} <= one.needs, one.name


# The first program of a host


def test_requests_are_signed_as_the_cloud_wants_it() -> None:
    """Against botocore's own signature of the same request."""
    now = dt.datetime(2026, 11, 21, 12, 30, 5, tzinfo=dt.UTC)
    body, endpoint = b'{"SecretId": "arn:aws:secretsmanager:us-east-1:123456789012:secret:starter-abc"}', "secretsmanager.us-east-1.amazonaws.com"
    known = {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "Token": "session"}
    ours = first_boot.signed(body, "us-east-1", endpoint, known, now)
    theirs = botocore.awsrequest.AWSRequest(
        "POST", f"https://{endpoint}/", data=body, headers={name: value for name, value in ours.items() if name in ("content-type", "host", "x-amz-target")}
    )
    credentials = botocore.credentials.Credentials(known["AccessKeyId"], known["SecretAccessKey"], known["Token"])
    signer = botocore.auth.SigV4Auth(credentials, "secretsmanager", "us-east-1")
    theirs.context["timestamp"] = now.strftime("%Y%m%dT%H%M%SZ")
    theirs.headers["X-Amz-Date"] = theirs.context["timestamp"]
    theirs.headers["X-Amz-Security-Token"] = known["Token"]
    expected = signer.signature(signer.string_to_sign(theirs, signer.canonical_request(theirs)), theirs)
    assert ours["Authorization"].endswith(f"Signature={expected}")


def test_only_root_reaches_the_metadata_service_and_on_controllers_the_elastic_program() -> None:
    found = programs.library("starter")
    told = {
        name: programs.order(programs.one(found, kind, name))
        for kind, name in (("Instance", "control-0"), ("Instance", "login-0"), ("LaunchTemplate", "train-template"))
    }
    assert {name: order["metadata"] for name, order in told.items()} == {"control-0": ["slurm"], "login-0": [], "train-template": []}


def test_the_firewall_of_a_host_is_the_same_after_every_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    chain: list[list[str]] = []

    def iptables(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        program, _wait, verb, *rule = command
        assert program == "iptables"
        if verb == "-I":
            chain.insert(0, rule)
        return subprocess.CompletedProcess(command, 0 if rule in chain else 1)

    monkeypatch.setattr(subprocess, "run", iptables)
    for _ in range(2):
        first_boot.guard_metadata(["slurm"])
    to = ["OUTPUT", "-d", "169.254.169.254", "-m", "owner"]
    assert chain == [[*to, "--uid-owner", "slurm", "-j", "RETURN"], [*to, "!", "--uid-owner", "0", "-j", "REJECT"]]


def test_a_host_that_fails_stays_for_those_who_look_for_the_reason() -> None:
    """A shutdown would destroy the evidence."""
    program = first_program.program(Path(first_boot.__file__))
    assert not any(word in program for word in ("shutdown", "poweroff", "terminate-instances"))


KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-00000000000"
GROUP = "arn:aws:resource-groups:us-east-1:123456789012:group/reserved-"


@pytest.mark.parametrize(
    ("region", "machines", "buckets", "keys", "groups"),
    [
        ("us-gov-west-1", 1, 0, 0, 0),
        ("us-gov-west-1", 40, 0, 0, 0),
        ("ap-southeast-2", 1, 9, 3, 0),
        ("us-gov-west-1", 3, 9, 9, 9),
    ],
)
def test_the_catalogue_knows_the_size_of_a_controllers_policy_from_above(region: str, machines: int, buckets: int, keys: int, groups: int) -> None:
    """The check of a blueprint adds up these numbers (CW606). White space doesn't count (IAM User Guide, "IAM and AWS STS quotas")."""
    size = catalog.policy_size("aws")
    assert size is not None
    names = tuple(sorted(catalog.machines("aws"))[:machines])
    given_keys, given_groups = [f"{KEY}{number}" for number in range(keys)], tuple(f"{GROUP}{number}" for number in range(groups))
    arns = [f"arn:{policies.partition(region)}:s3:::{number:063}" for number in range(buckets)]
    nodes = policies.Nodes(region, "s" * 40, names, given_groups)
    role = f"arn:{policies.partition(region)}:iam::123456789012:role/{'r' * 64}"
    secret = f"arn:{policies.partition(region)}:secretsmanager:{region}:123456789012:secret:{'s' * 120}-abcdef"
    statements = [
        *policies.read_secret(secret),
        *policies.use_buckets(arns, region=region, keys=[*given_keys, *(["alias/of-ours"] if keys else [])]),
        *policies.start_nodes(nodes, owner="0" * 32, compute_role_arn=role),
    ]
    real = len(json.dumps(json.loads(policies.as_json(statements)), separators=(",", ":")))
    known = size.base + sum(size.machine_copies * (len(name) + 3) for name in names)
    known += size.bucket * buckets + (size.buckets if buckets else 0)
    known += sum(size.key + len(key) for key in [*given_keys, *(["alias/of-ours"] if keys else [])]) + (size.keys if keys else 0)
    known += sum(len(group) + 3 for group in given_groups) + (size.groups if groups else 0)
    assert real <= known <= real * 1.25


def test_a_policy_that_outgrows_the_limit_is_a_page_before_the_role_gets_it() -> None:
    """The check of a blueprint counts with stacks' names of usual length; the program sees the real one."""
    size = catalog.policy_size("aws")
    assert size is not None
    empty = policies.letters(policies.as_json(policies.read_secret("")))
    largest = policies.as_json(policies.read_secret("s" * (size.limit - empty)))
    assert identity.require_size(largest, part="control") == largest
    with pytest.raises(pulumi.RunError, match=r"need 10241 characters\n  why: AWS allows 10240"):
        identity.require_size(policies.as_json(policies.read_secret("s" * (size.limit - empty + 1))), part="control")
