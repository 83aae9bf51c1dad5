"""Identity and access: service accounts, their keys, custom roles, and the policies of projects and of other things."""

import base64
import dataclasses
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import conditions, errors, operations, rights, verbs
from ..rules import Call, handles

if TYPE_CHECKING:
    from ..cloud import Cloud

ACCOUNTS, KEYS, ROLES, POLICIES = "iam.serviceAccounts", "iam.serviceAccounts.keys", "iam.roles", "iam.policies"
ACCOUNT_ID = re.compile(r"[a-z](?:[-a-z0-9]{4,28}[a-z0-9])")  # CreateServiceAccountRequest.accountId
ROLE_ID = re.compile(r"[a-zA-Z0-9_.]{3,64}")  # CreateRoleRequest.roleId
MEMBER = re.compile(
    r"(user|serviceAccount|group|domain|principal|principalSet|projectOwner|projectEditor|projectViewer|deleted):.+|allUsers|allAuthenticatedUsers"
)
PREDEFINED = re.compile(r"roles/[a-zA-Z0-9]+(\.[a-zA-Z0-9]+)*")
CONDITIONAL = 3  # Policy.version
POLICY_SIZE_MOST = 1500  # IAM quotas, "All principals in a single allow policy"


@handles("iam.projects.serviceAccounts.create")
def create_account(cloud: "Cloud", call: Call) -> Any:
    values = verbs.form(call)
    ident = values.get("accountId", "")
    if not ACCOUNT_ID.fullmatch(ident):
        raise errors.invalid("accountId", ident, f"Must be a match of regex '{ACCOUNT_ID.pattern}'")
    email = f"{ident}@{call.project}.iam.gserviceaccount.com"
    path = f"{call.path}/{email}"
    if cloud.store.get(ACCOUNTS, path):
        raise Refused("alreadyExists", f"Service account {ident} already exists within project projects/{call.project}.", status=409)
    unique = cloud.new_number()
    properties = {
        **(values.get("serviceAccount") or {}), "name": path, "projectId": call.project, "uniqueId": unique, "email": email, "oauth2ClientId": unique, "etag": verbs.fingerprint(path),
    }  # fmt: skip
    return cloud.show(cloud.put(Thing(ACCOUNTS, path, "global", properties, "api", cloud.store.clock.now_s())))


@handles("iam.projects.serviceAccounts.get")
def get_account(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(account(cloud, call.path))


@handles("iam.projects.serviceAccounts.list")
def list_accounts(cloud: "Cloud", call: Call) -> Any:
    return {"accounts": [cloud.show(one) for one in cloud.store.all(ACCOUNTS)]}


@handles("iam.projects.serviceAccounts.patch")
def patch_account(cloud: "Cloud", call: Call) -> Any:
    thing, values = account(cloud, call.path), verbs.form(call)
    mask = [name for name in values.get("updateMask", "").split(",") if name]
    if not mask or set(mask) - {"displayName", "description", "display_name"}:
        raise errors.invalid("updateMask", ",".join(mask), "It names displayName and description alone.")
    given = values.get("serviceAccount") or {}
    return cloud.show(cloud.note(thing, **{name: given.get(name, "") for name in ("displayName", "description") if name in mask}))


@handles("iam.projects.serviceAccounts.delete")
def delete_account(cloud: "Cloud", call: Call) -> Any:
    """Delete an account; policies go on naming it as deleted."""
    thing = account(cloud, call.path)
    for key in list(cloud.store.all(KEYS)):
        if key.id.startswith(f"{thing.id}/"):
            cloud.drop(KEYS, key.id)
    former = f"serviceAccount:{thing['email']}"
    for policy in list(cloud.store.all(POLICIES)):
        bindings = [
            {**one, "members": [f"deleted:{former}?uid={thing['uniqueId']}" if member == former else member for member in one["members"]]}
            for one in policy["bindings"]
        ]
        cloud.note(policy, bindings=bindings)
    cloud.drop(POLICIES, f"iam/{thing.id}")
    cloud.drop(ACCOUNTS, thing.id)
    return {}


@handles("iam.projects.serviceAccounts.disable", "iam.projects.serviceAccounts.enable")
def set_enabled(cloud: "Cloud", call: Call) -> Any:
    path, _, what = call.path.partition(":")
    cloud.note(account(cloud, path), disabled=True if what == "disable" else None)
    return {}


@handles("iam.projects.serviceAccounts.keys.create")
def create_key(cloud: "Cloud", call: Call) -> Any:
    """Make a key; its file is given once."""
    thing = account(cloud, call.path.removesuffix("/keys"))
    ident = cloud.store.new_hex(40)
    path = f"{thing.id}/keys/{ident}"
    file = {"type": "service_account", "project_id": call.project, "private_key_id": ident, "client_email": thing["email"], "client_id": thing["uniqueId"]}
    properties = {"name": path, "keyAlgorithm": "KEY_ALG_RSA_2048", "keyType": "USER_MANAGED", "validAfterTime": operations.stamp(cloud.store.clock.now_s())}
    made = cloud.put(Thing(KEYS, path, "global", properties, "api", cloud.store.clock.now_s()))
    return {**cloud.show(made), "privateKeyType": "TYPE_GOOGLE_CREDENTIALS_FILE", "privateKeyData": base64.b64encode(json.dumps(file).encode()).decode()}


@handles("iam.projects.serviceAccounts.keys.get")
def get_key(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(cloud.need(call.path, KEYS))


@handles("iam.projects.serviceAccounts.keys.list")
def list_keys(cloud: "Cloud", call: Call) -> Any:
    return {"keys": [cloud.show(one) for one in cloud.store.all(KEYS) if one.id.startswith(call.path + "/")]}


@handles("iam.projects.serviceAccounts.keys.delete")
def delete_key(cloud: "Cloud", call: Call) -> Any:
    cloud.drop(KEYS, cloud.need(call.path, KEYS).id)
    return {}


# Custom roles


@handles("iam.projects.roles.create")
def create_role(cloud: "Cloud", call: Call) -> Any:
    values = verbs.form(call)
    if not ROLE_ID.fullmatch(values.get("roleId", "")):
        raise errors.invalid("roleId", values.get("roleId"), f"Must be a match of regex '{ROLE_ID.pattern}'")
    path = f"{call.path}/{values['roleId']}"
    former = cloud.store.get(ROLES, path)
    if former:
        raise Refused(
            "alreadyExists",
            f"A role named {values['roleId']} in projects/{call.project} already exists{', deleted' if former.get('deleted') else ''}.",
            status=409,
        )
    properties = {"stage": "GA", **(values.get("role") or {}), "name": path, "etag": verbs.fingerprint(values)}
    return cloud.show(cloud.put(Thing(ROLES, path, "global", properties, "api", cloud.store.clock.now_s())))


@handles("iam.projects.roles.get")
def get_role(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(cloud.need(call.path, ROLES))


@handles("iam.projects.roles.patch")
def patch_role(cloud: "Cloud", call: Call) -> Any:
    thing, values = cloud.need(call.path, ROLES), verbs.form(call, writing=False)
    mask = [name for name in call.parameters.get("updateMask", "").split(",") if name] or list(values)
    return cloud.show(cloud.note(thing, **{name: values.get(name) for name in mask}, etag=verbs.fingerprint(values)))


@handles("iam.projects.roles.delete")
def delete_role(cloud: "Cloud", call: Call) -> Any:
    """Delete a role: it stays for a week as deleted, and its name is taken. Source: IAM, "Deleting a custom role"."""
    thing = cloud.need(call.path, ROLES)
    return cloud.show(cloud.put(dataclasses.replace(thing, door="kept", properties={**thing.properties, "deleted": True})))


@handles("iam.projects.roles.undelete")
def undelete_role(cloud: "Cloud", call: Call) -> Any:
    thing = cloud.need(call.path.partition(":")[0], ROLES)
    return cloud.show(cloud.put(dataclasses.replace(thing, door="api", properties={key: value for key, value in thing.properties.items() if key != "deleted"})))


# Policies

_GET = (
    "cloudresourcemanager.projects.getIamPolicy", "iam.projects.serviceAccounts.getIamPolicy", "secretmanager.projects.secrets.getIamPolicy",
    "compute.subnetworks.getIamPolicy", "compute.instances.getIamPolicy", "storage.buckets.getIamPolicy",
)  # fmt: skip
_SET = tuple(name.replace("getIam", "setIam") for name in _GET)


@handles(*_GET)
def get_policy(cloud: "Cloud", call: Call) -> Any:
    return _policy(cloud, _resource(cloud, call))


@handles(*_SET)
def set_policy(cloud: "Cloud", call: Call) -> Any:
    """Set a policy as a whole, under the etag of the one that it replaces.

    Raises:
        Refused: somebody changed it since, or a member or a role does not exist.
    """
    resource, values = _resource(cloud, call), verbs.form(call)
    policy = values if call.method.id.startswith("storage.") else values.get("policy") or {}
    current = _policy(cloud, resource)
    if policy.get("etag") and policy["etag"] != current["etag"]:
        message = "There were concurrent policy changes. Please retry the whole read-modify-write with exponential backoff."
        raise Refused("aborted", message, status=409)
    bindings = [one for one in policy.get("bindings", []) if one.get("members")]
    for binding in bindings:
        _check_binding(cloud, binding, policy.get("version", 1))
    if sum(len(one["members"]) for one in bindings) > POLICY_SIZE_MOST:
        raise errors.invalid("policy", len(bindings), f"The number of members in the policy is larger than the maximum allowed size {POLICY_SIZE_MOST}.")
    if bindings:
        cloud.put(Thing(POLICIES, resource, "global", {"bindings": bindings, "version": policy.get("version", 1)}, "api", cloud.store.clock.now_s()))
    else:
        cloud.drop(POLICIES, resource)
    return _policy(cloud, resource)


def policy_of(cloud: "Cloud", resource: str) -> list[Mapping[str, Any]]:
    """Give the bindings of a resource (`cloudresourcemanager/proj`, `secretmanager/projects/…`)."""
    found = cloud.store.get(POLICIES, resource)
    return found["bindings"] if found else []


def account(cloud: "Cloud", path: str) -> Thing:
    """Find a service account by name, where `-` stands for its project, by e-mail or by number."""
    ident = path.rpartition("/")[2]
    for one in cloud.store.all(ACCOUNTS):
        if ident in (one["email"], one["uniqueId"]):
            return one
    raise Refused("notFound", f"Unknown service account: {path}", status=404)


def _policy(cloud: "Cloud", resource: str) -> dict[str, Any]:
    found = cloud.store.get(POLICIES, resource)
    bindings = found["bindings"] if found else []
    return {"version": found["version"] if found else 1, "etag": verbs.fingerprint(bindings), **({"bindings": bindings} if bindings else {})}


def _resource(cloud: "Cloud", call: Call) -> str:
    """Name what a policy is about, which must exist."""
    service = call.method.id.partition(".")[0]
    path = re.sub(r"(:[gs]etIamPolicy|/iam|/[gs]etIamPolicy)$", "", call.path)
    if service == "cloudresourcemanager":
        if path.rpartition("/")[2] != cloud.project:
            raise Refused("forbidden", f"The caller does not have permission for the project {path}.", status=403)
        return f"{service}/{cloud.project}"
    if service == "iam":
        return f"{service}/{account(cloud, path).id}"
    cloud.need(path, {"secretmanager": "secretmanager.secrets", "storage": "storage.buckets"}.get(service, call.method.kind))
    return f"{service}/{path}"


def _check_binding(cloud: "Cloud", binding: Mapping[str, Any], version: int) -> None:
    role = binding.get("role", "")
    custom = cloud.store.get(ROLES, role)
    if not PREDEFINED.fullmatch(role) and not (custom and not custom.get("deleted")):
        raise errors.invalid("role", role, f"Role {role} is not supported for this resource.")
    if condition := binding.get("condition"):
        if not condition.get("title") or not condition.get("expression"):
            raise errors.required("condition.title")
        if version != CONDITIONAL:
            raise errors.invalid("policy.version", version, f"A policy with conditions has the version {CONDITIONAL}.")
        conditions.holds(condition["expression"], rights.attributes("projects/p/zones/z/instances/i"))
    for member in binding["members"]:
        if not MEMBER.fullmatch(member):
            raise errors.invalid("members", member, "The member is malformed; it begins with its type.")
        email = member.removeprefix("serviceAccount:")
        own = email.endswith(f"@{cloud.project}.iam.gserviceaccount.com")
        if member.startswith("serviceAccount:") and own and not any(one["email"] == email for one in cloud.store.all(ACCOUNTS)):
            raise Refused("badRequest", f"Service account {email} does not exist.")


@handles("cloudresourcemanager.projects.get")
def get_project(cloud: "Cloud", call: Call) -> Any:
    name = call.path.removeprefix("projects/")
    if name != cloud.project:
        raise Refused("forbidden", f"The caller does not have permission for the project {name}.", status=403)
    number = "123456789012"
    if call.method.document.endswith("v3"):
        return {"name": f"projects/{number}", "projectId": name, "state": "ACTIVE", "displayName": name}
    return {"projectNumber": number, "projectId": name, "lifecycleState": "ACTIVE", "name": name, "createTime": operations.stamp(1_700_000_000)}


@handles("cloudresourcemanager.projects.testIamPermissions")
def test_permissions(cloud: "Cloud", call: Call) -> Any:
    return {"permissions": [one for one in verbs.form(call).get("permissions", []) if rights.may(cloud, call.caller, one, f"projects/{cloud.project}")]}
