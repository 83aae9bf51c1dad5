"""VPCs, subnets and the addresses in them.

Sources: VPC user guide ("VPC CIDR blocks", "Subnet sizing": /16 to /28, five addresses of each subnet reserved); codes: EC2 API reference, "Error codes".
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import quotas
from ..cloud import Cloud
from ..rules import Rules, Want, of

SHORTEST, LONGEST = 16, 28
FIRST_FREE = 4  # network, router, DNS and one for later use; the broadcast address is the fifth
PUBLIC = int(ipaddress.ip_address("198.18.0.0"))  # benchmarking addresses (RFC 2544): nobody's

_ALL = {"protocol": "-1", "fromPort": 0, "toPort": 0}


@of("ec2.Vpc")
class Vpc(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        block = _block(want["cidrBlock"], "InvalidVpc.Range") if want.get("cidrBlock") else None
        if block is None:
            raise Refused("MissingParameter", "cidrBlock: the simulated cloud has no address pools")
        if want["enableDnsHostnames"] and not want["enableDnsSupport"]:
            raise Refused("InvalidParameterCombination", "enableDnsHostnames needs enableDnsSupport")
        if want.former is None:
            quotas.refuse_beyond(cloud, "L-F678F1CE", sum(1 for _ in cloud.store.all("ec2.Vpc", region=want.region)) + 1, refusal="VpcLimitExceeded")

    def made(self, cloud: Cloud, thing: Thing) -> None:
        """Give the VPC what each comes with: a security group, a route table."""
        # VPC User Guide, "Default security groups for your VPCs": all from the group itself may come in, and everything may go out.
        rules = {"ingress": [{**_ALL, "self": True}], "egress": [{**_ALL, "cidrBlocks": ["0.0.0.0/0"]}]}
        group = _companion(cloud, thing, "ec2.SecurityGroup", "sg", name="default", description="default VPC security group", vpcId=thing.id, **rules)
        table = _companion(cloud, thing, "ec2.RouteTable", "rtb", vpcId=thing.id, isMain=True)
        outputs = {
            "defaultSecurityGroupId": group.id,
            "defaultRouteTableId": table.id,
            "mainRouteTableId": table.id,
            "defaultNetworkAclId": f"acl-{thing.id[4:]}",
        }
        cloud.note(thing, **outputs)


@of("ec2.Subnet")
class Subnet(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        vpc, block = cloud.need("ec2.Vpc", want["vpcId"]), _block(want["cidrBlock"], "InvalidSubnet.Range")
        if not block.subnet_of(_block(vpc["cidrBlock"], "InvalidSubnet.Range")):
            raise Refused("InvalidSubnet.Range", f"The CIDR '{block}' is invalid: it is not inside of {vpc['cidrBlock']} of {vpc.id}")
        for other in cloud.store.all("ec2.Subnet"):
            if other["vpcId"] == vpc.id and other is not want.former and block.overlaps(ipaddress.ip_network(other["cidrBlock"])):
                raise Refused("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet: {other.id} has {other['cidrBlock']}")
        zone = want.get("availabilityZone")
        if zone is not None and zone not in cloud.zones(want.region):
            raise Refused("InvalidParameterValue", f"Value ({zone}) for parameter availabilityZone is invalid. Zones are {', '.join(cloud.zones(want.region))}")

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        zones = cloud.zones(want.region)
        by_id = {zone_id: name for name, zone_id in zones.items()}
        zone = want.get("availabilityZone") or by_id.get(want.get("availabilityZoneId", ""), next(iter(zones)))
        return {"availabilityZone": zone, "availabilityZoneId": zones[zone]}


@of("ec2.NetworkInterface")
class NetworkInterface(Rules):
    def check(self, cloud: Cloud, want: Want) -> None:
        refuse_foreign_groups(cloud, want.get("securityGroups", ()), vpc_of(cloud, want["subnetId"]))

    def interfaces(self, cloud: Cloud, want: Want, ident: str) -> tuple[Interface, ...]:
        groups = tuple(want.get("securityGroups", ()))
        if want.former:
            return tuple(Interface(one.subnet, one.address, groups, one.id, one.fabric) for one in want.former.interfaces)
        wanted = want.get("privateIps") or [want.get("privateIp")]
        return tuple(new_interface(cloud, want["subnetId"], groups, address=address, ident=ident) for address in wanted)

    def computed(self, cloud: Cloud, want: Want, ident: str) -> Mapping[str, Any]:
        return {"macAddress": "02:00:" + ":".join(ident[-8 + place : -6 + place or None] for place in (0, 2, 4, 6))}

    def made(self, cloud: Cloud, thing: Thing) -> None:
        cloud.note(thing, privateIp=thing.interfaces[0].address)

    def changed(self, cloud: Cloud, thing: Thing, former: Thing) -> None:
        self.made(cloud, thing)  # an input, too, which nobody has to give


# What other rules ask


def new_interface(
    cloud: Cloud, subnet: str, groups: Iterable[str] = (), *, address: str | None = None, ident: str = "", taken: Iterable[str] = ()
) -> Interface:
    """Take an address of a subnet for an interface.

    Args:
        taken: addresses given out in the same request, of which the store does not know yet.
    Raises:
        Refused: none is left, or the wanted one is not free.
    """
    home = cloud.need("ec2.Subnet", subnet)
    block = ipaddress.ip_network(home["cidrBlock"])
    used, fresh = cloud.store.taken(subnet), set(taken)
    if address is not None:
        inside = ipaddress.ip_address(address) in block
        reserved = inside and not FIRST_FREE <= int(ipaddress.ip_address(address)) - int(block.network_address) < block.num_addresses - 1
        if not inside or reserved:
            raise Refused("InvalidParameterValue", f"Address {address} does not fall within the subnet's address range {block}, or is reserved")
        if address in used or address in fresh:
            raise Refused("InvalidIPAddress.InUse", f"Address {address} is in use.")
    else:
        address = _next_free(block, used, fresh)
        if address is None:
            raise Refused(
                "InsufficientFreeAddressesInSubnet", f"There are not enough free addresses in subnet '{subnet}' to satisfy the requested number of instances."
            )
    return Interface(subnet, address, tuple(groups), ident or f"eni-{cloud.store.new_hex()}")


def free_addresses(cloud: Cloud, subnet: Thing) -> int:
    """Count the addresses of a subnet that are left."""
    return ipaddress.ip_network(subnet["cidrBlock"]).num_addresses - FIRST_FREE - 1 - len(cloud.store.taken(subnet.id))


def new_public_address(cloud: Cloud) -> str:
    return str(ipaddress.ip_address(PUBLIC + int(cloud.store.new_hex(4), 16)))


def vpc_of(cloud: Cloud, subnet: str) -> str:
    """Name the VPC of a subnet."""
    return str(cloud.need("ec2.Subnet", subnet)["vpcId"])


def refuse_foreign_groups(cloud: Cloud, groups: Iterable[str], vpc: str, *, code: str = "InvalidParameter") -> None:
    """Refuse security groups of another VPC."""
    for group in groups:
        home = cloud.need("ec2.SecurityGroup|ec2.DefaultSecurityGroup", group).get("vpcId")
        if home != vpc:
            raise Refused(code, f"Security group {group} and subnet belong to different networks: {home} and {vpc}")


def has_internet_gateway(cloud: Cloud, vpc: str) -> bool:
    attached = any(thing.get("vpcId") == vpc for thing in cloud.store.all("ec2.InternetGateway"))
    return attached or any(thing["vpcId"] == vpc for thing in cloud.store.all("ec2.InternetGatewayAttachment"))


def _block(text: str, code: str) -> ipaddress.IPv4Network:
    try:
        block = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise Refused("InvalidParameterValue", f"Value ({text}) is no valid CIDR block: {error}") from None
    if not SHORTEST <= block.prefixlen <= LONGEST:
        raise Refused(code, f"The CIDR '{text}' is invalid: its length must be from /{SHORTEST} to /{LONGEST}")
    return block


def _next_free(block: ipaddress.IPv4Network | ipaddress.IPv6Network, used: set[str], fresh: set[str]) -> str | None:
    span = block.num_addresses - FIRST_FREE - 1
    first = int(block.network_address) + FIRST_FREE
    start = len(used) + len(fresh)  # in a subnet that only fills up, this is the next one
    for step in range(span):
        address = str(ipaddress.ip_address(first + (start + step) % span))
        if address not in used and address not in fresh:
            return address
    return None


def _companion(cloud: Cloud, vpc: Thing, kind: str, prefix: str, **properties: Any) -> Thing:
    made = Thing(kind, f"{prefix}-{cloud.store.new_hex()}", vpc.region, {**properties, "managedBy": vpc.id, "tags": {}, "tagsAll": {}}, "service", vpc.made_s)
    return cloud.store.put(made)
