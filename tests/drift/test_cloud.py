"""What the engine shows, told apart: the world, the code, and what is no drift."""

import datetime as dt
from typing import Any

import pytest
import yaml

from blueprints.finding import Level
from components import registry
from components.aws import discovery
from components.inspection.codes import Code
from stacks.drift import cloud, ignore, rules
from stacks.drift.report import texts
from tests.drift.examples import sides, told

GROUP = "aws:ec2/securityGroup:SecurityGroup"


def step(
    op: str, kind: str, name: str, old: dict[str, Any] | None = None, new: dict[str, Any] | None = None, *, inputs: bool = False, **more: Any
) -> dict[str, Any]:
    side = "inputs" if inputs else "outputs"
    state = {"type": kind, "id": f"id-{name}"}
    return {
        "op": op,
        "urn": f"urn:pulumi:prod::clusterwright::{kind}::{name}",
        "oldState": {**state, side: old or {}},
        "newState": {**state, side: new or {}},
        **more,
    }


def document(*steps: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    return steps


def test_an_unchanged_stack_has_no_findings() -> None:
    same = document(step("same", GROUP, "login", {"a": 1}, {"a": 1}), step("refresh", GROUP, "login"))
    assert cloud.findings(same, same) == ()


def test_each_changed_property_is_a_finding_with_three_sides() -> None:
    old = {"ingress": [{"port": 22, "cidr": "10.0.0.0/8"}], "tags": {"owner": "ada"}, "name": "login"}
    new = {"ingress": [{"port": 22, "cidr": "0.0.0.0/0"}], "tags": {}, "name": "login"}
    rule, tag = cloud.findings(document(step("update", GROUP, "login", old, new, diffReasons=["ingress", "tags"])), None)
    assert (rule.place, rule.level) == (f"{GROUP} login: ingress[0].cidr", Level.ERROR)
    assert sides(rule) == ("10.0.0.0/8", "10.0.0.0/8", "0.0.0.0/0")
    assert (tag.place, tag.level, texts(tag).recorded, texts(tag).actual) == (f"{GROUP} login: tags.owner", Level.NOTE, "ada", None)


def test_properties_that_the_provider_does_not_call_changed_are_no_findings() -> None:
    changed = step("update", GROUP, "login", {"name": "a", "seen": 1}, {"name": "b", "seen": 2}, detailedDiff={"name": {"kind": "update"}})
    assert told(cloud.findings(document(changed), None)) == [("CW702", f"{GROUP} login: name")]


def test_a_resource_that_is_gone_is_one_finding() -> None:
    kind = "aws:ec2/placementGroup:PlacementGroup"
    [gone] = cloud.findings(document(step("delete", kind, "train")), None)
    assert (gone.code, gone.place, texts(gone).recorded, texts(gone).actual, gone.level) == (Code.RESOURCE_GONE, f"{kind} train", "id-train", None, Level.ERROR)


def test_changed_code_and_a_changed_world_are_told_apart_and_meet_in_one_property() -> None:
    world = document(step("update", GROUP, "login", {"name": "was"}, {"name": "is"}))
    program = document(
        step("update", GROUP, "login", {"name": "was"}, {"name": "wanted"}, inputs=True),
        step("create", GROUP, "extra", diffReasons=[]),
        step("replace", GROUP, "other", {"vpc": "a", "name": "x"}, {"vpc": "b", "name": "y"}, inputs=True),
    )
    found = cloud.findings(world, program)
    seen = next(one for one in found if one.code is Code.PROPERTY_CHANGED)
    assert sides(seen) == ("wanted", "was", "is")
    asked = {one.place: one for one in found if one.code is Code.CODE_CHANGED}
    assert {one.level for one in asked.values()} == {Level.NOTE}
    assert asked[f"{GROUP} login"].what == "`up` would change it because of name"
    assert (texts(asked[f"{GROUP} login"]).desired, texts(asked[f"{GROUP} login"]).recorded) == ("wanted", "was")
    assert asked[f"{GROUP} extra"].what == "`up` would create it"
    assert asked[f"{GROUP} other"].what == "`up` would replace it because of name, vpc"


LEFT_OUT = [
    ("clusterwright:local:HostPool", {"boots": {"train-0": 1}}, {"boots": {"train-0": 2}}),
    ("aws:autoscaling/group:Group", {"desiredCapacity": 2}, {"desiredCapacity": 5}),
    ("aws:eks/nodeGroup:NodeGroup", {"scalingConfig": {"desiredSize": 2}}, {"scalingConfig": {"desiredSize": 5}}),
    ("aws:ec2/instance:Instance", {"tagsAll": {"a": "1"}}, {"tagsAll": {"a": "2"}}),
    ("aws:ec2/launchTemplate:LaunchTemplate", {"latestVersion": 1}, {"latestVersion": 2}),
]


@pytest.mark.parametrize(("kind", "old", "new"), LEFT_OUT)
def test_what_belongs_to_a_scaler_or_is_bookkeeping_is_left_out_and_named(kind: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    world = document(step("update", kind, "it", old, new))
    assert cloud.findings(world, None) == ()
    [left] = cloud.left_out(world)
    assert left.where.startswith(f"{kind} it: ")
    assert left.why.startswith("left out: ")


def test_the_minimum_of_a_scaled_group_is_drift_all_the_same() -> None:
    kind = "aws:autoscaling/group:Group"
    assert told(cloud.findings(document(step("update", kind, "it", {"minSize": 0}, {"minSize": 3})), None)) == [("CW702", f"{kind} it: minSize")]


LEVELS = [
    ("aws:iam/rolePolicy:RolePolicy", "policy", Level.ERROR),
    ("aws:iam/role:Role", "tags.owner", Level.NOTE),
    ("aws:ec2/launchTemplate:LaunchTemplate", "imageId", Level.ERROR),
    ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", "cidrIpv4", Level.ERROR),
    ("gcp:compute/instance:Instance", "labels.owner", Level.NOTE),
    ("aws:ec2/subnet:Subnet", "mapPublicIpOnLaunch", Level.ERROR),
    ("aws:ec2/subnet:Subnet", "cidrBlock", None),
]


@pytest.mark.parametrize(("kind", "path", "level"), LEVELS)
def test_how_much_a_difference_matters_follows_from_what_it_is(kind: str, path: str, level: Level | None) -> None:
    rule = rules.rule(kind, path)
    assert (rule.level if rule else None) is level


def outputs_only(kind: str, old: dict[str, Any], new: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """What the engine says when no input differs."""
    return document(step("same", kind, "it", old, new))


def test_outputs_that_no_input_names_count_only_where_a_rule_says_so() -> None:
    host = "aws:ec2/instance:Instance"
    assert cloud.findings(outputs_only(host, {"publicIp": "192.0.2.1", "__defaults": []}, {"publicIp": "192.0.2.2"}), None) == ()
    [stopped] = cloud.findings(outputs_only(host, {"instanceState": "running"}, {"instanceState": "stopped"}), None)
    assert (stopped.place, stopped.level, texts(stopped).actual) == (f"{host} it: instanceState", Level.ERROR, "stopped")


def test_an_output_that_the_record_does_not_have_yet_is_no_drift_of_our_own_resources_and_is_named() -> None:
    balancer = "clusterwright:local:Balancer"
    older = document(step("update", balancer, "balancer", {"up": True}, {"up": True, "configuration": "abc"}, diffReasons=["configuration"]))
    assert cloud.findings(older, None) == ()
    [named] = cloud.left_out(older)
    assert (named.where, "the next `up` does" in named.why) == (f"{balancer} balancer: configuration", True)
    changed = document(step("update", balancer, "balancer", {"configuration": "abc"}, {"configuration": "xyz"}, diffReasons=["configuration"]))
    assert told(cloud.findings(changed, None)) == [("CW702", f"{balancer} balancer: configuration")]
    elsewhere = document(step("update", "aws:ec2/vpcEndpoint:VpcEndpoint", "s3", {"id": "x"}, {"id": "x", "policy": "all"}, diffReasons=["policy"]))
    assert told(cloud.findings(elsewhere, None)) == [("CW702", "aws:ec2/vpcEndpoint:VpcEndpoint s3: policy")], "in a cloud it is what somebody wrote"


def test_a_changed_secret_is_found_although_the_engine_shows_neither_side() -> None:
    kind, hidden = (
        "aws:secretsmanager/secretVersion:SecretVersion",
        {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"},
    )
    [found] = cloud.findings(document(step("update", kind, "keys", {"secretString": hidden}, {"secretString": hidden}, diffReasons=["secretString"])), None)
    assert (found.place, texts(found).recorded, texts(found).actual) == (f"{kind} keys: secretString", "(a secret)", "(a secret)")
    same = document(step("same", kind, "keys", {"secretString": hidden}, {"secretString": hidden}))
    assert cloud.findings(same, None) == ()


def test_a_secret_that_comes_back_in_the_clear_is_not_shown() -> None:
    hidden = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
    [found] = cloud.findings(document(step("update", "aws:rds/instance:Instance", "it", {"password": hidden}, {"password": "hunter22"})), None)
    assert (texts(found).recorded, texts(found).actual) == ("(a secret)", "(a secret)")
    assert "hunter22" not in repr(found)


def test_a_policy_that_the_stack_did_not_give_is_found_and_its_own_are_not() -> None:
    own = [
        {"type": discovery.ROLE_ATTACHMENT, "name": "a", "id": "a", "outputs": {"role": "train", "policyArn": "arn:own"}},
        {"type": discovery.ROLE_POLICY, "name": "p", "id": "p", "outputs": {"role": "train", "name": "own"}},
    ]
    given = {"name": "train", "managedPolicyArns": ["arn:own"], "inlinePolicies": [{"name": "own", "policy": "{}"}]}
    assert cloud.findings(outputs_only(discovery.ROLE, {"name": "train"}, given), None, recorded=own) == ()
    more = {**given, "managedPolicyArns": ["arn:own", "arn:all"], "inlinePolicies": [{"name": "own"}, {"name": "more"}]}
    found = cloud.findings(outputs_only(discovery.ROLE, given, more), None, recorded=own)
    assert told(found) == [("CW705", f"{discovery.ROLE} it: policy arn:all"), ("CW705", f"{discovery.ROLE} it: policy more")]


def test_a_replacement_is_told_once() -> None:
    program = document(*(step(op, GROUP, "it", {"name": "a"}, {"name": "b"}, inputs=True) for op in ("create-replacement", "replace", "delete-replaced")))
    assert [one.what for one in cloud.findings((), program)] == ["`up` would replace it because of name"]


def test_resources_that_cannot_be_read_are_named_and_many_of_them_counted() -> None:
    urn = "urn:pulumi:prod::clusterwright::clusterwright:aws:Keys$aws:ec2/keyPair:KeyPair::{}".format
    [one] = cloud.unread({urn("a"): "reading aws:ec2/keyPair:KeyPair (a): api error AccessDenied"})
    assert (one.where, one.why) == ("aws:ec2/keyPair:KeyPair a", "it could not be inspected: api error AccessDenied")
    [many] = cloud.unread({urn(number): "api error ExpiredToken" for number in range(40)})
    assert many.where == "40 resources"


def test_each_target_has_rules_of_its_own_resources_alone() -> None:
    assert {file.parent.name for file in registry.drift_files()} == set(registry.TARGETS)
    for file in registry.drift_files():
        types = [entry["type"].removeprefix("clusterwright:") for entry in yaml.safe_load(file.read_text())["rules"]]
        assert types
        assert {one.partition(":")[0] for one in types} == {file.parent.name}


def test_every_rule_says_why_and_one_thing_only() -> None:
    for rule in rules.rules():
        assert bool(rule.leave_out) != (rule.level is not None), rule
        assert rule.leave_out or rule.why, rule


def test_outputs_of_the_program_and_providers_are_no_drift() -> None:
    world = document(step("update", "pulumi:pulumi:Stack", "prod", {"a": 1}, {"a": 2}), step("update", "pulumi:providers:aws", "default", {"a": 1}, {"a": 2}))
    assert cloud.findings(world, world) == ()


def test_an_update_that_was_cut_off_is_a_finding() -> None:
    assert told(cloud.findings(document(), None, pending=("train",))) == [("CW704", "pending train")]


def test_a_private_key_is_not_shown() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"
    [found] = cloud.findings(document(step("update", "aws:ec2/keyPair:KeyPair", "it", {"material": key}, {"material": "x"})), None)
    assert "abc" not in f"{texts(found).desired}{texts(found).recorded}"


def test_a_private_key_that_was_accepted_is_drift_again_when_it_is_another_one() -> None:
    keys = [f"-----BEGIN OPENSSH PRIVATE KEY-----\n{letters}" for letters in ("abc", "abd")]
    worlds = [document(step("update", "aws:ec2/keyPair:KeyPair", "it", {"material": "x"}, {"material": key})) for key in keys]
    [first, second] = [one for world in worlds for one in cloud.findings(world, None)]
    entries = ignore.parse(ignore.baseline([first], reason="ours", until=None, is_of_value=True), "it")
    assert ignore.apply([first, second], entries, dt.date(2026, 11, 27))[0] == (second,)
