"""What the engine asks of the provider, on plain values: Pulumi's operations as requests to the REST door."""

import hashlib
from collections.abc import Mapping
from typing import Any

from ..core import typed
from ..core.failure import NotSimulated
from .bridge import bodies, differences, invokes, kinds, plans, words
from .bridge.kinds import Kind
from .bridge.resource import Resource, resource
from .bridge.rest import Rest

DIGITS = 7  # Pulumi's auto-naming
MADE_BY_PROVIDER = "__defaults"
Values = Mapping[str, Any]


def answer(rest: Rest, asked: Values) -> Any:
    """Carry out one request.

    Raises:
        NotSimulated: there is no rule for it.
        RequestFailed, OperationFailed: a service refused.
    """
    operation = asked["operation"]
    if operation == "invoke":
        return invokes.invoke(rest, asked)
    kind = _kind(asked["type"])
    it = resource(kind, rest, asked)
    match operation:
        case "check":
            return _check(it, asked)
        case "planned":
            return {"properties": plans.planned(kind, _declared(asked["inputs"]), asked["olds"])}
        case "first":
            return {"first": _must_go_first(asked["olds"], asked["news"])}
        case "diff":
            found = differences.changed(kind, olds=asked["olds"], news=asked["news"], old_inputs=asked["oldInputs"], labels=asked["labels"])
            return {"changed": found}
        case "create":
            ident, properties = it.create(_declared(asked["inputs"]))
            return {"id": ident, "properties": _shown(kind, properties)}
        case "update":
            ident, properties = it.update(asked["id"], asked["olds"], _declared(asked["inputs"]), asked["oldInputs"])
            return {"id": ident, "properties": _shown(kind, properties)}
        case "read":
            return _read(it, asked)
        case "delete":
            it.delete(asked["id"], asked["inputs"])
            return {}
    raise NotSimulated(f"the operation {operation}")


def _kind(token: str) -> Kind:
    try:
        return kinds.kinds_by_token()[token]
    except KeyError:
        raise NotSimulated(f"the resource type {token}") from None


def _check(it: Resource, asked: Values) -> Any:
    inputs = _filled(it.kind, asked)
    found = list(typed.problems(it.kind.inputs, inputs, objects=kinds.sdk()["objects"]))
    found = found or list(words.problems(it.kind, inputs))
    if not found and it.kind.shape:
        bodies.body(it.kind, it.checked(inputs), it.variables(inputs))
    return {"inputs": inputs, "failures": [{"property": path, "reason": reason} for path, reason in found]}


def _filled(kind: Kind, asked: Values) -> dict[str, Any]:
    """Give the inputs with what the provider adds: a name where the program says none, and the provider's defaults."""
    inputs, name = {field: value for field, value in asked["news"].items() if value is not None}, asked["name"]
    made = []
    if "name" in kind.inputs and not kind.inputs["name"][1] and kind.is_autonamed and inputs.get("name") is None:
        digits = hashlib.sha256(f"{asked['seed']}{name}".encode()).hexdigest()[:DIGITS]
        inputs["name"] = asked["olds"].get("name") or f"{name.lower()}-{digits}"
        made.append("name")
    for field, value in kind.defaults.items():
        if inputs.get(field) is None:
            inputs[field] = value
            made.append(field)
    inputs[MADE_BY_PROVIDER] = sorted(made)
    return inputs


def _must_go_first(olds: Values, news: Values) -> bool:
    """Say whether the old thing must be gone before the new one can be: both would have the same name."""
    return "name" not in news.get(MADE_BY_PROVIDER, ()) and olds.get("name") is not None and olds.get("name") == news.get("name")


def _read(it: Resource, asked: Values) -> Any:
    recorded = asked["inputs"]
    found = it.read(asked["id"], _declared(recorded))
    if found is None:
        return {"id": "", "properties": {}, "inputs": {}}
    ident, properties = found
    shown = _shown(it.kind, properties)
    if recorded:
        inputs = {name: value if name.startswith("__") else _as_declared(it.kind.inputs[name][0], value, shown.get(name)) for name, value in recorded.items()}
        inputs = {name: value for name, value in inputs.items() if value is not None}
    else:
        # An import: all that a program could have said.
        inputs = {name: shown[name] for name in it.kind.inputs if shown.get(name) not in (None, [], {}, "") and shown[name] != it.kind.defaults.get(name)}
    return {"id": ident, "properties": shown, "inputs": inputs}


def _as_declared(form: Any, declared: Any, shown: Any) -> Any:
    """Give what is shown in the form of what was declared: no parts that the service chose, references as they were spelled."""
    fields = kinds.sdk()["objects"].get(form) if isinstance(form, str) else None
    if fields and isinstance(declared, Mapping) and isinstance(shown, Mapping):
        return {name: _as_declared(fields[name][0], value, shown.get(name)) for name, value in declared.items()}
    if isinstance(form, list) and form[0] == "list" and isinstance(declared, list) and isinstance(shown, list) and len(declared) == len(shown):
        if differences.same(form, declared, shown):
            return declared
        return [_as_declared(form[1], mine, theirs) for mine, theirs in zip(declared, shown, strict=True)]
    return declared if differences.same(form, declared, shown) else shown


def _declared(inputs: Values) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if not name.startswith("__")}


def _shown(kind: Kind, properties: Values) -> dict[str, Any]:
    """Give the SDK's properties and no others."""
    return {name: value for name, value in properties.items() if name in kind.outputs and value is not None}
