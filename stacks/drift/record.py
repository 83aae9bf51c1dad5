"""The stack's record: the resolved cluster, its hosts, and the keys to connect to them. Pure."""

import dataclasses
import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from blueprints import spec

from ..errors import NotUp

SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of Pulumi's form of a secret; with `--show-secrets` it holds the value as JSON text under `plaintext`."""
STACK_TYPE = "pulumi:pulumi:Stack"
SECRET_TYPE = "clusterwright:secret:Secret"
NODE_KEY = "compute-host-key"
"""Name of the secret with the compute nodes' host key."""


@dataclasses.dataclass(frozen=True, slots=True)
class KnownHost:
    """A host as the stack records it."""

    name: str
    group: str
    role: str
    address: str
    incarnation: str
    host_key: str
    jump: str = ""
    """The host that it is reached through; empty: it is reached directly."""
    jump_key: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What is recorded of a stack. Holds secrets: it is never printed."""

    cluster: spec.ClusterSpec
    """The cluster as it was resolved when the stack was last brought up."""
    hosts: tuple[KnownHost, ...]
    private_key: str
    """OpenSSH private key with which the check connects to hosts."""
    admin_public: str
    munge_key_sha256: str
    """Of the key in base64."""
    user_keys: Mapping[str, str]
    """User → public key of the pair that the stack created."""
    acceptance: tuple[Mapping[str, Any], ...]
    updated: dt.datetime | None
    """When the record was last written."""
    pending: tuple[str, ...]
    """Names of resources that an interrupted update was creating or changing."""
    resources: tuple[Mapping[str, Any], ...] = ()
    """What is recorded of each resource: `type`, `name`, `id`, `outputs`."""
    node_key: str = ""
    """Public SSH host key that compute nodes answer with where the stack gives one to all of them; empty: it doesn't."""
    node_key_since: dt.datetime | None = None
    """When that key was created: nodes that started earlier answer with another one."""


def read(exported: Mapping[str, Any]) -> Known:
    """Read what `pulumi stack export --show-secrets` gives.

    Raises:
        NotUp: no `up` of the stack has finished, or another version wrote its record.
    """
    deployment = exported.get("deployment") or {}
    resources = [_plain(resource) for resource in deployment.get("resources") or []]
    outputs: Mapping[str, Any] = next((one.get("outputs") or {} for one in resources if one["type"] == STACK_TYPE), {})
    if not isinstance(outputs.get("spec"), Mapping) or not isinstance(outputs.get("inventory"), Mapping):
        raise NotUp("no `up` of it has finished, so that neither cluster nor hosts are recorded")
    made = {_name(one["urn"]): one for one in resources if one["type"] == SECRET_TYPE}
    secrets = {name: one.get("outputs") or {} for name, one in made.items()}
    try:
        cluster = spec.from_record(outputs["spec"])
    except spec.Unreadable as error:
        raise NotUp(f"this version can't read the recorded cluster: {error}") from error
    munge = str(secrets.get("munge-key", {}).get("value", ""))
    users = {user.name: str(secrets.get(f"user-{user.name}-key", {}).get("public", "")) for user in cluster.users}
    return Known(
        cluster=cluster,
        hosts=tuple(_hosts(cluster, outputs["inventory"])),
        private_key=str(secrets.get("admin-key", {}).get("value", "")),
        admin_public=str(secrets.get("admin-key", {}).get("public", "")),
        munge_key_sha256=hashlib.sha256(munge.encode()).hexdigest() if munge else "",
        user_keys={user: key for user, key in users.items() if key},
        acceptance=tuple(outputs.get("acceptance") or ()),
        updated=_moment((deployment.get("manifest") or {}).get("time")),
        pending=tuple(_name(operation["resource"]["urn"]) for operation in deployment.get("pending_operations") or []),
        resources=tuple(
            {"type": one["type"], "name": _name(one["urn"]), "id": one.get("id", ""), "outputs": one.get("outputs") or {}}
            for one in resources
            if one.get("custom")
        ),
        node_key=str(secrets.get(NODE_KEY, {}).get("public", "")),
        node_key_since=_moment(made.get(NODE_KEY, {}).get("created")),
    )


def _hosts(cluster: spec.ClusterSpec, inventory: Mapping[str, Any]) -> Iterator[KnownHost]:
    roles = {group.name: group.role for group in cluster.host_groups}
    for group, hosts in inventory.items():
        for host in hosts:
            way = {name: host[name] for name in ("jump", "jump_key") if host.get(name)}
            yield KnownHost(host["name"], group, roles.get(group, "compute"), host["address"], host["incarnation"], host["host_key"], **way)


def _plain(value: Any) -> Any:
    """Unwrap secrets."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if SECRET_SIGNATURE in value:
            return _plain(json.loads(value["plaintext"])) if "plaintext" in value else None
        return {name: _plain(item) for name, item in value.items()}
    return value


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _moment(text: str | None) -> dt.datetime | None:
    return None if not text else dt.datetime.fromisoformat(text)
