"""Who calls, and what he may do: tokens, roles, policies of the project and of single things, conditions."""

import fnmatch
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..core.failure import Refused
from ..core.store import SERVICE, Thing
from . import conditions, kinds, links, shared_vpc
from .rules import Call

if TYPE_CHECKING:
    from .cloud import Cloud

OWNER = "user:owner@example.com"
TOKENS = "tokens"
TOKEN_S = 3600
PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
VERBS = {"insert": "create", "patch": "update", "aggregatedList": "list"}
TYPES = {"instances": "compute.googleapis.com/Instance", "disks": "compute.googleapis.com/Disk", "secrets": "secretmanager.googleapis.com/Secret"}


def caller(cloud: "Cloud", token: str) -> str:
    """Give the member whose token it is; "" is the owner's.

    Raises:
        Refused: nobody has it, or it has expired.
    """
    if not cloud.setting("credentials_expired"):
        if not token:
            return OWNER
        found = cloud.store.get(TOKENS, token)
        if found and found.made_s + TOKEN_S > cloud.store.clock.now_s():
            if PLATFORM not in found["scopes"]:
                raise Refused("insufficientPermissions", "Request had insufficient authentication scopes.", status=403)
            return f"serviceAccount:{found['email']}"
    message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."
    raise Refused("authError", message, status=401)


def token_for(cloud: "Cloud", email: str, scopes: list[str] | None = None) -> str:
    """Give a token of a service account, as its metadata server would."""
    token = f"ya29.{cloud.store.new_hex(32)}"
    cloud.put(Thing(TOKENS, token, "global", {"email": email, "scopes": scopes or [PLATFORM]}, SERVICE, cloud.store.clock.now_s()))
    return token


def token_of(cloud: "Cloud", instance: Thing) -> str:
    """Give a token of an instance's service account.

    Raises:
        Refused: it has none.
    """
    for account in instance.get("serviceAccounts", ()):
        return token_for(cloud, account["email"], account["scopes"])
    raise Refused("notFound", f"{instance.id} has no service account", status=404)


def check(cloud: "Cloud", call: Call) -> None:
    """Refuse what the caller may not do, by the method's own permissions; what else a body needs, its rules say with `need`."""
    shared_vpc.check(cloud, call, call.caller or OWNER)
    if is_trusted(call.caller):
        return
    for permission in permissions(call):
        need(cloud, call, permission, call.path)


def permissions(call: Call) -> list[str]:
    """Give the permissions that a method needs."""
    read: Mapping[str, Any] = kinds.load("permissions")
    if call.method.id in read["methods"]:
        found: list[str] = read["methods"][call.method.id]
        return found
    kind = read["same"].get(call.method.kind, call.method.kind)
    return [f"{kind}.{VERBS.get(call.method.verb, call.method.verb)}"]


def check_launch(cloud: "Cloud", call: Call, values: Mapping[str, Any], path: str) -> None:
    """Refuse a launch whose caller lacks what its fields need beside the right to create instances."""
    shared_vpc.check_use(cloud, values, call.caller or OWNER)
    if is_trusted(call.caller):
        return
    need(cloud, call, "compute.instances.create", path)
    for field, permission in kinds.load("permissions")["launch"].items():
        if any(value not in (None, "", [], {}) for _, value in links.values_at(dict(values), field)):
            is_of_instance = permission.startswith("compute.instances.") and permission != "compute.instances.setMetadata"
            need(cloud, call, permission, path if is_of_instance else f"projects/{cloud.project}")
    for place, image in links.values_at(dict(values), "disks[].initializeParams.sourceImage"):
        if f"projects/{cloud.project}/" in image:
            need(cloud, call, "compute.images.useReadOnly", image.removeprefix(links.BASE), where=place)
    for account in values.get("serviceAccounts", ()):
        need(cloud, call, "iam.serviceAccounts.actAs", f"projects/{cloud.project}/serviceAccounts/{account['email']}")


def need(cloud: "Cloud", call: Call, permission: str, path: str, *, where: str = "") -> None:
    """Refuse a caller without a permission."""
    if not is_trusted(call.caller) and not may(cloud, call.caller, permission, path):
        raise Refused("forbidden", f"Required '{permission}' permission for '{path}'", status=403)


def is_trusted(member: str) -> bool:
    """Say whether a call is the owner's, or the cloud's own."""
    return member in ("", OWNER)


def may(cloud: "Cloud", member: str, permission: str, path: str) -> bool:
    """Say whether a member has a permission on a thing, by the project's policy or the thing's own."""
    if is_trusted(member):
        return True
    return any(member in binding["members"] and _grants(cloud, binding["role"], permission) and _applies(binding, path) for binding in _bindings(cloud, path))


def _bindings(cloud: "Cloud", path: str) -> Iterator[Mapping[str, Any]]:
    """Give what the policies of a thing, of what it lies in, and of its project say."""
    resources = [f"cloudresourcemanager/{cloud.project}"]
    plain = path.partition(":")[0].partition("/versions/")[0].partition("/o/")[0]
    resources += [f"{service}/{plain}" for service in ("iam", "secretmanager", "storage", "compute")]
    for resource in resources:
        found = cloud.store.get("iam.policies", resource)
        yield from found["bindings"] if found else ()


def _grants(cloud: "Cloud", role: str, permission: str) -> bool:
    custom = cloud.store.get("iam.roles", role)
    if custom:
        return not custom.get("deleted") and permission in custom.get("includedPermissions", ())
    return any(fnmatch.fnmatchcase(permission, one) for one in kinds.load("permissions")["roles"].get(role, ()))


def _applies(binding: Mapping[str, Any], path: str) -> bool:
    condition = binding.get("condition")
    return condition is None or conditions.holds(condition["expression"], attributes(path))


def attributes(path: str) -> dict[str, str]:
    """Give what a condition can read of a thing."""
    words = path.split("/")
    kind = next((TYPES[word] for word in reversed(words[:-1] or [""]) if word in TYPES), "")
    return {"resource.name": path, "resource.type": kind, "resource.service": kind.partition("/")[0]}
