"""What machine types take: network interfaces and disks. The numbers are data (data/machines.yaml), with their sources."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import errors, facts, kinds, links

if TYPE_CHECKING:
    from .cloud import Cloud

RDMA = ("MRDMA", "IRDMA")
INTERFACES_LEAST, INTERFACES_MOST = 2, 8  # create-use-multiple-interfaces, "Maximum number of network interfaces"


def check_cards(cloud: "Cloud", nics: Sequence[Mapping[str, Any]], machine: str, zone: str | None, *, field: str) -> None:
    """Refuse interfaces that a machine type has not, and RDMA interfaces outside of an RDMA network of their zone.

    Args:
        zone: its name; None for a template, whose zone is not known yet.
    """
    read, known = kinds.load("machines"), facts.machine(machine) or {}
    most: Mapping[str, int] | None = read["nics"].get(machine)
    count = Counter(nic.get("nicType", "GVNIC") for nic in nics)
    allowed = sum(most.values()) if most else min(max(int(known.get("cpus", 1)), INTERFACES_LEAST), INTERFACES_MOST)
    if len(nics) > allowed:
        raise errors.invalid(field, len(nics), f"Number of network interfaces exceeds the maximum of {allowed} for the machine type {machine}.")
    for place, nic in enumerate(nics):
        kind = nic.get("nicType", "GVNIC")
        if most and count[kind] > most.get(kind, 0):
            raise errors.invalid(f"{field}[{place}].nicType", kind, f"The machine type {machine} has {most.get(kind, 0)} interfaces of this type.")
        if kind in RDMA and not most:
            raise errors.invalid(f"{field}[{place}].nicType", kind, f"The machine type {machine} has no such interface.")
        if kind == "VIRTIO_NET" and _is_of(machine, read["gvnic_only"]):
            raise errors.invalid(f"{field}[{place}].nicType", kind, f"The machine type {machine} needs gVNIC.")
        profile = _profile(cloud, nic)
        if profile is None:
            continue
        if bool(profile) != (kind in RDMA):
            raise errors.invalid(
                f"{field}[{place}].nicType", kind, f"The network {'takes RDMA interfaces alone' if profile else 'has no RDMA network profile'}."
            )
        if zone and profile and not profile.rpartition("/")[2].startswith(f"{zone}-"):
            raise errors.invalid(f"{field}[{place}].network", profile, f"The network's profile is of another zone than {zone}.")


def check_disk(machine: str, kind: str, *, field: str) -> None:
    """Refuse a type of disk that a machine type does not take; `kind` is its name."""
    read = kinds.load("machines")
    if kind.startswith("pd-") and _is_of(machine, read["hyperdisk_only"]):
        raise errors.invalid(field, kind, f"[{machine}] features are not compatible with disk type {kind}; it takes Hyperdisk alone.")
    if kind == "hyperdisk-balanced" and not _is_of(machine, read["hyperdisk_balanced"]):
        raise errors.invalid(field, kind, f"[{machine}] features are not compatible with disk type {kind}.")


def check_placement(cloud: "Cloud", policies: Sequence[str], machine: str, *, field: str) -> None:
    """Refuse a compact placement for a machine type that no compact placement takes."""
    for one in policies:
        found = cloud.find(one.removeprefix(links.BASE), "compute.resourcePolicies")
        placement = (found.get("groupPlacementPolicy") if found else None) or {}
        if placement.get("collocation") == "COLLOCATED" and _is_of(machine, kinds.load("machines")["never_near"]):
            raise errors.invalid(field, one, f"The machine type {machine} does not support compact placement policies.")
        topology = placement.get("gpuTopology")
        if topology and topology != kinds.load("machines")["slices"].get(machine, {}).get("topology"):
            raise errors.invalid(field, one, f"The machine type {machine} has no slices of the topology {topology}.")


def check_topology(topology: str | None, *, field: str) -> None:
    """Refuse the topology of a slice that no machine has."""
    known = {one["topology"] for one in kinds.load("machines")["slices"].values()}
    if topology and topology not in known:
        raise errors.invalid(field, topology, f"Topologies are {', '.join(sorted(known))}.")


def slice_policies(cloud: "Cloud", policies: Sequence[str]) -> list[str]:
    """Give the paths of those placement policies that stand for a slice."""
    paths = [one.removeprefix(links.BASE) for one in policies]
    found = {path: cloud.find(path, "compute.resourcePolicies") for path in paths}
    return [path for path, policy in found.items() if policy and (policy.get("groupPlacementPolicy") or {}).get("gpuTopology")]


def check_slice(cloud: "Cloud", policies: Sequence[str], machine: str, count: int, *, field: str) -> None:
    """Refuse several instances of a machine with slices that name none, or that are more than the slice has room for."""
    known = kinds.load("machines")["slices"].get(machine)
    if known is None:
        return
    named = slice_policies(cloud, policies)
    if count > 1 and not named:
        raise errors.invalid(
            field, ", ".join(policies), f"Several instances of {machine} need a placement policy or workload policy with the topology {known['topology']}."
        )
    for path in named:
        there = sum(one.kind == "compute.instances" for one in cloud.users(path))
        if there + count > known["instances"]:
            raise errors.invalid(field, path, f"A slice of {known['topology']} has {known['instances']} instances, and {there} are there.")


def _is_of(machine: str, series: Sequence[str]) -> bool:
    """Say whether a machine type is of one of the series (`a3` holds all of a3-…, a3-ultragpu its own)."""
    return any(machine.startswith(f"{one}-") for one in series)


def _profile(cloud: "Cloud", nic: Mapping[str, Any]) -> str | None:
    """Give the profile of an interface's network, "" when it has none; None when the network can't be found here."""
    named = nic.get("network")
    if nic.get("subnetwork") and (subnet := cloud.find(nic["subnetwork"].removeprefix(links.BASE), "compute.subnetworks")):
        named = subnet["network"]
    network = cloud.find(named.removeprefix(links.BASE), "compute.networks") if named else None
    return str(network.get("networkProfile", "")) if network else None
