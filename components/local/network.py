"""The stack's network as a resource: bridge, firewall rules, and the names of all hosts."""

import dataclasses
import ipaddress
from collections.abc import Iterator

from blueprints import hostlist

from ..provider.kind import Kind, Values, Work
from .machine import claim, network
from .machine.names import StackNames


@dataclasses.dataclass(frozen=True, slots=True)
class HostRange:
    """`<prefix>-0` … with consecutive addresses: names grow with groups, not with hosts."""

    prefix: str
    count: int
    first_address: str
    members: str = ""
    """The hosts' own names as a Slurm host list; empty: they are named by their number."""


@dataclasses.dataclass(frozen=True, slots=True)
class NetworkInputs:
    stack: str
    site: str
    """The token of the stack's claim to its name on this machine."""
    cidr: str
    gateway: str
    domain: str
    host_ranges: tuple[HostRange, ...]
    names: dict[str, str]
    """Name → address of what is no host of a group."""


class Network(Kind[NetworkInputs]):
    token = "clusterwright:local:Network"
    inputs = NetworkInputs

    def identity(self, inputs: NetworkInputs) -> str:
        return StackNames(inputs.stack).bridge

    def expected(self, inputs: NetworkInputs) -> Values:
        return {"bridge": StackNames(inputs.stack).bridge, "missing": []}

    def read(self, inputs: NetworkInputs, outputs: Values) -> Values | None:
        names = StackNames(inputs.stack)
        parts = network.observe(names, cidr=inputs.cidr, gateway=inputs.gateway)
        if parts is None:
            return None
        return {"bridge": names.bridge, "missing": sorted(part for part, present in parts.items() if not present)}

    def create(self, inputs: NetworkInputs, work: Work) -> Values:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site)
        network.ensure(names, cidr=inputs.cidr, gateway=inputs.gateway)
        network.write_host_names(names, _addresses(inputs), inputs.domain)
        return self.expected(inputs)

    def delete(self, inputs: NetworkInputs, outputs: Values, work: Work) -> None:
        names = StackNames(inputs.stack)
        claim.require(names, inputs.site, deleting=True)
        network.remove(names)


def _addresses(inputs: NetworkInputs) -> Iterator[tuple[str, str]]:
    yield from inputs.names.items()
    for one in inputs.host_ranges:
        first = ipaddress.ip_address(one.first_address)
        yield from ((name, str(first + number)) for number, name in enumerate(hostlist.of_group(one.prefix, one.count, one.members)))
