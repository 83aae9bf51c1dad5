"""The engine's record of a stack: what a killed or failed run left in it, and the record repaired. Pure.

Before the engine creates a resource it records that it will (`pending_operations`); afterwards it records the outcome. An engine killed in between leaves a pending operation that says everything about
the resource except whether it exists; some already have its id. A resource that exists is put into the record as the engine would have done. Its outputs are its inputs until the refresh that follows
reads them; the same refresh drops what does not exist.

A provider can fail after it created a resource (the response was lost, a wait timed out) without reporting an id. Then nothing is recorded, and what the next `up` would create may exist already.
"""

import copy
import dataclasses
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.adoption import Certainty, Creation, Trace

Record = Mapping[str, Any]
"""A stack's deployment as the engine exports it."""
_CREATING, _UPDATING = "creating", "updating"
_MAKES = ("create", "create-replacement")
_UNKNOWN, _SECRET = "04da6b54-80e4-46f7-96ec-b56ff0331ba9", "[secret]"
"""What a preview has in place of values (Pulumi's `sdk/go/common/resource/plugin/rpc.go`, UnknownStringValue, and `pkg/display`)."""
_ENGINES_OWN = "pulumi:"


def creations(record: Record) -> tuple[Creation, ...]:
    """List the resources that were being created when the run was killed; components are only recorded."""
    return tuple(Creation(one["urn"], one["type"], one.get("inputs") or {}) for one in _pending(record) if one.get("custom"))


def updates(record: Record) -> tuple[Creation, ...]:
    """List the resources that were being changed when the run was killed, with the inputs that they were to have."""
    return tuple(Creation(one["urn"], one["type"], one.get("inputs") or {}) for one in _pending(record, _UPDATING) if one.get("custom"))


def known_ids(record: Record) -> dict[str, str]:
    """Give the ids that the killed run already knew: URN → id."""
    return {one["urn"]: one["id"] for one in _pending(record) if one.get("id")}


def age_s(record: Record, now: dt.datetime) -> float:
    """Say how long ago the record was written, seconds."""
    return (now - dt.datetime.fromisoformat(record["deployment"]["manifest"]["time"])).total_seconds()


def identities(record: Record, kind: str) -> frozenset[str]:
    """Give the ids that the record has of a kind; resources that are deleted already, to be created again, have none."""
    return frozenset(one["id"] for one in _resources(record) if one["type"] == kind and one.get("id") and not one.get("pendingReplacement"))


def supposed(record: Record, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give the record as if the run had been killed while it created everything that it did not record.

    Args:
        steps: of a preview. Tags identify a resource; of one without tags, every input has to be known.
    """
    planned = [step["newState"] for step in steps if step["op"] in _MAKES and step["newState"].get("custom")]
    told = [{**one, "inputs": {name: value for name, value in (one.get("inputs") or {}).items() if not _holds(value, _UNKNOWN, _SECRET)}} for one in planned]
    traceable = [known for known, one in zip(told, planned, strict=True) if "tags" in known["inputs"] or known["inputs"] == (one.get("inputs") or {})]
    return {**record, "deployment": {**record["deployment"], "pending_operations": [{"type": _CREATING, "resource": one} for one in traceable]}}


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """A resource that stays in its account when the stack is deleted."""

    shown: str
    kind: str
    identity: str
    name: str
    """The target's full name of it (an ARN, or a path that begins with its project); empty: it is a part of another resource."""
    region: str


def kept(record: Record) -> tuple[Kept, ...]:
    """List what stays when the stack is deleted: the engine forgets it and does not delete it."""
    return tuple(
        Kept(Creation(one["urn"], one["type"], {}).shown, one["type"], one["id"], _full_name(one), _region(record, one))
        for one in _resources(record)
        if one.get("retainOnDelete") and one.get("id")
    )


def _full_name(resource: Mapping[str, Any]) -> str:
    identity = str(resource["id"])
    return str((resource.get("outputs") or {}).get("arn") or (identity if identity.startswith("projects/") else ""))


def region(record: Record, creation: Creation) -> str:
    """Give the region of a resource by its provider; empty when it has none."""
    return _region(record, next((one for one in _pending(record) if one["urn"] == creation.urn), {}))


def _region(record: Record, resource: Mapping[str, Any]) -> str:
    own = resource.get("provider", "")
    provider = next((one for one in [*_resources(record), *_pending(record)] if f"{one['urn']}::{one.get('id', '')}" == own), {})
    found: str = (provider.get("inputs") or {}).get("region", "")
    return found


def repaired(record: Record, traces: Mapping[str, Trace]) -> dict[str, Any]:
    """Give the record with everything that exists, and without pending operations.

    Args:
        traces: by URN, what became of each creation, and of changes that may have left more than is recorded.
    """
    components = [(one, ("",)) for one in _pending(record) if not one.get("custom")]
    waiting = [*components, *((one, traces[one["urn"]].identities) for one in _pending(record) if one.get("custom") and traces[one["urn"]].identities)]
    resources = copy.deepcopy(list(_resources(record)))
    while waiting:
        known = {one["urn"] for one in resources if not one.get("delete")}
        ready = [pair for pair in waiting if _needs(pair[0]) <= known]
        if not ready:
            break  # it depends on something that does not exist, so it can't exist either
        for one, found in ready:
            resources = _with(resources, one, found)
        waiting = [pair for pair in waiting if pair not in ready]
    asked = {one.urn: one.inputs for one in updates(record) if one.urn in traces}
    resources = [_half_changed(one, asked[one["urn"]]) if one["urn"] in asked and not one.get("delete") else one for one in resources]
    return {**record, "deployment": {**record["deployment"], "resources": resources, "pending_operations": []}}


def _half_changed(resource: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Give a resource as the provider records one of which an update failed half-way (`components/provider/servicer.py`)."""
    return {**resource, "inputs": dict(inputs), "outputs": {**(resource.get("outputs") or {}), **inputs, "complete": False}}


def lines(pending: Sequence[Creation], traces: Mapping[str, Trace]) -> Iterator[str]:
    """Say in one line for each what happens to it."""
    for one in pending:
        if one.kind.startswith(_ENGINES_OWN):
            continue
        trace = traces[one.urn]
        identity, *others = trace.identities or ("",)
        match trace.certainty:
            case Certainty.FOUND:
                yield f"{one.shown}: it exists ({identity}) and is recorded"
            case Certainty.LIKELY:
                yield f"{one.shown}: it is recorded if the refresh finds it"
            case Certainty.ABSENT:
                yield f"{one.shown}: it was not created"
            case Certainty.AGAIN:
                yield f"{one.shown}: it is created again, which adopts what exists"
        for other in others:
            yield f"{one.shown}: it exists a second time ({other}), which is deleted"


def _with(resources: list[dict[str, Any]], made: Mapping[str, Any], found: Sequence[str]) -> list[dict[str, Any]]:
    """Put a resource into the record: at the place of the one that it replaces, which stays to be deleted unless that was done before; else at the end of what lives."""
    identity, *others = found
    new = _recorded(made, identity)
    former = next((one for one in resources if one["urn"] == new["urn"] and not one.get("delete")), None)
    ended: list[dict[str, Any]] = [{**_recorded(made, other), "delete": True} for other in others]
    if former is None:
        living = [one for one in resources if not one.get("delete")]
        return [*living, new, *ended, *(one for one in resources if one.get("delete"))]
    if not former.get("pendingReplacement"):
        ended.append({**former, "delete": True})
    return [*(new if one is former else one for one in resources), *ended]


def _recorded(made: Mapping[str, Any], identity: str) -> dict[str, Any]:
    """Give a resource as the engine records it once it exists."""
    whole = copy.deepcopy(dict(made))
    return {**whole, **({"id": identity} if identity else {}), "outputs": whole.get("outputs") or whole.get("inputs") or {}}


def _needs(one: Mapping[str, Any]) -> set[str]:
    provider = one.get("provider", "").rpartition("::")[0]
    return {*(one.get("dependencies") or ()), one.get("parent") or "", provider} - {""}


def _holds(value: Any, *words: str) -> bool:
    if isinstance(value, Mapping):
        return any(_holds(one, *words) for one in value.values())
    if isinstance(value, list):
        return any(_holds(one, *words) for one in value)
    return value in words


def _pending(record: Record, kind: str = _CREATING) -> list[Mapping[str, Any]]:
    operations = (record.get("deployment") or {}).get("pending_operations") or []
    return [operation["resource"] for operation in operations if operation["type"] == kind]


def _resources(record: Record) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (record.get("deployment") or {}).get("resources") or []
    return found
