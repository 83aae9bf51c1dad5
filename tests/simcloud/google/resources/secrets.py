"""Secret Manager: versions, of which the newest is `latest`."""

import base64
import binascii
import dataclasses
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import errors, operations, verbs
from ..rules import Call, Rules, Want, handles, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

SECRETS, VERSIONS = "secretmanager.secrets", "secretmanager.secrets.versions"
PAYLOAD_MOST = 64 * 1024  # Secret Manager quotas, "Secret payload size"


@rules_of(SECRETS)
class Secrets(Rules):
    """Secrets say where they are kept."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        if want.former is None and not isinstance(want.call.body.get("replication"), dict):
            raise errors.required("secret.replication")
        if len(want.get("replication") or {}) > 1:
            raise errors.invalid("secret.replication", "", "It is either automatic or user-managed.")

    def deleted(self, cloud: "Cloud", thing: Thing) -> None:
        for version in list(cloud.store.all(VERSIONS)):
            if version.id.startswith(f"{thing.id}/versions/"):
                cloud.drop(VERSIONS, version.id)


@handles("secretmanager.projects.secrets.addVersion")
def add_version(cloud: "Cloud", call: Call) -> Any:
    secret = cloud.need(call.path.removesuffix(":addVersion"), SECRETS)
    values = verbs.form(call).get("payload") or {}
    if "data" not in values:
        raise errors.required("payload.data")
    try:
        content = base64.b64decode(values["data"], validate=True)
    except binascii.Error:
        raise errors.invalid("payload.data", "", "Base64 decoding failed.") from None
    if len(content) > PAYLOAD_MOST:
        raise errors.invalid("payload.data", len(content), f"The payload is larger than {PAYLOAD_MOST} bytes.")
    number = 1 + int(secret.get("_versions", 0))
    cloud.note(secret, _versions=number)
    path = f"{secret.id}/versions/{number}"
    now = cloud.store.clock.now_s()
    properties = {"name": path, "createTime": operations.stamp(now), "state": "ENABLED", "etag": verbs.fingerprint([path, number]), "_data": values["data"]}
    return cloud.show(cloud.put(Thing(VERSIONS, path, "global", properties, "service", now)))


@handles("secretmanager.projects.secrets.versions.get")
def get_version(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(_version(cloud, call.path))


@handles("secretmanager.projects.secrets.versions.access")
def access(cloud: "Cloud", call: Call) -> Any:
    found = _version(cloud, call.path.removesuffix(":access"))
    if found["state"] != "ENABLED":
        raise Refused("failedPrecondition", f"Secret Version [{found.id}] is in {found['state']} state.")
    return {"name": found.id, "payload": {"data": found["_data"], "dataCrc32c": str(binascii.crc32(found["_data"].encode()))}}


@handles("secretmanager.projects.secrets.versions.list")
def versions(cloud: "Cloud", call: Call) -> Any:
    found = [cloud.show(one) for one in cloud.store.all(VERSIONS) if one.id.startswith(call.path + "/")]
    return {"versions": found[::-1], "totalSize": len(found)} if found else {}


@handles("secretmanager.projects.secrets.versions.destroy", "secretmanager.projects.secrets.versions.disable", "secretmanager.projects.secrets.versions.enable")
def set_state(cloud: "Cloud", call: Call) -> Any:
    path, _, what = call.path.partition(":")
    found = _version(cloud, path)
    if found["state"] == "DESTROYED":
        raise Refused("failedPrecondition", f"Secret Version [{found.id}] is destroyed.")
    state = {"destroy": "DESTROYED", "disable": "DISABLED", "enable": "ENABLED"}[what]
    kept = {name: value for name, value in found.properties.items() if what != "destroy" or name != "_data"}
    return cloud.show(cloud.put(dataclasses.replace(found, properties={**kept, "state": state})))


def _version(cloud: "Cloud", path: str) -> Thing:
    secret, _, number = path.partition("/versions/")
    known = [one for one in cloud.store.all(VERSIONS) if one.id.startswith(f"{secret}/versions/")] if number == "latest" else []
    # The most recently created one (versions.access, parameter `name`), whatever its state is.
    return max(known, key=lambda one: int(one.id.rpartition("/")[2])) if known else cloud.need(path, VERSIONS)
