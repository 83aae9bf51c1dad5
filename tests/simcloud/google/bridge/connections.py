"""Private services access: the peering of a network with Google's services, which has no name of its own."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from . import bodies
from .resource import Resource, Values

PEERING = "servicenetworking-googleapis-com"


class Connection(Resource):
    def checked(self, inputs: Values) -> Values:
        return {}

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        self.rest.change(self.kind.host, "POST", self.path(variables), body=self._wanted(inputs, variables))
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        network, _, service = unquote(ident).rpartition(":") if ident else ("", "", "")
        given = {"network": network, "service": service, **inputs}
        variables = self.variables(given)
        listed = self.rest.ask(self.kind.host, "GET", self.path(variables), query={"network": self._network(variables)})
        for one in listed.get("connections", ()):
            if one["peering"] == PEERING:
                found = {
                    "network": given["network"],
                    "service": given["service"],
                    "reservedPeeringRanges": one["reservedPeeringRanges"],
                    "peering": one["peering"],
                }
                kept = {name: value for name, value in inputs.items() if self.kind.is_client(name)}
                return self.identity(given), {**kept, **found}
        return None

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        self.rest.change(self.kind.host, "PATCH", f"{self.path(variables)}/-", query={"force": "true"}, body=self._wanted(inputs, variables))

    def delete(self, ident: str, state: Values) -> None:
        if state.get("deletionPolicy") == "ABANDON" or not self.read(ident, state):
            return
        variables = self.variables(state)
        self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/{PEERING}", body={"consumerNetwork": self._network(variables)})

    def identity(self, variables: Mapping[str, str]) -> str:
        return f"{quote(variables['network'], safe='')}:{variables['service']}"

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        found = super().variables(inputs)
        return {**found, **{name: str(inputs[name]) for name in ("network", "service") if inputs.get(name)}}

    def _wanted(self, inputs: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        return {"network": self._network(variables), "reservedPeeringRanges": inputs["reservedPeeringRanges"]}

    def _network(self, variables: Mapping[str, str]) -> str:
        """Give a network as Service Networking wants it: by the project's number."""
        path = bodies.LINK.sub("", bodies.reference(variables["network"], "projects/{project}/global/networks", variables))
        _, project, *rest = path.split("/")
        number = self.rest.ask("cloudresourcemanager.googleapis.com", "GET", f"/v1/projects/{project}")["projectNumber"]
        return "/".join(["projects", str(number), *rest])


RESOURCES = {"servicenetworking.Connection": Connection}
