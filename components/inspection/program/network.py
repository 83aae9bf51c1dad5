"""What decides where packets go: packet filter rules, routes, MTU and DNS servers. Read from the kernel, as a host may have no program that lists them."""

import glob
import ipaddress
import json
import os
import re
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

from . import asking

NETLINK_NETFILTER = 12
NFT_MSG_GETRULE = (10 << 8) | 7
"""Subsystem nftables, message "get rule" (<linux/netfilter/nf_tables.h>)."""
NLM_F_REQUEST_DUMP = 0x301
NLMSG_ERROR, NLMSG_DONE = 2, 3
TABLE, CHAIN = 1, 2
"""NFTA_RULE_TABLE and NFTA_RULE_CHAIN."""
FAMILIES = {1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}
TAKEN_BYTES = 1 << 18
ANSWER_WITHIN_S = 5
OWN_ROUTES = ("kernel", "dhcp", "ra")
"""Protocols of routes that the kernel or a protocol of address assignment sets (ip-route(8))."""

KUBELET = "/var/lib/kubelet/config.yaml"
"""Where it is, the host is a node of Kubernetes."""
FLANNEL, FLANNEL_DEVICE = "/run/flannel/subnet.env", "flannel.1"
OF_PODS = re.compile(r"ip6? (kube-proxy |\S+ (KUBE|CNI)-)")
"""`family table chain` of what kube-proxy, the policy controller and CNI plug-ins write for services and pods: each node has other pods."""


def alike() -> dict[str, str]:
    """Give what is usually the same on all hosts, or on those of a group: name → value."""
    servers = [line.split()[1] for line in asking.lines("/etc/resolv.conf") if line.startswith("nameserver ") and len(line.split()) > 1]
    rules = filter_rules()
    if os.path.exists(KUBELET):
        rules = without_pods(rules)
    return {
        "DNS servers": " ".join(servers),
        "packet filter": ", ".join(sorted({chain.rpartition(" ")[0] for chain in rules})),
        "rules of the packet filter": ", ".join(f"{chain}: {count}" for chain, count in sorted(rules.items())),
        "routes": ", ".join(_routes()),
        "swap": " ".join(line.split()[0] for line in asking.lines("/proc/swaps")[1:]),
        "kernel command line": asking.first("/proc/cmdline"),
        "routing rules": ", ".join(_rules()),
        **{f"MTU of {os.path.basename(os.path.dirname(path))}": asking.first(path) for path in glob.glob("/sys/class/net/*/mtu")},
    }


def filter_rules() -> Counter[str]:
    """Count the rules of nftables, which iptables writes, too: `family table chain` → rules. Tables of the older iptables are counted as one rule."""
    counted: Counter[str] = Counter()
    for version in ("ip", "ip6"):
        counted.update(f"{version} {name} (iptables-legacy)" for name in asking.lines(f"/proc/net/{version}_tables_names"))
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as asked:
            asked.settimeout(ANSWER_WITHIN_S)
            asked.send(struct.pack("=IHHIIBBH", 20, NFT_MSG_GETRULE, NLM_F_REQUEST_DUMP, 1, 0, 0, 0, 0))
            while True:
                for kind, body in _messages(asked.recv(TAKEN_BYTES)):
                    if kind in (NLMSG_DONE, NLMSG_ERROR):
                        return counted
                    named = dict(_attributes(body[4:]))
                    counted[f"{FAMILIES.get(body[0], str(body[0]))} {_text(named[TABLE])} {_text(named[CHAIN])}"] += 1
    except (OSError, KeyError, struct.error):
        return counted  # a kernel without nftables has no rules of it


def without_pods(rules: Counter[str]) -> Counter[str]:
    """Leave out the chains that follow services and pods; the rules that lead to them stay, as all nodes have the same. Pure."""
    return Counter({chain: count for chain, count in rules.items() if not OF_PODS.match(chain)})


def _messages(received: bytes) -> Iterator[tuple[int, bytes]]:
    while len(received) >= 16:
        length, kind = struct.unpack_from("=IH", received)
        yield kind, received[16:length]
        received = received[(length + 3) & ~3 :]


def _attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    while len(body) >= 4:
        length, kind = struct.unpack_from("=HH", body)
        yield kind & 0x3FFF, body[4:length]
        body = body[(max(length, 4) + 3) & ~3 :]


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode(errors="replace")


def _routes() -> list[str]:
    """Give the routes that a person or a program set, but not the default route."""
    found, pods = [], pod_network(asking.lines(FLANNEL))
    for version in ("-4", "-6"):
        for route in json.loads(asking.program(["ip", "-json", "-details", version, "route", "show", "table", "all"]) or "[]"):
            if route.get("protocol") not in OWN_ROUTES and route.get("dst") != "default" and not _leads_to_pods(route, pods):
                words = [
                    route.get("type", "unicast"),
                    route.get("dst", ""),
                    *(f"{word} {route[word]}" for word in ("gateway", "dev", "table") if word in route),
                ]
                found.append(" ".join(words))
    return sorted(found)


def pod_network(subnet: list[str]) -> ipaddress.IPv4Network | None:
    """Read the network of all pods from what flannel wrote about its node's own. Pure."""
    written = [line.partition("=")[2] for line in subnet if line.startswith("FLANNEL_NETWORK=")]
    return ipaddress.IPv4Network(written[0]) if written else None


def _leads_to_pods(route: dict[str, Any], pods: ipaddress.IPv4Network | None) -> bool:
    """Say whether flannel set the route: one to each other node's pods, so that no two nodes have the same."""
    if pods is None or route.get("dev") != FLANNEL_DEVICE or ":" in route["dst"]:
        return False
    return ipaddress.IPv4Network(route["dst"]).subnet_of(pods)


def _rules() -> list[str]:
    """Give the routing rules beside the kernel's own."""
    found = []
    for version in ("-4", "-6"):
        rules = json.loads(asking.program(["ip", "-json", "-details", version, "rule", "show"]) or "[]")
        found += [" ".join(f"{name} {value}" for name, value in rule.items() if name != "protocol") for rule in rules if rule.get("protocol") != "kernel"]
    return sorted(found)
