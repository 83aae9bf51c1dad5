"""File systems over the network, as far as hosts see them: who may mount what, by the project's own rules. The kernel's NFS client is replaced by a folder that is put in place.

Sources: Filestore documentation, "Mounting file shares on Compute Engine clients" and "Configuring IP-based access control"; Compute Engine documentation, "VPC firewall rules".
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

from ...core.store import Thing
from ...google.cloud import Cloud
from ..shares import NFS_PORT, PEER, Export, Unreachable
from . import wanted

PRIORITY = 1000  # compute.v1, Firewall.priority


def export(cloud: Cloud, thing: Thing, source: str) -> Export:
    """Give what an instance mounts under a source; the caller holds the store's lock.

    Raises:
        Unreachable: there is no such file system, or no way to it.
    """
    found = PEER.fullmatch(source)
    if found is None or ".." in source.split("/"):
        raise Unreachable(f"{source}: no path of a file system")
    for system in cloud.store.all("file.instances"):
        if found[1] in system["networks"][0]["ipAddresses"]:
            return _of_filestore(thing, system, source, found[2])
    server = wanted.guest_at(cloud, found[1])
    if server is None or server["networkInterfaces"][0]["network"] != thing["networkInterfaces"][0]["network"]:
        raise Unreachable(f"{source}: nobody answers there")
    if not lets_in(cloud, thing, server, NFS_PORT):
        raise Unreachable(f"{source}: Connection timed out; no firewall rule lets {thing['name']} in at port {NFS_PORT}")
    return Export(host=wanted.name_of(server), path=found[2])


def _of_filestore(thing: Thing, system: Thing, source: str, path: str) -> Export:
    share = system["fileShares"][0]
    name, _, below = path.lstrip("/").partition("/")
    if name != share["name"]:
        raise Unreachable(f"{source}: the instance has the share {share['name']} and no other")
    if thing["networkInterfaces"][0]["network"] not in system["_networks"]:
        raise Unreachable(f"{source}: Connection timed out; the file system is connected to another network")
    options = share.get("nfsExportOptions", ())
    own = ipaddress.ip_address(wanted.address(thing))
    if options and not any(own in ipaddress.ip_network(clients) for one in options for clients in one.get("ipRanges", ())):
        raise Unreachable(f"{source}: access denied by server; its export options don't name {own}")
    return Export(file_system=wanted.name_of(system), path=f"/{below}")


def lets_in(cloud: Cloud, thing: Thing, server: Thing, port: int) -> bool:
    """Say whether the rule of the highest priority that fits lets an instance in at a TCP port of another."""
    network = server["networkInterfaces"][0]["network"]
    fitting = [rule for rule in cloud.store.all("compute.firewalls") if rule["network"] == network and _fits(rule, thing, server, port)]
    # Of the same priority, what denies comes first.
    first = min(fitting, key=lambda rule: (rule.get("priority", PRIORITY), not rule.get("denied")), default=None)
    return first is not None and not first.get("denied")


def _fits(rule: Thing, thing: Thing, server: Thing, port: int) -> bool:
    if rule.get("direction", "INGRESS") != "INGRESS" or rule.get("disabled"):
        return False
    targets = (set(rule.get("targetTags", ())), set(rule.get("targetServiceAccounts", ())))
    if any(targets) and not (targets[0] & _tags(server) or targets[1] & _accounts(server)):
        return False
    own = ipaddress.ip_address(wanted.address(thing))
    comes = any(own in ipaddress.ip_network(one) for one in rule.get("sourceRanges", ()))
    comes |= bool(set(rule.get("sourceTags", ())) & _tags(thing) or set(rule.get("sourceServiceAccounts", ())) & _accounts(thing))
    return comes and any(_has(one, port) for one in (*rule.get("allowed", ()), *rule.get("denied", ())))


def _has(one: Mapping[str, Any], port: int) -> bool:
    if one["IPProtocol"] not in ("all", "tcp", "6"):
        return False
    ranges = [re.fullmatch(r"(\d+)(?:-(\d+))?", text) for text in one.get("ports", ())]
    return not ranges or any(int(found[1]) <= port <= int(found[2] or found[1]) for found in ranges if found)


def _tags(thing: Thing) -> set[str]:
    return set((thing.get("tags") or {}).get("items", ()))


def _accounts(thing: Thing) -> set[str]:
    return {one["email"] for one in thing.get("serviceAccounts", ())}
