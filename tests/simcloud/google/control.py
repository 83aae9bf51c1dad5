"""What tests ask of the project behind everyone's back, beyond what they ask of any cloud."""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..core import control, server
from ..core.store import KEPT, SERVICE, Thing
from . import audit, happenings, rights
from .cloud import Cloud

World: TypeAlias = server.World[Cloud]


def answer(world: World, asked: Mapping[str, Any]) -> Any:
    """Carry out one command, in the project as it is by now."""
    if asked["command"] == "request":
        return _request(world, asked)  # which waits, if need be, without the lock
    with world.store.lock:
        happenings.by_time(world.cloud)
        found = control.answer(world, asked, _COMMANDS)
        if asked["command"] == "reset":
            world.cloud.load()
        return found


def _things(world: World, asked: Mapping[str, Any]) -> Any:
    """List what exists, with labels as tags; what came with something else is only listed when asked for by kind."""
    kind, labels = asked.get("kind"), asked.get("tags") or {}
    found = world.store.all(kind) if kind else (thing for thing in world.store.everything() if thing.door not in (SERVICE, KEPT))
    return [shown for thing in found if labels.items() <= (shown := _shown(world, thing))["tags"].items()]


def _shown(world: World, thing: Thing) -> dict[str, Any]:
    properties = world.cloud.show(thing)
    nics = [nic["networkIP"] for nic in properties.get("networkInterfaces", ()) if isinstance(nic, Mapping) and nic.get("networkIP")]
    return {
        "kind": thing.kind, "id": thing.id, "region": thing.region, "properties": properties, "tags": properties.get("labels") or {}, "door": thing.door,
        "taggable": world.cloud.is_tagged(thing.kind), "addresses": nics,
    }  # fmt: skip


def _drift(world: World, asked: Mapping[str, Any]) -> None:
    """Change properties of a thing as someone else would have, without a rule in between."""
    world.cloud.note(control.the_thing(world, asked), **asked["properties"])


def _lose(world: World, asked: Mapping[str, Any]) -> None:
    """Take a thing away, whatever still needs it."""
    thing = control.the_thing(world, asked)
    world.cloud.drop(thing.kind, thing.id)


def _put(world: World, asked: Mapping[str, Any]) -> Any:
    """Put a thing there as it is, past all rules."""
    return _shown(world, world.cloud.put(Thing(asked["kind"], asked["id"], asked["region"], asked["properties"], "hand", world.store.clock.now_s())))


def _request(world: World, asked: Mapping[str, Any]) -> Any:
    """Answer a request to the REST door, as the project's owner."""
    found = world.cloud.request(asked["host"], asked["method"], asked["path"], asked.get("query"), asked.get("body"), asked.get("token", ""))
    return dataclasses.asdict(found)


def _preempt(world: World, asked: Mapping[str, Any]) -> None:
    happenings.preempt(world.cloud, control.the_thing(world, asked), within_s=asked["within_s"])


def _fail_host(world: World, asked: Mapping[str, Any]) -> None:
    happenings.fail_host(world.cloud, control.the_thing(world, asked))


def _announce(world: World, asked: Mapping[str, Any]) -> None:
    happenings.announce(world.cloud, control.the_thing(world, asked), **asked["maintenance"])


def _token(world: World, asked: Mapping[str, Any]) -> str:
    """Give a token of a service account, or of an instance's."""
    if "@" in asked["id"]:
        return rights.token_for(world.cloud, asked["id"])
    return rights.token_of(world.cloud, control.the_thing(world, asked))


def _audit(world: World, asked: Mapping[str, Any]) -> list[str]:
    return audit.findings(world.cloud)


_COMMANDS: Mapping[str, control.Command[Cloud]] = {
    "things": _things,
    "drift": _drift,
    "lose": _lose,
    "put": _put,
    "preempt": _preempt,
    "fail_host": _fail_host,
    "announce": _announce,
    "token": _token,
    "audit": _audit,
}
