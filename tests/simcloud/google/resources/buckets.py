"""Cloud Storage: buckets, whose names are everybody's, and objects."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import SERVICE, Thing
from .. import errors, facts, operations, verbs
from ..rules import Call, handles
from . import keys

if TYPE_CHECKING:
    from ..cloud import Cloud

BUCKETS, OBJECTS = "storage.buckets", "storage.objects"
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{1,61}[a-z0-9]")  # Cloud Storage, "Bucket names"
MULTI_REGIONS = ("US", "EU", "ASIA")
CLASSES = ("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")


@handles("storage.buckets.insert")
def insert_bucket(cloud: "Cloud", call: Call) -> Any:
    values = verbs.form(call)
    name = values.get("name", "")
    if not NAME.fullmatch(name) or name.startswith("goog") or "google" in name:
        raise Refused("invalid", f"Invalid bucket name: '{name}'")
    if name in cloud.setting("foreign_buckets", ()):
        raise Refused(
            "conflict",
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.",
            status=409,
        )
    if cloud.store.get(BUCKETS, f"b/{name}"):
        raise Refused("conflict", "Your previous request to create the named bucket succeeded and you already own it.", status=409)
    location = values.get("location", "US").upper()
    if location not in MULTI_REGIONS and location.lower() not in facts.regions():
        raise Refused("invalid", f"The specified location constraint is not valid: {location}")
    if values.get("storageClass", "STANDARD") not in CLASSES:
        raise Refused("invalid", f"Invalid argument: storage class {values['storageClass']}")
    if (values.get("hierarchicalNamespace") or {}).get("enabled") and not ((values.get("iamConfiguration") or {}).get("uniformBucketLevelAccess") or {}).get(
        "enabled"
    ):
        raise Refused("invalid", "Hierarchical namespace buckets must have uniform bucket-level access enabled.")
    verbs.check_labels(values.get("labels"), "labels")
    keys.check(cloud, (values.get("encryption") or {}).get("defaultKmsKeyName", ""), BUCKETS, location.lower(), "encryption.defaultKmsKeyName")
    now = operations.stamp(cloud.store.clock.now_s())
    properties = {
        "storageClass": "STANDARD", "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": False}, "publicAccessPrevention": "inherited"}, **values,
        "kind": "storage#bucket", "id": name, "location": location, "locationType": "multi-region" if location in MULTI_REGIONS else "region", "timeCreated": now, "updated": now,
        "metageneration": "1", "selfLink": f"https://www.googleapis.com/storage/v1/b/{name}", "projectNumber": "123456789012",
    }  # fmt: skip
    return _shown(cloud, cloud.put(Thing(BUCKETS, f"b/{name}", location.lower(), properties, "api", cloud.store.clock.now_s())))


@handles("storage.buckets.get")
def get_bucket(cloud: "Cloud", call: Call) -> Any:
    return _shown(cloud, bucket(cloud, call))


@handles("storage.buckets.list")
def list_buckets(cloud: "Cloud", call: Call) -> Any:
    return {
        "kind": "storage#buckets",
        "items": [_shown(cloud, one) for one in cloud.store.all(BUCKETS) if one["name"].startswith(call.parameters.get("prefix", ""))],
    }


@handles("storage.buckets.patch", "storage.buckets.update")
def change_bucket(cloud: "Cloud", call: Call) -> Any:
    thing = bucket(cloud, call)
    values = verbs.form(call, writing=False)
    for name in ("location", "name", "hierarchicalNamespace"):
        if name in values and str(values[name]).upper() != str(thing.get(name)).upper():
            raise Refused("invalid", f"The field {name} of a bucket can't change.")
    verbs.check_labels({key: value for key, value in (values.get("labels") or {}).items() if value is not None}, "labels")
    merged = verbs.merge(dict(thing.properties), {name: value for name, value in call.body.items() if value is None or name in values})
    changes = {**{name: None for name in thing.properties if name not in merged}, **merged, "metageneration": str(int(thing["metageneration"]) + 1)}
    return _shown(cloud, cloud.note(thing, **changes))


@handles("storage.buckets.delete")
def delete_bucket(cloud: "Cloud", call: Call) -> Any:
    thing = bucket(cloud, call)
    if any(one.id.startswith(f"{thing.id}/o/") for one in cloud.store.all(OBJECTS)):
        raise Refused("conflict", "The bucket you tried to delete is not empty.", status=409)
    cloud.drop("iam.policies", f"storage/{thing.id}")
    cloud.drop(BUCKETS, thing.id)
    return {}


@handles("storage.objects.insert")
def insert_object(cloud: "Cloud", call: Call) -> Any:
    """Put an object; its content is the body's `_content`, as the upload's door hands it on."""
    thing = bucket(cloud, call)
    name = call.parameters.get("name") or call.body.get("name", "")
    if not name:
        raise errors.required("name")
    content = str(call.body.get("_content", ""))
    raw = base64.b64decode(content)
    path = f"{thing.id}/o/{name}"
    former = cloud.store.get(OBJECTS, path)
    wanted = call.parameters.get("ifGenerationMatch")
    if wanted is not None and int(wanted) != int(former["generation"] if former else 0):
        raise Refused("conditionNotMet", "At least one of the pre-conditions you specified did not hold.", status=412)
    properties = {
        "kind": "storage#object", "name": name, "bucket": thing["name"], "id": f"{thing['name']}/{name}", "generation": cloud.new_number(), "size": str(len(raw)),
        "md5Hash": base64.b64encode(hashlib.md5(raw, usedforsecurity=False).digest()).decode(), "updated": operations.stamp(cloud.store.clock.now_s()), "_data": content,
    }  # fmt: skip
    return cloud.show(cloud.put(Thing(OBJECTS, path, thing.region, properties, SERVICE, cloud.store.clock.now_s())))


@handles("storage.objects.get")
def get_object(cloud: "Cloud", call: Call) -> Any:
    found = _object(cloud, call)
    return {"_content": found["_data"]} if call.parameters.get("alt") == "media" else cloud.show(found)


@handles("storage.objects.list")
def list_objects(cloud: "Cloud", call: Call) -> Any:
    thing = bucket(cloud, call)
    found = [one for one in cloud.store.all(OBJECTS) if one.id.startswith(f"{thing.id}/o/{call.parameters.get('prefix', '')}")]
    return {"kind": "storage#objects", "items": [cloud.show(one) for one in found]}


@handles("storage.objects.delete")
def delete_object(cloud: "Cloud", call: Call) -> Any:
    cloud.drop(OBJECTS, _object(cloud, call).id)
    return {}


def bucket(cloud: "Cloud", call: Call) -> Thing:
    name = call.parameters["bucket"]
    if found := cloud.store.get(BUCKETS, f"b/{name}"):
        return found
    if name in cloud.setting("foreign_buckets", ()):
        raise Refused("forbidden", f"The caller does not have storage.buckets.get access to the bucket {name}.", status=403)
    raise Refused("notFound", "The specified bucket does not exist.", status=404)


def _object(cloud: "Cloud", call: Call) -> Thing:
    thing = bucket(cloud, call)
    if found := cloud.store.get(OBJECTS, f"{thing.id}/o/{call.parameters['object']}"):
        return found
    raise Refused("notFound", f"No such object: {thing['name']}/{call.parameters['object']}", status=404)


def _shown(cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
    return {**cloud.show(thing), "etag": verbs.fingerprint(thing["metageneration"])}
