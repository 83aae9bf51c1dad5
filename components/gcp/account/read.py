"""Read one object of the project each, in the types of blueprints/live/account.py; None: it does not exist."""

import dataclasses
import functools
import ipaddress
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from blueprints import catalog
from blueprints.live import account
from blueprints.spec import CapacityKind

from .. import machines as machines_by_family
from .. import neighbours as beside
from .. import rest
from ..names import CLUSTER_LABEL, STACK_LABEL, label, whose
from .session import Session

_UP, _ANYWHERE = "UP", "0.0.0.0/0"
_DENSE, _BLOCKS = "DENSE", "/reservationBlocks/"
_ARCH = {"X86_64": "x86_64", "ARM64": "arm64"}
_MIB_PER_GIB = 1024
_STATES = {"READY": "active", "CREATING": "pending", "UPDATING": "active"}
"""Compute Engine API, Reservation.status → the words of blueprints/live; others are shown as they are."""
_FUTURE_STATES = {
    **dict.fromkeys(("PENDING_APPROVAL", "APPROVED", "COMMITTED", "PROCURING", "PROVISIONING"), "scheduled"),
    "FULFILLED": "active",
}
"""Compute Engine API, FutureReservationStatus.procurementStatus, in the same way."""


def zones(session: Session) -> tuple[account.Zone, ...]:
    """List the zones of the region."""
    found = (one for one in session.items("zones") if _last(one["region"]) == session.region)
    return tuple(account.Zone(one["name"], False, one["status"] == _UP, one["status"].lower()) for one in sorted(found, key=lambda one: str(one["name"])))


def described(session: Session, names: Iterable[str], places: Iterable[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Describe machines: name → zone → what Compute Engine says."""
    wanted = sorted(names)
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in wanted}
    if not wanted:
        return found
    query = {"filter": " OR ".join(f'(name = "{name}")' for name in wanted)}
    zones = sorted(places)
    with ThreadPoolExecutor(max(1, len(zones))) as pool:
        for zone, several in zip(zones, pool.map(lambda zone: [*session.items(f"zones/{zone}/machineTypes", query)], zones), strict=True):
            for one in several:
                found[one["name"]][zone] = one
    return found


def offered(found: Mapping[str, Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Return the zones that offer each machine. Pure."""
    return {name: frozenset(places) for name, places in found.items()}


def machines(found: Mapping[str, Mapping[str, dict[str, Any]]]) -> dict[str, account.OfferedMachine]:
    """Read the description of each machine that a zone offers. Pure."""
    return {name: _machine(next(iter(places.values()))) for name, places in found.items() if places}


def _machine(one: Mapping[str, Any]) -> account.OfferedMachine:
    arch = one.get("architecture", "X86_64")
    return account.OfferedMachine(
        name=str(one["name"]),
        arch=(_ARCH.get(arch, arch),),
        vcpus=int(one["guestCpus"]),
        memory_gib=int(one["memoryMb"]) / _MIB_PER_GIB,
        gpus=sum(int(gpu["guestAcceleratorCount"]) for gpu in one.get("accelerators", ())),
    )


def quotas(region: Mapping[str, Any], wanted: Iterable[str]) -> dict[str, float | None]:
    """Read quotas of a region; None: Compute Engine doesn't list it there, as the quotas for each GPU family. Pure."""
    limits = {one["metric"]: float(one["limit"]) for one in region.get("quotas", ())}
    return {code: limits.get(code) for code in wanted}


def networks(session: Session, *, cluster: str, stack: str) -> tuple[account.Room, ...]:
    """Read how many networks the project may have, and how many it has beside the stack's own."""
    limit = next((one for one in session.get("").get("quotas", ()) if one["metric"] == "NETWORKS"), None)
    if limit is None:
        return ()
    own = whose(cluster, stack)
    taken = sum(1 for one in session.items("global/networks") if own not in one.get("description", ""))
    return (account.Room("networks", "NETWORKS", float(limit["limit"]), taken),)


def zones_with(session: Session, profile: str) -> frozenset[str]:
    """Name the zones of the region in which networks of a profile can be."""
    names = (str(one["name"]) for one in session.items("global/networkProfiles"))
    return frozenset(zone for name in names if (zone := name.removesuffix(f"-{profile}")) != name and zone.startswith(f"{session.region}-"))


def storage_zones(session: Session, storage_class: str) -> frozenset[str]:
    """Name the zones of the region in which the service of a class of storage is."""
    service = catalog.storage_class("gcp", storage_class).api["service"]
    names = (str(one["locationId"]) for one in session.items("locations", key="locations", service=service))
    return frozenset(name for name in names if name.startswith(f"{session.region}-"))


def network(session: Session, ident: str, *, cluster: str, stack: str) -> account.Network | None:
    """Describe a network with the ranges of its subnets that are not the stack's own; names resolve in every network."""
    project, name = _place(session, ident)
    try:
        found = session.find(f"global/networks/{name}", project=project)
    except rest.Failed as error:
        if not _is_hidden(session, error, project):
            raise
        return account.Network(ident, (), True, way_out="nat")  # its subnets are asked for themselves
    if found is None:
        return None
    if project != session.project:  # a stack creates no subnets there
        return account.Network(ident, (), True, way_out="nat")
    own = whose(cluster, stack)
    subnets = [one for one in session.everywhere("subnetworks", project=project) if _last(one["network"]) == name and own not in one.get("description", "")]
    ranges = [(one["name"], cidr) for one in subnets for cidr in (one["ipCidrRange"], *(more["ipCidrRange"] for more in one.get("secondaryIpRanges", ())))]
    return account.Network(ident, (), True, taken=tuple(sorted(ranges)), way_out="nat" if _leads_out(session, name, project=project) else "none")


def _leads_out(session: Session, network: str, *, subnet: str = "", project: str = "") -> bool:
    """Say whether a subnet of a network, or a new one, reaches the Internet: over NAT for it or for all subnets of the region, or over a default route to something of the site's."""
    routers = (one for one in session.items(f"regions/{session.region}/routers", project=project) if _last(one["network"]) == network)
    for nat in (nat for one in routers for nat in one.get("nats", ())):
        if nat.get("sourceSubnetworkIpRangesToNat", "").startswith("ALL_SUBNETWORKS") or subnet in [_last(one["name"]) for one in nat.get("subnetworks", ())]:
            return True
    routes = (one for one in session.items("global/routes", project=project) if _last(one["network"]) == network and one["destRange"] == _ANYWHERE)
    return any("nextHopGateway" not in one for one in routes)


def subnet(session: Session, ident: str) -> account.Subnet | None:
    """Describe a subnet, and whether the credentials may use one that another project shares."""
    project, name = _place(session, ident)
    path = f"regions/{session.region}/subnetworks/{name}"
    try:
        found = session.find(path, project=project)
        if found is None:
            return None
        network = session.find(f"global/networks/{_last(found['network'])}", project=project) or {}
    except rest.Failed as error:
        if not _is_hidden(session, error, project):
            raise
        return account.Subnet(ident, "", "", "", 0, "nat", name, is_usable=False)
    is_usable = project == session.project or session.may_use(path, project=project)
    described = described_subnet(session, found, project=project)
    return dataclasses.replace(
        described, id=ident if project == session.project else name, profile=_last(network.get("networkProfile", "")), is_usable=is_usable
    )


def neighbours(session: Session, ident: str, *, cluster: str, stack: str) -> tuple[str, ...]:
    """Name the machines in a subnet that are not the stack's, of this project and of the one that shares the subnet, if that lets itself be asked."""
    project, name = _place(session, ident)
    found = beside.look(
        lambda one: functools.partial(session.items, project=one),
        project=session.project,
        region=session.region,
        subnet=f"projects/{project}/regions/{session.region}/subnetworks/{name}",
        own={CLUSTER_LABEL: label(cluster), STACK_LABEL: label(stack)},  # clusters may have stacks of one name
    )
    return tuple(sorted(f"{one.name} in {one.place}" for one in found))


def _is_hidden(session: Session, error: rest.Failed, project: str) -> bool:
    """Say whether another project, which shares its network, doesn't let this one look at something."""
    return project != session.project and error.is_hidden


def described_subnet(session: Session, found: Mapping[str, Any], *, project: str = "") -> account.Subnet:
    """Read one subnet, and whether it has a way out. Compute Engine doesn't count free addresses, so all count as free.

    Args:
        project: of the subnet; empty: the session's.
    """
    cidr, free = found["ipCidrRange"], ipaddress.IPv4Network(found["ipCidrRange"]).num_addresses - catalog.target("gcp").addresses_reserved_per_subnet
    try:
        way_out = "nat" if _leads_out(session, _last(found["network"]), subnet=found["name"], project=project) else "none"
    except rest.Failed as error:
        if not _is_hidden(session, error, project or session.project):
            raise
        way_out = "nat"  # nobody but the owner of the network knows
    return account.Subnet(found["name"], _last(found["network"]), "", cidr, free, way_out, found["name"])


def reservation(session: Session, ident: str) -> account.Reservation | None:
    """Look for a reservation by its name or full name, in every zone that the name allows."""
    match = re.search(r"(?:projects/(?P<project>[^/]+)/)?(?:zones/(?P<zone>[^/]+)/)?(?:reservations/)?(?P<name>[^/]+)(?:/reservationBlocks/.*)?$", ident)
    if match is None:
        return None
    project, zone, name = match["project"] or session.project, match["zone"], match["name"]
    query = {"filter": f'name = "{name}"'}
    places = [one for one in session.everywhere("reservations", query, project=project) if zone in (None, _last(one["zone"]))]
    future = [one for one in _future(session, query, project) if zone in (None, _last(one["zone"]))]
    here = sorted(places, key=lambda one: (not _last(one["zone"]).startswith(session.region), one["zone"]))
    if here:
        return described_reservation(here[0], ident, session.project, owner=project, is_calendar=bool(here[0].get("deleteAtTime")))
    return described_future(future[0], ident) if future else None


def _future(session: Session, query: Mapping[str, str], project: str = "") -> list[dict[str, Any]]:
    return [*session.everywhere("futureReservations", query, project=project)]


def described_reservation(found: Mapping[str, Any], ident: str, project: str, *, owner: str, is_calendar: bool) -> account.Reservation:
    """Read a reservation. One that ends by itself came from calendar capacity. Pure."""
    specific = found.get("specificReservation", {})
    total, used = int(specific.get("count", 0)), int(specific.get("inUseCount", 0))
    shared = found.get("shareSettings", {}).get("projectMap", {})
    state, machine = found.get("status", ""), _last(specific.get("instanceProperties", {}).get("machineType", ""))
    return account.Reservation(
        id=ident,
        machine=machine,
        zone=_last(found["zone"]),
        kind=CapacityKind.BLOCK if is_calendar else CapacityKind.RESERVED,
        state=_STATES.get(state, state.lower()),
        total=total,
        free=total - used,
        ends=str(found.get("deleteAtTime", "")),
        is_shared=owner == project or project in shared,
        needs_block=found.get("deploymentType") == _DENSE and not machines_by_family.family(machine).dense and _BLOCKS not in ident,
    )


def described_future(found: Mapping[str, Any], ident: str) -> account.Reservation:
    """Read capacity that was ordered ahead. Pure."""
    specific, window, status = found.get("specificSkuProperties", {}), found.get("timeWindow", {}), found.get("status", {})
    state, total = status.get("procurementStatus", ""), int(specific.get("totalCount", 0))
    return account.Reservation(
        id=ident,
        machine=_last(specific.get("instanceProperties", {}).get("machineType", "")),
        zone=_last(found["zone"]),
        kind=CapacityKind.BLOCK,
        state=_FUTURE_STATES.get(state, state.lower()),
        total=total,
        free=total,
        starts=str(window.get("startTime", "")),
        ends=str(window.get("endTime", "")),
    )


def image(session: Session, ident: str) -> account.Image | None:
    """Look for an image, or for the newest of a family."""
    project, name = _place(session, ident)
    path = f"global/images/family/{name}" if "/family/" in ident else f"global/images/{name}"
    try:
        found = session.find(path, project=project)
    except rest.Failed as error:
        if not error.is_hidden:
            raise
        return None  # another project's image that is not shared
    return None if found is None else described_image(found, ident)


def described_image(found: Mapping[str, Any], ident: str) -> account.Image:
    arch = found.get("architecture", "X86_64")
    return account.Image(ident, _ARCH.get(arch, arch), found.get("status") == "READY", found["name"], found.get("creationTimestamp", ""))


def has_bucket(session: Session, name: str) -> bool:
    """Say whether somebody has a bucket of this name; others' buckets are forbidden, and exist."""
    try:
        return session.bucket(name) is not None
    except rest.Failed as error:
        if not error.is_hidden:
            raise
        return True


def key(session: Session, ident: str) -> account.Key | None:
    """Describe a key of Cloud KMS by its full name."""
    _, project, path = ident.split("/", 2)
    found = session.find(path, service="cloudkms", project=project)
    return None if found is None else account.Key(ident, found.get("primary", {}).get("state") == "ENABLED", found.get("purpose") == "ENCRYPT_DECRYPT")


def is_enabled(session: Session, api: str) -> bool:
    found = session.get(f"services/{api}", service="serviceusage")
    return found.get("state") == "ENABLED"


def _place(session: Session, ident: str) -> tuple[str, str]:
    """Give project and name of what an identifier names."""
    match = re.search(r"projects/(?P<project>[^/]+)/", ident)
    return (match["project"] if match else session.project), _last(ident)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
