"""What the inventory wants of the interfaces of one host. Pure."""

import dataclasses
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

FIRST_TABLE = 4100
"""Routing table of rail 0, and the priority of its rule; rail n has this number plus n. Tables below 256 are the distribution's and administrators' own (/etc/iproute2/rt_tables)."""
MOST_RAILS = 64


@dataclasses.dataclass(frozen=True)
class Route:
    """A static route."""

    to: str
    via: str
    """Empty: the network is on the link."""
    table: int
    """0: the main table."""
    metric: int = 0
    source: str = ""


@dataclasses.dataclass(frozen=True)
class Rail:
    """One interface of the inventory."""

    name: str
    mac: str
    """Empty: the interface has the rail's name."""
    address: str
    mtu: int
    gateway: str
    routes: "tuple[tuple[str, str], ...]"
    number: int
    """Its place among the host's rails."""
    partition: str = ""
    """Four hexadecimal digits, the key of an InfiniBand partition: the rail is the partition's interface below that of its port. Empty: it is the port's."""

    @property
    def table(self) -> int:
        return FIRST_TABLE + self.number

    @property
    def own_address(self) -> str:
        return self.address.split("/")[0]

    @property
    def network(self) -> str:
        return str(ipaddress.ip_interface(self.address).network) if self.address else ""

    def all_routes(self) -> "tuple[Route, ...]":
        """List the routes that the rail adds.

        Packets from the rail's own address find everything in the rail's own table: its network, its routes, and its gateway. The main table gets the routes, too, with a metric for each rail, since a
        socket without an address of its own chooses its source by the main table. The gateway never enters the main table: it would compete with the host's own default route.
        """
        if not self.address:
            return tuple(Route(_network(to), via, 0, self.table) for to, via in self.routes)
        own = [Route(self.network, "", self.table, 0, self.own_address)]
        own += [Route(_network(to), via, self.table) for to, via in self.routes]
        if self.gateway:
            own.append(Route("default", self.gateway, self.table))
        return (*own, *(Route(_network(to), via, 0, self.table) for to, via in self.routes))


def read(interfaces: Sequence[Mapping[str, Any]]) -> "tuple[Rail, ...]":
    """Read the interfaces as the inventory gives them."""
    return tuple(_rail(one, number) for number, one in enumerate(interfaces))


def _rail(one: Mapping[str, Any], number: int) -> Rail:
    gateway = str(one.get("gateway") or "")
    return Rail(
        name=str(one["name"]),
        mac=str(one.get("mac") or "").lower(),
        address=str(one.get("address") or ""),
        mtu=int(one.get("mtu") or 0),
        gateway=gateway,
        routes=tuple((str(route["to"]), str(route.get("via") or gateway)) for route in one.get("routes") or ()),
        number=number,
        partition=f"{int(key, 16):04x}" if (key := str(one.get("partition_key") or "")) else "",
    )


def _network(to: str) -> str:
    return "default" if to in ("default", "0.0.0.0/0") else str(ipaddress.ip_network(to, strict=False))
