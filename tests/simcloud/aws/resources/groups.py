"""Security groups and their rules.

Sources: VPC user guide, "Security group rules" and "Amazon VPC quotas"; the letters of names and descriptions: EC2 API reference, CreateSecurityGroup.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import quotas
from ..cloud import Cloud
from ..rules import Rules, Want, of

WORDS = re.compile(r"[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{0,255}")
PROTOCOLS = frozenset({"tcp", "udp", "icmp", "icmpv6", "-1", "all"} | {str(number) for number in range(256)})
WITH_PORTS = frozenset({"tcp", "udp", "6", "17"})
PORT_MOST = 65535
SOURCES = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
DIRECTIONS = ("ingress", "egress")
EVERYTHING = (0, PORT_MOST)
GROUP_RULES = ("vpc.SecurityGroupIngressRule", "vpc.SecurityGroupEgressRule")


@of("ec2.SecurityGroup")
class SecurityGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if not want.get("vpcId"):
            raise Refused("VPCIdNotSpecified", "No default VPC for this user")
        for name in ("name", "description"):
            if not WORDS.fullmatch(want[name]) or not want[name]:
                raise Refused("InvalidParameterValue", f"Value ({want[name]}) for parameter {name} is invalid: 1 to 255 letters of {WORDS.pattern}")
        if want["name"].startswith("sg-"):
            raise Refused("InvalidParameterValue", f"Value ({want['name']}) for parameter GroupName is invalid: it must not begin with sg-")
        for direction in DIRECTIONS:
            rules = want.get(direction, [])
            for rule in rules:
                _check_inline(cloud, rule, want["vpcId"])
            _refuse_too_many(cloud, sum(len(list(_sources(rule))) for rule in rules))

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        if thing.get("managedBy"):
            raise Refused("CannotDelete", f'the specified group: "{thing.id}" name: "default" cannot be deleted by a user')


@of("ec2.DefaultSecurityGroup")
class DefaultSecurityGroup(Rules):
    """A VPC's own group under a program's rule: the one kind that the provider adopts."""

    def identity(self, cloud: Cloud, want: Want) -> str:
        if not want.get("vpcId"):
            raise Refused("VPCIdNotSpecified", "No default VPC for this user")
        return str(cloud.need("ec2.Vpc", want["vpcId"])["defaultSecurityGroupId"])

    def check(self, cloud: Cloud, want: Want) -> None:
        for rule in [*want.get("ingress", ()), *want.get("egress", ())]:
            _check_inline(cloud, rule, want["vpcId"])


@of(*GROUP_RULES)
class GroupRule(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        group = cloud.need("ec2.SecurityGroup", want["securityGroupId"])
        given = [name for name in SOURCES if want.get(name)]
        if len(given) != 1:
            raise Refused("InvalidParameterCombination", f"exactly one of {', '.join(SOURCES)} is wanted, not {given or 'none'}")
        _check_ports(want["ipProtocol"], want.get("fromPort"), want.get("toPort"))
        _check_cidrs([want[name] for name in ("cidrIpv4", "cidrIpv6") if want.get(name)])
        if not WORDS.fullmatch(want.get("description", "")):
            raise Refused("InvalidParameterValue", f"Invalid rule description: {want['description']}")
        if other := want.get("referencedSecurityGroupId"):
            _refuse_other_network(cloud, other, group["vpcId"])
        siblings = [thing for thing in cloud.store.all(want.kind.name) if thing["securityGroupId"] == group.id and thing is not want.former]
        for sibling in siblings:
            if all(sibling.get(name) == want.get(name) for name in ("ipProtocol", "fromPort", "toPort", *SOURCES)):
                raise Refused("InvalidPermission.Duplicate", f"the specified rule already exists: {sibling.id}")
        _refuse_too_many(cloud, len(siblings) + 1)


@of("ec2.SecurityGroupRule")
class OldGroupRule(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        group = cloud.need("ec2.SecurityGroup", want["securityGroupId"])
        if want["type"] not in ("ingress", "egress"):
            raise Refused("InvalidParameterValue", f"type is ingress or egress, not {want['type']}")
        other = want.get("sourceSecurityGroupId")
        _check_inline(cloud, {**want.values, "securityGroups": [other] if other else []}, group["vpcId"])


def open_to(cloud: Cloud, group: Thing, *, direction: str) -> Iterator[Mapping[str, Any]]:
    """Yield what a group lets pass: protocol, ports and source of each rule, however it was declared."""
    for rule in group.get(direction, ()):
        for name, source in _sources(rule):
            yield {
                "protocol": rule["protocol"],
                "fromPort": rule["fromPort"],
                "toPort": rule["toPort"],
                ("group" if name == "self" else name): group.id if name == "self" else source,
            }
    kind = GROUP_RULES[0] if direction == "ingress" else GROUP_RULES[1]
    for thing in cloud.store.all(kind):
        if thing["securityGroupId"] == group.id:
            yield {
                "protocol": thing["ipProtocol"], "fromPort": thing.get("fromPort"), "toPort": thing.get("toPort"), "cidr": thing.get("cidrIpv4"),
                "group": thing.get("referencedSecurityGroupId"),
            }  # fmt: skip


def lets(cloud: Cloud, names: Iterable[str], ports: tuple[int, int], *, direction: str, peers: Iterable[str] = (), network: str | None = None) -> bool:
    """Say whether groups together let TCP pass at all of some ports, to or from who carries one of the peers' groups, or stands anywhere in a network.

    Args:
        ports: first and last; `EVERYTHING`: any protocol, as EFA wants it.
        network: a CIDR block, all of which a rule in CIDR form has to hold.
    """
    carried = set(peers)
    for name in names:
        group = cloud.store.get("ec2.DefaultSecurityGroup", name) or cloud.need("ec2.SecurityGroup", name)
        for rule in open_to(cloud, group, direction=direction):
            if covers(rule, ports) and (rule.get("group") in carried or (network and _holds(rule.get("cidr"), network))):
                return True
    return False


def covers(rule: Mapping[str, Any], ports: tuple[int, int]) -> bool:
    if rule["protocol"] in ("-1", "all"):
        return True
    return ports != EVERYTHING and rule["protocol"] in ("tcp", "6") and rule["fromPort"] <= ports[0] and ports[1] <= rule["toPort"]


def _holds(cidr: str | None, network: str) -> bool:
    """Say whether a rule's CIDR block holds all of an IPv4 network."""
    return cidr is not None and ":" not in cidr and ipaddress.IPv4Network(network).subnet_of(ipaddress.IPv4Network(cidr))


def _check_inline(cloud: Cloud, rule: Mapping[str, Any], vpc: str) -> None:
    if not list(_sources(rule)):
        raise Refused("InvalidParameterValue", "a rule has a source: cidrBlocks, ipv6CidrBlocks, prefixListIds, securityGroups or self")
    protocol = rule["protocol"]
    if protocol == "-1" and (rule["fromPort"], rule["toPort"]) not in ((0, 0), (-1, -1), (0, PORT_MOST)):
        raise Refused("InvalidParameterValue", f"fromPort ({rule['fromPort']}) and toPort ({rule['toPort']}) must both be 0 to use the 'ALL' \"-1\" protocol")
    _check_ports(protocol, rule["fromPort"], rule["toPort"])
    _check_cidrs([*(rule.get("cidrBlocks") or ()), *(rule.get("ipv6CidrBlocks") or ())])
    if not WORDS.fullmatch(rule.get("description") or ""):
        raise Refused("InvalidParameterValue", f"Invalid rule description: {rule['description']}")
    for other in rule.get("securityGroups") or ():
        _refuse_other_network(cloud, other, vpc)


def _sources(rule: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, field in (("cidr", "cidrBlocks"), ("cidr", "ipv6CidrBlocks"), ("prefixList", "prefixListIds"), ("group", "securityGroups")):
        yield from ((name, one) for one in rule.get(field) or ())
    if rule.get("self"):
        yield "self", "self"


def _check_ports(protocol: str, first: int | None, last: int | None) -> None:
    if protocol not in PROTOCOLS:
        raise Refused("InvalidPermission.Malformed", f'Unsupported IP protocol "{protocol}"')
    if protocol in WITH_PORTS:
        if first is None or last is None:
            raise Refused("InvalidParameterValue", f"Invalid value 'Must specify both from and to ports with {protocol}' for portRange.")
        if not 0 <= first <= last <= PORT_MOST:
            raise Refused("InvalidParameterValue", f"Invalid TCP/UDP port range ({first}:{last})")


def _check_cidrs(blocks: list[str]) -> None:
    for block in blocks:
        try:
            ipaddress.ip_network(block)
        except ValueError as error:
            raise Refused("InvalidParameterValue", f"CIDR block {block} is malformed: {error}") from None


def _refuse_other_network(cloud: Cloud, group: str, vpc: str) -> None:
    if cloud.need("ec2.SecurityGroup", group)["vpcId"] != vpc:
        raise Refused("InvalidGroup.NotFound", f"You have specified two resources that belong to different networks: {group} is not in {vpc}")


def _refuse_too_many(cloud: Cloud, number: int) -> None:
    quotas.refuse_beyond(cloud, "L-0EA8095F", number, refusal="RulesPerSecurityGroupLimitExceeded")
