"""A stack's network on the machine: one bridge, a way out for its hosts, and firewall rules that accept their traffic.

Docker sets the forward policy to DROP, ufw rejects what it does not know, and br_netfilter sends even bridged frames through both. Rules that accept this bridge's traffic, inserted at
the top of the forward chain, cover all three; `observe` notices when such a tool flushes them. firewalld has tables of its own, which no rule of ours precedes: there the bridge
joins the zone that trusts its members.

The bridge has a hardware address of its own. Left to itself it takes the lowest of its cables', so that a host that came or went could change it under the others, which then sent what
they had for the machine to an address that it no longer listened to, for as long as their tables of neighbours kept it (up to 45 s).

The machine soon forgets a host that is gone (`FORGETS`). By the kernel's defaults it would go on sending to one for half a minute, and whoever asked would wait for a timeout instead.
"""

import dataclasses
import hashlib
import ipaddress
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from ...files import atomic_files
from . import command, sysctl
from .names import StackNames

SHORTEST_ROUTE = 8
"""Shorter prefixes are ways out (a VPN's 0.0.0.0/1), which a bridge's own route takes precedence over."""
FORGETS = {"base_reachable_time_ms": 1000, "delay_first_probe_time": 1, "ucast_solicit": 1, "mcast_solicit": 2}
"""net.ipv4.neigh.BRIDGE.* (arp(7)): a host not heard of for a second is asked for, and unreachable after three questions, a second each. No question is lost inside a machine."""
GIVEN = "3"
"""Of /sys/class/net/*/addr_assign_type: someone set the address, and the kernel changes it no more (Documentation/ABI/testing/sysfs-class-net)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One iptables rule; `arguments` exclude the comment that carries the stack's label."""

    table: str
    chain: str
    arguments: tuple[str, ...]
    first: bool
    """Insert at the top instead of appending."""


def rules(names: StackNames, cidr: str) -> tuple[Rule, ...]:
    """The firewall rules of a stack. Pure."""
    return (
        Rule("filter", "FORWARD", ("-i", names.bridge, "-j", "ACCEPT"), first=True),
        Rule("filter", "FORWARD", ("-o", names.bridge, "-j", "ACCEPT"), first=True),
        Rule("nat", "POSTROUTING", ("-s", cidr, "!", "-d", cidr, "-j", "MASQUERADE"), first=False),
    )


def observe(names: StackNames, *, cidr: str, gateway: str) -> dict[str, bool] | None:
    """Say which parts are there; None when none is."""
    bridge = _bridge_addresses(names)
    present = {f"{rule.table} {rule.chain} {' '.join(rule.arguments)}": _has_rule(names, rule) for rule in rules(names, cidr)}
    if bridge is None and not any(present.values()):
        return None
    prefix = ipaddress.ip_network(cidr).prefixlen
    if _firewalld_runs():
        present["firewalld"] = command.succeeds(*_firewalld(names, "query"))
    stands = bridge is not None and f"{gateway}/{prefix}" in bridge and _keeps_hardware_address(names)
    return {"bridge": stands, **present, "kernel settings": not sysctl.missing()}


def ensure(names: StackNames, *, cidr: str, gateway: str) -> None:
    """Create missing parts; running hosts are not affected."""
    prefix = ipaddress.ip_network(cidr).prefixlen
    sysctl.raise_to_minimums()
    if _bridge_addresses(names) is None:
        command.run("ip", "link", "add", names.bridge, "address", _hardware_address(names), "type", "bridge", "forward_delay", "0")
    elif not _keeps_hardware_address(names):
        # An older version made it: the address that its hosts know shall stay.
        command.run("ip", "link", "set", names.bridge, "address", _of_bridge(names, "address"))
    command.run("ip", "link", "set", names.bridge, "alias", names.label, "up")
    for name, value in FORGETS.items():
        Path(f"/proc/sys/net/ipv4/neigh/{names.bridge}/{name}").write_text(str(value))
    addresses = _bridge_addresses(names) or ()
    for address in addresses:
        if address != f"{gateway}/{prefix}":
            command.run("ip", "address", "del", address, "dev", names.bridge)
    if f"{gateway}/{prefix}" not in addresses:
        command.run("ip", "address", "add", f"{gateway}/{prefix}", "dev", names.bridge)
    if _firewalld_runs() and not command.succeeds(*_firewalld(names, "query")):
        command.run(*_firewalld(names, "add"))
    for stale in labelled_rules(names):
        if stale not in [_delete_arguments(names, rule) for rule in rules(names, cidr)]:
            _iptables(*stale)
    for rule in rules(names, cidr):
        if not _has_rule(names, rule):
            _iptables("-t", rule.table, "-I" if rule.first else "-A", rule.chain, *rule.arguments, *_comment(names))


def remove(names: StackNames) -> None:
    """Remove bridge and rules; fine when they are gone."""
    for arguments in labelled_rules(names):
        _iptables(*arguments)
    if _bridge_addresses(names) is not None:
        if _firewalld_runs() and command.succeeds(*_firewalld(names, "query")):
            command.run(*_firewalld(names, "remove"))
        command.run("ip", "link", "del", names.bridge)


def write_host_names(names: StackNames, entries: Iterator[tuple[str, str]], domain: str) -> None:
    """Write the names of all hosts, which every host reads as its /etc/hosts."""
    # Slurm's daemons look up the name of 0.0.0.0 at start; unanswered, that costs ten seconds each.
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback", "0.0.0.0 any-address"]
    lines += [f"{address} {hostname}.{domain} {hostname}" for hostname, address in entries]
    atomic_files.write_text(names.cluster_folder / "hosts", "\n".join(lines) + "\n")


def conflict(names: StackNames, cidr: str) -> str | None:
    """Say which interface or route of this machine already has addresses of `cidr`."""
    wanted = ipaddress.ip_network(cidr)
    for link in json.loads(command.run("ip", "-json", "-4", "address", "show")):
        for address in link.get("addr_info", ()):
            used = ipaddress.ip_interface(f"{address['local']}/{address['prefixlen']}").network
            if used.overlaps(wanted) and link["ifname"] != names.bridge:
                return f"interface {link['ifname']} has {used}"
    for route in json.loads(command.run("ip", "-json", "-4", "route", "show")):
        if route["dst"] == "default" or route.get("dev") == names.bridge:
            continue
        used = ipaddress.ip_network(route["dst"], strict=False)
        if used.overlaps(wanted) and used.prefixlen >= SHORTEST_ROUTE:
            return f"a route to {used} goes through {route.get('dev', 'another gateway')}"
    return None


def labelled_rules(names: StackNames) -> list[tuple[str, ...]]:
    """Arguments that delete each rule with the stack's label, whatever else it says."""
    found = []
    for table in ("filter", "nat"):
        for line in command.run("iptables", "-w", "-t", table, "-S").splitlines():
            words = [word.strip('"') for word in line.split()]
            if words[0] == "-A" and "--comment" in words and words[words.index("--comment") + 1] == names.label:
                found.append(("-t", table, "-D", *_normalised(words[1:])))
    return found


def _firewalld_runs() -> bool:
    return shutil.which("firewall-cmd") is not None and command.succeeds("firewall-cmd", "--quiet", "--state")


def _firewalld(names: StackNames, verb: str) -> tuple[str, ...]:
    """A command about the bridge's place in the trusted zone; at run time only, as the bridge itself is (firewall-cmd(1))."""
    return ("firewall-cmd", "--quiet", "--zone=trusted", f"--{verb}-interface={names.bridge}")


def _bridge_addresses(names: StackNames) -> tuple[str, ...] | None:
    if not Path(f"/sys/class/net/{names.bridge}").exists():
        return None
    links = json.loads(command.run("ip", "-json", "-4", "address", "show", "dev", names.bridge))
    return tuple(f"{address['local']}/{address['prefixlen']}" for link in links for address in link.get("addr_info", ()))


def _hardware_address(names: StackNames) -> str:
    """Make one of the locally administered addresses out of the stack's name: a bridge that was lost comes back with the same."""
    return ":".join(["02", *(f"{byte:02x}" for byte in hashlib.sha256(names.label.encode()).digest()[:5])])


def _keeps_hardware_address(names: StackNames) -> bool:
    return _of_bridge(names, "addr_assign_type") == GIVEN


def _of_bridge(names: StackNames, attribute: str) -> str:
    return Path(f"/sys/class/net/{names.bridge}/{attribute}").read_text().strip()


def _comment(names: StackNames) -> tuple[str, ...]:
    return ("-m", "comment", "--comment", names.label)


def _has_rule(names: StackNames, rule: Rule) -> bool:
    return command.succeeds("iptables", "-w", "-t", rule.table, "-C", rule.chain, *rule.arguments, *_comment(names))


def _delete_arguments(names: StackNames, rule: Rule) -> tuple[str, ...]:
    return ("-t", rule.table, "-D", rule.chain, *rule.arguments, *_comment(names))


def _normalised(words: list[str]) -> tuple[str, ...]:
    """Order a listed rule as `rules` writes it: iptables lists the comment before the target."""
    comment = words.index("-m")
    start, end = words[:comment], words[comment + 4 :]
    return (*start, *end, *words[comment : comment + 4])


def _iptables(*arguments: str) -> None:
    command.run("iptables", "-w", *arguments)
