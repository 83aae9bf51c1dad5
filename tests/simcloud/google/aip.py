"""The verbs of services beside Compute Engine: create, get, list, patch under a mask, delete; and their long-running operations."""

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from ..core.store import SERVICE, Thing
from . import discovery, errors, forms, kinds, operations, verbs
from .rules import Call, Handler, Want, rules

if TYPE_CHECKING:
    from .cloud import Cloud

IDENT = re.compile(r"[a-zA-Z0-9_-]{1,255}")


def verb(method: discovery.Method) -> Handler | None:
    """Give what carries out a method of such a kind that is one of these verbs."""
    known = kinds.kinds().get(method.kind)
    if method.document.startswith("compute.") or not (known and known.ident):
        return None
    return _VERBS.get(method.verb)


def create(cloud: "Cloud", call: Call) -> Any:
    kind = kinds.kind(call.method.kind)
    ident = call.parameters.get(kind.ident)
    if not ident:
        raise errors.required(kind.ident)
    if not re.fullmatch(kind.names or IDENT.pattern, ident):
        raise errors.invalid(kind.ident, ident, f"Must be a match of regex '{kind.names or IDENT.pattern}'")
    values = {**kind.defaults, **verbs.form(call)}
    path = f"{call.path}/{ident}"
    if cloud.store.get(kind.name, path):
        raise errors.exists(path)
    verbs.check_labels(values.get("labels"), "labels")
    want = Want(kind.name, path, values, call)
    rules(kind.name).check(cloud, want)
    if failure := rules(kind.name).fails(cloud, want):
        return begin(cloud, call, path, failure=failure)
    now = cloud.store.clock.now_s()
    properties = {**values, "name": path, "createTime": operations.stamp(now), **({"state": "CREATING", "_ready": False} if kind.slow else {})}
    properties |= rules(kind.name).computed(cloud, want)
    parts = path.split("/")
    thing = cloud.put(
        Thing(
            kind.name, path, parts[3] if parts[2] == "locations" else "global", tagged(properties), "api", now, rules(kind.name).interfaces(cloud, properties)
        )
    )
    rules(kind.name).made(cloud, thing)
    if not kind.slow:
        return cloud.show(thing)
    return begin(cloud, call, path, effects=[{"set": [kind.name, path, {"_ready": True, **rules(kind.name).ready(cloud, thing)}]}], gives=[kind.name, path])


def get(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(cloud.need(call.path, call.method.kind))


def list_(cloud: "Cloud", call: Call) -> Any:
    found = sorted((thing for thing in cloud.store.all(call.method.kind) if _under(call.path, thing.id)), key=lambda thing: thing.id)
    start, size = int(call.parameters.get("pageToken") or 0), int(call.parameters.get("pageSize") or 500)
    more = {"nextPageToken": str(start + size)} if len(found) > start + size else {}
    part = [cloud.show(thing) for thing in found[start : start + size]]
    return {**({call.path.rpartition("/")[2]: part} if part else {}), **more}


def patch(cloud: "Cloud", call: Call) -> Any:
    """Change the fields that the mask names.

    Raises:
        Refused: the mask is missing or names what is no field or can't change.
    """
    thing, kind = cloud.need(call.path, call.method.kind), kinds.kind(call.method.kind)
    fields = discovery.schema(call.method.document, call.method.request or "")["properties"]
    values = verbs.form(call, writing=False)
    mask = [_camel(one.strip().partition(".")[0]) for one in call.parameters.get("updateMask", "").split(",") if one.strip()]
    if not mask:
        raise errors.required("updateMask")
    for name in mask:
        if name not in fields:
            raise errors.invalid("updateMask", name, "It is no field.")
        told = fields[name].get("description", "")
        if (forms.is_output(fields[name]) or "Immutable." in told or name in kind.fixed) and values.get(name) != thing.get(name):
            raise errors.invalid("updateMask", name, "The field is immutable.")
    changed = {**{name: value for name, value in thing.properties.items() if name not in mask}, **{name: values[name] for name in mask if name in values}}
    verbs.check_labels(changed.get("labels"), "labels")
    want = Want(kind.name, thing.id, changed, call, former=thing)
    rules(kind.name).check(cloud, want)
    after = cloud.put(dataclasses.replace(thing, properties=tagged({**changed, **rules(kind.name).computed(cloud, want)})))
    rules(kind.name).changed(cloud, after, thing)
    return begin(cloud, call, thing.id, gives=[kind.name, thing.id]) if kind.slow else cloud.show(after)


def delete(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path, call.method.kind)
    rules(thing.kind).check_delete(cloud, thing)
    if not kinds.kind(thing.kind).slow:
        cloud.drop(thing.kind, thing.id)
        return {}
    cloud.note(thing, state="DELETING", _going=True)
    return begin(cloud, call, thing.id, effects=[{"remove": [thing.kind, thing.id]}])


def tagged(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Give a thing's properties under a new etag."""
    return {**properties, "etag": verbs.fingerprint({name: value for name, value in properties.items() if name != "etag" and not name.startswith("_")})}


# Long-running operations


def begin(
    cloud: "Cloud", call: Call, target: str, *, effects: Any = (), failure: operations.Failure | None = None, gives: Any = None, place: str | None = None,
    within_s: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Begin an operation and give it.

    Args:
        gives: [kind, id] of the thing that its response shows; nothing when unset.
        place: what its name begins with (`projects/p/locations/l/operations/`).
    """
    now = cloud.store.clock.now_s()
    service = call.method.id.partition(".")[0]
    where = "/".join(target.split("/")[:4]) + "/operations/" if place is None else place
    name = f"{where}operation-{cloud.new_number()}"
    due = now + (float(cloud.setting("operation_s", 0.0)) if within_s is None else within_s)
    metadata = {"createTime": operations.stamp(now), "target": target, "verb": call.method.verb, "apiVersion": "v1"}
    properties = {
        "name": name, "metadata": metadata, "done": False, "_due": due, "_effects": list(effects), "_gives": gives, "_failure": dataclasses.asdict(failure) if failure else None,
        "_method": call.method.id,
    }  # fmt: skip
    cloud.put(Thing(f"{service}.operations", name, "global", properties, SERVICE, now))
    cloud.pending[name] = f"{service}.operations"
    return operations.shown(properties)


def operation(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(cloud.need(call.path, f"{call.method.id.partition('.')[0]}.operations"))


def not_found(what: str) -> Refused:
    return Refused("notFound", f"Resource '{what}' was not found", status=404)


def _under(collection: str, path: str) -> bool:
    """Say whether a thing lies in a collection; `-` is every place."""
    pattern = re.escape(collection).replace("/\\-/", "/[^/]+/") + "/[^/]+"
    return re.fullmatch(pattern, path) is not None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


_VERBS: Mapping[str, Callable[["Cloud", Call], Any]] = {"create": create, "get": get, "list": list_, "patch": patch, "delete": delete}
