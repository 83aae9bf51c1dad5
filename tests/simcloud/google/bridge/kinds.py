"""What this cloud's bridge knows of pulumi-gcp: the kinds, their typed arguments and where each of those lies in the body of a request."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent / "data"
BASES = {"compute": "/compute/v1/", "storage": "/storage/v1/", "dns": "/dns/v1/", "sqladmin": "/sql/v1beta4/"}
"""Where an API's paths begin, where that is not `/v1/` (discovery documents, `servicePath` and `path`)."""
ALWAYS_CLIENT = ("deletionPolicy",)
ALWAYS_COMPUTED = ("project", "region", "zone", "location")


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """A type of resource; the head of data/kinds.yaml explains the fields."""

    name: str
    token: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    shape: Mapping[str, Any]
    api: str
    path: str
    schema: str = ""
    create: str = ""
    id: str = ""
    inside: str = ""
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    links: Mapping[str, str] = dataclasses.field(default_factory=dict)
    changes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    client: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    rules: str = ""

    @property
    def service(self) -> str:
        return self.api.partition(".")[0]

    @property
    def host(self) -> str:
        return f"{self.service}.googleapis.com"

    @property
    def base(self) -> str:
        return BASES.get(self.service, "/v1/")

    @property
    def is_labelled(self) -> bool:
        return "labels" in self.inputs and "effectiveLabels" in self.outputs

    @property
    def is_autonamed(self) -> bool:
        """Say whether the provider makes a name when the program gives none."""
        return "{name}" in f"{self.path}{self.id}"

    def is_computed(self, name: str) -> bool:
        """Say whether an input that a program no longer gives stays as it is."""
        return name in self.computed or name in ALWAYS_COMPUTED

    def is_client(self, name: str) -> bool:
        """Say whether an input never reaches the service."""
        return name in self.client or name in ALWAYS_CLIENT

    def way(self, name: str) -> str:
        """Say how an input changes: a word of data/kinds.yaml, `replace` when only a new thing can have it."""
        return "client" if name in ALWAYS_CLIENT else self.changes.get(name, "replace")


def table() -> Mapping[str, Mapping[str, Any]]:
    """Give the table of kinds as it is written."""
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load((DATA / "kinds.yaml").read_text())
    return found


@functools.cache
def sdk() -> Mapping[str, Any]:
    """Give the SDK's typed arguments and where they lie in bodies, from data/sdk.json."""
    found: Mapping[str, Any] = json.loads((DATA / "sdk.json").read_text())
    return found


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Give the kinds by name."""
    found = {}
    for name, row in table().items():
        of_sdk = sdk()["resources"][name]
        fields = {**row, **{list_of: tuple(row.get(list_of, ())) for list_of in ("client", "kept", "chosen", "computed")}}
        found[name] = Kind(name, of_sdk["token"], of_sdk["inputs"], of_sdk["outputs"], sdk()["shapes"].get(name, {}), **fields)
    return found


@functools.cache
def kinds_by_token() -> Mapping[str, Kind]:
    return {kind.token: kind for kind in kinds().values()}
