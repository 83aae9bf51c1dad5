"""File systems over the network, as far as hosts see them: who may mount what, by the cloud's own rules. The kernel's NFS and Lustre clients are replaced by a folder that is put in place.

Sources: EFS user guide, "Mounting EFS file systems" (mount targets are in one zone, found by the file system's name; security groups); FSx for Lustre user guide, "Mounting from an EC2 instance".
"""

import dataclasses
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..aws.cloud import Cloud
from ..aws.resources import groups
from ..core.store import Thing
from . import wanted

NFS_PORT, LUSTRE_PORT = 2049, 988
ELASTIC = re.compile(r"(fs-[0-9a-f]+)\.efs\.[a-z0-9-]+\.amazonaws\.com(\.cn)?:(/.*)")
LUSTRE = re.compile(r"(fs-[0-9a-f]+)\.fsx\.[a-z0-9-]+\.amazonaws\.com(\.cn)?@tcp:/(\w+)(/.*)?")
PEER = re.compile(r"([0-9.]+):(/.*)")


class Unreachable(Exception):
    """The mount would fail or hang: the text says why, as a person would find out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Export:
    """What is to be put in place: a folder of a file system, or of another host."""

    file_system: str = ""
    host: str = ""
    path: str = "/"


def export(cloud: Cloud, thing: Thing, source: str) -> Export:
    """Give what an instance mounts under a source; the caller holds the store's lock.

    Raises:
        Unreachable: there is no such file system, or no way to it.
    """
    if ".." in source.split("/"):
        raise Unreachable(f"{source}: no path of a file system")
    if found := ELASTIC.fullmatch(source):
        target = _mount_target(cloud, thing, found[1])
        _refuse_closed(cloud, thing, target.get("securityGroups", ()), NFS_PORT, source)
        return Export(file_system=found[1], path=found[3])
    if found := LUSTRE.fullmatch(source):
        system = cloud.store.get("fsx.LustreFileSystem", found[1])
        if system is None or system.get("mountName") != found[3]:
            raise Unreachable(f"{source}: there is no such file system")
        _refuse_closed(cloud, thing, system.get("securityGroupIds", ()), LUSTRE_PORT, source)
        return Export(file_system=found[1], path=found[4] or "/")
    if found := PEER.fullmatch(source):
        server = wanted.guest_at(cloud, found[1])
        if server is None or server["vpcId"] != thing["vpcId"]:
            raise Unreachable(f"{source}: nobody answers there")
        _refuse_closed(cloud, thing, server.interfaces[0].groups, NFS_PORT, source)
        return Export(host=server.id, path=found[2])
    raise Unreachable(f"{source}: the name can't be resolved")


def mount_target_address(cloud: Cloud, thing: Thing, file_system: str) -> str:
    """Give the address that a file system's name has for an instance; empty when it has none."""
    try:
        return str(_mount_target(cloud, thing, file_system)["ipAddress"])
    except Unreachable:
        return ""


def _mount_target(cloud: Cloud, thing: Thing, file_system: str) -> Thing:
    if cloud.store.get("efs.FileSystem", file_system) is None:
        raise Unreachable(f"{file_system}: the name can't be resolved, there is no such file system")
    zone = thing["api"]["Placement"]["AvailabilityZone"]
    targets = [one for one in cloud.store.all("efs.MountTarget") if one["fileSystemId"] == file_system]
    near = [one for one in targets if cloud.need("ec2.Subnet", one["subnetId"])["vpcId"] == thing["vpcId"]]
    for target in near:
        if target["availabilityZoneName"] == zone:
            return target
    where = f"zone {zone}" if near else f"network {thing['vpcId']}"
    raise Unreachable(f"{file_system}: the name can't be resolved, the file system has no mount target in {where}")


def lets_in(cloud: Cloud, thing: Thing, names: Sequence[str], port: int) -> bool:
    """Say whether one of the security groups lets an instance in at a port; the caller holds the store's lock."""
    return any(_passes(rule, cloud, thing, port) for rule in _rules(cloud, names))


def _refuse_closed(cloud: Cloud, thing: Thing, names: Sequence[str], port: int, source: str) -> None:
    if not lets_in(cloud, thing, names, port):
        raise Unreachable(f"{source}: Connection timed out; none of the security groups {', '.join(names)} lets {thing.id} in at port {port}")


def _rules(cloud: Cloud, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    for name in names:
        group = cloud.find("ec2.SecurityGroup|ec2.DefaultSecurityGroup", name)
        if group:
            yield from groups.open_to(cloud, group, direction="ingress")


def _passes(rule: Mapping[str, Any], cloud: Cloud, thing: Thing, port: int) -> bool:
    if rule["protocol"] not in ("-1", "all") and not (rule["protocol"] in ("tcp", "6") and rule["fromPort"] <= port <= rule["toPort"]):
        return False
    own = {group for interface in thing.interfaces for group in _groups(cloud, interface)}
    if rule.get("group") in own:
        return True
    return bool(rule.get("cidr")) and ipaddress.ip_address(wanted.address(cloud, thing)) in ipaddress.ip_network(rule["cidr"])


def _groups(cloud: Cloud, interface: Any) -> tuple[str, ...]:
    # An interface that was there before the instance keeps its own groups.
    kept = cloud.store.get("ec2.NetworkInterface", interface.id)
    return tuple(kept.interfaces[0].groups) if kept else tuple(interface.groups)
