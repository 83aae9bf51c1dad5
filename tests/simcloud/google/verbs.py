"""The verbs that every kind of Compute Engine has: insert, get, list, aggregatedList, patch, update, delete, setLabels, and the polling of operations."""

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from ..core.store import Thing
from . import discovery, errors, forms, kinds, links, listing, operations
from .rules import Call, Handler, Want, handles, rules

if TYPE_CHECKING:
    from .cloud import Cloud

LABEL_KEY, LABEL_VALUE, LABELS_MOST = re.compile(r"[a-z][a-z0-9_-]{0,62}"), re.compile(r"[a-z0-9_-]{0,63}"), 64  # Labeling resources, "Requirements for labels"
WAIT_MOST_S = 120  # zoneOperations.wait: "waits no more than the 2 minutes"
SERVICE_OWN = ("kind", "id", "selfLink", "creationTimestamp", "fingerprint", "labelFingerprint")


def verb(method: discovery.Method) -> Handler | None:
    """Give what carries out a method of Compute Engine that is one of these verbs."""
    return _VERBS.get(method.verb) if method.document.startswith("compute.") else None


def form(call: Call, *, writing: bool = True) -> dict[str, Any]:
    """Give a call's body by its schema."""
    assert call.method.request, call.method.id
    return forms.clean(call.method.document, call.method.request, call.body, method=call.method.id, writing=writing)


# Making


def insert(cloud: "Cloud", call: Call) -> Any:
    values = form(call)
    return operations.begin(cloud, call, **make(cloud, call, call.method.kind, call.path, values))


def make(cloud: "Cloud", call: Call, kind: str, collection: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Make a thing; give what its operation is about."""
    for names in kinds.kind(kind).required:
        if all(values.get(name) in (None, "", [], {}) for name in names.split("|")):
            raise errors.required(f"resource.{names.split('|')[0]}")
    path = f"{collection}/{values['name']}"
    if cloud.find(path, kind):
        raise errors.exists(path)
    want = wanted(cloud, call, kind, path, values)
    rules(kind).check(cloud, want)
    if failure := rules(kind).fails(cloud, want):
        return {"target": path, "kind": "insert", "failure": failure}
    thing = cloud.put(_thing(cloud, want))
    rules(kind).made(cloud, thing)
    return {"target": path, "kind": "insert", "target_id": thing["id"], "effects": [{"set": [kind, path, {"_ready": True, **rules(kind).ready(cloud, thing)}]}]}


def wanted(cloud: "Cloud", call: Call, kind: str, path: str, values: Mapping[str, Any], former: Thing | None = None) -> Want:
    """Give what a caller wants, with defaults and full references.

    Raises:
        Refused: a reference names nothing, or labels can't be.
    """
    spec = kinds.kind(kind)
    found: dict[str, Any] = {**spec.defaults, **values}
    check_labels(found.get("labels"), "resource.labels")
    for place, allowed in {**spec.holds, **spec.mentions}.items():

        def full(where: str, value: Any, allowed: str = allowed) -> Any:
            thing = cloud.refer(value, allowed, project=path.split("/")[1], field=f"resource.{where}")
            if thing.get("_ready", True) is False:
                raise Refused("resourceNotReady", f"The resource '{thing.id}' is not ready")
            _same_place(path, thing, f"resource.{where}")
            return links.link(thing.id)

        found = links.replaced_at(found, place, full)
    return Want(kind, path, found, call, former)


def _same_place(path: str, named: Thing, field: str) -> None:
    """Refuse a reference into another zone or region."""
    mine, other = path.split("/"), named.id.split("/")
    if other[2] not in ("zones", "regions") or mine[2] not in ("zones", "regions"):
        return
    here, there = (parts[3] if len(parts) > 3 else "" for parts in (mine, other))
    if mine[2] == "zones" and other[2] == "regions":
        here = here.rpartition("-")[0]
    if mine[2] == "regions" and other[2] == "zones":
        there = there.rpartition("-")[0]
    if here != there:
        raise errors.invalid(field, links.link(named.id), f"Cross-{other[2][:-1]} references are not allowed for this resource.")


def check_labels(labels: Any, where: str) -> None:
    """Refuse labels that can't be. Source: Labeling resources, "Requirements for labels"."""
    if len(labels or {}) > LABELS_MOST:
        raise errors.invalid(where, len(labels), f"There can't be more than {LABELS_MOST} labels.")
    for key, value in (labels or {}).items():
        if not LABEL_KEY.fullmatch(key):
            raise errors.invalid(where, key, "Label keys must match the following regular expression: [a-z][a-z0-9_-]{0,62}")
        if not LABEL_VALUE.fullmatch(value):
            raise errors.invalid(f"{where}.{key}", value, "Label values must match the following regular expression: [a-z0-9_-]{0,63}")


def _thing(cloud: "Cloud", want: Want) -> Thing:
    parts = want.path.split("/")
    now = cloud.store.clock.now_s()
    place = parts[2] if parts[2] in ("zones", "regions") else "global"
    properties: dict[str, Any] = {
        **want.values, "id": cloud.new_number(), "kind": f"compute#{_singular(parts[-2])}", "creationTimestamp": operations.stamp(now), "selfLink": links.link(want.path),
        **({place[:-1]: links.link("/".join(parts[:4]))} if place != "global" else {}), "_ready": False,
    }  # fmt: skip
    properties |= rules(want.kind).computed(cloud, want)
    interfaces = rules(want.kind).interfaces(cloud, properties)
    return Thing(want.kind, want.path, parts[3] if place != "global" else "global", locked(want.kind, properties), "api", now, interfaces)


def locked(kind: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Renew the fingerprints of a thing."""
    found = dict(properties)
    method = discovery.method(kind, "insert")
    fields = discovery.schema(method.document, method.request)["properties"] if method and method.request else {}
    content = {name: value for name, value in found.items() if name not in SERVICE_OWN and not name.startswith("_")}
    if "fingerprint" in fields:
        found["fingerprint"] = fingerprint(content)
    if "labelFingerprint" in fields:
        found["labelFingerprint"] = fingerprint(found.get("labels", {}))
    for name in ("metadata", "tags"):
        if name in fields:
            value = {key: one for key, one in found.get(name, {}).items() if key not in ("fingerprint", "kind")}
            found[name] = {**value, "fingerprint": fingerprint(value)}
    return found


def fingerprint(value: Any) -> str:
    """Give the hash that locks contents."""
    return base64.b64encode(hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:8]).decode()


def check_fingerprint(given: Any, current: str, *, needed: bool) -> None:
    """Refuse a change of contents that its caller has not seen."""
    if given in (None, "") and not needed:
        return
    if given != current:
        raise Refused("conditionNotMet", "Supplied fingerprint does not match current metadata fingerprint.", status=412)


# Looking


def get(cloud: "Cloud", call: Call) -> Any:
    return listing.masked(cloud.show(cloud.need(call.path, call.method.kind)), call.parameters.get("fields"))


def list_(cloud: "Cloud", call: Call) -> Any:
    shown = (cloud.show(thing) for thing in cloud.all(call.method.kind, under=call.path + "/"))
    found = listing.page(shown, call.parameters)
    answer = {"kind": f"compute#{call.path.rpartition('/')[2][:-1]}List", "id": call.path, "selfLink": links.link(call.path), **found}
    return listing.masked(answer, call.parameters.get("fields"))


def aggregated_list(cloud: "Cloud", call: Call) -> Any:
    """List over all places; places without things come with a warning, as they do."""
    head, _, collection = call.path.partition("/aggregated/")
    things = (thing for kind in discovery.kinds_in(collection) for thing in cloud.all(kind, under=head + "/"))
    items = [{"_place": "/".join(thing.id.split("/")[2:-2]), **cloud.show(thing)} for thing in things]
    found = listing.page(iter(items), call.parameters)
    places: dict[str, Any] = {}
    for item in found.pop("items", []):
        places.setdefault(item.pop("_place"), {collection: []})[collection].append(item)
    for zone in () if call.parameters.get("filter") or call.parameters.get("returnPartialSuccess") else cloud.all("compute.zones"):
        warning = {
            "code": "NO_RESULTS_ON_PAGE",
            "message": f"There are no results for scope 'zones/{zone['name']}' on this page.",
            "data": [{"key": "scope", "value": f"zones/{zone['name']}"}],
        }
        places.setdefault(f"zones/{zone['name']}", {"warning": warning})
    answer = {"kind": f"compute#{_singular(collection)}AggregatedList", "id": call.path, "items": places, "selfLink": links.link(call.path), **found}
    return listing.masked(answer, call.parameters.get("fields"))


# Changing


def change(cloud: "Cloud", call: Call) -> Any:
    """Patch or update: PATCH merges, PUT replaces."""
    thing = cloud.need(call.path, call.method.kind)
    values = form(call, writing=call.method.http == "PUT")
    fields = discovery.schema(call.method.document, call.method.request or "")["properties"]
    _check_fingerprint_of(thing, values, fields)
    return operations.begin(cloud, call, **changed(cloud, call, thing, _merged(call, thing, values, fields)))


def changed(cloud: "Cloud", call: Call, thing: Thing, values: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a thing to new values; give what the operation is about.

    Raises:
        Refused: a field can't change, and whatever the rules of the kind refuse.
    """
    want = wanted(cloud, call, thing.kind, thing.id, values, former=thing)
    allowed = kinds.kind(thing.kind).changes
    for name in sorted(want.values.keys() | thing.properties.keys()):
        differs = not name.startswith("_") and name not in SERVICE_OWN and not _same(want.values.get(name), thing.properties.get(name))
        if differs and (name == "name" or (allowed is not None and name not in allowed)):
            raise errors.invalid(f"resource.{name}", want.values.get(name), "The field is immutable.")
    rules(thing.kind).check(cloud, want)
    kept = {name: value for name, value in thing.properties.items() if name in SERVICE_OWN or name.startswith("_")}
    properties = locked(thing.kind, {**kept, **want.values, **rules(thing.kind).computed(cloud, want)})
    after = cloud.put(dataclasses.replace(thing, properties=properties))
    rules(thing.kind).changed(cloud, after, thing)
    return {"target": thing.id, "kind": call.method.verb, "target_id": thing["id"]}


def _merged(call: Call, thing: Thing, values: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give a thing's values after a PATCH or a PUT; null in a PATCH takes a field away."""
    former = {name: value for name, value in thing.properties.items() if not name.startswith("_")}
    outputs = {name: value for name, value in former.items() if name not in fields or forms.is_output(fields[name]) or name in SERVICE_OWN}
    if call.method.http == "PUT":
        return {**outputs, **values}
    merged = merge(former, call.body)
    return {**outputs, **forms.clean(call.method.document, call.method.request or "", merged, method=call.method.id, writing=False)}


def merge(former: Any, patch: Any) -> Any:
    """Merge as RFC 7386 does."""
    if not isinstance(patch, Mapping) or not isinstance(former, Mapping):
        return patch
    found = dict(former)
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merge(found.get(name, {}), value) if isinstance(value, Mapping) else value
    return found


def _check_fingerprint_of(thing: Thing, values: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    if "fingerprint" in fields and "fingerprint" in thing.properties:
        told = fields["fingerprint"].get("description", "").replace("\n", " ")
        needed = bool(re.search(r"must (always )?(be )?provided?", told)) and "may be used" not in told
        check_fingerprint(values.get("fingerprint"), thing["fingerprint"], needed=needed)


def set_labels(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path.rpartition("/")[0], call.method.kind)
    values = form(call)
    check_fingerprint(values.get("labelFingerprint"), thing["labelFingerprint"], needed=True)
    check_labels(values.get("labels"), "labels")
    cloud.put(dataclasses.replace(thing, properties=locked(thing.kind, {**thing.properties, "labels": values.get("labels", {})})))
    return operations.begin(cloud, call, thing.id, "setLabels", target_id=thing["id"])


def delete(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path, call.method.kind)
    remove(cloud, thing)
    return operations.begin(cloud, call, thing.id, "delete", target_id=thing["id"], effects=[{"remove": [thing.kind, thing.id]}])


def remove(cloud: "Cloud", thing: Thing) -> None:
    """Refuse to delete what is needed."""
    rules(thing.kind).check_delete(cloud, thing)
    if users := [user for user in cloud.users(thing.id) if not user.get("_going")]:
        raise errors.in_use(_singular(thing.id.split("/")[-2]), thing.id, users[0].id)
    if thing.kind in kinds.kinds():
        cloud.note(thing, _going=True)


# Operations


@handles("compute.zoneOperations.wait", "compute.regionOperations.wait", "compute.globalOperations.wait")
def wait(cloud: "Cloud", call: Call) -> Any:
    """Give an operation when it is done, or after two minutes."""
    path = call.path.removesuffix("/wait")
    thing = cloud.need(path, call.method.kind)
    rest = thing["_due"] - cloud.store.clock.now_s()
    if thing["status"] != "DONE" and rest > 0:
        raise Waiting(rest, thing.properties)
    return cloud.show(thing)


class Waiting(Exception):
    """The answer comes later; the door waits without the lock."""

    def __init__(self, seconds: float, operation: Mapping[str, Any]):
        super().__init__(seconds)
        self.seconds, self.operation = seconds, operation


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one in (None, "", [], {}) and other in (None, "", [], {}))


def _singular(collection: str) -> str:
    if collection.endswith("ies"):
        return collection[:-3] + "y"
    return collection[:-2] if collection.endswith("ses") else collection[:-1]


_VERBS: Mapping[str, Callable[["Cloud", Call], Any]] = {
    "insert": insert, "get": get, "list": list_, "aggregatedList": aggregated_list, "patch": change, "update": change, "delete": delete, "setLabels": set_labels,
}  # fmt: skip
