"""Google's discovery documents, as google-api-python-client ships them: which request is which method, and what its body may hold."""

import dataclasses
import functools
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.failure import NotSimulated, Refused

DOCUMENTS: Mapping[str, Mapping[str, str]] = {
    "compute.googleapis.com": {"compute/v1/": "compute.v1", "compute/beta/": "compute.beta"},
    "file.googleapis.com": {"v1/": "file.v1"},
    "secretmanager.googleapis.com": {"v1/": "secretmanager.v1"},
    "iam.googleapis.com": {"v1/": "iam.v1"},
    "cloudresourcemanager.googleapis.com": {"v1/": "cloudresourcemanager.v1", "v3/": "cloudresourcemanager.v3"},
    "storage.googleapis.com": {"storage/v1/": "storage.v1"},
    "sqladmin.googleapis.com": {"v1/": "sqladmin.v1", "sql/v1beta4/": "sqladmin.v1beta4"},
    "servicenetworking.googleapis.com": {"v1/": "servicenetworking.v1"},
    "serviceusage.googleapis.com": {"v1/": "serviceusage.v1"},
    "logging.googleapis.com": {"v2/": "logging.v2"},
    "lustre.googleapis.com": {"v1/": "lustre.v1"},
    "cloudkms.googleapis.com": {"v1/": "cloudkms.v1"},
    "dns.googleapis.com": {"dns/v1/": "dns.v1"},
}
"""Host → first segments of the path → document."""
OWN = Path(__file__).parent / "data"
"""Documents of services that Google ships none of."""


@dataclasses.dataclass(frozen=True, slots=True)
class Method:
    """One method of an API; `id` as Google writes it (`compute.instances.insert`)."""

    id: str
    verb: str
    http: str
    document: str
    parameters: Mapping[str, Any]
    request: str | None
    prefix: str
    template: str

    @property
    def host(self) -> str:
        """Give the service's host."""
        return next(host for host, versions in DOCUMENTS.items() if self.document in versions.values())

    @property
    def kind(self) -> str:
        """Give the kind of things that it is about: `compute.instances`, `file.instances`."""
        service, *rest = self.id.split(".")[:-1]
        return ".".join([service, *(part for part in rest if part not in ("projects", "locations"))])


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """One API in one version."""

    name: str
    schemas: Mapping[str, Any]
    parameters: Mapping[str, Any]
    routes: tuple[tuple[str, int, re.Pattern[str], Method], ...]


def find(host: str, http: str, path: str) -> tuple[Method, dict[str, str]]:
    """Give the method of a request, and the parameters that its path holds.

    Raises:
        Refused: no method has this path.
        NotSimulated: nothing of this service is simulated.
    """
    if host not in DOCUMENTS:
        raise NotSimulated(f"the service {host}")
    rest = path.lstrip("/")
    for prefix, name in DOCUMENTS[host].items():
        if rest.startswith(prefix):
            for method, length, pattern, found in document(name).routes:
                if method == http and length == rest.count("/") and (match := pattern.fullmatch(rest)):
                    return found, dict(match.groupdict())
    raise Refused("notFound", f"The requested URL {path} was not found on this server.", status=404)


@functools.cache
def document(name: str) -> Document:
    """Read a document (`compute.v1`)."""
    own = OWN / f"{name}.json"
    read = json.loads((own if own.exists() else _folder() / f"{name}.json").read_text())
    routes = []
    (prefix,) = (prefix for versions in DOCUMENTS.values() for prefix, found in versions.items() if found == name)
    for found in _methods(read.get("resources", {})):
        # `path` joins segments into one parameter where `flatPath` tells them apart; both are served.
        flat = read["servicePath"] + (found.get("flatPath") or found["path"])
        verb = found["id"].rpartition(".")[2]
        method = Method(
            found["id"],
            verb,
            found["httpMethod"],
            name,
            {**read.get("parameters", {}), **found.get("parameters", {})},
            found.get("request", {}).get("$ref"),
            prefix,
            flat.removeprefix(prefix),
        )
        routes.append((found["httpMethod"], flat.count("/"), _pattern(flat), method))
    return Document(name, read["schemas"], read.get("parameters", {}), tuple(routes))


def schema(name: str, ref: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = document(name).schemas[ref]
    return found


def _methods(resources: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in resources.values():
        yield from resource.get("methods", {}).values()
        yield from _methods(resource.get("resources", {}))


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{\+?(\w+)\}", template)
    # A colon ends a name and begins a verb (`secrets/s:addVersion`).
    texts = [re.escape(part) if place % 2 == 0 else f"(?P<{part}>[^/:]+)" for place, part in enumerate(parts)]
    return re.compile("".join(texts))


@functools.cache
def method(kind: str, verb: str) -> Method | None:
    """Find a method of Compute Engine by kind and verb."""
    for _, _, _, found in document("compute.v1").routes:
        if found.kind == kind and found.verb == verb:
            return found
    return None


@functools.cache
def kinds_in(collection: str) -> tuple[str, ...]:
    """Give the kinds of Compute Engine whose things lie in a collection (`instanceTemplates` of the project and of regions)."""
    found = (one for _, _, _, one in document("compute.v1").routes if one.verb == "get")
    return tuple(one.kind for one in found if one.template.split("/")[-2:-1] == [collection])


@functools.cache
def _folder() -> Path:
    found = importlib.util.find_spec("googleapiclient")
    assert found, "google-api-python-client is missing; it is one of the development packages"
    assert found.submodule_search_locations, "google-api-python-client has no folder"
    return Path(found.submodule_search_locations[0]) / "discovery_cache" / "documents"
