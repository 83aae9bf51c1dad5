"""Which key of a blueprint sets a field of the spec, where exactly one key does: changes are shown by the names that users wrote. Pure.

Patterns are those of `field_costs.FIELDS`; `*` of a node set means its pool.
"""

from collections.abc import Mapping
from typing import Any

_SAME = (
    *("name", "description", "tags", "maintenance"),
    *(f"network.{key}" for key in ("cidr", "region", "zones", "existing", "host_project", "egress", "private_endpoints")),
    *(f"monitoring.{key}" for key in ("metrics", "retention_days", "dashboards", "alert_webhook")),
    *(
        f"storage.*.{key}"
        for key in ("kind", "mount", "protect", "durability", "on_delete", "backup_days", "encrypted", "key", "source", "exchange", "writable_by")
    ),
    *(f"storage.*.exchange.{key}" for key in ("bucket", "import_files", "export_files")),
    *(f"accounts.*.{key}" for key in ("description", "parent", "share", "qos")),
    *(f"users.*.{key}" for key in ("uid", "ssh_keys", "accounts", "admin", "cloud_identity")),
    *(f"{section}.{change}" for section in ("storage", "accounts", "users") for change in "+-"),
)

_SCHEDULERS = ("slurm", "kubernetes", "training")
_WITH_QOS = ("slurm", "kubernetes")

_OF_POOL = {
    **{f"partition.{key}": f"partition.{key}" for key in ("default", "max_time", "priority", "exclusive", "accounts", "qos")},
    **{f"capacity.{key}": f"capacity.{key}" for key in ("kind", "id", "max_run")},
    **{key: key for key in ("placement", "labels", "taints", "image")},
    "hosts.machine.name": "machine",
    "hosts.machine.gpus.type": "accelerator",
    "hosts.machine.gpus.count": "gpus_per_node",
    "hosts.machine.gpus.mig": "mig",
    "minimum": "nodes.min",
    "reachable_min": "nodes.min",
    "hosts.members": "hosts",
    "scratch_mount": "scratch.mount",
    "health_check": "health.check",
    "on_failure": "health.on_failure",
    "health_brake": "health.brake",
}

KEYS: Mapping[str, str] = {
    **{pattern: pattern for pattern in _SAME},
    **{f"{scheduler}.node_sets.*.{field}": f"pools.*.{key}" for scheduler in _SCHEDULERS for field, key in _OF_POOL.items()},
    **{f"{scheduler}.node_sets.{change}": "pools.*" for scheduler in _SCHEDULERS for change in "+-"},
    **{f"{scheduler}.qos.*.{key}": f"qos.*.{key}" for scheduler in _WITH_QOS for key in ("priority", "max_time", "gpus_per_user", "jobs_per_user", "preempts")},
    **{f"{scheduler}.qos.{change}": f"qos.{change}" for scheduler in _WITH_QOS for change in "+-"},
    **dict.fromkeys(_SCHEDULERS, "scheduler"),
    "slurm.run_by": "control.managed",
    **{f"kubernetes.{key}": f"kubernetes.{key}" for key in ("version", "pod_cidr", "service_cidr", "load_balancer_cidr", "pod_network", "registry")},
    **{f"kubernetes.{key}.{change}": f"kubernetes.{key}.{change}" for key in ("addons", "kwok_nodes", "secondary_networks") for change in "+-"},
    "kubernetes.control.members": "control.hosts",
    "kubernetes.control.machine.name": "control.machine",
    "software.profile": "software",
    "slurm.control.machine.name": "control.machine",
    "access.count": "access.login_nodes",
    "access.members": "access.hosts",
    "slurm.control.members": "control.hosts",
    "site.user": "inventory.user",
    "site.port": "inventory.port",
    "site.identity": "inventory.identity",
    "site.nat": "network.nat",
    "site.dns": "network.dns",
    "site.address": "control.address",
    "login.rest_api": "access.rest_api",
    "access.machine.name": "access.machine",
    "login.load_balancer": "access.load_balancer",
    "login.allowed_cidrs": "access.allowed_cidrs",
    "login.tunnel": "access.tunnel",
    "login.os_login": "access.os_login",
    "login.ldap_uri": "access.ldap.uri",
    "login.ldap_base": "access.ldap.base",
    "slurm.database.placement": "accounting.database",
    "slurm.database.protect": "accounting.protect",
    "acceptance": "acceptance.gate",
    "storage.*.size_gib": "storage.*.size",
    "storage.*.throughput_mbs_per_tib": "storage.*.throughput",
    "storage.*.user_quota_gib": "storage.*.quotas.user",
    "storage.*.group_quota_gib": "storage.*.quotas.group",
    "accounts.*.most_gpus": "accounts.*.limits.gpus",
    "accounts.*.most_nodes": "accounts.*.limits.nodes",
    "accounts.*.most_jobs": "accounts.*.limits.jobs",
    "users.*.default_account": "users.*.account",
}
"""The number of nodes isn't among them: see `key`."""
_NODES = ".node_sets.*.hosts.count"


def key(pattern: str, path: str, node_sets: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Name the key that sets a field; None where several keys do, or none.

    Args:
        path: of the field, with the name in place of `*`, `+` and `-`.
        node_sets: those of both records by name, as far as they are a pool's only ones.
    """
    place = next((number for number, step in enumerate(pattern.split(".")) if step in ("*", "+", "-")), None)
    name = path.split(".")[place] if place is not None else ""
    if ".node_sets." in pattern:
        if name not in node_sets:
            return None
        found = KEYS.get(pattern) if not pattern.endswith(_NODES) else "pools.*.nodes" if node_sets[name].get("minimum") is None else "pools.*.nodes.max"
        name = str(node_sets[name].get("pool"))
    else:
        found = KEYS.get(pattern)
    if found is None:
        return None
    return found.replace("*", name, 1) if "*" in found else f"{found[:-1]}{name}" if found[-1] in "+-" else found


def node_sets(*records: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Give by name the node sets that are their pool's only ones in every record; a later record's take the place of an earlier one's."""
    found: dict[str, Mapping[str, Any]] = {}
    shared: set[str] = set()
    for record in records:
        every = [entry for scheduler in _SCHEDULERS for entry in (record.get(scheduler) or {}).get("node_sets", ())]
        sets = [entry for entry in every if isinstance(entry, Mapping) and isinstance(entry.get("hosts"), Mapping)]
        pools = [entry.get("pool") for entry in sets]
        for entry in sets:
            found[str(entry["hosts"].get("name"))] = entry
            shared |= {str(entry["hosts"].get("name"))} if pools.count(entry.get("pool")) > 1 else set()
    return {name: entry for name, entry in found.items() if name not in shared and entry.get("pool")}
