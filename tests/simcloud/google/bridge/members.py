"""Members of IAM policies: one member of a role, or all of them, in the policy of a project, account, secret, bucket or instance that is read, changed and written back."""

from collections.abc import Mapping, Sequence
from typing import Any

from .resource import Resource, Values
from .rest import RequestFailed

TRIES = 5
CONFLICTS = (409, 412)


class Member(Resource):
    def checked(self, inputs: Values) -> Values:
        return {}

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)

        def add(bindings: list[dict[str, Any]]) -> list[dict[str, Any]]:
            for binding in bindings:
                if _is_of(binding, inputs):
                    binding["members"] = sorted({*binding.get("members", ()), inputs["member"]})
                    return bindings
            condition = {"condition": inputs["condition"]} if inputs.get("condition") else {}
            return [*bindings, {"role": inputs["role"], "members": [inputs["member"]], **condition}]

        self._rewrite(variables, add)
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        variables = self.variables(inputs, ident)
        try:
            policy = self._policy(variables)
        except RequestFailed as failed:
            if failed.status == 404:
                return None
            raise
        if not any(_is_of(binding, inputs) and inputs["member"] in binding.get("members", ()) for binding in policy.get("bindings", ())):
            return None
        known = {name: value for name, value in inputs.items() if name in self.kind.inputs}
        project = {"project": variables["project"]} if "project" in self.kind.inputs else {}
        return self.identity(variables), {**project, **known, "etag": policy.get("etag", "")}

    def delete(self, ident: str, state: Values) -> None:
        def remove(bindings: list[dict[str, Any]]) -> list[dict[str, Any]]:
            for binding in bindings:
                if _is_of(binding, state):
                    binding["members"] = [one for one in binding.get("members", ()) if one != state["member"]]
            return [binding for binding in bindings if binding.get("members")]

        try:
            self._rewrite(self.variables(state, ident), remove)
        except RequestFailed as failed:
            if failed.status != 404:
                raise

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        found = super().variables(inputs, ident)
        if secret := found.get("secretId"):
            parts = secret.split("/")
            found |= {"secretId": parts[-1], **({"project": parts[1]} if len(parts) > 1 else {})}
        if bucket := found.get("bucket"):
            found["bucket"] = bucket.removeprefix("b/")
        return found

    def _rewrite(self, variables: Mapping[str, str], change: Any) -> None:
        with self.alone(self.path(variables)):
            for attempt in range(1, TRIES + 1):
                policy = self._policy(variables)
                wanted = {**policy, "bindings": change([dict(one) for one in policy.get("bindings", ())]), "version": 3}
                try:
                    self._write(variables, wanted)
                except RequestFailed as failed:  # someone else wrote meanwhile
                    if failed.status not in CONFLICTS or attempt == TRIES:
                        raise
                else:
                    return

    def _policy(self, variables: Mapping[str, str]) -> dict[str, Any]:
        path = self.path(variables)
        if self.kind.service == "storage":
            found = self.rest.ask(self.kind.host, "GET", f"{path}/iam", query={"optionsRequestedPolicyVersion": 3})
        elif self.kind.service == "secretmanager":
            found = self.rest.ask(self.kind.host, "GET", f"{path}:getIamPolicy", query={"options.requestedPolicyVersion": 3})
        elif self.kind.service == "cloudresourcemanager":
            found = self.rest.ask(self.kind.host, "POST", f"{path}:getIamPolicy", body={"options": {"requestedPolicyVersion": 3}})
        elif self.kind.service == "compute":
            found = self.rest.ask(self.kind.host, "GET", f"{path}/getIamPolicy", query={"optionsRequestedPolicyVersion": 3})
        else:
            found = self.rest.ask(self.kind.host, "POST", f"{path}:getIamPolicy", query={"options.requestedPolicyVersion": 3})
        policy: dict[str, Any] = found
        return policy

    def _write(self, variables: Mapping[str, str], policy: Mapping[str, Any]) -> None:
        path = self.path(variables)
        if self.kind.service == "storage":
            self.rest.ask(self.kind.host, "PUT", f"{path}/iam", body=policy)
        elif self.kind.service == "compute":
            self.rest.ask(self.kind.host, "POST", f"{path}/setIamPolicy", body={"policy": policy})
        else:
            self.rest.ask(self.kind.host, "POST", f"{path}:setIamPolicy", body={"policy": policy})


class Binding(Member):
    """All members of one role: those that somebody else added are taken away."""

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs)
        self._rewrite(variables, lambda bindings: self._set(bindings, inputs, inputs["members"]))
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        variables = self.variables(inputs, ident)
        try:
            policy = self._policy(variables)
        except RequestFailed as failed:
            if failed.status == 404:
                return None
            raise
        members = next((one.get("members", ()) for one in policy.get("bindings", ()) if _is_of(one, inputs)), ())
        if not members:
            return None
        known = {name: value for name, value in inputs.items() if name in self.kind.inputs}
        return self.identity(variables), {**known, "members": sorted(members), "etag": policy.get("etag", "")}

    def update(self, ident: str, olds: Values, inputs: Values, old_inputs: Values) -> tuple[str, dict[str, Any]]:
        return self.create(inputs)

    def delete(self, ident: str, state: Values) -> None:
        try:
            self._rewrite(self.variables(state, ident), lambda bindings: self._set(bindings, state, ()))
        except RequestFailed as failed:
            if failed.status != 404:
                raise

    @staticmethod
    def _set(bindings: list[dict[str, Any]], inputs: Values, members: Sequence[str]) -> list[dict[str, Any]]:
        others = [one for one in bindings if not _is_of(one, inputs)]
        return [*others, {"role": inputs["role"], "members": sorted(members)}] if members else others


def _is_of(binding: Values, inputs: Values) -> bool:
    return binding.get("role") == inputs["role"] and (binding.get("condition") or None) == (inputs.get("condition") or None)


RESOURCES = {
    **dict.fromkeys(("projects.IAMMember", "serviceaccount.IAMMember", "secretmanager.SecretIamMember", "storage.BucketIAMMember"), Member),
    **dict.fromkeys(("serviceaccount.IAMBinding", "compute.InstanceIAMBinding"), Binding),
}
