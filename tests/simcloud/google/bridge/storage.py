"""Buckets and databases."""

from collections.abc import Mapping, Sequence
from typing import Any

from .resource import Refused, Resource, Values


class Bucket(Resource):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        body = self.body(inputs, variables, effective=self.effective(inputs, None))
        self.rest.ask(self.kind.host, "POST", f"{self.kind.base}b", query={"project": variables["project"]}, body=body)
        return self._made(inputs, variables)

    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(inputs, variables, effective=effective, only=only)
        if "location" in found:
            found["location"] = str(found["location"]).upper()
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        found = super().properties(shown, variables, inputs)
        if str(inputs.get("location", "")).upper() == shown.get("location"):
            found["location"] = inputs["location"]
        return {**found, "name": shown["name"], "url": f"gs://{shown['name']}"}

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        body = self.body(inputs, variables, effective=self.effective(inputs, olds.get("effectiveLabels") or {}), only=frozenset(names))
        if "labels" in names:  # a patch leaves what it does not name
            body["labels"] = {**dict.fromkeys(olds.get("effectiveLabels") or {}), **body.get("labels", {})}
        body |= {self.kind.shape[name][0].partition(".")[0]: None for name in names if name not in inputs and name != "labels"}
        self.rest.ask(self.kind.host, "PATCH", self.path(variables), body=body)

    def delete(self, ident: str, state: Values) -> None:
        path = self.path(self.variables(state, ident))
        if state.get("forceDestroy") and self.rest.find(self.kind.host, path):
            for one in self.rest.ask(self.kind.host, "GET", f"{path}/o", query={"versions": "true"}).get("items", ()):
                self.rest.ask(self.kind.host, "DELETE", f"{path}/o/{one['name']}")
        super().delete(ident, state)


class Database(Resource):
    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(inputs, variables, effective=effective, only=only)
        found.setdefault("region", variables.get("region"))
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        addresses = shown.get("ipAddresses") or []
        found = super().properties(shown, variables, inputs)
        for name, kind in (("publicIpAddress", "PRIMARY"), ("privateIpAddress", "PRIVATE")):
            found[name] = next((one["ipAddress"] for one in addresses if one.get("type") == kind), None)
        found["firstIpAddress"] = addresses[0]["ipAddress"] if addresses else None
        found["ipAddresses"] = [{"ipAddress": one["ipAddress"], "type": one.get("type"), "timeToRetire": one.get("timeToRetire", "")} for one in addresses]
        if authority := shown.get("serverCaCert"):
            found["serverCaCerts"] = [{name: authority.get(name, "") for name in ("cert", "commonName", "createTime", "expirationTime", "sha1Fingerprint")}]
        return found

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        shown = self.rest.ask(self.kind.host, "GET", self.path(variables))
        body = self.body(inputs, variables, effective={})
        body.setdefault("settings", {})["settingsVersion"] = (shown.get("settings") or {}).get("settingsVersion", "1")
        self.rest.change(self.kind.host, "PUT", self.path(variables), body=body)

    def delete(self, ident: str, state: Values) -> None:
        if state.get("deletionProtection"):
            raise Refused("Error, failed to delete instance because deletion_protection is set to true. Set it to false to proceed with instance deletion.")
        super().delete(ident, state)


class User(Resource):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        self.rest.change(self.kind.host, "POST", self.path(variables), body=self.body(inputs, variables, effective={}))
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        variables = self.variables(inputs, ident)
        listed = self.rest.find(self.kind.host, self.path(variables))
        for one in (listed or {}).get("items", ()):
            if one["name"] == inputs["name"] and one.get("host", "") == inputs.get("host", ""):
                known = {name: value for name, value in inputs.items() if name in self.kind.inputs}
                return self.identity(variables), {**known, "project": variables["project"], "instance": variables["instance"], "host": one.get("host", "")}
        return None

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        return {"host": "", **super().variables(inputs, ident)}

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        query = {"name": inputs["name"], "host": inputs.get("host", "")}
        self.rest.change(self.kind.host, "PUT", self.path(variables), query=query, body=self.body(inputs, variables, effective={}))

    def delete(self, ident: str, state: Values) -> None:
        if self.read(ident, state):
            query = {"name": state["name"], "host": state.get("host", "")}
            self.rest.change(self.kind.host, "DELETE", self.path(self.variables(state, ident)), query=query)


RESOURCES = {"storage.Bucket": Bucket, "sql.DatabaseInstance": Database, "sql.User": User}
