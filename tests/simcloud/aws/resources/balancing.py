"""Load balancers, target groups, listeners, and names in zones.

Sources: Elastic Load Balancing API reference and user guide for Network Load Balancers; Route 53 API reference.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import instances
from ..cloud import Cloud
from ..rules import Rules, Want, of
from . import network

NAME = re.compile(r"(?!internal-)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?")
SHORT = {"application": "app", "network": "net", "gateway": "gwy"}
# Which protocols a listener of a balancer takes, and which target groups go with it.
LISTENERS: Mapping[str, frozenset[str | None]] = {
    "application": frozenset({"HTTP", "HTTPS"}),
    "network": frozenset({"TCP", "TLS", "UDP", "TCP_UDP", "QUIC", "TCP_QUIC"}),
    "gateway": frozenset({"GENEVE", None}),
}
ZONES_LEAST = {"application": 2, "network": 1, "gateway": 1}
RECORD_NAME_MOST = 255


@of("lb.LoadBalancer")
class LoadBalancer(Rules):
    def words(self, want: Want) -> Mapping[str, str]:
        return {"short": SHORT[want["loadBalancerType"]]}

    def check(self, cloud: Cloud, want: Want) -> None:
        _check_name(want["name"], "load balancer")
        kind, subnets = want["loadBalancerType"], _subnets(want)
        if not subnets or (want.get("subnets") and want.get("subnetMappings")):
            raise Refused("ValidationError", "Exactly one of subnets and subnetMappings must be specified")
        homes = [cloud.need("ec2.Subnet", subnet) for subnet in subnets]
        zones, vpcs = [home["availabilityZone"] for home in homes], {home["vpcId"] for home in homes}
        if len(vpcs) > 1:
            raise Refused("InvalidSubnet", f"All subnets must belong to the same VPC: {', '.join(sorted(vpcs))}")
        if len(set(zones)) != len(zones):
            raise Refused(
                "InvalidConfigurationRequest", f"A load balancer cannot be attached to multiple subnets in the same Availability Zone: {', '.join(zones)}"
            )
        if len(zones) < ZONES_LEAST[kind]:
            raise Refused("ValidationError", f"At least {ZONES_LEAST[kind]} subnets in different Availability Zones must be specified")
        (vpc,) = vpcs
        if not want["internal"] and not network.has_internet_gateway(cloud, vpc):
            raise Refused("InvalidSubnet", f"VPC {vpc} has no internet gateway")
        network.refuse_foreign_groups(cloud, want.get("securityGroups", ()), vpc, code="InvalidConfigurationRequest")
        if kind == "gateway" and want.get("securityGroups"):
            raise Refused("InvalidConfigurationRequest", "Gateway Load Balancers have no security groups")
        if want.former and bool(want.former.get("securityGroups")) is not bool(want.get("securityGroups")) and kind == "network":
            raise Refused(
                "InvalidConfigurationRequest", "You cannot add security groups to a Network Load Balancer that was made without, nor take all of them away"
            )

    def replaced_by(self, olds: Mapping[str, Any], news: Mapping[str, Any]) -> frozenset[str]:
        replaced = set(super().replaced_by(olds, news))
        if (olds.get("loadBalancerType") or "application") == "network":
            # The provider's documentation of `subnets` and `securityGroups`: taking a zone or all groups from a network balancer means a new one.
            if set(olds.get("subnets") or ()) - set(news.get("subnets") or ()):
                replaced |= {"subnets", "subnetMappings"}
            if bool(olds.get("securityGroups")) is not bool(news.get("securityGroups")):
                replaced.add("securityGroups")
        return frozenset(replaced)

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        kept = {one.subnet: one for one in (want.former.interfaces if want.former else ())}
        groups = tuple(want.get("securityGroups", ()))
        return tuple(
            Interface(subnet, kept[subnet].address, groups, kept[subnet].id) if subnet in kept else network.new_interface(cloud, subnet, groups)
            for subnet in _subnets(want)
        )

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        digits = ident.rpartition("/")[2]
        subnets = _subnets(want)
        return {
            "dnsName": f"{want['name']}-{digits}.elb.{want.region}.amazonaws.com", "zoneId": "Z26RNL4JYFTOTI", "vpcId": network.vpc_of(cloud, subnets[0]),
            "arnSuffix": ident.partition("loadbalancer/")[2], "subnets": subnets, "subnetMappings": want.get("subnetMappings") or [{"subnetId": subnet} for subnet in subnets],
        }  # fmt: skip

    def made(self, cloud: Cloud, thing: Thing) -> None:
        if instances.backing.has_hosts:
            cloud.note(thing, dnsName=thing.interfaces[0].address)

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        if thing["enableDeletionProtection"]:
            raise Refused("OperationNotPermitted", f"Load balancer '{thing.id}' cannot be deleted because deletion protection is enabled")


@of("lb.TargetGroup")
class TargetGroup(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _check_name(want["name"], "target group")
        if want["targetType"] != "lambda" and not (want.get("protocol") and want.get("port") and want.get("vpcId")):
            raise Refused("ValidationError", "A protocol, a port and a VPC must be specified")
        health = want.get("healthCheck", {})
        if health.get("timeout") and health.get("interval") and health["timeout"] >= health["interval"] and want.get("protocol") in ("HTTP", "HTTPS"):
            raise Refused("ValidationError", "Health check timeout must be smaller than the interval")
        if health.get("path") and health.get("protocol") == "TCP":
            raise Refused("ValidationError", "A health check over TCP has no path")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"arnSuffix": ident.rpartition(":")[2]}


@of("lb.Listener")
class Listener(Rules):
    def identity(self, cloud: Cloud, want: Want) -> str:
        return f"{want['loadBalancerArn'].replace(':loadbalancer/', ':listener/')}/{cloud.store.new_hex(16)}"

    def check(self, cloud: Cloud, want: Want) -> None:
        balancer = cloud.need("lb.LoadBalancer", want["loadBalancerArn"])
        kind, protocol = balancer["loadBalancerType"], want.get("protocol")
        if protocol not in LISTENERS[kind]:
            raise Refused("ValidationError", f"Listener protocol '{protocol}' is not supported for {kind} load balancers")
        if kind != "gateway" and not want.get("port"):
            raise Refused("ValidationError", "A listener must have a port")
        if (protocol in ("TLS", "HTTPS")) is not bool(want.get("certificateArn")):
            raise Refused(
                "CertificateNotFound" if protocol in ("TLS", "HTTPS") else "ValidationError",
                f"a {protocol} listener {'needs a' if protocol in ('TLS', 'HTTPS') else 'has no'} certificate",
            )
        for group in _target_groups(want.values):
            target = cloud.need("lb.TargetGroup", group)
            if target["vpcId"] != balancer["vpcId"]:
                raise Refused("InvalidConfigurationRequest", f"The target group {group} and the load balancer are in different VPCs")
            if target["protocol"] not in LISTENERS[kind]:
                raise Refused("InvalidConfigurationRequest", f"Protocol {target['protocol']} of target group {group} does not go with a {kind} load balancer")


@of("lb.TargetGroupAttachment")
class TargetGroupAttachment(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        group = cloud.need("lb.TargetGroup", want["targetGroupArn"])
        if group["targetType"] == "instance":
            target = cloud.store.get("ec2.Instance", want["targetId"])
            if target is None or target.get("ended"):
                raise Refused("InvalidTarget", f"The following targets are not in a running state and cannot be registered: '{want['targetId']}'")
            if target["vpcId"] != group["vpcId"]:
                raise Refused("InvalidTarget", f"The target {target.id} is not in the VPC {group['vpcId']} of the target group")
        if group["targetType"] == "ip" and not re.fullmatch(r"[\d.]+|[0-9a-f:]+", want["targetId"]):
            raise Refused("ValidationError", f"The IP address '{want['targetId']}' is not a valid address")


@of("route53.Zone")
class Zone(Rules):
    def identity(self, cloud: Cloud, want: Want) -> str:
        return "Z" + cloud.store.new_hex(20).upper()

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"nameServers": [] if want.get("vpcs") else ["ns-1.simulated.invalid"], "primaryNameServer": "ns-1.simulated.invalid"}

    def check(self, cloud: Cloud, want: Want) -> None:
        for vpc in want.get("vpcs", ()):
            if not cloud.need("ec2.Vpc", vpc["vpcId"])["enableDnsSupport"]:
                raise Refused("InvalidVPCId", f"{vpc['vpcId']} has no DNS support")
            for other in cloud.store.all("route53.Zone"):
                if other is not want.former and other["name"] == want["name"] and any(one["vpcId"] == vpc["vpcId"] for one in other.get("vpcs", ())):
                    raise Refused("ConflictingDomainExists", f"{vpc['vpcId']} is already associated with another private zone {want['name']}")


@of("route53.Record")
class Record(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        zone = cloud.need("route53.Zone", want["zoneId"])
        name = want["name"].rstrip(".")
        if len(name) > RECORD_NAME_MOST or not (name + ".").endswith(zone["name"].rstrip(".") + "."):
            raise Refused("InvalidChangeBatch", f"RRSet with DNS name {name}. is not permitted in zone {zone['name']}.")
        if bool(want.get("aliases")) is bool(want.get("records")):
            raise Refused("InvalidChangeBatch", "exactly one of aliases and records is wanted")
        if want.get("records") and want.get("ttl") is None:
            raise Refused("InvalidInput", "Missing field 'TTL' in Change with records")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"fqdn": want["name"].rstrip(".")}


def _check_name(name: str, what: str) -> None:
    if not NAME.fullmatch(name):
        raise Refused(
            "ValidationError", f"The {what} name '{name}' must be 1 to 32 letters, digits and hyphens, not begin or end with a hyphen, nor begin with internal-"
        )


def _subnets(want: Want) -> list[str]:
    return list(want.get("subnets") or [mapping["subnetId"] for mapping in want.get("subnetMappings", ())])


def _target_groups(values: Mapping[str, Any]) -> list[str]:
    found = []
    for action in values["defaultActions"]:
        if action["type"] == "forward" and not action.get("targetGroupArn") and not action.get("forward"):
            raise Refused("ValidationError", "A forward action needs a target group")
        found += [action["targetGroupArn"]] if action.get("targetGroupArn") else [group["arn"] for group in action.get("forward", {}).get("targetGroups", ())]
    return found
