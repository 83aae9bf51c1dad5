"""What is known of AWS: the kinds of this cloud, the SDK's typed arguments, CloudFormation's schemas and botocore's models."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import botocore.loaders
import botocore.model
import yaml

DATA = Path(__file__).parent / "data"
ACCOUNT = "123456789012"
MODELS = "2.0"  # the folder layout of botocore's data


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """One line of `data/types.yaml`, which explains the fields."""

    name: str
    token: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    schema: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    id: str = ""
    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    free: tuple[str, ...] = ()
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    shapes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    arns: tuple[str, ...] = ()
    autoname: str = ""
    replace: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    computed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    holds: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mentions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    within: str = ""
    read_by: tuple[str, ...] = ()
    unique: tuple[str, ...] = ()
    taken: str = "AlreadyExists"
    missing: str = "NotFound"
    in_use: str = "DependencyViolation"
    invalid: str = "InvalidParameterValue"
    policies: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def is_tagged(self) -> bool:
        """Say whether it takes tags as a map; the one kind that takes a list is `autoscaling.Group`."""
        return "tags" in self.inputs and self.inputs["tags"][0] == ["map", "string"]


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Give every kind by its name in the SDK (`ec2.Subnet`)."""
    schemas = json.loads((DATA / "cloudformation.json").read_text())["schemas"]
    resources = sdk()["resources"]
    return {name: _kind(name, written or {}, resources.get(name), schemas) for name, written in _written().items()}


@functools.cache
def kinds_by_token() -> Mapping[str, Kind]:
    return {kind.token: kind for kind in kinds().values() if kind.token}


@functools.cache
def sdk() -> Mapping[str, Any]:
    """Give the SDK's resources and argument objects."""
    found: Mapping[str, Any] = json.loads((DATA / "sdk.json").read_text())
    return found


@functools.cache
def service(name: str) -> botocore.model.ServiceModel:
    """Give botocore's model of a service."""
    model = botocore.loaders.Loader().load_service_model(name, "service-2")
    return botocore.model.ServiceModel(model, service_name=name)


def shape(path: str) -> botocore.model.Shape:
    """Give a shape of a service: `fsx.LustreDeploymentType`."""
    of, _, name = path.partition(".")
    return service(of).shape_for(name)


def _written() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.load((DATA / "types.yaml").read_text(), Loader=yaml.CSafeLoader)
    return found


def _kind(name: str, written: Mapping[str, Any], resource: Mapping[str, Any] | None, schemas: Mapping[str, Any]) -> Kind:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in written.items()}
    schema = schemas[values.pop("schema")] if "schema" in values else {}
    known = resource or {"token": "", "inputs": {}, "outputs": {}}
    return Kind(name=name, token=known["token"], inputs=known["inputs"], outputs=known["outputs"], schema=schema, **values)
