"""Read a stack's record: the resolved cluster, its hosts, and the keys to connect to them. Pure."""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import spec

from .. import errors
from ..provider import packed
from ..schedulers import hardware
from .recorded_cluster import Known, KnownHost

SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of Pulumi's form of a secret; with `--show-secrets` it holds the value as JSON text under `plaintext`."""
STACK_TYPE = "pulumi:pulumi:Stack"
SECRET_TYPE = "clusterwright:secret:Secret"
ACCEPTANCE_TYPES = ("clusterwright:accept:Acceptance", "clusterwright:kubernetes:Acceptance")
NODE_KEY = "compute-host-key"
"""Name of the secret with the compute nodes' host key."""


def read(exported: Mapping[str, Any]) -> Known:
    """Read what `pulumi stack export --show-secrets` gives.

    Raises:
        NotUp: no `up` of the stack has finished, or another version wrote its record.
    """
    deployment = exported.get("deployment") or {}
    resources = [_plain(resource) for resource in deployment.get("resources") or []]
    outputs = _of_type(resources, STACK_TYPE)
    acceptances = [found for kind in ACCEPTANCE_TYPES if (found := _of_type(resources, kind))]
    accepted = acceptances[0] if acceptances else {}
    checked = [check for one in acceptances for check in one.get("checks") or ()]
    if not isinstance(outputs.get("spec"), Mapping) or not isinstance(outputs.get("inventory"), Mapping):
        raise errors.NotUp("no `up` of it has finished, so that neither cluster nor hosts are recorded")
    made = {_name(one["urn"]): one for one in resources if one["type"] == SECRET_TYPE}
    secrets = {name: one.get("outputs") or {} for name, one in made.items()}
    try:
        cluster = hardware.described(spec.from_record(outputs["spec"]), outputs.get("hardware") or {})
    except spec.Unreadable as error:
        raise errors.NotUp(f"this version can't read the recorded cluster: {error}") from error
    munge = str(secrets.get("munge-key", {}).get("value", ""))
    users = {user.name: str(secrets.get(f"user-{user.name}-key", {}).get("public", "")) for user in cluster.users}
    return Known(
        cluster=cluster,
        hosts=tuple(_hosts(cluster, outputs["inventory"], _made(resources))),
        private_key=str(secrets.get("admin-key", {}).get("value", "")),
        admin_public=str(secrets.get("admin-key", {}).get("public", "")),
        munge_key_sha256=hashlib.sha256(munge.encode()).hexdigest() if munge else "",
        user_keys={user: key for user, key in users.items() if key},
        acceptance=tuple(checked or outputs.get("acceptance") or ()),
        accepted_at=_moment(accepted.get("began")),
        acceptance_s=accepted.get("seconds"),
        outdated=accepted.get("outdated") or "",
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


def outputs(exported: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the outputs of the stack itself, secrets included."""
    return _of_type([_plain(one) for one in (exported.get("deployment") or {}).get("resources") or [] if one["type"] == STACK_TYPE], STACK_TYPE)


def _of_type(resources: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    """Give the outputs of the first resource of a type."""
    return next((one.get("outputs") or {} for one in resources if one["type"] == kind), {})


def _made(resources: Sequence[Mapping[str, Any]]) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """Give group and hostname → what the resource recorded that made the host: the first one, before those that take hosts as inputs."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for one in resources:
        outputs = one.get("outputs") or {}
        for host in outputs.get("hosts") or () if isinstance(outputs.get("group"), str) else ():
            if isinstance(host, Mapping) and {"name", "address", "incarnation", "host_key"} <= host.keys():
                found.setdefault((outputs["group"], host["name"]), host)
    return found


def _hosts(cluster: spec.ClusterSpec, inventory: Mapping[str, Any], made: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[KnownHost]:
    """Give the hosts of the inventory, which is of the last run that finished: a run that rebuilt hosts and failed afterwards has recorded them as resources only."""
    roles = {group.name: group.role for group in cluster.host_groups}
    for group, hosts in inventory.items():
        for of_inventory in hosts:
            host = {**of_inventory, **made.get((group, of_inventory["name"]), {})}
            way = {name: host[name] for name in ("jump", "jump_key", "jump_command", "port") if host.get(name)}
            yield KnownHost(host["name"], group, roles.get(group, "compute"), host["address"], host["incarnation"], host["host_key"], **way)


def _plain(value: Any) -> Any:
    """Unwrap secrets, and unpack long records."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if SECRET_SIGNATURE in value:
            return _plain(json.loads(value["plaintext"])) if "plaintext" in value else None
        return {name: _plain(item) for name, item in value.items()}
    return packed.unpack(value)


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _moment(text: str | None) -> dt.datetime | None:
    return None if not text else dt.datetime.fromisoformat(text)
