"""What tests ask of any cloud behind everyone's back: faults, drift, time, counts, lists."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .failure import NotSimulated, Refused
from .faults import Fault
from .server import Cloud, World
from .store import KEPT, SERVICE, Thing

_Cloud = TypeVar("_Cloud", bound=Cloud)
Command = Callable[[World[_Cloud], Mapping[str, Any]], Any]


def answer(world: World[_Cloud], asked: Mapping[str, Any], own: Mapping[str, Command[_Cloud]]) -> Any:
    """Carry out one command; `own` are those of the cloud itself."""
    command: Command[_Cloud] | None = own.get(asked["command"]) or _COMMANDS.get(asked["command"])
    if command is None:
        raise NotSimulated(f"the command {asked['command']}")
    with world.store.lock:
        return command(world, asked)


def _things(world: World[Any], asked: Mapping[str, Any]) -> Any:
    """List what exists; what came with something else (a VPC's default group), or stays of it on purpose (a last snapshot), is only listed when asked for by kind."""
    kind, tags = asked.get("kind"), asked.get("tags") or {}
    found = world.store.all(kind) if kind else (thing for thing in world.store.everything() if thing.door not in (SERVICE, KEPT))
    return [shown(world, thing) for thing in found if tags.items() <= thing.tags.items() and not (thing.get("ended") and not asked.get("ended"))]


def shown(world: World[Any], thing: Thing) -> Mapping[str, Any]:
    """Give a thing as tests see it."""
    taggable = world.cloud.is_tagged(thing.kind)
    return {
        "kind": thing.kind, "id": thing.id, "region": thing.region, "properties": thing.properties, "tags": thing.tags, "door": thing.door, "taggable": taggable,
        "addresses": [interface.address for interface in thing.interfaces if interface.address],
    }  # fmt: skip


def _fault(world: World[Any], asked: Mapping[str, Any]) -> None:
    world.faults.add(Fault(**asked["fault"]))


def _clear(world: World[Any], asked: Mapping[str, Any]) -> None:
    world.faults.clear()


def _reset(world: World[Any], asked: Mapping[str, Any]) -> None:
    world.faults.clear()
    world.faults.calls.clear()
    world.store.reset()


def _count(world: World[Any], asked: Mapping[str, Any]) -> int:
    return world.faults.count(asked["match"])


def _calls(world: World[Any], asked: Mapping[str, Any]) -> Mapping[str, int]:
    return dict(world.faults.calls)


def _set(world: World[Any], asked: Mapping[str, Any]) -> None:
    world.store.set_setting(asked["name"], asked["value"])


def _clock(world: World[Any], asked: Mapping[str, Any]) -> float:
    world.store.set_clock(world.store.clock.offset_s + asked["seconds"])
    return world.store.clock.now_s()


def _drift(world: World[Any], asked: Mapping[str, Any]) -> None:
    """Change properties of a thing as someone else would have, without a rule in between."""
    thing = the_thing(world, asked)
    changed = {**thing.properties, **asked["properties"]}
    if "tags" in asked["properties"]:
        changed["tagsAll"] = asked["properties"]["tags"]
    world.store.put(dataclasses.replace(thing, properties=changed))


def _lose(world: World[Any], asked: Mapping[str, Any]) -> None:
    """Take a thing away, whatever still needs it."""
    world.store.remove(the_thing(world, asked))


def _make(world: World[Any], asked: Mapping[str, Any]) -> Any:
    """Make a thing by the rules that no program declares: what existed before."""
    thing = world.cloud.create(asked["kind"], asked["inputs"], region=asked["region"], door="hand")
    return shown(world, thing)


def _put(world: World[Any], asked: Mapping[str, Any]) -> Any:
    """Put a thing there as it is, past all rules."""
    return shown(world, world.store.put(Thing(asked["kind"], asked["id"], asked["region"], asked["properties"], "hand", world.store.clock.now_s())))


def the_thing(world: World[Any], asked: Mapping[str, Any]) -> Thing:
    """Give the thing that a command names."""
    found = next((thing for thing in world.store.everything() if thing.id == asked["id"] and asked.get("kind") in (None, thing.kind)), None)
    if found is None:
        raise Refused("NotFound", f"there is no {asked['id']}")
    return found


_COMMANDS: Mapping[str, Command[Any]] = {
    "things": _things, "fault": _fault, "clear": _clear, "count": _count, "calls": _calls, "set": _set, "clock": _clock, "drift": _drift, "lose": _lose, "make": _make,
    "put": _put, "reset": _reset,
}  # fmt: skip
