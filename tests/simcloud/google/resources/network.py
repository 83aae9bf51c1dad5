"""Rules of networks: subnets that don't overlap, firewalls, routers with NAT, addresses."""

import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Interface, Thing
from .. import errors, links
from ..rules import Rules, Want, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

MTU_LEAST, MTU_MOST, RDMA_MTU = 1300, 8896, 8896  # networks.insert, field `mtu`; VPC network profiles: RDMA networks take 8896 alone
NARROWEST = 29  # Subnets, "IPv4 subnet ranges": primary ranges are /29 or wider
RESERVED_FIRST, RESERVED_LAST = 2, 2  # Subnets, "Unusable addresses in IPv4 subnet ranges"
PROTOCOLS = ("all", "tcp", "udp", "icmp", "esp", "ah", "sctp", "ipip")  # firewalls.insert, field `allowed[].IPProtocol`, and numbers
PRIORITY_MOST = 65535
PORTS = re.compile(r"\d{1,5}(-\d{1,5})?")
TAG = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
NAT_SOURCES = ("ALL_SUBNETWORKS_ALL_IP_RANGES", "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES", "LIST_OF_SUBNETWORKS")


@rules_of("compute.networks")
class Networks(Rules):
    """Networks with subnets of their own; the default of Compute Engine, a subnet in each region, is not simulated."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.get("autoCreateSubnetworks") is not False:
            raise errors.invalid("resource.autoCreateSubnetworks", want.get("autoCreateSubnetworks"), "Only networks in custom mode are simulated; say false.")
        if not MTU_LEAST <= want["mtu"] <= MTU_MOST:
            raise errors.invalid("resource.mtu", want["mtu"], f"It must be between {MTU_LEAST} and {MTU_MOST}.")
        if want.get("networkProfile") and want["mtu"] != RDMA_MTU and "mtu" in want.call.body:
            raise errors.invalid("resource.mtu", want["mtu"], f"A network with this network profile has an MTU of {RDMA_MTU}.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {"mtu": RDMA_MTU} if want.get("networkProfile") else {}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        subnets = [user["selfLink"] for user in cloud.users(thing.id) if user.kind == "compute.subnetworks"]
        peerings = [{"name": name, "state": "ACTIVE", **peering} for name, peering in thing.get("_peerings", {}).items()]
        return {**({"subnetworks": subnets} if subnets else {}), **({"peerings": peerings} if peerings else {})}


@rules_of("compute.subnetworks")
class Subnetworks(Rules):
    """Ranges of one network don't overlap."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        mine = _network(want["ipCidrRange"], "resource.ipCidrRange")
        if mine.prefixlen > NARROWEST:
            raise errors.invalid("resource.ipCidrRange", want["ipCidrRange"], f"The range is narrower than /{NARROWEST}.")
        network = cloud.need(want["network"].removeprefix(links.BASE), "compute.networks")
        profile = network.get("networkProfile")
        region = want.path.split("/")[3]
        if profile and not profile.rpartition("/")[2].startswith(region + "-"):
            raise errors.invalid("resource.region", region, f"The network's profile is of another place: {profile}")
        for user in cloud.users(network.id):
            if user.kind == "compute.subnetworks" and user.id != want.path:
                for other in ranges(user.properties):
                    for own in ranges(want.values):
                        if own.overlaps(other):
                            raise errors.invalid(
                                "resource.ipCidrRange",
                                str(own),
                                f"Invalid IPCidrRange: {own} conflicts with existing subnetwork '{user['name']}' in region '{user.region}'.",
                            )

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        return {"gatewayAddress": str(_network(want["ipCidrRange"], "")[1])}

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"region": links.link("/".join(thing.id.split("/")[:4]))}


@rules_of("compute.firewalls")
class Firewalls(Rules):
    """Either allow or deny, from sources or to destinations."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        allowed, denied = want.get("allowed"), want.get("denied")
        if bool(allowed) == bool(denied):
            raise errors.invalid("resource.allowed", allowed, "Exactly one of allowed and denied must be specified.")
        if not want.get("network"):
            raise errors.required("resource.network")
        for place, one in enumerate(allowed or denied):
            _protocol(one, f"resource.{'allowed' if allowed else 'denied'}[{place}]")
        if not 0 <= want["priority"] <= PRIORITY_MOST:
            raise errors.invalid("resource.priority", want["priority"], f"It must be between 0 and {PRIORITY_MOST}.")
        against = ("sourceRanges", "sourceTags", "sourceServiceAccounts") if want["direction"] == "EGRESS" else ()
        for name in against:
            if want.get(name):
                raise errors.invalid(f"resource.{name}", want[name], f"A firewall with direction {want['direction']} can't have it.")
        for name in ("sourceRanges", "destinationRanges"):
            for place, one in enumerate(want.get(name, ())):
                _network(one, f"resource.{name}[{place}]")
        for name in ("sourceTags", "targetTags"):
            for place, one in enumerate(want.get(name, ())):
                if not TAG.fullmatch(one):
                    raise errors.invalid(f"resource.{name}[{place}]", one, f"Must be a match of regex '{TAG.pattern}'")
        if (want.get("sourceTags") or want.get("targetTags")) and (want.get("sourceServiceAccounts") or want.get("targetServiceAccounts")):
            raise errors.invalid("resource.targetTags", want.get("targetTags"), "Tags and service accounts can't be used together.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        named = any(want.get(name) for name in ("sourceRanges", "sourceTags", "sourceServiceAccounts"))
        if want["direction"] == "EGRESS":
            return {} if want.get("destinationRanges") else {"destinationRanges": ["0.0.0.0/0"]}
        return {} if named else {"sourceRanges": ["0.0.0.0/0"]}


@rules_of("compute.routers")
class Routers(Rules):
    """NAT says whose addresses it hides, and behind which."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if not want.get("network"):
            raise errors.required("resource.network")
        names = [nat.get("name") for nat in want.get("nats", ())]
        for place, nat in enumerate(want.get("nats", ())):
            field = f"resource.nats[{place}]"
            if not nat.get("name") or names.count(nat["name"]) > 1:
                raise errors.invalid(f"{field}.name", nat.get("name"), "Each NAT needs a name of its own.")
            for name in ("sourceSubnetworkIpRangesToNat", "natIpAllocateOption"):
                if not nat.get(name):
                    raise errors.required(f"{field}.{name}")
            if (nat["sourceSubnetworkIpRangesToNat"] == "LIST_OF_SUBNETWORKS") != bool(nat.get("subnetworks")):
                raise errors.invalid(f"{field}.subnetworks", nat.get("subnetworks"), "Subnetworks go with LIST_OF_SUBNETWORKS, and with nothing else.")
            if (nat["natIpAllocateOption"] == "MANUAL_ONLY") != bool(nat.get("natIps")):
                raise errors.invalid(f"{field}.natIps", nat.get("natIps"), "Addresses go with MANUAL_ONLY, and with nothing else.")
        network = cloud.need(want["network"].removeprefix(links.BASE), "compute.networks")
        if want.get("nats") and network.get("networkProfile"):
            raise errors.invalid("resource.nats", len(want["nats"]), "The network profile does not allow Cloud NAT.")


@rules_of("compute.addresses", "compute.globalAddresses")
class Addresses(Rules):
    """An internal address lies in its subnet."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is not None:
            return
        if want["addressType"] == "INTERNAL" and want.kind == "compute.addresses" and not want.get("subnetwork"):
            raise errors.required("resource.subnetwork")
        if want["addressType"] == "EXTERNAL" and (want.get("subnetwork") or want.get("network")):
            raise errors.invalid("resource.addressType", "EXTERNAL", "An external address has no network.")
        if want.kind == "compute.globalAddresses" and want["addressType"] == "INTERNAL" and not (want.get("purpose") and want.get("network")):
            raise errors.invalid("resource.purpose", want.get("purpose"), "A global internal address needs a purpose and a network.")
        if want.get("purpose") == "VPC_PEERING" and not want.get("prefixLength"):
            raise errors.required("resource.prefixLength")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former is not None:
            return {}
        found: dict[str, Any] = {"status": "RESERVED"}
        if want["addressType"] == "INTERNAL":
            found["purpose"] = want.get("purpose", "GCE_ENDPOINT")
        if want.get("subnetwork"):
            return {**found, "address": free_address(cloud, want["subnetwork"].removeprefix(links.BASE), want.get("address"), field="resource.address")}
        if want.get("purpose") == "VPC_PEERING":
            return {**found, "address": want.get("address") or str(_free_range(cloud, want["network"], want["prefixLength"])[0])}
        return {**found, "address": want.get("address") or public_address(cloud)}

    def interfaces(self, cloud: "Cloud", properties: Mapping[str, Any]) -> tuple[Interface, ...]:
        subnet = properties.get("subnetwork")
        return (Interface(subnet.removeprefix(links.BASE), properties["address"]),) if subnet else ()

    def shown(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        users = [other["selfLink"] for kind in ("compute.instances", "compute.forwardingRules") for other in cloud.holding(thing["address"], kind)]
        return {"status": "IN_USE", "users": users} if users else {}

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if users := self.shown(cloud, thing).get("users"):
            raise errors.in_use("address", thing.id, users[0].removeprefix(links.BASE))


def ranges(subnet: Mapping[str, Any]) -> Iterator[ipaddress.IPv4Network]:
    """Give all ranges of a subnet."""
    yield _network(subnet["ipCidrRange"], "resource.ipCidrRange")
    for place, secondary in enumerate(subnet.get("secondaryIpRanges", ())):
        yield _network(secondary.get("ipCidrRange"), f"resource.secondaryIpRanges[{place}].ipCidrRange")


def free_address(cloud: "Cloud", subnet: str, wished: str | None, *, field: str, reserved: bool = False) -> str:
    """Give an address of a subnet that nobody has.

    Args:
        reserved: whether an address that `compute.addresses` reserves may be taken, which only its name's user may.
    Raises:
        Refused: the one wished for is taken or outside; the subnet is full.
    """
    network = _network(cloud.need(subnet, "compute.subnetworks")["ipCidrRange"], field)
    taken = cloud.store.taken(subnet)
    if wished:
        if not is_usable(network, wished):
            raise errors.invalid(field, wished, f"Requested internal IP address is outside the subnetwork's usable range {network}.")
        if wished in taken and not reserved:
            raise errors.in_use("internal IP address", wished, subnet)
        return wished
    first, last = int(network.network_address) + RESERVED_FIRST, int(network.broadcast_address) - RESERVED_LAST
    start = max(cloud.hints.get(subnet, first), first)
    for number in itertools.chain(range(start, last + 1), range(first, start)) if len(taken) <= last - first else ():
        address = str(ipaddress.IPv4Address(number))
        if address not in taken:
            cloud.hints[subnet] = number + 1
            return address
    raise Refused("IP_SPACE_EXHAUSTED", f"IP space of '{subnet}' is exhausted.")


def is_usable(network: ipaddress.IPv4Network, address: str) -> bool:
    """Say whether a host may have an address of a range."""
    number = int(ipaddress.IPv4Address(address))
    return int(network.network_address) + RESERVED_FIRST <= number <= int(network.broadcast_address) - RESERVED_LAST


def public_address(cloud: "Cloud") -> str:
    """Give an external address; from a range for documentation (RFC 5737) and its neighbours, so that nobody has it."""
    cloud.store.new_hex()
    return str(ipaddress.IPv4Address("203.0.112.0") + int(cloud.store.new_hex(4), 16) % 4096)


def _free_range(cloud: "Cloud", network: str, length: int) -> ipaddress.IPv4Network:
    used = [one for user in cloud.users(network.removeprefix(links.BASE)) if user.kind == "compute.subnetworks" for one in ranges(user.properties)]
    used += [
        ipaddress.IPv4Network(f"{other['address']}/{other['prefixLength']}") for other in cloud.all("compute.globalAddresses") if other.get("prefixLength")
    ]
    for candidate in ipaddress.IPv4Network("10.0.0.0/8").subnets(new_prefix=length):
        if not any(candidate.overlaps(one) for one in used):
            return candidate
    raise Refused("IP_SPACE_EXHAUSTED", f"No range of /{length} is free in '{network}'.")


def _protocol(rule: Mapping[str, Any], field: str) -> None:
    protocol = rule.get("IPProtocol", "")
    if protocol not in PROTOCOLS and not protocol.isdigit():
        raise errors.invalid(f"{field}.IPProtocol", protocol, "It is no protocol.")
    if rule.get("ports") and protocol not in ("tcp", "udp", "sctp", "6", "17", "132"):
        raise errors.invalid(f"{field}.ports", rule["ports"], "Ports go with TCP, UDP and SCTP.")
    for ports in rule.get("ports", ()):
        if not PORTS.fullmatch(ports) or any(int(one) > PRIORITY_MOST for one in ports.split("-")):
            raise errors.invalid(f"{field}.ports", ports, "It is no port and no range of ports.")


def _network(text: Any, field: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        raise errors.invalid(field, text, "Must be an IPv4 range in CIDR form whose host bits are unset.") from None
