"""Ways out of a VPC: internet and NAT gateways, elastic addresses, route tables, endpoints, flow logs.

Codes: EC2 API reference, "Error codes".
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import quotas
from ..cloud import Cloud
from ..rules import Rules, Want, of
from . import network

TARGETS = ("carrierGatewayId", "coreNetworkArn", "egressOnlyGatewayId", "gatewayId", "localGatewayId", "natGatewayId", "networkInterfaceId", "transitGatewayId", "vpcEndpointId",
           "vpcPeeringConnectionId")  # fmt: skip
LOGGED = ("vpcId", "subnetId", "eniId", "transitGatewayId", "transitGatewayAttachmentId", "regionalNatGatewayId")
GATEWAY_SERVICES = ("s3", "dynamodb")


@of("ec2.InternetGateway")
class InternetGateway(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if vpc := want.get("vpcId"):
            _refuse_second_gateway(cloud, vpc, mine=want.former)

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        if vpc := thing.get("vpcId"):
            _refuse_with_public_addresses(cloud, vpc)


@of("ec2.InternetGatewayAttachment")
class InternetGatewayAttachment(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        _refuse_second_gateway(cloud, want["vpcId"], mine=None)

    def check_delete(self, cloud: Cloud, thing: Thing) -> None:
        _refuse_with_public_addresses(cloud, thing["vpcId"])


@of("ec2.Eip")
class Eip(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want["domain"] != "vpc":
            raise Refused("InvalidParameterValue", f"Invalid value '{want['domain']}' for domain. Valid value is vpc")
        if want.former is None:
            number = sum(1 for _ in cloud.store.all("ec2.Eip", region=want.region)) + 1
            quotas.refuse_beyond(cloud, "L-0263D0A3", number, refusal="AddressLimitExceeded")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        address = want.former["publicIp"] if want.former else network.new_public_address(cloud)
        return {"publicIp": address, "publicDns": f"ec2-{address.replace('.', '-')}.compute.amazonaws.com"}


@of("ec2.NatGateway")
class NatGateway(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        if want.get("availabilityMode") == "regional":
            raise Refused("UnsupportedOperation", "the simulated cloud has zonal NAT gateways alone")
        if not want.get("subnetId"):
            raise Refused("MissingParameter", "The request must contain the parameter SubnetId")
        is_public, address = want["connectivityType"] == "public", want.get("allocationId")
        if is_public is not bool(address):
            raise Refused(
                "MissingParameter" if is_public else "InvalidParameter",
                f"a {want['connectivityType']} NAT gateway has {'an' if is_public else 'no'} elastic address",
            )
        vpc = network.vpc_of(cloud, want["subnetId"])
        if is_public and not network.has_internet_gateway(cloud, vpc):
            raise Refused("Gateway.NotAttached", f"Network {vpc} has no Internet gateway attached")
        for other in cloud.store.all("ec2.NatGateway"):
            if address and other.get("allocationId") == address and other is not want.former:
                raise Refused("Resource.AlreadyAssociated", f"Elastic IP address [{address}] is already associated with {other.id}")

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        return want.former.interfaces if want.former else (network.new_interface(cloud, want["subnetId"], address=want.get("privateIp")),)

    def made(self, cloud: Cloud, thing: Thing) -> None:
        (interface,) = thing.interfaces
        public = cloud.need("ec2.Eip", thing["allocationId"])["publicIp"] if thing.get("allocationId") else None
        vpc = network.vpc_of(cloud, thing["subnetId"])
        cloud.note(thing, privateIp=interface.address, networkInterfaceId=interface.id, publicIp=public, vpcId=vpc, associationId=f"eipassoc-{thing.id[4:]}")

    def changed(self, cloud: Cloud, thing: Thing, former: Thing) -> None:
        cloud.note(thing, privateIp=former["privateIp"], vpcId=former["vpcId"])  # inputs too, which nobody has to give


@of("ec2.RouteTable")
class RouteTable(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        seen = set()
        for route in want.get("routes", ()):
            destination = route.get("cidrBlock") or route.get("ipv6CidrBlock") or route.get("destinationPrefixListId")
            _check_route(cloud, want["vpcId"], destination, route)
            if destination in seen:
                raise Refused("RouteAlreadyExists", f"The route identified by {destination} already exists")
            seen.add(destination)


@of("ec2.Route")
class Route(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        table = cloud.need("ec2.RouteTable", want["routeTableId"])
        destination = want.get("destinationCidrBlock") or want.get("destinationIpv6CidrBlock") or want.get("destinationPrefixListId")
        _check_route(cloud, table["vpcId"], destination, want.values)
        if any(destination == (route.get("cidrBlock") or route.get("ipv6CidrBlock")) for route in table.get("routes", ())):
            raise Refused("RouteAlreadyExists", f"The route identified by {destination} already exists in {table.id}")


@of("ec2.RouteTableAssociation")
class RouteTableAssociation(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        table, subnet = cloud.need("ec2.RouteTable", want["routeTableId"]), want.get("subnetId")
        if subnet and network.vpc_of(cloud, subnet) != table["vpcId"]:
            raise Refused("InvalidParameterValue", f"route table {table.id} and subnet {subnet} belong to different networks")


@of("ec2.VpcEndpoint")
class VpcEndpoint(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        vpc, kind = cloud.need("ec2.Vpc", want["vpcId"]), want["vpcEndpointType"]
        prefix, _, service = (want.get("serviceName") or "").rpartition(".")
        if not prefix.startswith(f"com.amazonaws.{want.region}") or not service:
            raise Refused("InvalidServiceName", f"The Vpc Endpoint Service '{want.get('serviceName')}' does not exist in {want.region}")
        if kind == "Gateway":
            self._check_gateway(cloud, want, service, vpc)
        if kind == "Interface":
            self._check_interface(cloud, want, vpc)

    def _check_gateway(self, cloud: Cloud, want: Want, service: str, vpc: Thing) -> None:
        if service not in GATEWAY_SERVICES:
            raise Refused("InvalidParameter", f"Endpoint type (Gateway) does not match available service types ([Interface]) of {want['serviceName']}")
        for name in ("subnetIds", "securityGroupIds"):
            if want.get(name):
                raise Refused("InvalidParameter", f"{name} can't be given for a gateway endpoint")
        for table in want.get("routeTableIds", ()):
            if cloud.need("ec2.RouteTable", table)["vpcId"] != vpc.id:
                raise Refused("InvalidRouteTableId.NotFound", f"{table} does not belong to {vpc.id}")

    def _check_interface(self, cloud: Cloud, want: Want, vpc: Thing) -> None:
        if want.get("routeTableIds"):
            raise Refused("InvalidParameter", "routeTableIds can't be given for an interface endpoint")
        zones = []
        for subnet in want.get("subnetIds", ()):
            home = cloud.need("ec2.Subnet", subnet)
            if home["vpcId"] != vpc.id:
                raise Refused("InvalidSubnetID.NotFound", f"{subnet} does not belong to {vpc.id}")
            zones.append(home["availabilityZone"])
        if len(zones) != len(set(zones)):
            raise Refused("DuplicateSubnetsInSameZone", f"Found two or more endpoint subnets in the same zone: {', '.join(zones)}")
        network.refuse_foreign_groups(cloud, want.get("securityGroupIds", ()), vpc.id)
        if want.get("privateDnsEnabled") and not (vpc["enableDnsSupport"] and vpc["enableDnsHostnames"]):
            raise Refused(
                "InvalidParameter", f"Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true for {vpc.id}"
            )

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        groups = tuple(want.get("securityGroupIds", ()))
        kept = {one.subnet: one for one in (want.former.interfaces if want.former else ())}
        return tuple(
            Interface(subnet, kept[subnet].address, groups, kept[subnet].id) if subnet in kept else network.new_interface(cloud, subnet, groups)
            for subnet in want.get("subnetIds", ())
        )

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        gateway = want["vpcEndpointType"] == "Gateway"
        return {
            "prefixListId": f"pl-{ident[5:13]}" if gateway else None,
            "dnsEntries": [] if gateway else [{"dnsName": f"{ident}.{want['serviceName']}", "hostedZoneId": "Z1"}],
        }


@of("ec2.FlowLog")
class FlowLog(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        chosen = [name for name in LOGGED if want.get(name)]
        if len(chosen) != 1:
            raise Refused("InvalidParameter", f"exactly one of {', '.join(LOGGED)} is wanted")
        if want["logDestinationType"] == "cloud-watch-logs" and not (want.get("iamRoleArn") and want.get("logDestination")):
            raise Refused("InvalidParameter", "DeliverLogsPermissionArn and a log group can't be empty if LogDestinationType is cloud-watch-logs")
        for other in cloud.store.all("ec2.FlowLog"):
            if other is not want.former and all(other.get(name) == want.get(name) for name in (*chosen, "logDestination", "trafficType")):
                raise Refused("FlowLogAlreadyExists", f"{other.id} has the same configuration and log destination")


def has_route_out(cloud: Cloud, subnet: Thing) -> bool:
    """Say whether a subnet has a default route to an internet gateway: what makes it a public one."""
    own = [thing["routeTableId"] for thing in cloud.store.all("ec2.RouteTableAssociation") if thing.get("subnetId") == subnet.id]
    replaced = [thing["routeTableId"] for thing in cloud.store.all("ec2.MainRouteTableAssociation") if thing["vpcId"] == subnet["vpcId"]]
    main = [thing.id for thing in cloud.store.all("ec2.RouteTable") if thing["vpcId"] == subnet["vpcId"] and thing.get("isMain")]
    return any(str(target).startswith("igw-") for target in default_routes(cloud, (own or replaced or main)[0]))


def default_routes(cloud: Cloud, table: str) -> Iterable[str]:
    """Give the targets of a table's route to everywhere."""
    inline = [route for route in cloud.need("ec2.RouteTable", table).get("routes", ()) if route.get("cidrBlock") == "0.0.0.0/0"]
    single = [thing.properties for thing in cloud.store.all("ec2.Route") if thing["routeTableId"] == table and thing.get("destinationCidrBlock") == "0.0.0.0/0"]
    return [route[name] for route in [*inline, *single] for name in TARGETS if route.get(name)]


def _check_route(cloud: Cloud, vpc: str, destination: str | None, route: Mapping[str, Any]) -> None:
    targets = [name for name in TARGETS if route.get(name)]
    if destination is None or len(targets) != 1:
        raise Refused("InvalidParameterCombination", f"a route has one destination and one target, not {destination} and {targets or 'none'}")
    if route.get("destinationCidrBlock") or route.get("cidrBlock"):
        try:
            block = ipaddress.IPv4Network(destination)
        except ValueError as error:
            raise Refused("InvalidParameterValue", f"Value ({destination}) for parameter destinationCidrBlock is invalid: {error}") from None
        if block == ipaddress.IPv4Network(cloud.need("ec2.Vpc", vpc)["cidrBlock"]):
            raise Refused("RouteAlreadyExists", f"The route identified by {destination} already exists: it is the local one")
    if (gateway := route.get("gatewayId")) and not _is_attached(cloud, gateway, vpc):
        raise Refused("InvalidParameterValue", f"route table of {vpc} and network gateway {gateway} belong to different networks")
    nat = route.get("natGatewayId")
    if nat and cloud.need("ec2.NatGateway", nat)["vpcId"] != vpc:
        raise Refused("InvalidParameterValue", f"route table of {vpc} and NAT gateway {nat} belong to different networks")


def _is_attached(cloud: Cloud, gateway: str, vpc: str) -> bool:
    return cloud.need("ec2.InternetGateway", gateway).get("vpcId") == vpc or any(
        thing["vpcId"] == vpc and thing["internetGatewayId"] == gateway for thing in cloud.store.all("ec2.InternetGatewayAttachment")
    )


def _refuse_second_gateway(cloud: Cloud, vpc: str, *, mine: Thing | None) -> None:
    others = [thing.id for thing in cloud.store.all("ec2.InternetGateway") if thing.get("vpcId") == vpc and thing is not mine]
    others += [thing["internetGatewayId"] for thing in cloud.store.all("ec2.InternetGatewayAttachment") if thing["vpcId"] == vpc]
    if others:
        raise Refused("Resource.AlreadyAssociated", f"Network {vpc} already has an internet gateway attached: {', '.join(others)}")


def _refuse_with_public_addresses(cloud: Cloud, vpc: str) -> None:
    mapped = [thing.id for thing in cloud.store.all("ec2.NatGateway") if thing["vpcId"] == vpc and thing.get("publicIp")]
    mapped += [thing.id for thing in cloud.store.all("ec2.Instance") if thing.get("vpcId") == vpc and thing.get("publicIp") and not thing.get("ended")]
    mapped += [thing.id for thing in cloud.store.all("lb.LoadBalancer") if thing["vpcId"] == vpc and not thing["internal"]]
    if mapped:
        raise Refused(
            "DependencyViolation",
            f"Network {vpc} has some mapped public address(es): {', '.join(mapped)}. Please unmap those public address(es) before detaching the gateway.",
        )
