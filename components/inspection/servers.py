"""Servers that their owner installed: whose they are, whether they are the same machines as before, and whether they are connected as the inventory says. Pure."""

import dataclasses
import ipaddress
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints.finding import Finding
from blueprints.finding.subject import HostPart
from blueprints.spec import ClusterSpec, Site, SiteHost, SiteInterface, SiteRoce, port_address

from .codes import Code
from .finding import drift
from .recorded_cluster import Known, KnownHost

MARK = "/etc/clusterwright/owner.json"
SITE = ":Site"
"""Ends the type of the resource that has the stack's mark."""
OWN_TABLES = "clusterwright_"
"""Begins the names of the stack's own tables of packet filters."""
IDENTITY = "identity"
"""Output of the resource that adopts servers: server → what identified it when it was adopted."""


MAIN = "main"
"""The routing table that packets without a rule of their own use."""
GONE = (
    "`clusterwright up` starts a host that is gone; `clusterwright rebuild` replaces one that still does not answer",
    "when it answers again, `clusterwright up` configures it where that is necessary",
)
KEY = ("a new disk has the stack's key", "`clusterwright up` logs in as the inventory's user and writes the stack's key again")
"""What remedies say of hosts that a target creates, and what holds for a server."""


LOST_MARK, LOST_MARK_AND_RECORD = "mark", "mark and record"
"""What a server lost: its record would give the mark back (`components/metal/guest/adoption.py`)."""


def findings(known: Known, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Iterator[Finding]:
    """Compare servers with the inventory, with what was recorded when they were adopted, and with each other."""
    site = known.cluster.site
    servers = {host: of_host["server"] for host, of_host in facts.items() if "server" in of_host}
    if site is None or not servers:
        return
    token = next((str(one["outputs"].get("token", "")) for one in known.resources if one["type"].endswith(SITE)), "")
    adopted = {name: one for resource in known.resources for name, one in (resource["outputs"].get(IDENTITY) or {}).items()}
    wanted = dict(known.cluster.software.versions).get("kernel", "")
    entries = site.by_name
    for host, server in servers.items():
        entry = entries.get(host.name)
        changed = [*_identity(host.name, server, adopted.get(host.name, {}), entry.serial if entry else "")]
        yield from changed
        if not any(one.code is Code.SERVER_REINSTALLED for one in changed):  # that is why the mark is gone
            yield from _mark(host.name, server["mark"], token, is_recorded=server.get("is_recorded", True))
        if entry:
            yield from _interfaces(entry, server)
        if site.roce and server.get("roce"):
            yield from _roce(host.name, site.roce, server["roce"])
        yield from _next_start(host.name, server["next_start"], wanted)
    for group in dict.fromkeys(host.group for host in servers):
        yield from _firmware({host.name: server["firmware"] for host, server in servers.items() if host.group == group})


def _mark(host: str, mark: Mapping[str, str] | None, token: str, *, is_recorded: bool) -> Iterator[Finding]:
    subject, recorded = HostPart(host, LOST_MARK if is_recorded else LOST_MARK_AND_RECORD), "this stack's mark"
    if mark is None:
        what = "the server has no mark of the stack: somebody removed it, or installed the server again"
        remedy = "run `clusterwright up`, which adopts the server again and configures it"
        yield drift(Code.MARK_GONE, subject, what, remedy=remedy, desired=recorded, recorded=recorded)
    elif token and mark["token"] != token:
        whose = f"stack {mark['stack']}" if mark["stack"] else "an unreadable mark"
        what = "another stack has the server, or its mark was changed: two stacks would configure it in turn"
        remedy = "find out who took the server, and take it out of one of the two inventories"
        yield drift(Code.SERVER_TAKEN, subject, what, remedy=remedy, desired=recorded, recorded=recorded, actual=whose)


def _identity(host: str, server: Mapping[str, Any], adopted: Mapping[str, str], serial: str) -> Iterator[Finding]:
    """Compare what identifies the machine; a part that was not recorded before is not compared."""
    actual = {"machine-id": server["machine_id"], **server["identity"]}
    before = {**adopted, **({"serial number": serial} if serial else {})}
    for name, value in before.items():
        if value and actual.get(name) and actual[name] != value:
            is_system = name == "machine-id"
            code = Code.SERVER_REINSTALLED if is_system else Code.SERVER_OTHER
            what = "the system was installed again" if is_system else "it is another machine, or has another board, than before"
            by_whom = (
                "correct the inventory's `serial`" if name == "serial number" and serial else "run `clusterwright up`, which records the machine as it is now"
            )
            remedy = (
                "run `clusterwright up`, which configures the server again" if is_system else f"find out who exchanged it; if that was on purpose, {by_whom}"
            )
            yield drift(code, HostPart(host, name), what, remedy=remedy, desired=value, recorded=value, actual=actual[name])


def _interfaces(entry: SiteHost, server: Mapping[str, Any]) -> Iterator[Finding]:
    for wanted in entry.interfaces:
        name = device(wanted, server["interfaces"])
        subject = HostPart(entry.name, f"interface {wanted.name}")
        port = port_of(wanted, server["interfaces"])
        if port and wanted.partition_key:
            yield from _membership(subject, wanted.partition_key, server["interfaces"][port].get("partition_keys"))
        if name is None and port:
            desired = f"{port}.{int(wanted.partition_key, 16):04x}"
            what, remedy = "the interface of the InfiniBand partition is missing", "run `clusterwright up`, which creates it"
            yield drift(Code.INTERFACE_MISSING, subject, what, remedy=remedy, desired=desired, recorded=desired)
            continue
        if name is None:
            what = "no interface has the hardware address of the inventory" if wanted.mac else "the interface is missing"
            remedy = "look for a failed or exchanged network adapter (`ip -brief link`); after an exchange, correct the inventory's `mac`"
            present = ", ".join(f"{one} {seen['mac']}" for one, seen in sorted(server["interfaces"].items()))
            yield drift(
                Code.INTERFACE_MISSING, subject, what, remedy=remedy, desired=wanted.mac or wanted.name, recorded=wanted.mac or wanted.name, actual=present
            )
            continue
        yield from _settings(entry.name, wanted, name, server)


def _membership(subject: HostPart, key: str, given: Sequence[str] | None) -> Iterator[Finding]:
    """Compare the partitions that the subnet manager gives a port; None: the host doesn't tell."""
    if given is not None and key not in given:
        subject = dataclasses.replace(subject, part=f"partition of {subject.part.removeprefix('interface ')}")
        what = "the subnet manager has not made the port a full member of the partition"
        remedy = "add the port's GUID to the partition on the subnet manager (opensm's partitions.conf, UFM), and look for a change there"
        yield drift(Code.INTERFACE_CHANGED, subject, what, remedy=remedy, desired=key, recorded=key, actual=", ".join(given) or "none")


def _roce(host: str, wanted: SiteRoce, found: Mapping[str, Sequence[Mapping[str, str]]]) -> Iterator[Finding]:
    """Report NICs that lost their RoCE settings, as when their driver was loaded again."""
    desired = f"DSCP {wanted.dscp} with priority {wanted.priority}; of notifications DSCP {wanted.cnp_dscp} with priority {wanted.cnp_priority}"
    for name in dict.fromkeys(one["interface"] for kind in ("failed", "changes") for one in found[kind]):
        failed = [one["what"] for one in found["failed"] if one["interface"] == name]
        lost = ", ".join(one["what"] for one in found["changes"] if one["interface"] == name)
        yield drift(
            Code.INTERFACE_CHANGED,
            HostPart(host, f"RoCE of {name}"),
            "the NIC can't have the RoCE settings of the inventory" if failed else "the NIC has lost RoCE settings of the inventory",
            remedy="correct what the value says, then run `clusterwright up`" if failed else "run `clusterwright up`, which sets them",
            desired=desired,
            recorded=desired,
            actual=failed[0] if failed else f"not set: {lost}",
        )


def _settings(host: str, wanted: SiteInterface, name: str, server: Mapping[str, Any]) -> Iterator[Finding]:
    seen = server["interfaces"][name]
    differing = []
    if wanted.address and wanted.address not in seen["addresses"]:
        differing.append(("address", wanted.address, ", ".join(seen["addresses"])))
    if wanted.mtu and wanted.mtu != seen["mtu"]:
        differing.append(("MTU", str(wanted.mtu), str(seen["mtu"])))
    differing += _lost_ways(wanted, name, server)
    for what, desired, actual in differing:
        yield drift(
            Code.INTERFACE_CHANGED,
            HostPart(host, f"{what} of {wanted.name}"),
            f"the interface has another {what.removeprefix('routing ').partition(' ')[0]} than the inventory says",
            remedy="run `clusterwright up`, which sets it; to keep the change, correct the inventory",
            desired=desired,
            recorded=desired,
            actual=actual or "none",
        )


def _lost_ways(wanted: SiteInterface, name: str, server: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Give the routes and the rule that an interface lacks: (what, how it should be, how it is).

    Each route is in the main table, for sockets without an address of their own, and in the interface's own table, which its rule chooses. The gateway is in the own table alone.
    """
    of_device = [route for route in server["routes"] if route.get("dev") == name]
    routes = [
        (_network(route.to), route.via or wanted.gateway, is_main) for route in wanted.routes for is_main in (True, *((False,) if wanted.address else ()))
    ]
    lost = dict[str, tuple[str, str]]()
    for to, via, is_main in (*routes, *([("default", wanted.gateway, False)] if wanted.gateway else [])):
        of_table = [route for route in of_device if (route.get("table", MAIN) == MAIN) is is_main and route.get("dst") == to]
        if not any(route.get("gateway", "") == via for route in of_table):
            lost.setdefault(to, (f"via {via}" if via else "on the link", ", ".join(str(route.get("gateway", "on the link")) for route in of_table)))
    yield from ((f"route to {to}", *values) for to, values in lost.items())
    own = wanted.address.partition("/")[0]
    if own and not any(rule.get("src") == own for rule in server["rules"]):
        yield "routing rule", f"from {own}", ""


def _network(to: str) -> str:
    """Write a network as ip(8) does."""
    network = ipaddress.ip_network("0.0.0.0/0" if to == "default" else to, strict=False)
    return "default" if network.prefixlen == 0 else str(network.network_address) if network.prefixlen == network.max_prefixlen else str(network)


def with_own_remedy(finding: Finding) -> Finding:
    """Let a remedy name what there is for a server: `up` starts none that is gone, and logs in as its operator where root refuses the stack's key."""
    if finding.code in (Code.RECORD_GONE, Code.NOT_INSPECTED):
        return dataclasses.replace(finding, remedy=f'{finding.remedy} (a node or a login node; a controller: docs/metal.md, "Reinstall a controller")')
    if finding.code is Code.UNREACHABLE and finding.remedy.endswith(KEY[0]):
        return dataclasses.replace(finding, remedy=KEY[1])
    return dataclasses.replace(finding, remedy=finding.remedy.replace(*GONE))


def device(wanted: SiteInterface, present: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Give the name that an interface of the inventory has on its host; None: it is not there."""
    port = port_of(wanted, present)
    if port is None or not wanted.partition_key:
        return port
    name = f"{port}.{int(wanted.partition_key, 16):04x}"
    return name if name in present else None


def port_of(wanted: SiteInterface, present: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Give the name of the interface of hardware; with a partition, that one's own interface belongs to it."""
    if wanted.mac:
        address = port_address(wanted.mac)
        same = [name for name, seen in present.items() if port_address(seen["mac"]) == address and not seen.get("is_partition")]
        # A bond has the hardware address of one of its interfaces.
        return min(same, key=lambda name: not present[name].get("is_hardware", True), default=None)
    return wanted.name if wanted.name in present else None


def _next_start(host: str, start: Mapping[str, Any], wanted: str) -> Iterator[Finding]:
    """Report what only shows when the server restarts."""
    running, following = start["running"], start["kernel"]
    desired = wanted or running
    if following in ("", desired, running):  # a running kernel that is not the profile's is a finding of its own
        return
    subject = HostPart(host, "next start")
    remedy = "run `clusterwright up`, which installs the profile's kernel" if wanted else f"remove the kernel {following}, or install what belongs to it"
    if start["missing"]:
        what = f"the next start takes a kernel for which modules are missing: {', '.join(start['missing'])}"
        yield drift(Code.NEXT_MODULES, subject, what, remedy=remedy, desired=desired, recorded=running, actual=following)
    else:
        what = "the next start takes another kernel than the one that was tested"
        yield drift(Code.NEXT_KERNEL, subject, what, remedy=remedy, desired=desired, recorded=running, actual=following)


def _firmware(of_group: Mapping[str, Mapping[str, str]]) -> Iterator[Finding]:
    """Compare the firmware of equal devices among the servers of a group."""
    for name in sorted({name for versions in of_group.values() for name in versions}):
        present = {host: versions[name] for host, versions in of_group.items() if name in versions}
        counted = Counter(present.values())
        usual = max(counted, key=lambda version: (counted[version], version))
        for host, version in present.items():
            if version != usual:
                what = "the firmware has another version than on the group's other servers"
                remedy = "bring the servers to one version; a mixed fabric shows faults that nobody finds"
                yield drift(Code.FIRMWARE, HostPart(host, name), what, remedy=remedy, desired=usual, recorded=usual, actual=version)


def without_own(cluster: ClusterSpec, facts: Mapping[KnownHost, Mapping[str, Any]]) -> Mapping[KnownHost, Mapping[str, Any]]:
    """Leave out of what hosts usually share the routes, rules and MTUs that the inventory gives to each server of its own, and what the stack gives to hosts of one role."""
    site = cluster.site
    if site is None:
        return facts
    return {host: {**of_host, "alike": _shared(site, host, of_host)} if "alike" in of_host else of_host for host, of_host in facts.items()}


def _shared(site: Site, host: KnownHost, of_host: Mapping[str, Any]) -> Mapping[str, str]:
    alike: Mapping[str, str] = _without_roles(site, host, of_host["alike"])
    entry = site.by_name.get(host.name)
    if entry is None or "server" not in of_host:
        return alike
    names = {name for one in entry.interfaces if (name := device(one, of_host["server"]["interfaces"]))}
    own = {one.address.partition("/")[0] for one in entry.interfaces if one.address}
    kept = {name: value for name, value in alike.items() if name.removeprefix("MTU of ") not in names}
    return kept | {
        "routes": _without(alike.get("routes", ""), lambda words: bool(names & set(words))),
        "routing rules": _without(alike.get("routing rules", ""), lambda words: bool(own & set(words) or names & set(words))),
    }


def _without_roles(site: Site, host: KnownHost, alike: Mapping[str, str]) -> Mapping[str, str]:
    """Compare tables of the stack's own packet filters among hosts of a group alone, where their rules are, and name servers among nodes where the controllers answer them."""
    shared = dict(alike)
    if "packet filter" in shared:
        shared["packet filter"] = _without(shared["packet filter"], lambda words: words[-1].startswith(OWN_TABLES))
    if site.dns and host.role == "compute" and "DNS servers" in shared:
        shared["DNS servers of nodes"] = shared.pop("DNS servers")
    return shared


def _without(text: str, is_own: Any) -> str:
    parts: Sequence[str] = text.split(", ") if text else []
    return ", ".join(part for part in parts if not is_own(part.split()))
