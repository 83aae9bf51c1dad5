"""Service accounts, roles of a project, versions of secrets and services that are switched on: requests of their own form."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from . import bodies
from .resource import Resource, Values

DESTROYED = "DESTROYED"


class Account(Resource):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        body = {"accountId": inputs["accountId"], "serviceAccount": bodies.body(self.kind, _without(inputs, "disabled"), variables)}
        self.rest.ask(self.kind.host, "POST", f"{self.kind.base}projects/{variables['project']}/serviceAccounts", body=body)
        if inputs.get("disabled"):
            self.rest.ask(self.kind.host, "POST", f"{self.path(variables)}:disable")
        return self._made(inputs, variables)

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        found = super().variables(inputs, ident)
        if "email" not in found and inputs.get("accountId"):
            found["email"] = f"{inputs['accountId']}@{found['project']}.iam.gserviceaccount.com"
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        email = shown["email"]
        return {
            **super().properties(shown, variables, inputs), "accountId": email.partition("@")[0], "email": email, "member": f"serviceAccount:{email}",
            "name": shown["name"], "uniqueId": shown["uniqueId"], "disabled": shown.get("disabled", False),
        }  # fmt: skip

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        path = self.path(variables)
        if "disabled" in names:
            self.rest.ask(self.kind.host, "POST", f"{path}:{'disable' if inputs.get('disabled') else 'enable'}")
        if rest := [name for name in names if name != "disabled"]:
            body = {"serviceAccount": {name: inputs.get(name, "") for name in rest}, "updateMask": ",".join(rest)}
            self.rest.ask(self.kind.host, "PATCH", path, body=body)


class Role(Resource):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        body = {"roleId": inputs["roleId"], "role": bodies.body(self.kind, inputs, variables)}
        self.rest.ask(self.kind.host, "POST", f"{self.kind.base}projects/{variables['project']}/roles", body=body)
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        found = super().read(ident, inputs)
        return None if found and found[1].get("deleted") else found  # a deleted role is shown for seven days

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        return {**super().properties(shown, variables, inputs), "name": shown["name"], "deleted": shown.get("deleted", False)}


class SecretVersion(Resource):
    def checked(self, inputs: Values) -> Values:
        return {}

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        text = inputs.get("secretData") if inputs.get("secretData") is not None else inputs.get("secretDataWo", "")
        payload = text if inputs.get("isSecretDataBase64") else base64.b64encode(str(text).encode()).decode()
        made = self.rest.ask(self.kind.host, "POST", f"{self.kind.base}{inputs['secret']}:addVersion", body={"payload": {"data": payload}})
        if inputs.get("enabled") is False:
            self.rest.ask(self.kind.host, "POST", f"{self.kind.base}{made['name']}:disable", body={})
        found = self.read(made["name"], inputs)
        assert found, made
        return found

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        shown = self.rest.find(self.kind.host, f"{self.kind.base}{ident}")
        if not shown or shown.get("state") == DESTROYED:
            return None
        secret, _, version = shown["name"].rpartition("/versions/")
        properties = {name: value for name, value in inputs.items() if name in self.kind.inputs}
        if shown["state"] == "ENABLED" and inputs.get("secretData") is not None and not inputs.get("isSecretDataBase64"):
            payload = self.rest.ask(self.kind.host, "GET", f"{self.kind.base}{ident}:access")["payload"]["data"]
            properties["secretData"] = base64.b64decode(payload).decode()
        return ident, {
            **properties,
            "secret": inputs.get("secret", secret),
            "name": shown["name"],
            "version": version,
            "enabled": shown["state"] == "ENABLED",
            "createTime": shown.get("createTime", ""),
            "destroyTime": "",
        }

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        self.rest.ask(self.kind.host, "POST", f"{self.kind.base}{olds['name']}:{'enable' if inputs.get('enabled', True) else 'disable'}", body={})

    def delete(self, ident: str, state: Values) -> None:
        policy = state.get("deletionPolicy")
        shown = self.rest.find(self.kind.host, f"{self.kind.base}{ident}")
        if policy == "ABANDON" or not shown or shown.get("state") == DESTROYED:
            return
        self.rest.ask(self.kind.host, "POST", f"{self.kind.base}{ident}:{'disable' if policy == 'DISABLE' else 'destroy'}", body={})

    def identity(self, variables: Mapping[str, str]) -> str:
        return variables["name"]

    def _made(self, inputs: Values, variables: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        found = self.read(variables["name"], inputs)
        assert found, variables
        return found

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        return {**super().variables(inputs, ident), **({"name": ident} if ident else {})}


class Service(Resource):
    def checked(self, inputs: Values) -> Values:
        return {}

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        self.rest.change(self.kind.host, "POST", f"{self.path(variables)}:enable", body={})
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        variables = self.variables(inputs, ident)
        shown = self.rest.find(self.kind.host, self.path(variables))
        if not shown or shown.get("state") != "ENABLED":
            return None
        known = {name: value for name, value in inputs.items() if name in self.kind.inputs}
        return self.identity(variables), {**known, "project": variables["project"], "service": variables["service"]}

    def delete(self, ident: str, state: Values) -> None:
        if state.get("disableOnDestroy"):  # the provider leaves services on since version 6
            body = {"disableDependentServices": bool(state.get("disableDependentServices"))}
            self.rest.change(self.kind.host, "POST", f"{self.path(self.variables(state, ident))}:disable", body=body)


def _without(inputs: Values, *names: str) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name not in names}


RESOURCES = {"serviceaccount.Account": Account, "projects.IAMCustomRole": Role, "secretmanager.SecretVersion": SecretVersion, "projects.Service": Service}
