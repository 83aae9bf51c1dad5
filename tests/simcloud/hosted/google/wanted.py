"""What of the project has a body on this machine, read out of the store. Called with its lock held; what it gives needs no lock."""

import dataclasses
from collections.abc import Iterator, Mapping

from ...core.store import Thing
from ...google import facts, links
from ...google.cloud import Cloud
from ..wanted import Disk, Guest

INSTANCES = "compute.instances"
RUNS = ("PROVISIONING", "STAGING", "RUNNING", "STOPPING")
IMAGE_PART = "image"
"""Label `part` of an instance that only becomes an image: what it bakes is baked by this machine when a host wants it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """All that should have a body."""

    guests: Mapping[str, Guest]
    disks: Mapping[str, Disk]
    ends: frozenset[str]
    """Guests that are told to shut down."""
    file_systems: frozenset[str]
    outside: Mapping[str, str]
    """Address that only this machine and the guests reach so → the guest's own."""
    now_s: float
    """On the cloud's clock."""

    @property
    def has_bodies(self) -> bool:
        return bool(self.guests or self.disks or self.file_systems)


def wanted(cloud: Cloud) -> Wanted:
    """Read the store."""
    living = [thing for thing in cloud.store.all(INSTANCES) if is_guest(thing)]
    guests = {name_of(thing): _guest(cloud, thing) for thing in living}
    return Wanted(
        guests=guests,
        disks=_disks(cloud, living),
        ends=frozenset(name_of(thing) for thing in living if thing["status"] == "STOPPING"),
        file_systems=frozenset(name_of(thing) for thing in cloud.store.all("file.instances")),
        outside={**_public(living), **_fronts(cloud, guests)},
        now_s=cloud.store.clock.now_s(),
    )


def is_guest(thing: Thing) -> bool:
    """Say whether an instance has a host: one that is to become an image has none."""
    return thing["status"] in RUNS and not any(label.endswith("part") and value == IMAGE_PART for label, value in (thing.get("labels") or {}).items())


def name_of(thing: Thing) -> str:
    return thing.id.rpartition("/")[2]


def guest_at(cloud: Cloud, source: str) -> Thing | None:
    """Find the living instance that has an address."""
    return next((thing for thing in cloud.holding(source, INSTANCES) if is_guest(thing)), None)


def address(thing: Thing) -> str:
    """Give an instance's first private address."""
    return str(thing["networkInterfaces"][0]["networkIP"])


def subnet(cloud: Cloud, thing: Thing) -> Thing:
    return cloud.need(thing["networkInterfaces"][0]["subnetwork"].removeprefix(links.BASE), "compute.subnetworks")


def _guest(cloud: Cloud, thing: Thing) -> Guest:
    home = subnet(cloud, thing)
    image = next((disk["source"] for disk in thing["disks"] if disk.get("boot")), "")
    gpus = int((facts.machine(thing["machineType"].rpartition("/")[2]) or {}).get("gpus") or 0)
    return Guest(name_of(thing), address(thing), home["network"], home["ipCidrRange"], _image_of(cloud, image), gpus, 0, thing.made_s)


def _image_of(cloud: Cloud, disk: str) -> str:
    """Give the path of the image that a boot disk was made from; empty: none."""
    found = cloud.find(disk.removeprefix(links.BASE), "compute.disks") if disk else None
    return str(found.get("sourceImage", "")).removeprefix(links.BASE) if found else ""


def _disks(cloud: Cloud, living: list[Thing]) -> dict[str, Disk]:
    """Give the disks that are no boot disks."""
    boots = {disk["source"] for thing in cloud.store.all(INSTANCES) for disk in thing["disks"] if disk.get("boot") and disk.get("source")}
    found = {
        name_of(one): Disk(name_of(one), int(one["sizeGb"]), f"google-{name_of(one)}")
        for one in cloud.store.all("compute.disks")
        if one["selfLink"] not in boots
    }
    for thing in living:
        attached = [disk for disk in thing["disks"] if disk.get("source") and not disk.get("boot")]
        for number, disk in enumerate(attached, start=1):
            name = disk["source"].rpartition("/")[2]
            found[name] = dataclasses.replace(found[name], link=f"google-{disk['deviceName']}", instance=name_of(thing), number=number)
    return found


def _public(living: list[Thing]) -> dict[str, str]:
    return {
        str(access["natIP"]): address(thing)
        for thing in living
        for nic in thing["networkInterfaces"]
        for access in nic.get("accessConfigs", ())
        if access.get("natIP")
    }


def _fronts(cloud: Cloud, guests: Mapping[str, Guest]) -> dict[str, str]:
    """Lead each balancer's address to the first member that runs: a pass-through balancer leaves connections as they are."""
    found = {}
    for rule in cloud.store.all("compute.forwardingRules"):
        member = next((name for name in _members(cloud, rule) if name in guests), None)
        if member:
            found[str(rule["IPAddress"])] = guests[member].address
    return found


def _members(cloud: Cloud, rule: Thing) -> Iterator[str]:
    service = cloud.find(str(rule.get("backendService", "")).removeprefix(links.BASE)) if rule.get("backendService") else None
    for backend in service.get("backends", ()) if service else ():
        group = cloud.find(backend["group"].removeprefix(links.BASE), "compute.instanceGroups")
        for link in group.get("_instances", ()) if group else ():
            yield str(link).rpartition("/")[2]
