"""Which network interfaces an instance type takes, by its own record (cards, interfaces a card, types a card, EFA in all).

Sources: EC2 user guide, "Network cards", "Elastic Fabric Adapter"; DescribeInstanceTypes' records in `machines`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.failure import NotSimulated, Refused
from . import facts, machines

FABRICS = ("efa", "efa-only")
ADDRESSED = ("PrivateIpAddress", "PrivateIpAddresses", "SecondaryPrivateIpAddressCount", "Ipv6Addresses", "Ipv6AddressCount", "AssociatePublicIpAddress")


def check(machine: str, interfaces: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a layout that the type can't take.

    Args:
        interfaces: in the form of RunInstances' NetworkInterfaces.
    """
    network = record(machine)["NetworkInfo"]
    cards = {card["NetworkCardIndex"]: card for card in network["NetworkCards"]}
    places = Counter((one.get("NetworkCardIndex", 0), one.get("DeviceIndex")) for one in interfaces)
    for (card, device), number in places.items():
        if device is None:
            raise Refused("MissingParameter", "Each network interface requires a device index.")
        if card not in cards:
            raise Refused("InvalidParameterValue", f"Network card index {card} exceeds the limit for instance type {machine}, which has {len(cards)}.")
        if number > 1:
            raise Refused("InvalidParameterValue", f"Device index {device} on network card {card} is used {number} times.")
        if device >= cards[card]["MaximumNetworkInterfaces"]:
            raise Refused(
                "InvalidParameterValue",
                f"Device index {device} on network card {card}: {machine} takes {cards[card]['MaximumNetworkInterfaces']} interfaces there.",
            )
    if (0, 0) not in places:
        raise Refused("InvalidParameterValue", "Each instance requires a primary network interface: device index 0 on network card 0.")
    _check_fabric(machine, interfaces, network, cards)
    _check_public(interfaces)


def record(machine: str) -> Mapping[str, Any]:
    """Give the record of an instance type.

    Raises:
        Refused: there is no such type.
        NotSimulated: there is, and moto has no record of it.
    """
    try:
        return machines.types()[machine]
    except KeyError:
        if machine in facts.shape("ec2.InstanceType").enum:
            raise NotSimulated(f"{machine}, of whose network cards no record is at hand") from None
        raise Refused("InvalidInstanceType", f"The following supplied instance types do not exist: [{machine}]") from None


def _check_fabric(machine: str, interfaces: Sequence[Mapping[str, Any]], network: Mapping[str, Any], cards: Mapping[int, Mapping[str, Any]]) -> None:
    with_fabric = [one for one in interfaces if one.get("InterfaceType") in FABRICS]
    if with_fabric and not network["EfaSupported"]:
        raise Refused("UnsupportedOperation", f"Network interface type 'efa' is not supported by instance type {machine}.")
    most = network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    if len(with_fabric) > most:
        raise Refused("InvalidParameterValue", f"{len(with_fabric)} EFA interfaces exceed the limit of {most} for instance type {machine}.")
    for card, number in Counter(one.get("NetworkCardIndex", 0) for one in with_fabric).items():
        if number > 1:
            raise Refused("InvalidParameterValue", f"Network card {card} can have one EFA interface, not {number}.")
    for one in interfaces:
        kind, card = one.get("InterfaceType", "interface"), one.get("NetworkCardIndex", 0)
        if kind in FABRICS and kind not in cards[card].get("InterfaceTypes", FABRICS):
            raise Refused("InvalidParameterValue", f"Network card {card} of {machine} does not take interfaces of type {kind}.")
        if kind == "efa-only" and (card, one["DeviceIndex"]) == (0, 0):
            raise Refused("InvalidParameterValue", "The primary network interface can't be an efa-only one: it has the instance's address.")
        if kind == "efa-only" and any(one.get(name) for name in ADDRESSED):
            raise Refused("InvalidParameterCombination", "An efa-only interface has no addresses.")


def _check_public(interfaces: Sequence[Mapping[str, Any]]) -> None:
    if len(interfaces) > 1 and any(one.get("AssociatePublicIpAddress") for one in interfaces):
        raise Refused(
            "InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces."
        )
    for one in interfaces:
        if one.get("AssociatePublicIpAddress") and one.get("DeviceIndex") != 0:
            raise Refused("InvalidParameterCombination", "The associatePublicIPAddress parameter can only be specified for the network interface with index 0.")
        if one.get("NetworkInterfaceId") and (one.get("SubnetId") or one.get("Groups")):
            raise Refused("InvalidParameterCombination", "A network interface ID may not be specified together with a subnet or groups.")
