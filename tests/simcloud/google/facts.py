"""What is there without anyone making it: regions, zones, machine types, network profiles, public images, the project itself."""

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..core.store import SERVICE, Thing
from . import kinds, links, operations, shared_vpc

if TYPE_CHECKING:
    from .cloud import Cloud

LOCAL_SSD_GB = 375
VIEWED = (
    "compute.regions",
    "compute.zones",
    "compute.machineTypes",
    "compute.diskTypes",
    "compute.networkProfiles",
    "compute.images",
    "compute.projects",
    "compute.gateways",
)
SINCE_S = 1_700_000_000.0


def thing(cloud: "Cloud", kind: str, path: str) -> Thing | None:
    """Give one of them by its path."""
    if kind not in VIEWED:
        return None
    project, _, rest = path.removeprefix("projects/").partition("/")
    properties = _given(cloud.project, project).get(kind, {}).get(rest)
    return Thing(kind, path, rest.split("/")[1] if rest.startswith(("zones/", "regions/")) else "global", properties, SERVICE, SINCE_S) if properties else None


def things(cloud: "Cloud", kind: str) -> Iterator[Thing]:
    """Give those of a kind, of all projects."""
    for project in (cloud.project, *shared_vpc.hosts(cloud), *kinds.load("images")) if kind in VIEWED else ():
        for rest in _given(cloud.project, project).get(kind, {}):
            if found := thing(cloud, kind, f"projects/{project}/{rest}".rstrip("/")):
                yield found


def newest(cloud: "Cloud", path: str) -> Thing | None:
    """Give the image that an image family means: its newest that is not deprecated."""
    project, _, family = path.removeprefix("projects/").partition("/global/images/family/")
    found = [one for one in cloud.all("compute.images", under=f"projects/{project}/") if one.get("family") == family and not one.get("deprecated")]
    return max(found, key=lambda one: (one["creationTimestamp"], one.id), default=None)


def zones() -> Mapping[str, str]:
    """Give the zones, name → region."""
    return {f"{region}-{letter}": region for region, letters in kinds.load("places").items() for letter in letters}


def machine(name: str) -> Mapping[str, Any] | None:
    """Give what is known of a machine type: its data, and `zones` where it is offered."""
    return _machines().get(name)


@functools.cache
def _machines() -> Mapping[str, Mapping[str, Any]]:
    read = kinds.load("machines")
    found = {
        f"{series}-{cpus}": {
            "cpus": cpus,
            "gib": cpus * known["gib_per_cpu"],
            "zones": list(zones()),
            **{name: known[name] for name in ("architecture",) if name in known},
        }
        for series, known in read["series"].items()
        for cpus in known["cpus"]
    }
    return {**found, **read["accelerated"]}


@functools.cache
def _given(own: str, project: str) -> Mapping[str, Mapping[str, Any]]:
    """Give kind → path within the project → properties."""
    if project in kinds.load("images"):
        return {"compute.images": {f"global/images/{name}": _image(project, name, known) for name, known in kinds.load("images").get(project, {}).items()}}
    base = links.link(f"projects/{project}")
    found: dict[str, dict[str, Any]] = {kind: {} for kind in VIEWED}
    found["compute.gateways"]["global/gateways/default-internet-gateway"] = {"name": "default-internet-gateway"}
    if project == own:
        found["compute.projects"][""] = {
            "kind": "compute#project",
            "name": own,
            "id": "123456789012",
            "defaultServiceAccount": "123456789012-compute@developer.gserviceaccount.com",
            "selfLink": base,
        }
    for region, letters in kinds.load("places").items():
        links_of_zones = [f"{base}/zones/{region}-{letter}" for letter in letters]
        found["compute.regions"][f"regions/{region}"] = _one("region", base, f"regions/{region}", status="UP", zones=links_of_zones, quotas=[])
    for zone, region in zones().items():
        place = f"zones/{zone}"
        found["compute.zones"][place] = _one("zone", base, place, status="UP", region=f"{base}/regions/{region}")
        for disk in kinds.load("machines")["disk_types"]:
            found["compute.diskTypes"][f"{place}/diskTypes/{disk}"] = _one("diskType", base, f"{place}/diskTypes/{disk}", zone=f"{base}/{place}")
        for name, known in _machines().items():
            if zone in known["zones"]:
                found["compute.machineTypes"][f"{place}/machineTypes/{name}"] = _machine(base, place, name, known)
        for profile, machines in kinds.load("machines")["network_profiles"].items():
            if any(zone in _machines()[name]["zones"] for name in machines):
                path = f"global/networkProfiles/{zone}-{profile}"
                found["compute.networkProfiles"][path] = _one(
                    "networkProfile",
                    base,
                    path,
                    location={"name": zone, "scope": "ZONE"},
                    profileType={"networkType": "VPC"},
                    features={"interfaceTypes": ["MRDMA"]},
                )
    return found


def _machine(base: str, place: str, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    gpus = known.get("gpus")
    return _one(
        "machineType", base, f"{place}/machineTypes/{name}", guestCpus=known["cpus"], memoryMb=int(known["gib"] * 1024), zone=place.removeprefix("zones/"), isSharedCpu=False,
        architecture=known.get("architecture", "X86_64"), maximumPersistentDisks=128, maximumPersistentDisksSizeGb="263168",
        **({"accelerators": [{"guestAcceleratorCount": gpus[0], "guestAcceleratorType": gpus[1]}]} if gpus else {}),
        **({"bundledLocalSsds": {"defaultInterface": "NVME", "partitionCount": known["local_ssds"]}} if known.get("local_ssds") else {}),
    )  # fmt: skip


def _image(project: str, name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    features = [{"type": one} for one in ("UEFI_COMPATIBLE", "GVNIC", "IDPF", "VIRTIO_SCSI_MULTIQUEUE")]
    path = f"global/images/{name}"
    return _one(
        "image", links.link(f"projects/{project}"), path, status="READY", family=known["family"], architecture=known["architecture"], diskSizeGb=str(known["gb"]),
        sourceType="RAW", guestOsFeatures=features, archiveSizeBytes="1000000000",
    )  # fmt: skip


def _one(what: str, base: str, path: str, **properties: Any) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    number = str(int.from_bytes(f"{base}{path}".encode()[-8:], "big"))
    return {"kind": f"compute#{what}", "id": number, "name": name, "selfLink": f"{base}/{path}", "creationTimestamp": operations.stamp(SINCE_S), **properties}


def regions() -> Mapping[str, Any]:
    found: Mapping[str, Any] = kinds.load("places")
    return found
