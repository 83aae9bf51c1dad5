"""Network and security groups: who can reach whom, in which zone, over which way out."""

import dataclasses
import ipaddress
from typing import Any

import pulumi
import pytest

from blueprints import catalog
from components.aws import security, zones
from tests.components.aws import programs
from tests.components.registered import Program, Registered

EVERYTHING = {"protocol": "-1", "fromPort": 0, "toPort": 0}


def group(found: Program, name: str) -> Registered:
    return programs.one(found, "SecurityGroup", f"{name}-security-group")


def ports(rules: list[dict[str, Any]]) -> set[tuple[int, int]]:
    return {(rule["fromPort"], rule["toPort"]) for rule in rules}


# Where things are


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_subnets_are_those_of_the_spec_and_give_nobody_a_public_address(blueprint: str) -> None:
    spec, found = programs.resolved(blueprint), programs.library(blueprint)
    assert {one.name: one.inputs["cidrBlock"] for one in programs.of(found, "Subnet")} == {f"{one.name}-subnet": one.cidr for one in spec.network.subnets}
    assert not any(one.inputs["mapPublicIpOnLaunch"] for one in programs.of(found, "Subnet"))
    network = ipaddress.IPv4Network(programs.one(found, "Vpc", "vpc").inputs["cidrBlock"])
    assert all(ipaddress.IPv4Network(one.inputs["cidrBlock"]).subnet_of(network) for one in programs.of(found, "Subnet"))


def test_an_open_zone_is_the_first_that_offers_every_machine() -> None:
    found = programs.library("starter")
    chosen = {one.name: one.inputs["availabilityZone"] for one in programs.of(found, "Subnet")}
    assert chosen == {"cluster-subnet": programs.OFFERING[0], "public-1-subnet": programs.OFFERING[0], "public-2-subnet": programs.ZONES[0]}


def test_an_open_zone_is_unknown_in_a_preview_and_nobody_is_asked() -> None:
    account = programs.Account()
    found = programs.program("starter", preview=True, account=account)
    assert account.asked == []
    assert "availabilityZone" not in programs.one(found, "Subnet", "cluster-subnet").inputs


def test_a_zone_once_chosen_stays() -> None:
    """A later answer of the account is no change; a zone that the blueprint names is one."""
    assert all(one.ignores == {"availabilityZone"} for one in programs.of(programs.library("starter"), "Subnet"))
    named = programs.program("starter", network__zones=["us-east-1e", "us-east-1f"])
    assert [one.ignores for one in programs.of(named, "Subnet")] == [frozenset()] * 3
    assert {one.inputs["availabilityZone"] for one in programs.of(named, "Subnet")} == {"us-east-1e", "us-east-1f"}


def test_named_zones_are_taken_without_a_question() -> None:
    account = programs.Account()
    programs.program("starter", account=account, network__zones=["us-east-1e", "us-east-1f"])
    assert account.asked == []


@pytest.mark.parametrize(
    ("machines", "offered", "expected"),
    [
        (["p5"], [("p5", "b"), ("p5", "a")], ("a", "b")),
        (["p5", "m7i"], [("p5", "b"), ("m7i", "a"), ("m7i", "b")], ("b",)),
        (["p5", "m7i"], [("p5", "b"), ("m7i", "a")], ()),
        (["p5"], [], ()),
    ],
)
def test_zones_that_offer_all_machines(machines: list[str], offered: list[tuple[str, str]], expected: tuple[str, ...]) -> None:
    assert zones.offering(machines, offered) == expected


def test_machines_that_no_zone_offers_together_are_a_page() -> None:
    class Poor(programs.Account):
        def call(self, args: Any) -> Any:
            told, failures = super().call(args)
            return {
                **told,
                "locations": programs.ZONES[: len(told["locations"])],
                "instanceTypes": told["instanceTypes"][:3],
            } if "locations" in told else told, failures

    with pytest.raises(pulumi.RunError) as failed:
        programs.program("starter", account=Poor())
    assert "no zone of us-east-1 offers all of g6.xlarge" in str(failed.value)
    assert "targets.aws.network.region" in str(failed.value)


@pytest.mark.parametrize("kind", ["reserved", "block"])
def test_capacity_that_was_bought_needs_its_zone(kind: str) -> None:
    bought = {"kind": kind, "id": "cr-0123456789abcdef0"}
    with pytest.raises(pulumi.RunError) as failed:
        programs.program("llm-pretraining", pools__train__capacity=bought)
    assert "cr-0123456789abcdef0" in str(failed.value)
    assert "targets.aws.network.zones" in str(failed.value)
    found = programs.program("llm-pretraining", pools__train__capacity=bought, network__zones=["us-east-1d"])
    assert programs.one(found, "Subnet", "cluster-subnet").inputs["availabilityZone"] == "us-east-1d"


# The way out


def test_hosts_leave_through_address_translation_and_reach_s3_without() -> None:
    found = programs.library("starter")
    private, public = programs.one(found, "RouteTable", "cluster-routes"), programs.one(found, "RouteTable", "public-routes")
    assert private.inputs["routes"] == [{"cidrBlock": "0.0.0.0/0", "natGatewayId": "NatGateway/nat-gateway"}]
    assert public.inputs["routes"] == [{"cidrBlock": "0.0.0.0/0", "gatewayId": "InternetGateway/internet-gateway"}]
    joined = {one.inputs["subnetId"]: one.inputs["routeTableId"] for one in programs.of(found, "RouteTableAssociation")}
    assert joined == {
        "Subnet/cluster-subnet": "RouteTable/cluster-routes",
        "Subnet/public-1-subnet": "RouteTable/public-routes",
        "Subnet/public-2-subnet": "RouteTable/public-routes",
    }
    (s3,) = programs.of(found, "VpcEndpoint")
    assert (s3.inputs["vpcEndpointType"], s3.inputs["routeTableIds"]) == ("Gateway", ["RouteTable/cluster-routes"])


def test_private_endpoints_are_inside_and_for_hosts_only() -> None:
    found = programs.program("starter", network__private_endpoints=True)
    inside = [one for one in programs.of(found, "VpcEndpoint") if one.inputs["vpcEndpointType"] == "Interface"]
    assert {one.inputs["serviceName"] for one in inside} == {"com.amazonaws.us-east-1.ec2", "com.amazonaws.us-east-1.secretsmanager"}
    assert all(one.inputs["securityGroupIds"] == ["SecurityGroup/endpoints-security-group"] for one in inside)
    networks = catalog.target("aws").networks
    assert networks is not None
    assert len(inside) == networks.endpoints, "the address plan counts them"
    assert group(found, "endpoints").inputs["ingress"][0]["securityGroups"] == ["SecurityGroup/hosts-security-group"]


def test_flows_are_logged_as_long_as_metrics() -> None:
    found = programs.program("starter", monitoring__retention_days=40)
    log, (flows,) = programs.one(found, "LogGroup", "flow-logs"), programs.of(found, "FlowLog")
    assert log.inputs["retentionInDays"] == 60  # CloudWatch Logs offers 30 and 60
    assert (flows.inputs["trafficType"], flows.inputs["logDestination"]) == ("ALL", "arn:aws:service:us-east-1:123456789012:LogGroup/flow-logs")


def test_what_is_started_without_a_security_group_reaches_nothing() -> None:
    (default,) = programs.of(programs.library("starter"), "DefaultSecurityGroup")
    assert (default.inputs["ingress"], default.inputs["egress"]) == ([], [])


# Who may speak with whom


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_the_hosts_group_allows_everything_to_and_from_itself(blueprint: str) -> None:
    hosts = group(programs.library(blueprint), "hosts").inputs
    for direction in ("ingress", "egress"):
        assert any(rule.get("self") and {name: rule[name] for name in EVERYTHING} == EVERYTHING for rule in hosts[direction]), direction


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_nothing_comes_in_from_addresses_but_ssh_to_the_front_and_lustre_from_inside(blueprint: str) -> None:
    inside = [programs.resolved(blueprint).network.cidr]
    for one in programs.of(programs.library(blueprint), "SecurityGroup"):
        opened = [rule for rule in one.inputs["ingress"] if rule.get("cidrBlocks")]
        if one.name == "hosts-security-group":
            assert all((rule["fromPort"], rule["cidrBlocks"]) in ((988, inside), (1018, inside)) for rule in opened)
            continue
        assert not opened or one.name in ("balancer-security-group", "login-security-group"), one.name
        assert all((rule["fromPort"], rule["toPort"], rule["protocol"]) == (22, 22, "tcp") for rule in opened), one.name
        assert all("0.0.0.0/0" not in rule["cidrBlocks"] for rule in opened), one.name


def test_ssh_comes_from_the_allowed_networks_to_the_balancer_and_from_it_to_login_nodes() -> None:
    found = programs.program("starter", access__allowed_cidrs=["198.51.100.0/24", "203.0.113.7/32"])
    assert group(found, "balancer").inputs["ingress"][0]["cidrBlocks"] == ["198.51.100.0/24", "203.0.113.7/32"]
    (inward,) = group(found, "login").inputs["ingress"]
    assert (inward["securityGroups"], inward.get("cidrBlocks")) == (["SecurityGroup/balancer-security-group"], None)


@pytest.mark.parametrize("has_balancer", [True, False])
def test_groups_with_as_many_networks_as_a_blueprint_may_have_are_within_the_quotas_of_an_account(has_balancer: bool) -> None:
    """60 rules of a group in each direction, 5 groups of an interface (Amazon VPC User Guide, "Amazon VPC quotas"); each network, group or list of addresses is a rule."""
    most = catalog.limit("aws", "security_group_rules")
    assert most is not None
    networks = [f"198.51.100.{2 * number}/32" for number in range(most.value)]
    found = programs.program("starter", access__allowed_cidrs=networks, access__load_balancer=has_balancer, storage__fast={"kind": "lustre", "mount": "/fast"})
    sizes = {
        f"{one.name} {direction}": sum(
            len(rule.get(peers, ())) for rule in one.inputs[direction] for peers in ("cidrBlocks", "securityGroups", "prefixListIds")
        )
        + sum(bool(rule.get("self")) for rule in one.inputs[direction])
        for one in programs.of(found, "SecurityGroup")
        for direction in ("ingress", "egress")
    }
    assert max(sizes.values()) == most.value
    interfaces = [one.inputs.get("vpcSecurityGroupIds") or one.inputs.get("securityGroups") or [] for one in programs.aws(found)]
    assert 0 < max(map(len, interfaces)) <= 5


def test_without_allowed_networks_ssh_comes_from_the_own_network() -> None:
    found, spec = programs.library("starter"), programs.resolved("starter")
    assert group(found, "balancer").inputs["ingress"][0]["cidrBlocks"] == [spec.network.cidr]
    assert programs.one(found, "LoadBalancer", "login-balancer").inputs["internal"] is True


@pytest.mark.parametrize("blueprint", ["llm-pretraining", "research-shared", "scale-7500", "gb200-nvl72"])
def test_lustre_is_reached_over_all_its_ports_in_both_directions(blueprint: str) -> None:
    storage = group(programs.library(blueprint), "storage").inputs
    for direction in ("ingress", "egress"):
        assert {(988, 988), (1018, 1023), (2049, 2049)} <= ports(storage[direction])
        assert all(rule.get("self") or rule["securityGroups"] == ["SecurityGroup/hosts-security-group"] for rule in storage[direction])
        assert {(988, 988), (1018, 1023)} <= ports([rule for rule in storage[direction] if rule.get("self")]), "servers speak with each other"
    inward = [rule for rule in group(programs.library(blueprint), "hosts").inputs["ingress"] if not rule.get("self")]
    assert [(rule["protocol"], rule["cidrBlocks"]) for rule in inward] == [("tcp", [programs.resolved(blueprint).network.cidr])] * 2
    assert ports(inward) == {(988, 988), (1018, 1023)}, "servers connect to clients too"


def test_hosts_let_in_nobody_where_there_is_no_lustre() -> None:
    assert [rule.get("self") for rule in group(programs.library("starter"), "hosts").inputs["ingress"]] == [True]


def test_lustre_over_efa_allows_everything_among_hosts_and_servers() -> None:
    spec = programs.resolved("llm-pretraining")
    spec = dataclasses.replace(spec, storage=tuple(dataclasses.replace(one, fabric="efa") if one.kind == "lustre" else one for one in spec.storage))
    found = programs.program("llm-pretraining", spec=spec)
    rules = group(found, "storage").inputs["ingress"]
    whole = [rule for rule in rules if rule["protocol"] == "-1"]
    assert [(rule.get("self"), rule.get("securityGroups")) for rule in whole] == [(True, None), (None, ["SecurityGroup/hosts-security-group"])]


def test_only_controllers_reach_database_and_state() -> None:
    found = programs.library("scale-7500")
    for name, port in (("database", 3306), ("state", 2049)):
        (rule,) = group(found, name).inputs["ingress"]
        assert (rule["fromPort"], rule["securityGroups"]) == (port, ["SecurityGroup/control-security-group"])
    carried = {one.name: one.inputs["securityGroups"] for one in programs.of(found, "NetworkInterface")}
    expected = ["SecurityGroup/hosts-security-group", "SecurityGroup/control-security-group"]
    assert carried == {"control-0-interface": expected, "control-1-interface": expected}
    others = [one for one in programs.of(found, "Instance") if "vpcSecurityGroupIds" in one.inputs and one.type.startswith("aws:ec2")]
    assert others
    assert not any("SecurityGroup/control-security-group" in one.inputs["vpcSecurityGroupIds"] for one in others)


@pytest.mark.parametrize("blueprint", programs.BLUEPRINTS)
def test_descriptions_are_written_in_characters_that_ec2_takes(blueprint: str) -> None:
    for one in programs.of(programs.library(blueprint), "SecurityGroup"):
        texts = [one.inputs["description"], *(rule["description"] for rule in (*one.inputs["ingress"], *one.inputs["egress"]))]
        assert all(set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-:/()#,@[]+=&;{}!$*") for text in texts), texts


# Networks that are there already


def test_given_subnets_are_used_and_nothing_of_the_network_is_made() -> None:
    found = programs.program("starter", network__existing="vpc-0123456789abcdef0", network__subnets=["subnet-0aaaaaaaaaaaaaaaa", "subnet-0bbbbbbbbbbbbbbbb"])
    made = {one.type.rpartition(":")[2] for one in programs.aws(found)}
    assert not made & {"Vpc", "Subnet", "NatGateway", "InternetGateway", "RouteTable", "FlowLog", "DefaultSecurityGroup", "VpcEndpoint"}
    assert all(one.inputs["vpcId"] == "vpc-0123456789abcdef0" for one in programs.of(found, "SecurityGroup"))
    (template,) = programs.of(found, "LaunchTemplate")
    assert template.inputs["networkInterfaces"][0]["subnetId"] == "subnet-0aaaaaaaaaaaaaaaa"
    assert programs.one(found, "Volume", "state-volume").inputs["availabilityZone"] == "zone of the mount target"


def test_a_free_range_of_a_network_that_is_there_is_divided() -> None:
    found = programs.program("starter", network__existing="vpc-0123456789abcdef0", network__cidr="10.20.0.0/24")
    assert {one.name for one in programs.of(found, "Subnet")} == {"cluster-subnet"}
    assert not programs.of(found, "Vpc")


def test_a_network_without_named_subnets_or_range_is_a_page() -> None:
    with pytest.raises(pulumi.RunError) as failed:
        programs.program("starter", network__existing="vpc-0123456789abcdef0")
    assert "targets.aws.network.subnets" in str(failed.value)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [((), False), (("10.0.0.0/8",), False), (("100.64.0.0/10",), False), (("198.51.100.0/24",), True), (("10.0.0.0/8", "203.0.113.7/32"), True)],
)
def test_login_is_public_only_for_networks_of_the_internet(allowed: tuple[str, ...], expected: bool) -> None:
    login = programs.resolved("starter").login
    assert security.is_public(type(login)(True, allowed)) is expected
