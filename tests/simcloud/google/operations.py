"""Operations of Compute Engine: each change answers with one, RUNNING at first; what it brings about takes place when it is done, and callers see that by polling."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..core.store import SERVICE, Thing
from .links import BASE, link

if TYPE_CHECKING:
    from .cloud import Cloud

KINDS = ("compute.zoneOperations", "compute.regionOperations", "compute.globalOperations")
HIDDEN = "_"  # properties with names that begin so are the simulation's own


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """Why an operation failed, which its caller learns by polling."""

    code: str
    message: str
    http: int = 400
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    errors: Sequence[Mapping[str, Any]] = ()
    """All of them, where there are several."""


def stamp(seconds: float) -> str:
    """Write a time as Compute Engine does."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "-00:00")


def begin(
    cloud: "Cloud", call: Any, target: str, kind: str, *, effects: Sequence[Mapping[str, Any]] = (), failure: Failure | None = None, within_s: float | None = None,
    more: Mapping[str, Any] | None = None, target_id: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Begin an operation and give it.

    Args:
        target: path of what it changes.
        kind: `insert`, `delete`, `compute.instances.setLabels`, …
        effects: what takes place at its end: {"remove": [kind, id]} or {"set": [kind, id, properties]}.
        within_s: how long it takes; the setting `operation_s` when unset.
    """
    store = cloud.store
    now = store.clock.now_s()
    parts = target.split("/")
    place = "/".join(parts[:4] if parts[2] in ("zones", "regions") else parts[:3])
    number = cloud.new_number()
    name = f"operation-{number}"
    path = f"{place}/operations/{name}"
    due = now + (float(store.settings.get("operation_s", 0.0)) if within_s is None else within_s)
    properties: dict[str, Any] = {
        "kind": "compute#operation", "id": number, "name": name, "operationType": kind, "targetLink": link(target), "targetId": target_id or number, "status": "RUNNING",
        "user": call.caller.partition(":")[2] or "owner@example.com", "progress": 0, "insertTime": stamp(now), "startTime": stamp(now), "selfLink": link(path),
        **({parts[2][:-1]: BASE + "/".join(parts[:4])} if parts[2] in ("zones", "regions") else {}),
        **({"clientOperationId": call.parameters["requestId"]} if call.parameters.get("requestId") else {}),
        **(more or {}),
        "_due": due, "_effects": list(effects), "_failure": dataclasses.asdict(failure) if failure else None, "_method": call.method.id,
    }  # fmt: skip
    scope = {"zones": 0, "regions": 1}.get(parts[2], 2)
    store.put(Thing(KINDS[scope], path, parts[3] if scope < 2 else "global", properties, SERVICE, now))
    cloud.pending[path] = KINDS[scope]
    return shown(properties)


def shown(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if not name.startswith(HIDDEN)}


def settle(cloud: "Cloud") -> None:
    """Bring about what the operations that are done by now bring."""
    now = cloud.store.clock.now_s()
    due = [(thing["_due"], thing) for path, kind in cloud.pending.items() if (thing := cloud.store.get(kind, path)) and thing["_due"] <= now]
    for _, thing in sorted(due, key=lambda one: one[0]):
        del cloud.pending[thing.id]
        finish(cloud, thing)


def is_done(thing: Thing) -> bool:
    return thing.get("status") == "DONE" or bool(thing.get("done"))


def finish(cloud: "Cloud", thing: Thing) -> None:
    for effect in thing["_effects"]:
        for what, value in effect.items():
            if what == "remove":
                cloud.drop(value[0], value[1])
            elif found := cloud.store.get(value[0], value[1]):
                cloud.note(found, **value[2])
    if "done" in thing.properties:
        _finish_long(cloud, thing)
        return
    ended: dict[str, Any] = {**thing.properties, "status": "DONE", "progress": 100, "endTime": stamp(thing["_due"])}
    if failure := thing["_failure"]:
        ended["error"] = {"errors": [*failure["errors"]] or [{"code": failure["code"], "message": failure["message"], **failure["details"]}]}
        ended |= {"httpErrorStatusCode": failure["http"], "httpErrorMessage": failure["code"]}
    cloud.store.put(dataclasses.replace(thing, properties=ended))


def _finish_long(cloud: "Cloud", thing: Thing) -> None:
    """End an operation of a service beside Compute Engine: it holds a response or an error."""
    found = cloud.store.get(*thing["_gives"]) if thing.get("_gives") else None
    failure = thing["_failure"]
    error = (
        {"error": {"code": 8 if failure["http"] == 429 else 9, "message": failure["message"]}} if failure else {"response": cloud.show(found) if found else {}}
    )
    metadata = {**thing["metadata"], "endTime": stamp(thing["_due"])}
    cloud.store.put(dataclasses.replace(thing, properties={**thing.properties, "done": True, "metadata": metadata, **error}))
