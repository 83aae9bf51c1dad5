"""Instances and their templates: disks, metadata and tags have forms of their own, and some changes take a stop."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.failure import NotSimulated
from . import bodies, differences, images
from .resource import Refused, Resource, Values

STARTUP_SCRIPT = "startup-script"
STOPPED_WAYS = ("setMachineType", "setMinCpuPlatform", "setServiceAccount", "updateShieldedInstanceConfig", "updateDisplayDevice")
"""Changes that take a stopped instance. Source: google_compute_instance, argument `allow_stopping_for_update`."""
DISK_PLACES = {  # bootDisk.initializeParams → initializeParams of the API
    "image": "sourceImage", "size": "diskSizeGb", "type": "diskType", "labels": "labels", "provisionedIops": "provisionedIops", "provisionedThroughput": "provisionedThroughput",
    "architecture": "architecture", "enableConfidentialCompute": "enableConfidentialCompute", "storagePool": "storagePool", "snapshot": "sourceSnapshot",
    "resourcePolicies": "resourcePolicies",
}  # fmt: skip
NUMBERS_AS_TEXT = ("size", "provisionedIops", "provisionedThroughput")
BOOT_FIELDS = ("autoDelete", "deviceName", "mode", "interface", "source", "initializeParams", "guestOsFeatures", "forceAttach")
OWN_FORM = ("metadata", "metadataStartupScript", "tags", "reservationAffinity", "bootDisk", "attachedDisks", "scratchDisks", "guestAccelerators")
STATUSES = {"RUNNING": "start", "TERMINATED": "stop", "SUSPENDED": "suspend"}


class Machine(Resource):
    """What instances and templates share."""

    inside = ""

    def checked(self, inputs: Values) -> Values:
        return {name: value for name, value in inputs.items() if name not in OWN_FORM}

    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(self.checked(inputs), variables, effective=effective, only=only)
        machine = functools.reduce(lambda inner, part: inner.setdefault(part, {}), [part for part in [self.inside] if part], found)
        machine |= self._own_form(inputs, variables)
        for nic in machine.get("networkInterfaces", ()):
            for access in nic.get("accessConfigs", ()):
                access.setdefault("type", "ONE_TO_ONE_NAT")
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        found = super().properties(shown, variables, inputs)
        machine = shown.get(self.inside, {}) if self.inside else shown
        metadata = {one["key"]: one["value"] for one in (machine.get("metadata") or {}).get("items", ())}
        if inputs.get("metadataStartupScript") is not None:
            found["metadataStartupScript"] = metadata.pop(STARTUP_SCRIPT, None)
        tags = machine.get("tags") or {}
        found |= {
            "metadata": metadata,
            "metadataFingerprint": (machine.get("metadata") or {}).get("fingerprint"),
            "tags": tags.get("items", []),
            "tagsFingerprint": tags.get("fingerprint"),
        }
        found["guestAccelerators"] = [
            {"type": one["acceleratorType"].rpartition("/")[2], "count": one.get("acceleratorCount")} for one in machine.get("guestAccelerators") or ()
        ]
        if affinity := machine.get("reservationAffinity"):
            specific = {"specificReservation": {"key": affinity["key"], "values": affinity.get("values", [])}} if affinity.get("key") else {}
            found["reservationAffinity"] = {"type": affinity.get("consumeReservationType"), **specific}
        return {name: value for name, value in found.items() if value not in (None, []) or name in inputs}

    def _own_form(self, inputs: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        metadata = dict(inputs.get("metadata") or {})
        if inputs.get("metadataStartupScript") is not None:
            metadata[STARTUP_SCRIPT] = inputs["metadataStartupScript"]
        if metadata:
            found["metadata"] = {"items": items(metadata)}
        if inputs.get("tags"):
            found["tags"] = {"items": inputs["tags"]}
        if affinity := inputs.get("reservationAffinity"):
            specific = affinity.get("specificReservation") or {}
            found["reservationAffinity"] = {
                "consumeReservationType": affinity["type"],
                **{name: specific[name] for name in ("key", "values") if specific.get(name)},
            }
        if accelerators := inputs.get("guestAccelerators"):
            found["guestAccelerators"] = [
                {"acceleratorType": self._accelerator(one["type"], variables), "acceleratorCount": one.get("count")} for one in accelerators
            ]
        return found

    def _accelerator(self, name: str, variables: Mapping[str, str]) -> str:
        return name


class Instance(Machine):
    def create(self, inputs: Values) -> tuple[str, dict[str, Any]]:
        made = super().create(inputs)
        if inputs.get("desiredStatus") in ("TERMINATED", "SUSPENDED"):
            variables = self.variables(inputs)
            self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/{STATUSES[inputs['desiredStatus']]}")
            return self._made(inputs, variables)
        return made

    def update(self, ident: str, olds: Values, inputs: Values, old_inputs: Values) -> tuple[str, dict[str, Any]]:
        variables = self.variables(inputs, ident)
        changed = differences.changed(self.kind, olds=olds, news=inputs, old_inputs=old_inputs, labels=self.settings["labels"])
        needing = [name for name in changed if self.kind.way(name) in STOPPED_WAYS]
        runs = olds.get("currentStatus") == "RUNNING"
        if needing and runs and not inputs.get("allowStoppingForUpdate") and inputs.get("desiredStatus") != "TERMINATED":
            raise Refused(
                "Changing the machine_type, min_cpu_platform, service_account, enable_display, shielded_instance_config, scheduling.node_affinities "
                "or network_interface.[#d].(network/subnetwork/subnetwork_project) or advanced_machine_features on a started instance requires stopping it. "
                'To acknowledge this, please set allow_stopping_for_update = true in your config. You can also stop it by setting desired_status = "TERMINATED"'
            )
        if needing and runs:
            self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/stop")
        made = super().update(ident, olds, inputs, old_inputs)
        if needing and runs and inputs.get("desiredStatus") in (None, "RUNNING"):
            self.rest.change(self.kind.host, "POST", f"{self.path(variables)}/start")
            return self._made(inputs, variables)
        return made

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        found = super().properties(shown, variables, inputs)
        disks = shown.get("disks", ())
        boot = next((disk for disk in disks if disk.get("boot")), None)
        if boot:
            found["bootDisk"] = self._boot(boot, variables, inputs.get("bootDisk") or {})
        scratch = [{"interface": disk.get("interface", "SCSI")} for disk in disks if disk.get("type") == "SCRATCH"]
        attached = [_attached(disk) for disk in disks if not disk.get("boot") and disk.get("type") != "SCRATCH"]
        order = [bodies.LINK.sub("", one["source"]) for one in inputs.get("attachedDisks") or ()]
        attached.sort(key=lambda one: next((place for place, source in enumerate(order) if differences.same("string", source, one["source"])), len(order)))
        found |= {name: value for name, value in (("scratchDisks", scratch), ("attachedDisks", attached)) if value or name in inputs}
        if inputs.get("desiredStatus"):
            found["desiredStatus"] = shown.get("status")
        return found

    def apply(self, way: str, names: Sequence[str], inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        path = self.path(variables)
        body: Any = None
        query: dict[str, Any] = {}
        match way:
            case "setMetadata" | "setTags":
                part = "metadata" if way == "setMetadata" else "tags"
                shown = self.rest.ask(self.kind.host, "GET", path)
                own = self._own_form(inputs, variables).get(part, {"items": []})
                body = {**own, "fingerprint": (shown.get(part) or {}).get("fingerprint", "")}
            case "setDeletionProtection":
                query = {"deletionProtection": "true" if inputs.get("deletionProtection") else "false"}
            case "setScheduling" | "updateShieldedInstanceConfig":
                body = self.body(inputs, variables, effective={}, only=frozenset(names))[names[0]]
            case "setMachineType" | "setMinCpuPlatform":
                body = {names[0]: bodies.body(self.kind, inputs, variables, only=frozenset(names)).get(names[0])}
            case "setServiceAccount":
                account = inputs.get("serviceAccount") or {}
                body = {"email": account.get("email"), "scopes": account.get("scopes", [])}
            case "desiredStatus":
                way = STATUSES[inputs["desiredStatus"]]
            case "attachDisk":
                return self._reattach(path, inputs, olds, variables)
            case _:
                return super().apply(way, names, inputs, olds, variables)
        method = "PATCH" if way == "updateShieldedInstanceConfig" else "POST"
        self.rest.change(self.kind.host, method, f"{path}/{way}", query=query, body=body)
        return None

    def _reattach(self, path: str, inputs: Values, olds: Values, variables: Mapping[str, str]) -> None:
        wanted = [self._disk(one, variables) for one in inputs.get("attachedDisks") or ()]
        there = {one["source"]: one for one in olds.get("attachedDisks") or ()}
        for source, one in there.items():
            if not any(differences.same("string", disk["source"], source) for disk in wanted):
                self.rest.change(self.kind.host, "POST", f"{path}/detachDisk", query={"deviceName": one["deviceName"]})
        for disk in wanted:
            if not any(differences.same("string", disk["source"], source) for source in there):
                self.rest.change(self.kind.host, "POST", f"{path}/attachDisk", body=disk)

    def _own_form(self, inputs: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        disks = [self._boot_disk(inputs.get("bootDisk") or {}, variables)]
        disks += [{"type": "SCRATCH", "autoDelete": True, "interface": one.get("interface"), "initializeParams": {"diskType": self._in_zone("diskTypes", "local-ssd", variables)}}
                  for one in inputs.get("scratchDisks") or ()]  # fmt: skip
        disks += [self._disk(one, variables) for one in inputs.get("attachedDisks") or ()]
        return {**super()._own_form(inputs, variables), "disks": disks}

    def _boot_disk(self, boot: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        _refuse_unknown(boot, BOOT_FIELDS, "bootDisk")
        found: dict[str, Any] = {"boot": True, "type": "PERSISTENT", "autoDelete": boot.get("autoDelete", True), "mode": boot.get("mode", "READ_WRITE")}
        found |= {name: boot[name] for name in ("deviceName", "interface") if boot.get(name)}
        if boot.get("source"):
            found["source"] = bodies.reference(boot["source"], "projects/{project}/zones/{zone}/disks", variables)
        if params := boot.get("initializeParams"):
            _refuse_unknown(params, tuple(DISK_PLACES), "bootDisk.initializeParams")
            sent = {DISK_PLACES[name]: str(value) if name in NUMBERS_AS_TEXT else value for name, value in params.items() if value is not None}
            if "sourceImage" in sent:
                sent["sourceImage"] = images.path(self.rest, sent["sourceImage"], variables)
            if "diskType" in sent:
                sent["diskType"] = self._in_zone("diskTypes", sent["diskType"], variables)
            found["initializeParams"] = sent
        return found

    def _disk(self, one: Values, variables: Mapping[str, str]) -> dict[str, Any]:
        _refuse_unknown(one, ("source", "deviceName", "mode", "forceAttach"), "attachedDisks")
        found = {name: one[name] for name in ("deviceName", "forceAttach") if one.get(name) is not None}
        return {
            **found,
            "source": bodies.reference(one["source"], "projects/{project}/zones/{zone}/disks", variables),
            "mode": one.get("mode", "READ_WRITE"),
            "type": "PERSISTENT",
        }

    def _boot(self, boot: Values, variables: Mapping[str, str], declared: Values) -> dict[str, Any]:
        """Give the boot disk as the provider records it, which it reads from the disk itself."""
        found = {name: boot[name] for name in ("autoDelete", "deviceName", "mode", "source", "interface") if name in boot}
        disk = self.rest.find(self.kind.host, self.kind.base + bodies.LINK.sub("", boot["source"])) if boot.get("source") else None
        if disk:
            wanted = declared.get("initializeParams") or {}
            params = {name: wanted[name] for name in wanted if name not in ("image", "size", "type", "labels")}
            params |= {"size": int(disk["sizeGb"]), "type": disk["type"].rpartition("/")[2]} if "sizeGb" in disk and "type" in disk else {}
            if "sourceImage" in disk:
                params["image"] = images.shown(self.rest, wanted.get("image"), disk["sourceImage"], variables)
            if "labels" in wanted:
                params["labels"] = disk.get("labels", {})
            found["initializeParams"] = params
        return found

    def _accelerator(self, name: str, variables: Mapping[str, str]) -> str:
        return self._in_zone("acceleratorTypes", name, variables)

    def _in_zone(self, collection: str, name: str, variables: Mapping[str, str]) -> str:
        return bodies.reference(name, f"projects/{{project}}/zones/{{zone}}/{collection}", variables)


class Template(Machine):
    inside = "properties"

    def body(self, inputs: Values, variables: Mapping[str, str], *, effective: Mapping[str, str], only: frozenset[str] | None = None) -> dict[str, Any]:
        found = super().body(inputs, variables, effective=effective, only=only)
        for disk in found["properties"].get("disks", ()):
            if disk.get("initializeParams", {}).get("sourceImage"):
                disk["initializeParams"]["sourceImage"] = images.path(self.rest, disk["initializeParams"]["sourceImage"], variables)
        return found

    def properties(self, shown: Values, variables: Mapping[str, str], inputs: Values) -> dict[str, Any]:
        found = super().properties(shown, variables, inputs)
        for disk, declared in zip(found.get("disks", ()), inputs.get("disks") or (), strict=False):
            if disk.get("sourceImage"):
                disk["sourceImage"] = images.shown(self.rest, declared.get("sourceImage"), disk["sourceImage"], variables)
        found["selfLinkUnique"] = f"{shown.get('selfLink')}?uniqueId={shown.get('id')}"
        return found


def items(metadata: Mapping[str, str]) -> list[dict[str, str]]:
    """Give metadata as the API writes it."""
    return [{"key": key, "value": value} for key, value in metadata.items()]


def _attached(disk: Values) -> dict[str, Any]:
    return {name: disk[name] for name in ("source", "deviceName", "mode") if name in disk}


def _refuse_unknown(values: Values, known: Sequence[str], where: str) -> None:
    for name, value in values.items():
        if name not in known and value is not None:
            raise NotSimulated(f"{where}.{name} of compute.Instance")


RESOURCES = {"compute.Instance": Instance, "compute.InstanceTemplate": Template, "compute.RegionInstanceTemplate": Template}
