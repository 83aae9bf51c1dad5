"""Groups of instances, managed or not, and the health checks of balancers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import bodies, differences
from .resource import Resource, Values

PROTOCOLS = ("grpc", "grpcTls", "http2", "http", "https", "ssl", "tcp")
ZONES = "distributionPolicyZones"


class HealthCheck(Resource):
    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(inputs, variables, effective=effective, only=only)
        for protocol in PROTOCOLS:
            if inputs.get(f"{protocol}HealthCheck") is not None:
                found["type"] = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", protocol).upper()
        return found


class Group(Resource):
    def checked(self, inputs: Values) -> Values:
        return {name: value for name, value in inputs.items() if name != "instances"}

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        super().create(self.checked(inputs))
        variables = self.variables(inputs)
        self._move("addInstances", inputs.get("instances") or [], variables)
        return self._made(inputs, variables)

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        listed = self.rest.ask(self.kind.host, "POST", f"{self.path(variables)}/listInstances", body={})
        members = [one["instance"] for one in listed.get("items", ())]
        return {**super().properties(shown, variables, self.checked(inputs)), "instances": members}

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        match way:
            case "members":
                wanted, there = inputs.get("instances") or [], olds.get("instances") or []
                self._move("removeInstances", [one for one in there if not _holds(wanted, one)], variables)
                self._move("addInstances", [one for one in wanted if not _holds(there, one)], variables)
            case "setNamedPorts":
                shown = self.rest.ask(self.kind.host, "GET", self.path(variables))
                body = {"namedPorts": inputs.get("namedPorts", []), "fingerprint": shown.get("fingerprint", "")}
                self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/setNamedPorts", body=body)
            case _:
                super().apply(way, names, inputs, olds, variables)

    def _move(self, method: str, instances: Sequence[str], variables: Mapping[str, str]) -> None:
        if instances:
            named = [{"instance": bodies.reference(one, "projects/{project}/zones/{zone}/instances", variables)} for one in instances]
            self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/{method}", body={"instances": named})


class Manager(Resource):
    def checked(self, inputs: Values) -> Values:
        return {name: value for name, value in inputs.items() if name != ZONES}

    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(self.checked(inputs), variables, effective=effective, only=only)
        if only is None:
            found.setdefault("targetSize", 0)  # the provider always sends one
            if inputs.get(ZONES):
                zones = [{"zone": bodies.reference(one, "projects/{project}/zones", variables)} for one in inputs[ZONES]]
                found.setdefault("distributionPolicy", {})["zones"] = zones
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        found = super().properties(shown, variables, inputs)
        zones = (shown.get("distributionPolicy") or {}).get("zones") or ()
        statuses = {"statuses": [found["statuses"]]} if "statuses" in found else {}  # the provider shows every part of a resource as a list
        return {**found, **statuses, **({ZONES: [one["zone"].rpartition("/")[2] for one in zones]} if zones else {})}

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        if way == "resize":
            self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/resize", query={"size": str(inputs.get("targetSize", 0))})
        else:
            super().apply(way, names, inputs, olds, variables)


def _holds(instances: Sequence[str], one: str) -> bool:
    return any(differences.same("string", other, one) for other in instances)


RESOURCES = {
    "compute.RegionHealthCheck": HealthCheck, "compute.InstanceGroup": Group, "compute.InstanceGroupManager": Manager, "compute.RegionInstanceGroupManager": Manager,
}  # fmt: skip
