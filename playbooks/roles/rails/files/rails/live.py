"""The interfaces of this host as they are now."""

import dataclasses
import ipaddress
import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .wanted import FIRST_TABLE, MOST_RAILS, Rail, Route

ANSWER_WITHIN_S = 20
ETHERNET_LETTERS = 17
PORT_LETTERS = 47
"""Of the hardware address of an InfiniBand interface, the last 16 bytes name the port. The first four are flags and the number of a queue pair, which change whenever the driver starts
(RFC 4391, section 9.1.1). An Ethernet address is shorter, and is compared as a whole."""
SETTINGS = {"rp_filter": 2, "arp_ignore": 1, "arp_announce": 2}
"""Of each rail, net.ipv4.conf.<interface>.*. rp_filter=2: a reply that the main table would send elsewhere is no reason to drop a packet. arp_ignore=1, arp_announce=2: a rail answers and asks
for its own address alone, so that neighbours learn the right hardware address where two rails share a segment (Linux kernel, Documentation/networking/ip-sysctl.rst)."""


class Failed(Exception):
    """A command of the host failed, or the host is not what the inventory says."""


@dataclasses.dataclass(frozen=True)
class Interface:
    """A network interface."""

    name: str
    mac: str
    is_physical: bool
    """False: a virtual one, whose hardware address no hardware vouches for."""
    mtu: int
    is_up: bool
    addresses: "tuple[str, ...]"
    """IPv4, with the length of the prefix."""
    bond: str = ""
    """The bond that it is in. It shows the bond's hardware address as its own; `mac` is the one that it has by itself."""

    @property
    def is_found_by_mac(self) -> bool:
        """Whether network services find it by its hardware address at each boot: those of InfiniBand have 20 bytes, which they don't take."""
        return self.is_physical and len(self.mac) == ETHERNET_LETTERS


@dataclasses.dataclass(frozen=True)
class State:
    """What the kernel has."""

    interfaces: "tuple[Interface, ...]"
    routes: "tuple[tuple[str, Route], ...]"
    """Interface and route, of the main table and the rails' own; not those that the kernel made from addresses."""
    rules: "tuple[tuple[int, str, int], ...]"
    """Priority, source and table of the rails' rules."""

    def interface(self, name: str) -> "Interface | None":
        return next((one for one in self.interfaces if one.name == name), None)


def state() -> State:
    """Read the kernel's state."""
    links = json.loads(run("ip", "-json", "-4", "address", "show"))
    known = {link["ifname"]: link for link in json.loads(run("ip", "-json", "link", "show"))}
    addresses = {
        link["ifname"]: tuple(f"{one['local']}/{one['prefixlen']}" for one in link.get("addr_info", ()) if one.get("scope") == "global" and "local" in one)
        for link in links
    }
    return State(
        interfaces=tuple(_interface(name, link, addresses.get(name, ())) for name, link in known.items()),
        routes=tuple(_routes(json.loads(run("ip", "-json", "-4", "route", "show", "table", "all") or "[]"))),
        rules=tuple(_rules(json.loads(run("ip", "-json", "-4", "rule", "show") or "[]"))),
    )


def _interface(name: str, link: "Mapping[str, Any]", addresses: "tuple[str, ...]") -> Interface:
    is_physical = Path(f"/sys/class/net/{name}/device").exists() and "link" not in link
    permanent = Path(f"/sys/class/net/{name}/bonding_slave/perm_hwaddr")
    bond = str(link.get("master", "")) if permanent.exists() else ""
    mac = permanent.read_text().strip() if bond else str(link.get("address", ""))
    return Interface(name, mac.lower(), is_physical, int(link["mtu"]), "UP" in link.get("flags", ()), addresses, bond)


def _routes(rows: "Iterable[Mapping[str, Any]]") -> "Iterable[tuple[str, Route]]":
    for row in rows:
        table = str(row.get("table", "main"))
        if row.get("protocol") == "kernel" or row.get("type", "unicast") != "unicast" or "dev" not in row:
            continue
        if table == "main" or (table.isdigit() and _is_own(int(table))):
            to = row["dst"] if row["dst"] == "default" else str(ipaddress.ip_network(row["dst"]))
            yield row["dev"], Route(to, row.get("gateway", ""), 0 if table == "main" else int(table), int(row.get("metric", 0)), row.get("prefsrc", ""))


def _rules(rows: "Iterable[Mapping[str, Any]]") -> "Iterable[tuple[int, str, int]]":
    for row in rows:
        if _is_own(int(row["priority"])):
            table = str(row.get("table", "0"))
            yield int(row["priority"]), str(row.get("src", "all")), int(table) if table.isdigit() else 0


def _is_own(number: int) -> bool:
    return FIRST_TABLE <= number < FIRST_TABLE + MOST_RAILS


def find(rails: "Sequence[Rail]", now: State) -> "dict[str, Interface]":
    """Find the interface of each rail by its hardware address, or by its name where the inventory has no address.

    Raises:
        Failed: an interface is missing or in a bond, or two have the address.
    """
    found = {}
    for rail in rails:
        if rail.mac:
            same = [one for one in now.interfaces if one.mac[-PORT_LETTERS:] == rail.mac[-PORT_LETTERS:]]
            # A bond, bridge, VLAN or InfiniBand partition has the hardware address of an interface below it.
            chosen = [one for one in same if one.is_physical] or same
        else:
            chosen = [one for one in now.interfaces if one.name == rail.name]
        wanted = f"the hardware address {rail.mac}" if rail.mac else f"the name {rail.name}"
        if not chosen:
            there = ", ".join(f"{one.name} ({one.mac})" for one in now.interfaces if one.name != "lo")
            raise Failed(f"{rail.name}: no interface of this host has {wanted}. It has: {there}. Correct the inventory, or the cabling.")
        if len(chosen) > 1:
            raise Failed(f"{rail.name}: {' and '.join(one.name for one in chosen)} both have {wanted}. Name the interface in the inventory without its `mac`.")
        if chosen[0].bond:
            name, bond = chosen[0].name, chosen[0].bond
            raise Failed(
                f"{rail.name}: {name} is in the bond {bond}, which has the addresses, the MTU and the routes. Name {bond} in the inventory, without `mac`."
            )
        found[rail.name] = _of_partition(rail, chosen[0], now) if rail.partition else chosen[0]
    return found


def _of_partition(rail: Rail, port: Interface, now: State) -> Interface:
    name = f"{port.name}.{rail.partition}"
    found = now.interface(name)
    if found is None:
        raise Failed(
            f"{rail.name}: {name}, the interface of the InfiniBand partition 0x{rail.partition}, is missing. `clusterwright-ib-partitions.service` creates it."
        )
    # It is found by its name: the kernel gives it another hardware address at each boot.
    return dataclasses.replace(found, is_physical=False)


def lacking(rail: Rail, interface: Interface, now: State) -> "list[str]":
    """Say what of a rail the kernel lacks. Pure."""
    missing = []
    if not interface.is_up:
        missing.append(f"{interface.name} is down")
    if rail.mtu and interface.mtu != rail.mtu:
        missing.append(f"{interface.name} has the MTU {interface.mtu}, not {rail.mtu}")
    if rail.address and rail.address not in interface.addresses:
        missing.append(f"{interface.name} lacks the address {rail.address}")
    there = {(device, route.to, route.via, route.table) for device, route in now.routes}
    for route in rail.all_routes():
        if (interface.name, route.to, route.via, route.table) not in there:
            way = f" via {route.via}" if route.via else ""
            missing.append(f"{interface.name} lacks the route to {route.to}{way} in table {route.table or 'main'}")
    if rail.address and (rail.table, rail.own_address, rail.table) not in now.rules:
        missing.append(f"packets from {rail.own_address} have no rule for table {rail.table}")
    return missing


def lacking_settings(interface: str) -> "list[str]":
    """Say which kernel settings of a rail differ."""
    found = {name: _setting(interface, name) for name in SETTINGS}
    return [f"net.ipv4.conf.{interface}.{name} is {found[name]}, not {value}" for name, value in SETTINGS.items() if found[name] != str(value)]


def _setting(interface: str, name: str) -> str:
    return Path(f"/proc/sys/net/ipv4/conf/{interface}/{name}").read_text().strip()


def carries_ssh(now: State) -> "tuple[str, str]":
    """Give the interface and the address by which the caller is logged in; empty outside of SSH."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    address = words[2] if len(words) == 4 else ""  # sshd(8): client address and port, server address and port
    for interface in now.interfaces:
        if any(one.split("/")[0] == address for one in interface.addresses):
            return interface.name, address
    return "", address


def run(*argv: str, within_s: float = ANSWER_WITHIN_S) -> str:
    """Run a command and give what it prints.

    Raises:
        Failed: it failed, or took too long.
    """
    try:
        ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=within_s, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"`{' '.join(argv)}`: {error}") from None
    if ended.returncode:
        raise Failed(f"`{' '.join(argv)}` failed: {(ended.stderr or ended.stdout).strip() or ended.returncode}")
    return ended.stdout
