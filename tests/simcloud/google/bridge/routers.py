"""NAT of a router: no thing of its own, but a part of the router that is read, changed and written back."""

from collections.abc import Mapping, Sequence
from typing import Any

from .resource import Refused, Resource, Values


class RouterNat(Resource):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        with self.alone(self.path(variables)):
            nats = self._nats(variables)
            if any(one["name"] == inputs["name"] for one in nats):
                raise Refused(f"Unable to create RouterNat, existing object already found: {inputs['name']}")
            self._write(variables, [*nats, self._part(inputs, variables)])
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        variables = self.variables(inputs, ident)
        router = self.rest.find(self.kind.host, self.path(variables))
        for nat in (router or {}).get("nats", ()):
            if nat["name"] == variables["name"]:
                return self.identity(variables), self.properties(nat, variables, inputs) | {"name": nat["name"], "router": variables["router"]}
        return None

    def delete(self, ident: str, state: Values) -> None:
        variables = self.variables(state, ident)
        with self.alone(self.path(variables)):
            self._remove(variables)

    def _remove(self, variables: Mapping[str, str]) -> None:
        router = self.rest.find(self.kind.host, self.path(variables))
        left = [one for one in (router or {}).get("nats", ()) if one["name"] != variables["name"]]
        if router and len(left) < len(router.get("nats", ())):
            self._write(variables, left)

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        part = self._part(inputs, variables)
        with self.alone(self.path(variables)):
            self._write(variables, [part if one["name"] == part["name"] else one for one in self._nats(variables)])

    def _part(self, inputs: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        found = self.body(inputs, variables, effective={})
        if not inputs.get("natIpAllocateOption"):
            found["natIpAllocateOption"] = "MANUAL_ONLY" if inputs.get("natIps") else "AUTO_ONLY"
        return found

    def _nats(self, variables: Mapping[str, str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rest.ask(self.kind.host, "GET", self.path(variables)).get("nats", [])
        return found

    def _write(self, variables: Mapping[str, str], nats: list[dict[str, Any]]) -> None:
        self.rest.change(self.kind.host, "PATCH", self.path(variables), body={"nats": nats})


RESOURCES = {"compute.RouterNat": RouterNat}
