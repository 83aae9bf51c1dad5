"""What the provider does with one kind of resource: a request for each operation, by the table. Rules modules override what their kinds do differently."""

import importlib
import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.failure import NotSimulated
from . import bodies, differences
from .kinds import Kind
from .rest import OperationFailed, RequestFailed, Rest

Values = Mapping[str, Any]
_ALONE: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class Refused(Exception):
    """The provider itself refuses."""


class Resource:
    """One kind, asked for by one program.

    Args:
        settings: the provider's: project, region, zone and labels.
    """

    def __init__(self, kind: Kind, rest: Rest, settings: Values):
        self.kind, self.rest, self.settings = kind, rest, settings

    # The operations

    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        """Make a thing; give its id and properties."""
        variables = self.variables(inputs)
        folder = self.kind.base + re.sub(r"(/\{\w+\})+$", "", self.kind.path).format(**variables)
        query = {self.kind.create: variables[_last(self.kind.path)]} if self.kind.create else {}
        body = self.body(inputs, variables, effective=self.effective(inputs, None))
        self.rest.change(self.kind.host, "POST", folder, query=query, body=body)
        return self._made(inputs, variables)

    def read(self, ident: str, inputs: Values) -> tuple[str, dict[str, Any]] | None:
        """Look at a thing; None when it is gone."""
        variables = self.variables(inputs, ident)
        shown = self.rest.find(self.kind.host, self.path(variables))
        if not shown:
            return None
        return self.identity(variables), self.properties(shown, variables, inputs)

    def update(self, ident: str, olds: Values, inputs: Values, old_inputs: Values) -> tuple[str, dict[str, Any]]:
        """Bring a thing to new inputs, one request for each way in which they change."""
        variables = self.variables(inputs, ident)
        changed = differences.changed(self.kind, olds=olds, news=inputs, old_inputs=old_inputs, labels=self.settings["labels"])
        ways: dict[str, list[str]] = {}
        for name in changed:
            ways.setdefault(self.kind.way("labels" if name == differences.LABELS else name), []).append("labels" if name == differences.LABELS else name)
        for way, names in ways.items():
            if way == "replace":
                raise Refused(f"{', '.join(names)} of {self.kind.name} can't change in place")
            if way != "client":
                self.apply(way, names, inputs, olds, variables)
        return self._made(inputs, variables)

    def delete(self, ident: str, state: Values) -> None:
        """Remove a thing; what is gone is gone."""
        policy = state.get("deletionPolicy")
        if policy == "ABANDON":
            return
        if policy == "PREVENT":
            raise Refused(f'cannot destroy {self.kind.name} without setting deletion_policy="DELETE"')
        try:
            self.rest.change(self.kind.host, "DELETE", self.path(self.variables(state, ident)))
        except RequestFailed as failed:
            if failed.status != 404:
                raise

    def checked(self, inputs: Values) -> Values:
        """Give the inputs that must have a known place in the body."""
        return inputs

    def effective(self, inputs: Values, before: Mapping[str, str] | None) -> dict[str, str]:
        """Give all the labels that the thing shall have; `before` holds those of a thing that exists."""
        return differences.effective_labels(inputs, self.settings["labels"], before=before) if self.kind.is_labelled else {}

    # What kinds do differently

    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        """Give the body of a request."""
        found = bodies.body(self.kind, inputs, variables, only=only)
        if self.kind.is_labelled and effective and (only is None or "labels" in only):
            place = self.kind.shape["labels"][0]
            bodies.put(found, place, dict(effective))
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        """Give the provider's properties of a thing; what the service does not show stays as it was given."""
        found = bodies.properties(self.kind, shown)
        found |= {name: variables[name] for name in ("project", "region", "zone", "location") if name in self.kind.inputs and name in variables}
        found |= {name: variables[_last(self.kind.path)] for name in [_last(self.kind.path)] if name in self.kind.inputs}
        for name, value in (inputs or self.kind.defaults).items():
            if name in self.kind.kept or self.kind.is_client(name):
                found[name] = value
        if self.kind.is_labelled:
            effective = found.get("labels") or {}
            own = {**self.settings["labels"], **(inputs.get("labels") or {})}
            if not inputs:
                own = {name: value for name, value in effective.items() if name not in differences.ATTRIBUTION}
            found["labels"] = {name: effective[name] for name in inputs.get("labels") or own if name in effective}
            found |= {"effectiveLabels": effective, "pulumiLabels": {name: effective[name] for name in [*own, *differences.ATTRIBUTION] if name in effective}}
        return found

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        """Change a thing in one of the ways of data/kinds.yaml.

        Raises:
            NotSimulated: there is no rule for this way.
        """
        path, chosen = self.path(variables), frozenset(names)
        effective = self.effective(inputs, olds.get(differences.LABELS))
        removed = {name: None for name in names if name not in inputs}
        match way:
            case "patch" | "put":
                body = self.body(inputs, variables, effective=effective, only=None if way == "put" else chosen)
                shown = self.rest.ask(self.kind.host, "GET", path)
                if "fingerprint" in shown:
                    body["fingerprint"] = shown["fingerprint"]
                for name in removed:
                    bodies.put(body, self.kind.shape[name][0], None)
                self.rest.change(self.kind.host, "PATCH" if way == "patch" else "PUT", path, body=body)
            case "mask":
                body = self.body(inputs, variables, effective=effective, only=chosen)
                mask = ",".join(sorted({self.kind.shape[name][0].partition(".")[0] for name in names}))
                self.rest.change(self.kind.host, "PATCH", path, query={"updateMask": mask}, body=body)
            case "update":
                paths = [self.kind.shape[name][0] for name in names]
                self.rest.change(self.kind.host, "PATCH", path, query={"paths": paths}, body=self.body(inputs, variables, effective=effective, only=chosen))
            case "setLabels":
                shown = self.rest.ask(self.kind.host, "GET", path)
                self.rest.change(self.kind.host, "POST", f"{path}/setLabels", body={"labels": effective, "labelFingerprint": shown.get("labelFingerprint", "")})
            case "resize":
                self.rest.change(self.kind.host, "POST", f"{path}/resize", body={self.kind.shape["size"][0]: str(inputs["size"])})
            case "expandIpCidrRange" | "setPrivateIpGoogleAccess":
                (name,) = names
                self.rest.change(self.kind.host, "POST", f"{path}/{way}", body={name: inputs.get(name, self.kind.defaults.get(name, False))})
            case "setTarget":
                self.rest.change(self.kind.host, "POST", f"{path}/setTarget", body={"target": inputs["target"]})
            case _:
                raise NotSimulated(f"the change of {', '.join(names)} of {self.kind.name}")

    # Names

    def variables(self, inputs: Values, ident: str = "") -> dict[str, str]:
        """Give what the kind's path is filled with: from the id, from the inputs, or from the provider's settings."""
        found = {name: str(value) for name in ("project", "region", "zone") if (value := self.settings.get(name))}
        if inputs.get("zone") and "{zone}" in self.kind.path:
            found["region"] = str(inputs["zone"]).rpartition("/")[2].rpartition("-")[0]
        for name in re.findall(r"\{(\w+)\}", f"{self.kind.path} {self.kind.id}"):
            if inputs.get(name) is not None:
                found[name] = str(inputs[name]).rpartition("/")[2] if name in ("zone", "region") else str(inputs[name])
        if ident:
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.kind.id or self.kind.path))
            if match := re.fullmatch(pattern, ident):
                found |= match.groupdict()
        return found

    def path(self, variables: Mapping[str, str]) -> str:
        try:
            return self.kind.base + self.kind.path.format(**variables)
        except KeyError as missing:
            raise Refused(f"{missing.args[0]}: required field is not set") from missing

    def identity(self, variables: Mapping[str, str]) -> str:
        return (self.kind.id or self.kind.path).format(**variables)

    def alone(self, path: str) -> threading.Lock:
        """Give the lock under which parts of one thing are read, changed and written back, as the provider does (its mutexKV)."""
        return _ALONE[f"{self.kind.host}{path}"]

    # How the above is done

    def _made(self, inputs: Values, variables: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        ident = self.identity(variables)
        found = self.read(ident, inputs)
        if found is None:
            raise OperationFailed(f"{ident} is gone right after it was written")
        return found


def resource(kind: Kind, rest: Rest, settings: Values) -> Resource:
    """Give what works on a kind."""
    if not kind.rules:
        return Resource(kind, rest, settings)
    module = importlib.import_module(f"{__package__}.{kind.rules}")
    found: Resource = module.RESOURCES[kind.name](kind, rest, settings)
    return found


def _last(path: str) -> str:
    """Name the variable that ends a path."""
    return str(re.findall(r"\{(\w+)\}", path)[-1])
