"""Whose every address of an inventory is: of hosts, of their interfaces, and of their management controllers. Pure."""

import dataclasses
import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from .. import spec

NETWORK, BROADCAST = "the first address", "the last address"
NOT_OF_A_HOST = "the first address of a network stands for the network, and the last one for all of its hosts (RFC 1122, section 3.2.1.3)"
LONGEST_PREFIX_WITH_BOTH = 30
"""Networks of /31 and /32 have neither (RFC 3021)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Owner:
    """What has an address."""

    host: str
    key: tuple[str, ...]
    """Where the host's entry has the address: `address`, `bmc`, or that of an interface."""

    @property
    def is_bmc(self) -> bool:
        return self.key == ("bmc",)

    @property
    def is_host(self) -> bool:
        """Say whether it is the address at which the host itself is reached."""
        return self.key == ("address",)

    def __str__(self) -> str:
        return self.host if self.is_host else f"{self.host} ({'BMC' if self.is_bmc else self.key[1]})"


def listed(hosts: Sequence[spec.SiteHost]) -> Iterator[tuple[str, Owner]]:
    """List all addresses with their owners, as they are written."""
    for host in hosts:
        for written, key in ((host.address, "address"), (host.bmc, "bmc")):
            if written:
                yield written, Owner(host.name, (key,))
        for interface in host.interfaces:
            if interface.address:
                yield interface.address.partition("/")[0], Owner(host.name, ("interfaces", interface.name, "address"))


def owners(hosts: Sequence[spec.SiteHost]) -> Mapping[str, Owner]:
    """Give each address with the first that has it; a host before its interfaces."""
    found: dict[str, Owner] = {}
    for written, owner in listed(hosts):
        found.setdefault(written, owner)
    return found


def duplicates(hosts: Sequence[spec.SiteHost]) -> Iterator[tuple[str, Owner, Owner]]:
    """Give addresses that two have. The interface through which a host is reached has the host's own."""
    first = owners(hosts)
    for written, owner in listed(hosts):
        other = first[written]
        is_way = owner.host == other.host and other.is_host and not owner.is_bmc
        if owner != other and not is_way:
            yield written, other, owner


def kind(address: str, network: ipaddress.IPv4Network) -> str | None:
    """Say which address of its network no host can have as its own; None: a host can, or it is a DNS name."""
    if network.prefixlen > LONGEST_PREFIX_WITH_BOTH:
        return None
    return {str(network.network_address): NETWORK, str(network.broadcast_address): BROADCAST}.get(address)


def is_in(address: str, network: ipaddress.IPv4Network) -> bool:
    """Say whether an address is of a network; the name of a host is of none."""
    try:
        return ipaddress.IPv4Address(address) in network
    except ValueError:
        return False
