"""Objects of a Google Cloud project that a blueprint may name, each with the lines to write."""

import dataclasses
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any

from blueprints import catalog
from blueprints.live import account as live_account

from ... import errors
from ...cloud import account
from .. import rest
from . import read
from .session import Session

REGION_VARIABLES = ("GOOGLE_REGION", "CLOUDSDK_COMPUTE_REGION")
NEED_MACHINE = ()
"""Kinds that are listed by machine only."""
EXAMPLE_MACHINE = "a3-megagpu-8g"
_WORKING = ("active", "scheduled", "pending")


def listing(session: Session, kind: str, wanted: account.Wanted) -> account.Listing:
    """List a project's objects of one kind.

    Raises:
        AccountUnavailable: the project can't be queried.
        Refusal: the project refused this question.
    """
    session.identity()  # missing credentials are reported before anything else
    try:
        return KINDS[kind](session, wanted)
    except rest.Failed as error:
        access = catalog.target("gcp").read_access
        remedy = f"check the caller's permissions ({access} are enough), the enabled APIs, the region and the options of the command"
        raise errors.Refusal(f"Google Cloud did not list the {kind} of the project", why=str(error), remedy=remedy) from error


def _zones(session: Session, given: account.Wanted) -> account.Listing:
    machines = [given.machine] if given.machine else [name for name, one in catalog.machines("gcp").items() if one.gpus]
    zones = read.zones(session)
    offered = read.offered(read.described(session, machines, [one.name for one in zones if one.is_usable]))
    entries = [
        {
            **dataclasses.asdict(zone),
            "machines": there,
            account.WRITE: f"network: {{region: {session.region}, zones: [{zone.name}]}}" if zone.is_usable else "",
        }
        for zone in zones
        if (there := sorted(name for name, places in offered.items() if zone.name in places)) or not given.machine
    ]
    return account.Listing("Zones, and the GPU machines that Google Cloud offers this project there", entries, "the hosts run in the first zone of the list")


def _reservations(session: Session, _: account.Wanted) -> account.Listing:
    found = [
        *(
            read.described_reservation(one, one["name"], session.project, owner=session.project, is_calendar=bool(one.get("deleteAtTime")))
            for one in session.everywhere("reservations")
        ),
        *(read.described_future(one, one["name"]) for one in session.everywhere("futureReservations")),
    ]
    here = sorted((one for one in found if one.state in _WORKING), key=lambda one: (one.machine, one.zone, one.id))
    entries = [
        {**dataclasses.asdict(one), account.WRITE: f"capacity: {{kind: {one.kind}, id: {one.id}}}   # with network: {{zones: [{one.zone}]}}"} for one in here
    ]
    hint = "write the line under the pool, and the zone under `targets.gcp.network`; a reservation that another project shares is named `projects/PROJECT/reservations/NAME`"
    return account.Listing("Reservations of this project", entries, hint)


def _subnets(session: Session, _: account.Wanted) -> account.Listing:
    found = [read.described_subnet(session, one) for one in session.items(f"regions/{session.region}/subnetworks")]
    entries = [
        {**dataclasses.asdict(one), account.WRITE: f"network: {{existing: {one.network}, subnets: [{one.id}], cidr: {one.cidr}}}"}
        for one in sorted(found, key=lambda one: (one.network, one.id))
    ]
    entries += _shared_subnets(session)
    hint = "a stack uses the subnets that `network.subnets` names, or creates its own: then write a `network.cidr` outside of the ranges of that network, and of those that hosts are to reach"
    return account.Listing("Subnets, and the ranges that networks of this project have", entries, hint)


def _shared_subnets(session: Session) -> list[dict[str, Any]]:
    """List the subnets of the region that a host project shares with this one (Shared VPC), as far as their owner lets the caller look."""
    host = str(session.get("getXpnHost").get("name", ""))
    if not host:
        return []
    try:
        found = [*session.items("aggregated/subnetworks/listUsable", {"serviceProject": session.project}, project=host)]
    except rest.Failed as error:
        if not error.is_hidden:
            raise
        return []
    entries = []
    for one in sorted(found, key=lambda one: (one["network"], one["subnetwork"])):
        name, network, cidr = one["subnetwork"].rpartition("/")[2], one["network"].rpartition("/")[2], one["ipCidrRange"]
        if f"/regions/{session.region}/" in one["subnetwork"]:
            free = ipaddress.IPv4Network(cidr).num_addresses - catalog.target("gcp").addresses_reserved_per_subnet
            described = live_account.Subnet(name, network, "", cidr, free, "unknown", name)
            line = f"network: {{host_project: {host}, existing: {network}, subnets: [{name}], cidr: {cidr}}}"
            entries.append({**dataclasses.asdict(described), account.WRITE: line})
    return entries


def _images(session: Session, _: account.Wanted) -> account.Listing:
    found = [read.described_image(one, f"projects/{session.project}/global/images/{one['name']}") for one in session.items("global/images")]
    newest = sorted(found, key=lambda one: (one.made, one.id), reverse=True)
    entries = [{**dataclasses.asdict(one), account.WRITE: f"image: {one.id}" if one.is_available else ""} for one in newest]
    return account.Listing("Images of this project", entries, "without `image`, a pool uses the image of the software profile, which `up` builds")


def _storage(session: Session, _: account.Wanted) -> account.Listing:
    entries = [
        {**dataclasses.asdict(_file_system(one)), "what": "filestore", account.WRITE: _share(one)}
        for one in session.items("locations/-/instances", key="instances", service="file")
    ]
    entries += [{**dataclasses.asdict(_lustre(one)), "what": "managed-lustre", account.WRITE: _mount_point(one)} for one in _lustre_instances(session)]
    return account.Listing("File systems", entries, "write the line as an entry of `targets.gcp.storage`, beside its `mount`")


def _file_system(one: Mapping[str, Any]) -> live_account.FileSystem:
    state = str(one.get("state", ""))
    network = next((str(each["network"]).rpartition("/")[2] for each in one.get("networks", ())), None)
    return live_account.FileSystem(str(one["name"]).rpartition("/")[2], state == "READY", state.lower(), network, None)


def _lustre_instances(session: Session) -> list[Mapping[str, Any]]:
    """List the instances of Managed Lustre; none where the project has not enabled its API."""
    try:
        return [*session.items("locations/-/instances", key="instances", service="lustre")]
    except rest.Failed as error:
        if error.code not in rest.NOT_ENABLED:
            raise
        return []


def _lustre(one: Mapping[str, Any]) -> live_account.FileSystem:
    state, zone = str(one.get("state", "")), str(one["name"]).split("/")[3]
    return live_account.FileSystem(
        str(one["name"]).rpartition("/")[2], state == "ACTIVE", state.lower(), str(one.get("network", "")).rpartition("/")[2] or None, (zone,)
    )


def _mount_point(one: Mapping[str, Any]) -> str:
    return f'{{kind: existing, source: "{one["mountPoint"]}"}}' if one.get("state") == "ACTIVE" and one.get("mountPoint") else ""


def _share(one: Mapping[str, Any]) -> str:
    addresses = [address for network in one.get("networks", ()) for address in network.get("ipAddresses", ())]
    shares = [share["name"] for share in one.get("fileShares", ())]
    is_ready = one.get("state") == "READY" and addresses and shares
    return f'{{kind: existing, source: "{addresses[0]}:/{shares[0]}"}}' if is_ready else ""


KINDS: Mapping[str, Callable[[Any, account.Wanted], account.Listing]] = {
    "zones": _zones,
    "reservations": _reservations,
    "subnets": _subnets,
    "images": _images,
    "storage": _storage,
}
