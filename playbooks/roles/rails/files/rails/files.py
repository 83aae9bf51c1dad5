"""The files by which a distribution's own network service sets up rails at each boot. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence

from .live import SETTINGS, Interface
from .wanted import Rail, Route

HEADER = "# Written by clusterwright. Change the interfaces in the inventory of the blueprint instead.\n"
NETPLAN = "/etc/netplan/90-clusterwright-rails.yaml"
NETWORKD = "/etc/systemd/network"
IFUPDOWN = "/etc/network/interfaces.d/clusterwright-rails"
SYSCTL = "/etc/sysctl.d/90-clusterwright-rails.conf"


@dataclasses.dataclass(frozen=True)
class Definition:
    """What the host's owner says of an interface already."""

    network_file: str = ""
    """The file that systemd-networkd configures the interface by."""
    netplan_id: str = ""


@dataclasses.dataclass(frozen=True)
class File:
    content: str
    mode: int = 0o644


def sysctl(interfaces: "Sequence[Interface]") -> "dict[str, File]":
    lines = [f"net.ipv4.conf.{one.name}.{name} = {value}\n" for one in interfaces for name, value in SETTINGS.items()]
    return {SYSCTL: File(HEADER + "".join(lines))} if lines else {}


def netplan(rails: "Sequence[tuple[Rail, Interface]]", owners: "Mapping[str, Definition]") -> "dict[str, File]":
    """Write netplan's file; an interface that the owner defines keeps the owner's name for it, so that netplan merges both."""
    if not rails:
        return {}
    lines = ["network:", "  version: 2", "  ethernets:"]
    for rail, interface in rails:
        owner = owners[rail.name].netplan_id
        lines.append(f'    "{owner or interface.name}":')
        if not owner and interface.is_found_by_mac:
            lines.append(f'      match: {{macaddress: "{interface.mac}"}}')
        # The boot doesn't wait for a rail: a cable that is out must not keep SSH away.
        lines.append("      optional: true")
        if rail.mtu:
            lines.append(f"      mtu: {rail.mtu}")
        if rail.address:
            lines.append(f'      addresses: ["{rail.address}"]')
        routes = rail.all_routes()
        if routes:
            lines.append("      routes:")
            lines += [f"        - {{{_netplan_route(route)}}}" for route in routes]
        if rail.address:
            lines.append("      routing-policy:")
            lines.append(f'        - {{from: "{rail.own_address}", table: {rail.table}, priority: {rail.table}}}')
    return {NETPLAN: File(HEADER + "\n".join(lines) + "\n", 0o600)}


def _netplan_route(route: Route) -> str:
    words = [f'to: "{route.to}"']
    words += [f'via: "{route.via}"'] if route.via else ["scope: link"]
    words += [f'from: "{route.source}"'] if route.source else []
    words += [f"table: {route.table}"] if route.table else []
    words += [f"metric: {route.metric}"] if route.metric else []
    return ", ".join(words)


def networkd(rails: "Sequence[tuple[Rail, Interface]]", owners: "Mapping[str, Definition]") -> "dict[str, File]":
    """Write systemd-networkd's files: one for each rail, or an addition to the file by which the owner configures the interface."""
    files = {}
    for rail, interface in rails:
        owner = owners[rail.name].network_file
        match = f"[Match]\n{f'MACAddress={interface.mac}' if interface.is_found_by_mac else f'Name={interface.name}'}\n\n"
        name = f"{owner.rsplit('/', 1)[-1]}.d/90-clusterwright-rails.conf" if owner else f"05-clusterwright-{rail.name}.network"
        files[f"{NETWORKD}/{name}"] = File(HEADER + ("" if owner else match) + _networkd(rail))
    return files


def _networkd(rail: Rail) -> str:
    parts = ["[Link]\nRequiredForOnline=no\n" + (f"MTUBytes={rail.mtu}\n" if rail.mtu else "")]
    if rail.address:
        parts.append(f"[Network]\nAddress={rail.address}\n")
    parts += [f"[Route]\n{_networkd_route(route)}" for route in rail.all_routes()]
    if rail.address:
        parts.append(f"[RoutingPolicyRule]\nFrom={rail.own_address}\nTable={rail.table}\nPriority={rail.table}\n")
    return "\n".join(parts)


def _networkd_route(route: Route) -> str:
    words = [f"Destination={'0.0.0.0/0' if route.to == 'default' else route.to}"]
    words += [f"Gateway={route.via}"] if route.via else ["Scope=link"]
    words += [f"PreferredSource={route.source}"] if route.source else []
    words += [f"Table={route.table}"] if route.table else []
    words += [f"Metric={route.metric}"] if route.metric else []
    return "\n".join(words) + "\n"


def ifupdown(rails: "Sequence[tuple[Rail, Interface]]") -> "dict[str, File]":
    """Write ifupdown's file. ifupdown names interfaces, so the file has the names that the interfaces have now."""
    stanzas = []
    for rail, interface in rails:
        method = "static" if rail.address else "manual"
        lines = [f"auto {interface.name}", f"iface {interface.name} inet {method}"]
        lines += [f"    address {rail.address}"] if rail.address else []
        lines += [f"    up ip link set dev $IFACE up mtu {rail.mtu}"] if rail.mtu else ["    up ip link set dev $IFACE up"]
        lines += [f"    up ip {' '.join(words)}" for words in commands(rail, "$IFACE")]
        lines += [f"    down ip -4 rule del from {rail.own_address} table {rail.table} || true"] if rail.address else []
        stanzas.append("\n".join(lines) + "\n")
    return {IFUPDOWN: File(HEADER + "\n".join(stanzas))} if stanzas else {}


def commands(rail: Rail, interface: str) -> "list[list[str]]":
    """Give the arguments of ip(8) that set a rail's routes and its rule; a rule is added once more where it is there."""
    given = [ip_route(route, interface) for route in rail.all_routes()]
    if rail.address:
        given.append(["-4", "rule", "add", "from", rail.own_address, "table", str(rail.table), "priority", str(rail.table)])
    return given


def ip_route(route: Route, interface: str) -> "list[str]":
    words = ["-4", "route", "replace", route.to]
    words += ["via", route.via, "onlink"] if route.via and route.table else ["via", route.via] if route.via else []
    words += ["dev", interface]
    words += ["scope", "link"] if not route.via else []
    words += ["src", route.source] if route.source else []
    words += ["table", str(route.table)] if route.table else []
    words += ["metric", str(route.metric)] if route.metric else []
    return words
