"""The address plan: which host has which IPv4 address, and how large a network the plan needs.

In a network of 512 addresses or more (`10.80.0.0/20`): 10.80.0.1 is the gateway, 10.80.0.2 the balancer, 10.80.0.10 on the controllers, 10.80.0.20 on the
login nodes, and the pools follow each other from 10.80.1.0. In a /24 the pools begin at .64. The network's own address and the broadcast address stay free.
"""

import dataclasses
import hashlib
import ipaddress

GATEWAY, BALANCER, CONTROL, ACCESS = 1, 2, 10, 20
POOLS, POOLS_IN_24 = 256, 64
LONGEST_PREFIX, DEFAULT_PREFIX, SHORTEST_PREFIX = 24, 20, 16

_DEFAULT_RANGE = ipaddress.IPv4Network("10.64.0.0/10")
"""Inside 10.0.0.0/8 (RFC 1918), away from the lower numbers that home and office networks, Docker and the clouds' default networks use."""
_PRIVATE_RANGES = tuple(ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""RFC 1918, and RFC 6598's shared range."""


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Where each group of hosts begins in a network."""

    network: ipaddress.IPv4Network

    @property
    def gateway(self) -> str:
        return self._address(GATEWAY)

    @property
    def balancer(self) -> str:
        return self._address(BALANCER)

    @property
    def control(self) -> str:
        return self._address(CONTROL)

    @property
    def access(self) -> str:
        return self._address(ACCESS)

    def pool(self, nodes_before: int) -> str:
        """Give the first address of a pool that follows so many nodes of other pools."""
        return self._address(_pools_at(self.network.prefixlen) + nodes_before)

    def _address(self, offset: int) -> str:
        return str(ipaddress.IPv4Address(int(self.network.network_address) + offset))


def prefix_for(nodes: int, *, longest: int = DEFAULT_PREFIX) -> int | None:
    """Find the longest prefix, `longest` at most, whose network holds so many compute nodes; None if no network does."""
    for prefix in range(longest, SHORTEST_PREFIX - 1, -1):
        if nodes <= room_for_nodes(prefix):
            return prefix
    return None


def room_for_nodes(prefix: int) -> int:
    """Count the compute nodes that a network holds beside the cluster's own hosts."""
    broadcast = 1
    return (1 << (32 - prefix)) - _pools_at(prefix) - broadcast


def default_network(stack: str, prefix: int) -> ipaddress.IPv4Network:
    """Choose a network by the stack's name: the same name always gives the same one, and two names seldom do."""
    digest = hashlib.sha256(stack.encode("utf-8", "surrogatepass")).digest()
    choices = 1 << (prefix - _DEFAULT_RANGE.prefixlen)
    number = int.from_bytes(digest[:8]) % choices
    return ipaddress.IPv4Network((int(_DEFAULT_RANGE.network_address) + (number << (32 - prefix)), prefix))


def is_private(network: ipaddress.IPv4Network) -> bool:
    return any(network.subnet_of(private) for private in _PRIVATE_RANGES)


def _pools_at(prefix: int) -> int:
    return POOLS if prefix < LONGEST_PREFIX else POOLS_IN_24
