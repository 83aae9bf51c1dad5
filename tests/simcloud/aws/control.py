"""What tests ask of the account behind everyone's back, beyond what they ask of any cloud: instances that fail, keys of roles, capacity, an audit."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from ..core import control
from ..core.failure import Refused
from ..core.store import Thing
from . import audit, facts, instances, temporary
from .cloud import Cloud
from .world import World


def answer(world: World, asked: Mapping[str, Any]) -> Any:
    """Carry out one command, in the account as it is by now."""
    with world.store.lock:
        instances.by_time(world.cloud)
        return control.answer(world, asked, _COMMANDS)


def _audit(world: World, asked: Mapping[str, Any]) -> list[str]:
    return audit.findings(world.cloud)


def _end(world: World, asked: Mapping[str, Any]) -> None:
    """End an instance as a failing machine does."""
    instances.end(world.cloud, control.the_thing(world, asked), reason="Internal error", code="Server.InternalError")


def _interrupt(world: World, asked: Mapping[str, Any]) -> None:
    """Announce that a spot instance ends; it does so when the clock gets there."""
    thing = control.the_thing(world, asked)
    if thing["api"].get("InstanceLifecycle") != "spot":
        raise Refused("InvalidInstanceID", f"{thing.id} is no spot instance")
    world.cloud.note(thing, interruptedAt=world.store.clock.now_s() + asked["within_s"])


def _impair(world: World, asked: Mapping[str, Any]) -> None:
    """Have an instance's status checks fail, or an event announced for it."""
    world.cloud.note(control.the_thing(world, asked), impaired=asked["impaired"], events=asked["events"])


def _keys(world: World, asked: Mapping[str, Any]) -> Mapping[str, str]:
    """Give the keys that an instance's role has there, as the metadata service gives them."""
    thing = control.the_thing(world, asked)
    role = temporary.role_of(world.cloud, thing)
    if role is None:
        raise Refused("NotFound", f"{thing.id} has no role")
    given = temporary.credentials(world.cloud, thing, role)
    return {"aws_access_key_id": given["AccessKeyId"], "aws_secret_access_key": given["SecretAccessKey"], "aws_session_token": given["Token"]}


def _reserve(world: World, asked: Mapping[str, Any]) -> Any:
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
    return control.shown(world, world.store.put(Thing("ec2.CapacityReservation", ident, asked["region"], properties, "hand", now)))


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()


_COMMANDS: Mapping[str, control.Command[Cloud]] = {"audit": _audit, "end": _end, "interrupt": _interrupt, "impair": _impair, "reserve": _reserve, "keys": _keys}
