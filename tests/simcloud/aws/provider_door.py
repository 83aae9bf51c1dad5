"""What the provider plugin asks: the operations of Pulumi's protocol on plain values. Waiting for a state is no time here, so a provider's object is ready when it answers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import NotSimulated, Refused
from ..core.store import Thing
from . import facts, invokes, keys, naming

if TYPE_CHECKING:
    from .world import World


def answer(world: "World", asked: Mapping[str, Any]) -> Any:
    """Carry out one request.

    Raises:
        Refused: as the service would.
    """
    refuse_stranger(world, asked["credentials"])
    operation = asked["operation"]
    if operation == "configure":
        return None
    if operation == "invoke":
        return world.call(f"invoke {asked['token']}", asked["arguments"], lambda: invokes.invoke(world.cloud, asked))[0]
    kind = _kind(asked["type"])
    match operation:
        case "check":
            return _check(world, kind, asked)
        case "outputs":
            return {"names": list(kind.outputs)}
        case "first":
            return {"first": naming.must_go_first(kind, asked["olds"], asked["news"])}
        case "diff":
            tags = asked["defaultTags"]
            return {"changed": world.cloud.difference(kind.name, olds=asked["olds"], news=asked["news"], old_inputs=asked["oldInputs"], default_tags=tags)}
        case "create" | "update" | "read" | "delete":
            carry_out = {"create": _create, "update": _update, "read": _read, "delete": _delete}[operation]
            result, faults = world.call(f"{operation} {kind.name}", asked.get("inputs"), lambda: carry_out(world, kind, asked))
            return {**(result or {}), "faults": [{"effect": fault.effect, "after": fault.after, "message": fault.message} for fault in faults]}
    raise NotSimulated(f"the operation {operation}")


def refuse_stranger(world: "World", credentials: Mapping[str, str]) -> None:
    """Refuse credentials that are missing, unknown or expired, in the words of the provider."""
    if not credentials.get("accessKey"):
        raise Refused("NoCredentials", "No valid credential sources found. Please see the provider's documentation on credentials")
    if not keys.is_known(credentials["accessKey"], credentials.get("secretKey", "")):
        raise Refused("InvalidClientTokenId", "The security token included in the request is invalid.")
    if world.store.settings.get("credentials_expired"):
        raise Refused("ExpiredToken", "The security token included in the request is expired")


def _kind(token: str) -> facts.Kind:
    try:
        return facts.kinds_by_token()[token]
    except KeyError:
        raise NotSimulated(f"the resource type {token}") from None


def _check(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Any:
    inputs = naming.named(kind, asked["news"], asked["olds"], name=asked["name"], seed=asked["seed"])
    with world.store.lock:
        failures = world.cloud.check(kind.name, inputs)
    return {"inputs": inputs, "failures": [{"property": path, "reason": reason} for path, reason in failures]}


def _create(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Any:
    thing = world.cloud.create(kind.name, asked["inputs"], region=asked["region"], default_tags=asked["defaultTags"], door="provider")
    return {"id": thing.id, "properties": _shown(world, thing)}


def _update(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Any:
    thing = world.cloud.update(world.cloud.need(kind.name, asked["id"]), asked["inputs"], default_tags=asked["defaultTags"])
    return {"id": thing.id, "properties": _shown(world, thing)}


def _read(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Any:
    thing = _sought(world, kind, asked)
    if thing is None:
        return {"id": "", "properties": {}, "inputs": {}}
    shown = _shown(world, thing)
    recorded = asked["inputs"]
    if recorded:
        inputs = {
            name: value if name.startswith("__") else shown[name] for name, value in recorded.items() if name.startswith("__") or shown.get(name) is not None
        }
        if shown.get("tags") and "tags" not in inputs:
            inputs["tags"] = shown["tags"]
    else:
        # An import: all that a program could have said.
        inputs = {name: shown[name] for name in kind.inputs if shown.get(name) not in (None, [], {}) and shown[name] != kind.defaults.get(name)}
        inputs.pop("region", None)
    return {"id": thing.id, "properties": shown, "inputs": inputs}


def _delete(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Any:
    # What is gone is gone: the provider takes "not found" for done.
    if thing := _sought(world, kind, asked):
        world.cloud.delete(thing)
    return {}


def _sought(world: "World", kind: facts.Kind, asked: Mapping[str, Any]) -> Thing | None:
    """Find what a request is about: by its id, or by its arguments where the provider itself goes by those."""
    # EC2 describes a terminated instance for an hour; the provider takes it for gone (pulumi-aws, aws.ec2.Instance, read).
    if (thing := world.store.get(kind.name, asked["id"])) and not thing.get("ended"):
        return thing
    alike = (one for one in world.store.all(kind.name) if all(one.get(name) == asked["inputs"].get(name) for name in kind.read_by))
    return next(alike, None) if kind.read_by else None


def _shown(world: "World", thing: Thing) -> dict[str, Any]:
    """Give what the provider knows of a thing: the SDK's properties and no others."""
    known = facts.kinds()[thing.kind].outputs
    return {name: value for name, value in world.cloud.read(thing).items() if name in known}
