"""The address plan: which host has which IPv4 address, and how large a network the plan needs.

On this machine every host has a planned address. In a network of 512 addresses or more (`10.80.0.0/20`): 10.80.0.1 is the gateway, 10.80.0.2 the balancer,
10.80.0.3 the address that several API servers share, 10.80.0.10 on the controllers, 10.80.0.14 on the Kubernetes control plane, 10.80.0.20 on the login nodes, and the pools follow each other from 10.80.1.0. In a
/24 the pools begin at .64. Beside Slurm, the pools of Kubernetes begin in the middle of the network. The network's own address and the broadcast address stay free. In a cloud the network is divided into subnets (`divide`).
"""

import dataclasses
import hashlib
import ipaddress
from collections.abc import Sequence

GATEWAY, BALANCER, ENDPOINT, CONTROL, KUBERNETES, ACCESS = 1, 2, 3, 10, 14, 20
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
    def endpoint(self) -> str:
        """Give the address that moves between the hosts of a Kubernetes control plane."""
        return self._address(ENDPOINT)

    @property
    def control(self) -> str:
        return self._address(CONTROL)

    @property
    def kubernetes(self) -> str:
        return self._address(KUBERNETES)

    @property
    def access(self) -> str:
        return self._address(ACCESS)

    def pool(self, nodes_before: int) -> str:
        """Give the first address of a pool that follows so many nodes of other pools."""
        return self._address(_pools_at(self.network.prefixlen) + nodes_before)

    def before_kubernetes(self, *, slurm_nodes: int, kubernetes_nodes: int) -> int:
        """Count the nodes' addresses before the first pool of Kubernetes, in a cluster that has Slurm, too.

        Each scheduler has half of the network, so that its nodes keep their addresses when pools of the other one grow. Where a half is too small, all pools follow each other.
        """
        middle = self.network.num_addresses // 2 - _pools_at(self.network.prefixlen)
        fits = slurm_nodes <= middle and kubernetes_nodes <= room_for_nodes(self.network.prefixlen) - middle
        return middle if fits else slurm_nodes

    def _address(self, offset: int) -> str:
        return str(ipaddress.IPv4Address(int(self.network.network_address) + offset))


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Addresses that a subnet needs, in a power of 2."""

    least: int
    grows: bool
    """Takes a share of what is free."""


def divide(network: ipaddress.IPv4Network, blocks: Sequence[Block]) -> tuple[ipaddress.IPv4Network, ...]:
    """Divide a network into one subnet for each block.

    Blocks that grow get one common size, the largest with which all fit and no subnet takes more than half of the network: so pools can grow later without
    moving any subnet.

    Args:
    Returns:
        the subnets in the order of the blocks; the larger ones are in front. None at all when the blocks are more than the network.
    """
    if sum(_sizes(blocks, 0)) > network.num_addresses:
        return ()
    common = network.num_addresses // 2
    while common and sum(_sizes(blocks, common)) > network.num_addresses:
        common //= 2
    sizes = _sizes(blocks, common)
    found: dict[int, ipaddress.IPv4Network] = {}
    start = int(network.network_address)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        found[number] = ipaddress.IPv4Network((start, 33 - sizes[number].bit_length()))
        start += sizes[number]
    return tuple(found[number] for number in range(len(sizes)))


def prefix_holding(sizes: Sequence[int]) -> int:
    """Find the longest prefix whose network holds subnets of these sizes, which are powers of 2."""
    return 32 - (sum(sizes) - 1).bit_length()


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


def _sizes(blocks: Sequence[Block], common: int) -> list[int]:
    return [max(block.least, common) if block.grows else block.least for block in blocks]


def _pools_at(prefix: int) -> int:
    return POOLS if prefix < LONGEST_PREFIX else POOLS_IN_24
