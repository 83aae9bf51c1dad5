"""What tests ask of the cloud behind everyone's back: faults, drift, time, counts, lists."""

import dataclasses
import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import audit, facts, instances, temporary
from .failure import NotSimulated, Refused
from .faults import Fault
from .store import KEPT, SERVICE, Thing

if TYPE_CHECKING:
    from .server import World


def answer(world: "World", asked: Mapping[str, Any]) -> Any:
    """Carry out one command."""
    command = _COMMANDS.get(asked["command"])
    if command is None:
        raise NotSimulated(f"the command {asked['command']}")
    with world.store.lock:
        instances.by_time(world.cloud)
        return command(world, asked)


def _things(world: "World", asked: Mapping[str, Any]) -> Any:
    """List what exists; what came with something else (a VPC's default group), or stays of it on purpose (a last snapshot), is only listed when asked for by kind."""
    kind, tags = asked.get("kind"), asked.get("tags") or {}
    found = world.store.all(kind) if kind else (thing for thing in world.store.everything() if thing.door not in (SERVICE, KEPT))
    return [_shown(thing) for thing in found if tags.items() <= thing.tags.items() and not (thing.get("ended") and not asked.get("ended"))]


def _shown(thing: Thing) -> Mapping[str, Any]:
    taggable = facts.kinds()[thing.kind].is_tagged
    return {
        "kind": thing.kind, "id": thing.id, "region": thing.region, "properties": thing.properties, "tags": thing.tags, "door": thing.door, "taggable": taggable,
        "addresses": [interface.address for interface in thing.interfaces if interface.address],
    }  # fmt: skip


def _fault(world: "World", asked: Mapping[str, Any]) -> None:
    world.faults.add(Fault(**asked["fault"]))


def _clear(world: "World", asked: Mapping[str, Any]) -> None:
    world.faults.clear()


def _reset(world: "World", asked: Mapping[str, Any]) -> None:
    world.faults.clear()
    world.faults.calls.clear()
    world.store.reset()


def _count(world: "World", asked: Mapping[str, Any]) -> int:
    return world.faults.count(asked["match"])


def _calls(world: "World", asked: Mapping[str, Any]) -> Mapping[str, int]:
    return dict(world.faults.calls)


def _set(world: "World", asked: Mapping[str, Any]) -> None:
    world.store.set_setting(asked["name"], asked["value"])


def _clock(world: "World", asked: Mapping[str, Any]) -> float:
    world.store.set_clock(world.store.clock.offset_s + asked["seconds"])
    return world.store.clock.now_s()


def _drift(world: "World", asked: Mapping[str, Any]) -> None:
    """Change properties of a thing as someone else would have, without a rule in between."""
    thing = _thing(world, asked)
    changed = {**thing.properties, **asked["properties"]}
    if "tags" in asked["properties"]:
        changed["tagsAll"] = asked["properties"]["tags"]
    world.store.put(dataclasses.replace(thing, properties=changed))


def _lose(world: "World", asked: Mapping[str, Any]) -> None:
    """Take a thing away, whatever still needs it."""
    world.store.remove(_thing(world, asked))


def _make(world: "World", asked: Mapping[str, Any]) -> Any:
    """Make a thing by the rules that no program declares: what existed before."""
    thing = world.cloud.create(asked["kind"], asked["inputs"], region=asked["region"], door="hand")
    return _shown(thing)


def _put(world: "World", asked: Mapping[str, Any]) -> Any:
    """Put a thing there as it is, past all rules."""
    return _shown(world.store.put(Thing(asked["kind"], asked["id"], asked["region"], asked["properties"], "hand", world.store.clock.now_s())))


def _audit(world: "World", asked: Mapping[str, Any]) -> list[str]:
    return audit.findings(world.cloud)


def _end(world: "World", asked: Mapping[str, Any]) -> None:
    """End an instance as a failing machine does."""
    instances.end(world.cloud, _thing(world, asked), reason="Internal error", code="Server.InternalError")


def _interrupt(world: "World", asked: Mapping[str, Any]) -> None:
    """Announce that a spot instance ends; it does so when the clock gets there."""
    thing = _thing(world, asked)
    if thing["api"].get("InstanceLifecycle") != "spot":
        raise Refused("InvalidInstanceID", f"{thing.id} is no spot instance")
    world.cloud.note(thing, interruptedAt=world.store.clock.now_s() + asked["within_s"])


def _impair(world: "World", asked: Mapping[str, Any]) -> None:
    """Have an instance's status checks fail, or an event announced for it."""
    world.cloud.note(_thing(world, asked), impaired=asked["impaired"], events=asked["events"])


def _keys(world: "World", asked: Mapping[str, Any]) -> Mapping[str, str]:
    """Give the keys that an instance's role has there, as the metadata service gives them."""
    thing = _thing(world, asked)
    role = temporary.role_of(world.cloud, thing)
    if role is None:
        raise Refused("NotFound", f"{thing.id} has no role")
    given = temporary.credentials(world.cloud, thing, role)
    return {"aws_access_key_id": given["AccessKeyId"], "aws_secret_access_key": given["SecretAccessKey"], "aws_session_token": given["Token"]}


def _reserve(world: "World", asked: Mapping[str, Any]) -> Any:
    """Put a capacity reservation or a capacity block there, as bought outside of any program; times in seconds from now."""
    now = world.store.clock.now_s()
    properties = {
        "instanceType": asked["machine"], "availabilityZone": asked["zone"], "instanceCount": asked["count"], "instancePlatform": "Linux/UNIX", "tenancy": "default",
        "instanceMatchCriteria": "targeted", "reservationType": asked["kind"], "tags": {}, "tagsAll": {},
        "startDate": _moment(now + asked["starts_in_s"]), "endDate": None if asked["ends_in_s"] is None else _moment(now + asked["ends_in_s"]),
        "endDateType": "unlimited" if asked["ends_in_s"] is None else "limited",
    }  # fmt: skip
    ident = f"cr-{world.store.new_hex()}"
    properties["arn"] = f"arn:aws:ec2:{asked['region']}:{facts.ACCOUNT}:capacity-reservation/{ident}"
    return _shown(world.store.put(Thing("ec2.CapacityReservation", ident, asked["region"], properties, "hand", now)))


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


def _thing(world: "World", asked: Mapping[str, Any]) -> Thing:
    found = next((thing for thing in world.store.everything() if thing.id == asked["id"] and asked.get("kind") in (None, thing.kind)), None)
    if found is None:
        raise Refused("NotFound", f"there is no {asked['id']}")
    return found


_COMMANDS: Mapping[str, Callable[["World", Mapping[str, Any]], Any]] = {
    "things": _things, "fault": _fault, "clear": _clear, "count": _count, "calls": _calls, "set": _set, "clock": _clock, "drift": _drift, "lose": _lose, "make": _make,
    "put": _put, "audit": _audit, "reset": _reset, "end": _end, "interrupt": _interrupt, "impair": _impair, "reserve": _reserve, "keys": _keys,
}  # fmt: skip
