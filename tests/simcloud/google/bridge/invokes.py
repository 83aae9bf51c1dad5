"""The functions of the SDK that programs call (`gcp.compute.get_zones`)."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ...core.failure import NotSimulated
from . import bodies, kinds
from .rest import Rest

HOST, BASE = "compute.googleapis.com", "/compute/v1/"
Values = Mapping[str, Any]


def invoke(rest: Rest, asked: Values) -> Values:
    """Call one function.

    Raises:
        NotSimulated: there is no rule for it.
    """
    try:
        function = _FUNCTIONS[asked["token"]]
    except KeyError:
        raise NotSimulated(f"the function {asked['token']}") from None
    arguments = {name: value for name, value in asked["arguments"].items() if value is not None}
    settings = {name: arguments.get(name) or asked[name] for name in ("project", "region", "zone")}
    return function(rest, arguments, settings)


def _client_config(rest: Rest, arguments: Values, settings: Values) -> Values:
    project, region, zone = (settings.get(name) or "" for name in ("project", "region", "zone"))
    return {
        "id": f'projects/"{project}"/regions/"{region}"/zones/"{zone}"/scopes/[]',
        "project": project,
        "region": region,
        "zone": zone,
        "accessToken": "",
        "defaultLabels": {},
    }


def _project(rest: Rest, arguments: Values, settings: Values) -> Values:
    name = arguments.get("projectId") or settings["project"]
    found = rest.ask("cloudresourcemanager.googleapis.com", "GET", f"/v1/projects/{name}")
    return {
        "id": f"projects/{name}",
        "projectId": name,
        "number": found.get("projectNumber", ""),
        "name": found.get("name", name),
        "labels": found.get("labels", {}),
    }


def _zones(rest: Rest, arguments: Values, settings: Values) -> Values:
    project, region = settings["project"], settings["region"]
    listed = rest.ask(HOST, "GET", f"{BASE}projects/{project}/zones").get("items", ())
    names = [one["name"] for one in listed if one["region"].rpartition("/")[2] == region and arguments.get("status") in (None, one["status"])]
    return {"id": f"projects/{project}/regions/{region}", "names": sorted(names), "project": project, "region": region}


def _regions(rest: Rest, arguments: Values, settings: Values) -> Values:
    listed = rest.ask(HOST, "GET", f"{BASE}projects/{settings['project']}/regions").get("items", ())
    names = [one["name"] for one in listed if arguments.get("status") in (None, one["status"])]
    return {"id": f"projects/{settings['project']}", "names": sorted(names), "project": settings["project"]}


def _machine_types(rest: Rest, arguments: Values, settings: Values) -> Values:
    project, zone = settings["project"], settings["zone"]
    query = {"filter": arguments["filter"]} if arguments.get("filter") else {}
    listed = rest.ask(HOST, "GET", f"{BASE}projects/{project}/zones/{zone}/machineTypes", query=query).get("items", ())
    machines = [
        {
            "name": one["name"], "description": one.get("description", ""), "guestCpus": one["guestCpus"], "memoryMb": one["memoryMb"], "isSharedCpus": one.get("isSharedCpu", False),
            "maximumPersistentDisks": one.get("maximumPersistentDisks", 0), "maximumPersistentDisksSizeGb": int(one.get("maximumPersistentDisksSizeGb", 0)),
            "selfLink": one["selfLink"], "architecture": one.get("architecture", ""), "bundledLocalSsds": [], "deprecateds": [],
            "accelerators": [{"guestAcceleratorType": card["guestAcceleratorType"], "guestAcceleratorCount": card["guestAcceleratorCount"]} for card in one.get("accelerators", ())],
        }
        for one in listed
    ]  # fmt: skip
    return {
        "id": f"projects/{project}/zones/{zone}/machineTypes/filters/{arguments.get('filter', '')}",
        "machineTypes": machines,
        **arguments,
        "project": project,
        "zone": zone,
    }


def _image(rest: Rest, arguments: Values, settings: Values) -> Values:
    project = settings["project"]
    images = f"{BASE}projects/{project}/global/images"
    if arguments.get("name"):
        found = rest.ask(HOST, "GET", f"{images}/{arguments['name']}")
    elif arguments.get("family"):
        found = rest.ask(HOST, "GET", f"{images}/family/{arguments['family']}")
    else:
        raise NotSimulated("getImage by filter")
    known = (
        "name",
        "family",
        "archiveSizeBytes",
        "creationTimestamp",
        "description",
        "labels",
        "licenses",
        "status",
        "selfLink",
        "sourceDisk",
        "sourceImageId",
    )
    answer = {name: found.get(name, "") for name in known}
    size = int(found.get("diskSizeGb", 0))
    return {**answer, "id": f"projects/{project}/global/images/{found['name']}", "imageId": found["id"], "project": project, "diskSizeGb": size, "filter": "", "labels": found.get("labels", {}),
            "licenses": found.get("licenses", []), "archiveSizeBytes": int(found.get("archiveSizeBytes") or 0)}  # fmt: skip


def _thing(kind: str, place: str) -> Callable[[Rest, Values, Values], Values]:
    def look(rest: Rest, arguments: Values, settings: Values) -> Values:
        link = arguments.get("selfLink")
        path = bodies.LINK.sub("", link) if link else place.format(**settings, name=arguments.get("name"))
        found = rest.ask(HOST, "GET", BASE + path)
        where = dict(zip(("project", "region", "zone"), (settings[name] for name in ("project", "region", "zone")), strict=True))
        return {**bodies.properties(kinds.kinds()[kind], found), **{name: where[name] for name in re.findall(r"\{(project|region|zone)\}", place)}, "id": path}

    return look


_FUNCTIONS: Mapping[str, Callable[[Rest, Values, Values], Values]] = {
    "gcp:organizations/getClientConfig:getClientConfig": _client_config,
    "gcp:organizations/getProject:getProject": _project,
    "gcp:compute/getZones:getZones": _zones,
    "gcp:compute/getRegions:getRegions": _regions,
    "gcp:compute/getImage:getImage": _image,
    "gcp:compute/getMachineTypes:getMachineTypes": _machine_types,
    "gcp:compute/getNetwork:getNetwork": _thing("compute.Network", "projects/{project}/global/networks/{name}"),
    "gcp:compute/getSubnetwork:getSubnetwork": _thing("compute.Subnetwork", "projects/{project}/regions/{region}/subnetworks/{name}"),
    "gcp:compute/getAddress:getAddress": _thing("compute.Address", "projects/{project}/regions/{region}/addresses/{name}"),
}
