"""Where a simulated cloud's hosts are on this machine: what the local target calls a stack, so that all of it is found again by its name, whoever was killed."""

import dataclasses
import ipaddress
import json
import sys
import time
from collections.abc import Callable

from blueprints.project import project_root
from components.local.machine import claim, command, network, sweep
from components.local.machine.names import StackNames

METADATA = "169.254.169.254"
SWEPT_WITHIN_S = 30


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The network of the one VPC that has hosts."""

    names: StackNames
    cidr: str

    @property
    def gateway(self) -> str:
        """The machine's own address there: AWS reserves it for the VPC's router."""
        return str(ipaddress.ip_network(self.cidr)[1])


class Occupied(RuntimeError):
    """The machine has no room for such a network."""


def names_of(cloud: str) -> StackNames:
    """Give the names of everything that a simulated cloud has on the machine."""
    return StackNames(f"simcloud-{cloud}")


def settle(place: Place) -> None:
    """Make the network; fine when it is there.

    Raises:
        Occupied: its addresses are in use on this machine.
    """
    if taken := claim.conflict(place.names, place.cidr) or network.conflict(place.names, place.cidr):
        raise Occupied(f"{place.cidr} of the VPC is in use on this machine: {taken}")
    claim.make(place.names, owner=str(project_root()), cidr=place.cidr)
    network.ensure(place.names, cidr=place.cidr, gateway=place.gateway)
    redirect(place.names, "PREROUTING", METADATA, place.gateway)


def redirect(names: StackNames, chain: str, address: str, to: str) -> None:
    """Send what goes to one address to another; fine when it is done."""
    rule = _rule(names, chain, address, to)
    if not command.succeeds("iptables", "-w", "-t", "nat", "-C", *rule):
        command.run("iptables", "-w", "-t", "nat", "-A", *rule)


def stop_redirecting(names: StackNames, chain: str, address: str, to: str) -> None:
    command.succeeds("iptables", "-w", "-t", "nat", "-D", *_rule(names, chain, address, to))


def _rule(names: StackNames, chain: str, address: str, to: str) -> tuple[str, ...]:
    # What guests ask for comes in by the bridge; what this machine asks for itself comes in nowhere.
    where = ("-i", names.bridge) if chain == "PREROUTING" else ()
    return (chain, *where, "-d", f"{address}/32", "-j", "DNAT", "--to-destination", to, "-m", "comment", "--comment", names.label)


def loops(names: StackNames) -> dict[str, str]:
    """Give the block devices that stand for the cloud's volumes: file → device."""
    listed = json.loads(command.run("losetup", "--json", "--list", "--output", "NAME,BACK-FILE") or '{"loopdevices": []}')
    # The kernel writes behind the name of a file that is gone that it was deleted.
    found = {str(one["back-file"]).removesuffix(" (deleted)"): str(one["name"]) for one in listed["loopdevices"]}
    return {file: device for file, device in found.items() if file.startswith(f"{names.state}/")}


def left_behind(names: StackNames) -> tuple[str, ...]:
    """Name what the cloud still has on the machine."""
    return (*sweep.left_behind(names), *(f"device {device} of {file}" for file, device in loops(names).items()))


def clear(names: StackNames) -> None:
    """Remove all of it, whether anyone recorded it or not."""
    if not left_behind(names):
        return
    kept = sweep.sweep(names, wait_until=_wait_until, say=lambda text: print(text, file=sys.stderr))
    if kept:
        raise OSError(f"{', '.join(map(str, kept))} should have gone")
    for device in loops(names).values():
        command.run("losetup", "--detach", device)


def _wait_until(done: Callable[[], bool], *, awaiting: str, within_s: float) -> None:
    deadline = time.monotonic() + max(within_s, SWEPT_WITHIN_S)
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited for {awaiting}")
        time.sleep(0.05)
