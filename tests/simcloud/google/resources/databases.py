"""Cloud SQL: instances with a private address or an attachment for endpoints, their databases and users. The name of a deleted one is taken for a week."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.failure import NotSimulated, Refused
from ...core.store import KEPT, SERVICE, Thing
from .. import errors, facts, kinds, links, operations, verbs
from ..rules import Call, handles

if TYPE_CHECKING:
    from ..cloud import Cloud

INSTANCES, DATABASES, USERS, OPERATIONS, NAMES = "sql.instances", "sql.databases", "sql.users", "sql.operations", "sql.names"
NAME = re.compile(r"[a-z][a-z0-9-]{0,96}[a-z0-9]")  # Cloud SQL, "About instance settings": at most 98 characters with project and colon
CUSTOM = re.compile(r"db-custom-(\d+)-(\d+)")
TAKEN_S = 7 * 86_400.0  # pulumi-gcp, sql.DatabaseInstance.name: up to a week. Google's "Delete instances" says at once; the stricter is simulated
IN_PLACE = ("settings", "databaseVersion", "rootPassword", "maintenanceVersion")


@handles("sql.instances.insert")
def insert(cloud: "Cloud", call: Call) -> Any:
    values = verbs.form(call)
    name = values.get("name", "")
    if not NAME.fullmatch(name) or len(call.project) + 1 + len(name) > 98:
        raise errors.invalid("name", name, f"Must be a match of regex '{NAME.pattern}', of at most 98 characters with the project.")
    path = f"projects/{call.project}/instances/{name}"
    former = cloud.store.get(NAMES, path)
    if cloud.store.get(INSTANCES, path) or (former and former.made_s + TAKEN_S > cloud.store.clock.now_s()):
        raise Refused("instanceAlreadyExists", "The Cloud SQL instance already exists, or its name was used within the last week.", status=409)
    for field in ("databaseVersion", "settings"):
        if not values.get(field):
            raise errors.required(field)
    region = values.get("region", "us-central1")
    if region not in facts.regions():
        raise errors.invalid("region", region, "There is no such region.")
    addresses, network = _network(cloud, values["settings"], call)
    attachment = _attachment(cloud, values["settings"], region)
    properties = {
        **values, "kind": "sql#instance", "region": region, "project": call.project, "state": "PENDING_CREATE", "backendType": "SECOND_GEN", "instanceType": "CLOUD_SQL_INSTANCE",
        "connectionName": f"{call.project}:{region}:{name}", "selfLink": f"https://sqladmin.googleapis.com/sql/v1beta4/{path}", "gceZone": f"{region}-a",
        "createTime": operations.stamp(cloud.store.clock.now_s()), "ipAddresses": addresses, "settings": _settings(values["settings"], values["databaseVersion"]),
        "serverCaCert": {"kind": "sql#sslCert", "cert": "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----", "instance": name},
        **({"_network": network} if network else {}), **attachment,
    }  # fmt: skip
    properties.pop("rootPassword", None)
    cloud.put(Thing(INSTANCES, path, region, properties, "api", cloud.store.clock.now_s()))
    return _begin(cloud, call, path, "CREATE", effects=[{"set": [INSTANCES, path, {"state": "RUNNABLE"}]}])


def _settings(given: Mapping[str, Any], version: str, former: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give settings as the service keeps them, under a new version."""
    known = kinds.load("databases")
    edition = given.get("edition") or known["default_edition"].get(version, "ENTERPRISE")
    if version not in known["editions"].get(edition, {"versions": ()})["versions"]:
        raise errors.invalid("settings.edition", edition, f"It has no {version}.")
    _check_tier(given.get("tier", ""), edition)
    if former and int(given.get("dataDiskSizeGb", former["dataDiskSizeGb"])) < int(former["dataDiskSizeGb"]):
        raise errors.invalid("settings.dataDiskSizeGb", given["dataDiskSizeGb"], "Disks can't become smaller.")
    _check_flags(given.get("databaseFlags", ()))
    backups = given.get("backupConfiguration") or {}
    if backups.get("binaryLogEnabled") and not backups.get(
        "enabled"
    ):  # BackupConfiguration.binaryLogEnabled: "If backup configuration is disabled, binarylog must be disabled as well"
        raise Refused("invalidRequest", "Binary log must be disabled when backup is disabled.")
    if given.get("availabilityType") == "REGIONAL" and not backups.get("binaryLogEnabled"):  # pulumi-gcp, settings.availability_type
        raise Refused("invalidRequest", "Backups and binary logs must be enabled for instances with availability type REGIONAL.")
    defaults = {
        "dataDiskSizeGb": "10",
        "dataDiskType": "PD_SSD",
        "availabilityType": "ZONAL",
        "activationPolicy": "ALWAYS",
        "pricingPlan": "PER_USE",
        "storageAutoResize": True,
        "edition": edition,
    }
    return {**defaults, **given, "kind": "sql#settings", "settingsVersion": str(int(former["settingsVersion"]) + 1 if former else 1)}


def _check_tier(tier: str, edition: str) -> None:
    known = kinds.load("databases")
    if not any(re.fullmatch(one, tier) for one in known["editions"][edition]["tiers"]):
        raise errors.invalid("settings.tier", tier, f"There is no such tier in the edition {edition}.")
    if match := CUSTOM.fullmatch(tier):
        cpus, mib, limits = int(match[1]), int(match[2]), known["custom"]
        is_even = cpus == 1 or (cpus % 2 == 0 and 0 < cpus <= limits["cpus_max"])
        has_memory = limits["mib_min"] <= mib and limits["mib_per_cpu_min"] * cpus <= mib <= limits["mib_per_cpu_max"] * cpus
        if not is_even or not has_memory or mib % limits["mib_step"]:
            raise errors.invalid("settings.tier", tier, "No machine has so many processors with so much memory.")


def _check_flags(flags: Sequence[Mapping[str, Any]]) -> None:
    known = kinds.load("databases")["flags"]
    for flag in flags:
        if not flag.get("name"):
            raise errors.required("settings.databaseFlags.name")
        if flag["name"] not in known:
            raise NotSimulated(f"the database flag {flag['name']}")
        least, most = known[flag["name"]]
        if not least <= int(flag.get("value", least - 1)) <= most:
            raise errors.invalid("settings.databaseFlags", flag.get("value"), f"{flag['name']} takes {least} to {most}.")


def _network(cloud: "Cloud", settings: Mapping[str, Any], call: Call) -> tuple[list[dict[str, str]], str]:
    """Give the addresses of an instance, and its network.

    Raises:
        Refused: it has neither a private network nor a public address, or Google's services are not let into the network.
    """
    asked = settings.get("ipConfiguration") or {}
    named = asked.get("privateNetwork")
    if not named and asked.get("ipv4Enabled") is False and not (asked.get("pscConfig") or {}).get("pscEnabled"):
        raise Refused("invalidRequest", "At least one of Public IP or Private IP or PSC connectivity must be enabled.")
    number = int(cloud.store.new_hex(4), 16)
    found = [{"type": "PRIMARY", "ipAddress": f"198.51.100.{number % 250 + 1}"}] if asked.get("ipv4Enabled", True) else []
    if not named:
        return found, ""
    network = cloud.refer(named, "compute.networks", project=call.project, field="settings.ipConfiguration.privateNetwork")
    if not network.get("_peerings"):
        message = f"Failed to create subnetwork. Please create Service Networking connection with service 'servicenetworking.googleapis.com' from consumer project '{call.project}' network '{network['name']}' again."
        raise Refused("failedPrecondition", message, status=400)
    return [{"type": "PRIVATE", "ipAddress": f"10.{240 + number % 8}.{number % 256}.3"}, *found], links.link(network.id)


def _attachment(cloud: "Cloud", settings: Mapping[str, Any], region: str) -> dict[str, Any]:
    """Give what an instance has for endpoints of Private Service Connect: the service attachment, which lies in a project of Google's, and the suggested name.

    Source: cloud.google.com/sql/docs/mysql/configure-private-service-connect.
    """
    if not ((settings.get("ipConfiguration") or {}).get("pscConfig") or {}).get("pscEnabled"):
        return {}
    unique, label = cloud.store.new_hex(12), cloud.store.new_hex(12)
    name = f"{unique}.{label}.{region}.sql.goog."
    return {
        "dnsName": name,
        "dnsNames": [{"name": name, "connectionType": "PRIVATE_SERVICE_CONNECT", "dnsScope": "INSTANCE", "recordManager": "CUSTOMER"}],
        "pscServiceAttachmentLink": f"projects/{unique}p-tp/regions/{region}/serviceAttachments/a-{unique}-psc-service-attachment-{cloud.store.new_hex(16)}",
    }


def attached(cloud: "Cloud", attachment: str) -> Thing | None:
    """Find the instance behind a service attachment."""
    return next((one for one in cloud.store.all(INSTANCES) if one.get("pscServiceAttachmentLink") == attachment.removeprefix(links.BASE)), None)


def lets_in(instance: Thing, project: str) -> bool:
    """Say whether endpoints of a project are connected to an instance."""
    return project in instance["settings"]["ipConfiguration"]["pscConfig"].get("allowedConsumerProjects", ())


@handles("sql.instances.get")
def get(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(_instance(cloud, call))


@handles("sql.instances.list")
def list_(cloud: "Cloud", call: Call) -> Any:
    found = [cloud.show(one) for one in cloud.store.all(INSTANCES)]
    return {"kind": "sql#instancesList", **({"items": found} if found else {})}


@handles("sql.instances.patch", "sql.instances.update")
def change(cloud: "Cloud", call: Call) -> Any:
    thing, values = _instance(cloud, call), verbs.form(call, writing=False)
    for name in ("region", "name"):
        if values.get(name, thing[name]) != thing[name]:
            raise errors.invalid(name, values[name], "The field is immutable.")
    given = values.get("settings", {})
    if given.get("settingsVersion") and given["settingsVersion"] != thing["settings"]["settingsVersion"]:
        raise Refused("staleData", "The settings version is stale.", status=412)
    merged = verbs.merge(thing["settings"], given) if call.method.http == "PATCH" else given
    _network(cloud, merged, call)
    kept = {name: values[name] for name in IN_PLACE if name in values and name not in ("settings", "rootPassword")}
    cloud.note(thing, **kept, settings=_settings(merged, kept.get("databaseVersion", thing["databaseVersion"]), thing["settings"]))
    return _begin(cloud, call, thing.id, "UPDATE")


@handles("sql.instances.delete")
def delete(cloud: "Cloud", call: Call) -> Any:
    thing = _instance(cloud, call)
    if thing["settings"].get("deletionProtectionEnabled"):
        raise Refused("invalidRequest", "The instance is protected. Please disable the deletion protection and try again.")
    effects: list[Mapping[str, Any]] = [{"remove": [INSTANCES, thing.id]}]
    effects += [{"remove": [kind, part.id]} for kind in (DATABASES, USERS) for part in cloud.store.all(kind) if part.id.startswith(f"{thing.id}/")]
    cloud.put(Thing(NAMES, thing.id, thing.region, {}, KEPT, cloud.store.clock.now_s()))
    cloud.note(thing, state="PENDING_DELETE")
    return _begin(cloud, call, thing.id, "DELETE", effects=effects)


# Databases and users


@handles("sql.databases.insert", "sql.users.insert")
def insert_part(cloud: "Cloud", call: Call) -> Any:
    thing, values = _instance(cloud, call), verbs.form(call)
    if thing["state"] != "RUNNABLE":
        raise Refused("operationInProgress", "Operation failed because another operation was already in progress.", status=409)
    if not values.get("name"):
        raise errors.required("name")
    kind, path = call.method.kind, _part(thing.id, call.method.kind, values["name"], values.get("host", ""))
    if cloud.store.get(kind, path):
        raise Refused("alreadyExists", f"{values['name']} already exists.", status=409)
    properties = {key: value for key, value in values.items() if key != "password"}
    properties |= {"kind": f"sql#{kind.removeprefix('sql.')[:-1]}", "instance": thing["name"], "project": call.project}
    cloud.put(Thing(kind, path, thing.region, properties, "api", cloud.store.clock.now_s()))
    return _begin(cloud, call, thing.id, f"CREATE_{kind.removeprefix('sql.')[:-1].upper()}")


@handles("sql.databases.get", "sql.users.get")
def get_part(cloud: "Cloud", call: Call) -> Any:
    name = call.parameters.get("database") or call.parameters.get("name")
    return cloud.show(cloud.need(_part(_instance(cloud, call).id, call.method.kind, str(name), call.parameters.get("host", "")), call.method.kind))


@handles("sql.databases.list", "sql.users.list")
def list_parts(cloud: "Cloud", call: Call) -> Any:
    thing = _instance(cloud, call)
    found = [cloud.show(one) for one in cloud.store.all(call.method.kind) if one.id.startswith(f"{thing.id}/")]
    return {"kind": f"sql#{call.method.kind.removeprefix('sql.')}List", **({"items": found} if found else {})}


@handles("sql.users.update")
def update_user(cloud: "Cloud", call: Call) -> Any:
    thing, values = _instance(cloud, call), verbs.form(call, writing=False)
    name = call.parameters.get("name") or values.get("name", "")
    user = cloud.need(_part(thing.id, USERS, name, call.parameters.get("host") or values.get("host", "")), USERS)
    cloud.note(user, **{key: value for key, value in values.items() if key not in ("password", "name", "host")})
    return _begin(cloud, call, thing.id, "UPDATE_USER")


@handles("sql.databases.delete", "sql.users.delete")
def delete_part(cloud: "Cloud", call: Call) -> Any:
    thing = _instance(cloud, call)
    name = call.parameters.get("database") or call.parameters.get("name")
    part = cloud.need(_part(thing.id, call.method.kind, str(name), call.parameters.get("host", "")), call.method.kind)
    cloud.drop(part.kind, part.id)
    return _begin(cloud, call, thing.id, f"DELETE_{part.kind.removeprefix('sql.')[:-1].upper()}")


@handles("sql.operations.get")
def operation(cloud: "Cloud", call: Call) -> Any:
    return cloud.show(cloud.need(call.path, OPERATIONS))


def _instance(cloud: "Cloud", call: Call) -> Thing:
    path = f"projects/{call.parameters['project']}/instances/{call.parameters['instance']}"
    if found := cloud.store.get(INSTANCES, path):
        return found
    raise Refused("instanceDoesNotExist", "The Cloud SQL instance does not exist.", status=404)


def _part(instance: str, kind: str, name: str, host: str) -> str:
    """Give the path of a database or of a user, who is somebody else at each host."""
    return f"{instance}/{kind.removeprefix('sql.')}/{name}{f'@{host}' if kind == USERS else ''}"


def _begin(cloud: "Cloud", call: Call, target: str, kind: str, *, effects: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Begin an operation of Cloud SQL and give it."""
    now = cloud.store.clock.now_s()
    name = cloud.store.new_hex(32)
    path = f"projects/{cloud.project}/operations/{name}"
    properties = {
        "kind": "sql#operation", "name": name, "operationType": kind, "status": "PENDING", "targetId": target.rpartition("/")[2], "targetProject": cloud.project,
        "targetLink": f"https://sqladmin.googleapis.com/sql/v1beta4/{target}", "selfLink": f"https://sqladmin.googleapis.com/sql/v1beta4/{path}", "user": "owner@example.com",
        "insertTime": operations.stamp(now), "_due": now + float(cloud.setting("operation_s", 0.0)), "_effects": list(effects), "_failure": None, "_method": call.method.id,
    }  # fmt: skip
    cloud.put(Thing(OPERATIONS, path, "global", properties, SERVICE, now))
    cloud.pending[path] = OPERATIONS
    return operations.shown(properties)
