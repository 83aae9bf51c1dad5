"""The metadata server of an instance, from the store.

Source: Compute Engine documentation, "About VM metadata", "Predefined metadata keys" and "View and query VM metadata".
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...core.failure import Refused
from ...core.listening import Answer, Request
from ...core.store import Thing
from ...google import rights
from ...google.cloud import NUMBER, Cloud
from . import wanted

ROOT = "computeMetadata/v1"
FLAVOR = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}
GUEST_ATTRIBUTES = f"{ROOT}/instance/guest-attributes/"
TOKEN_S = 3599

Tree = Mapping[str, Any]


def answer(cloud: Cloud, request: Request, source: str) -> Answer:
    """Answer a request that came from an address of the network; the caller holds the store's lock."""
    split = urlsplit(request.path)
    path, query = split.path.strip("/"), parse_qs(split.query)
    if not path:
        return Answer(200, b"computeMetadata/\n", {**FLAVOR, "Content-Type": "application/text"})
    if request.headers.get("metadata-flavor") != "Google" or "x-forwarded-for" in request.headers:
        return Answer(403, b"Missing required header: Metadata-Flavor: Google\n", FLAVOR)
    thing = wanted.guest_at(cloud, source)
    if thing is None:
        return Answer(404, b"no instance has this address\n", FLAVOR)
    if request.method == "PUT" and path.startswith(GUEST_ATTRIBUTES):
        return _written(cloud, thing, path.removeprefix(GUEST_ATTRIBUTES), request.body.decode())
    if request.method != "GET" or not f"{path}/".startswith(f"{ROOT}/"):
        return Answer(404, b"", FLAVOR)
    if path.endswith("/token"):
        return _token(cloud, thing)
    return _found(_tree(cloud, thing), path.removeprefix(ROOT).strip("/"), is_folder=split.path.endswith("/"), query=query)


def _token(cloud: Cloud, thing: Thing) -> Answer:
    try:
        token = rights.token_of(cloud, thing)
    except Refused:
        return Answer(404, b"", FLAVOR)
    return _json({"access_token": token, "expires_in": TOKEN_S, "token_type": "Bearer"})


def _written(cloud: Cloud, thing: Thing, name: str, value: str) -> Answer:
    """Write a guest attribute, where the instance's metadata allow it."""
    if _attributes(thing).get("enable-guest-attributes", "").upper() != "TRUE":
        return Answer(403, b"Guest attributes endpoint access is disabled.\n", FLAVOR)
    cloud.note(thing, _guestAttributes={**(thing.get("_guestAttributes") or {}), name: value})
    return Answer(200, b"", FLAVOR)


def _found(tree: Tree, path: str, *, is_folder: bool, query: Mapping[str, list[str]]) -> Answer:
    """Give a leaf's text, what a folder holds, or all below it as JSON (`recursive=true`)."""
    here: Any = tree
    for part in [part for part in path.split("/") if part]:
        if not isinstance(here, Mapping) or part not in here:
            return Answer(404, b"", FLAVOR)
        here = here[part]
    if isinstance(here, Mapping):
        if query.get("recursive", [""])[0].lower() == "true":
            return _json(here if path.endswith("attributes") else _camel(here))
        if not is_folder:
            return Answer(301, b"", {**FLAVOR, "Location": f"/{ROOT}/{path}/"})
        return _text("".join(f"{name}/\n" if isinstance(value, Mapping) else f"{name}\n" for name, value in here.items()))
    return _text(str(here))


def _tree(cloud: Cloud, thing: Thing) -> Tree:
    zone = f"projects/{NUMBER}/zones/{thing.region}"
    return {
        "project": {"project-id": cloud.project, "numeric-project-id": NUMBER, "attributes": {}},
        "universe": {"universe-domain": "googleapis.com"},
        "instance": {
            "attributes": _attributes(thing), "cpu-platform": thing["cpuPlatform"], "description": thing.get("description", ""), "id": thing["id"],
            "hostname": f"{thing['name']}.{thing.region}.c.{cloud.project}.internal", "image": "", "machine-type": f"projects/{NUMBER}/machineTypes/{thing['machineType'].rpartition('/')[2]}",
            "name": thing["name"], "zone": zone, "preempted": "TRUE" if thing.get("_preempted") else "FALSE", "maintenance-event": "NONE",
            "network-interfaces": {str(place): _interface(nic) for place, nic in enumerate(thing["networkInterfaces"])},
            "service-accounts": _accounts(thing),
        },
    }  # fmt: skip


def _attributes(thing: Thing) -> dict[str, str]:
    return {one["key"]: one["value"] for one in (thing.get("metadata") or {}).get("items", ())}


def _interface(nic: Mapping[str, Any]) -> Tree:
    outside = {
        str(place): {"external-ip": access.get("natIP", ""), "type": access.get("type", "")} for place, access in enumerate(nic.get("accessConfigs", ()))
    }
    return {"ip": nic["networkIP"], "network": nic["network"], **({"access-configs": outside} if outside else {})}


def _accounts(thing: Thing) -> Tree:
    of = [{"email": one["email"], "aliases": "default", "scopes": "\n".join(one["scopes"])} for one in thing.get("serviceAccounts", ())]
    return {name: one for one in of for name in ("default", one["email"])}


def _camel(tree: Tree) -> dict[str, Any]:
    """Name keys as recursive answers do: attributes keep their own names, and numbered folders are lists."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        first, *others = name.split("-")
        spelled = "".join([first, *(one.capitalize() for one in others)])
        if name == "attributes":
            found[name] = dict(value)
        elif isinstance(value, Mapping) and value and all(key.isdigit() for key in value):
            found[spelled] = [_camel(one) for one in value.values()]
        else:
            found[spelled if "@" not in name else name] = _camel(value) if isinstance(value, Mapping) else value
    return found


def _text(said: str) -> Answer:
    return Answer(200, said.encode(), {**FLAVOR, "Content-Type": "application/text"})


def _json(found: Any) -> Answer:
    return Answer(200, json.dumps(found).encode(), {**FLAVOR, "Content-Type": "application/json"})
