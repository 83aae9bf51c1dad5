"""The image of a software profile: an instance bakes itself with the project's own roles, and its disk becomes the image.

The instance takes everything that it needs from its own metadata, so that no bucket and no account is needed. It says in a guest attribute how the bake ended, and powers itself off. All names are
deterministic: a run after an interrupted one goes on where that one stopped.
"""

import base64
import dataclasses
import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .. import bake, errors
from ..provider.kind import Kind, Refused, Values, Work
from . import rest
from .names import OWNER_LABEL

BAKED_WITHIN_S = 7200
"""Drivers and CUDA are large; a build without a GPU takes half an hour."""
LOOK_EVERY_S = 2.0
MOVING = frozenset({"PENDING", "DELETING"})
"""States that pass (compute.v1, Image.status); no host starts from such an image."""
GONE = "GONE"
NAMESPACE, KEY, DONE = "clusterwright", "bake", "done"
POLICY, FORBIDDEN_BY_POLICY = "compute.disableGuestAttributesAccess", 412
"""Compute Engine documentation, "Set and query guest attributes"; the status as GoogleCloudPlatform/iap-desktop knows it (GoogleApiExceptionExtensions, IsConstraintViolation)."""
BUNDLE, SCRIPT = "clusterwright-bundle", "clusterwright-bake"
"""Keys of the builder's metadata."""
VALUE_BYTES = 256 * 1024
"""Compute Engine documentation, "About VM metadata": the longest value."""
STARTUP = f"""#!/bin/bash
server=http://169.254.169.254/computeMetadata/v1/instance
ask() {{ curl --silent --fail --retry 5 --header 'Metadata-Flavor: Google' "$server/$1"; }}
say() {{ curl --silent --fail --retry 5 --header 'Metadata-Flavor: Google' --request PUT --data "$1" "$server/guest-attributes/{NAMESPACE}/{KEY}"; }}
mkdir -p {bake.FOLDER}
log=/run/clusterwright-bake.log
if ask attributes/{BUNDLE} | base64 --decode > {bake.ARCHIVE} && ask attributes/{SCRIPT} > /run/clusterwright-bake && bash /run/clusterwright-bake > $log 2>&1
then say {DONE}
else tail --lines 20 $log; say "failed: $(tail --lines 5 $log | tr '\\n' ' ' | tail --bytes 400)"
fi
poweroff
"""
_BUILDER = "bake-"
"""Begins the names of instances that become images."""
FEATURES = ("GVNIC", "UEFI_COMPATIBLE", "VIRTIO_SCSI_MULTIQUEUE", "IDPF")
"""Compute Engine API, GuestOsFeature.type: without them no instance with such an interface starts from the image."""


@dataclasses.dataclass(frozen=True, slots=True)
class MachineImageInputs:
    project: str
    zone: str
    name: str
    """With the hash of what it is made from."""
    subnet: str
    base: str
    machine: str
    disk_type: str
    size_gib: int
    script: str
    labels: Mapping[str, str]


class MachineImage(Kind[MachineImageInputs]):
    """Creation bakes the image unless it exists; deletion deletes it."""

    token = "clusterwright:gcp:MachineImage"
    inputs = MachineImageInputs
    replace_on: ClassVar[frozenset[str]] = frozenset({"project", "name"})
    gone_first: ClassVar[bool] = False
    timeout_s = BAKED_WITHIN_S

    def identity(self, inputs: MachineImageInputs) -> str:
        return f"{inputs.project}/{inputs.name}"

    def expected(self, inputs: MachineImageInputs) -> Values:
        return {"image": f"projects/{inputs.project}/global/images/{inputs.name}"}

    def read(self, inputs: MachineImageInputs, outputs: Values) -> Values | None:
        return self.expected(inputs) if _state(rest.Compute(inputs.project), inputs) == "READY" else None

    def create(self, inputs: MachineImageInputs, work: Work) -> Values:
        compute = rest.Compute(inputs.project)
        try:
            # An image of another architecture may be baked at the same time, on another machine.
            _delete_builders(compute, inputs, work, which=lambda one: str(one.get("machineType", "")).rpartition("/")[2] == inputs.machine)
            if not _is_ready(compute, inputs, work):
                _bake(compute, inputs, work)
                work.say("making an image of the builder's disk")
                _change(compute, work, "POST", "global/images", _image(inputs))
            with rest.missing():
                _change(compute, work, "DELETE", f"zones/{inputs.zone}/instances/{_builder(inputs)}")
        except errors.TargetUnanswered as error:
            raise Refused(f"the image {inputs.name} can't be built: {error}") from error
        return self.expected(inputs)

    def delete(self, inputs: MachineImageInputs, outputs: Values, work: Work) -> None:
        compute = rest.Compute(inputs.project)
        path = f"global/images/{inputs.name}"
        try:
            # The engine deletes after it has created all images, so no builder of the stack is at work.
            _delete_builders(compute, inputs, work, is_last=True)
            found = compute.find(path)
            if found is not None and found.get("labels", {}).get(OWNER_LABEL) == inputs.labels.get(OWNER_LABEL):
                with rest.missing():
                    _change(compute, work, "DELETE", path)
        except errors.TargetUnanswered as error:
            raise Refused(f"the image {inputs.name} can't be deleted: {error}") from error


def _delete_builders(
    compute: rest.Compute, inputs: MachineImageInputs, work: Work, *, is_last: bool = False, which: Callable[[Mapping[str, Any]], bool] = lambda _: True
) -> None:
    """Delete builders of the stack that no run goes on with: a killed run left one, and the next one wants another image.

    Args:
        is_last: the builder of this image goes, too.
        which: says of an instance whether it may be one.
    """
    owner, kept = inputs.labels.get(OWNER_LABEL), "" if is_last else _builder(inputs)
    if not owner:
        return
    for one in compute.items(f"zones/{inputs.zone}/instances", {"filter": f"labels.{OWNER_LABEL} = {owner}"}):
        name = str(one["name"])
        if name.startswith(_BUILDER) and name != kept and which(one):
            work.say(f"deleting {name}, which an earlier run left")
            with rest.missing():
                _change(compute, work, "DELETE", f"zones/{inputs.zone}/instances/{name}")


def _is_ready(compute: rest.Compute, inputs: MachineImageInputs, work: Work) -> bool:
    """Say whether the image exists, and wait for one that Google still makes or deletes; delete one that Google could not make.

    Raises:
        Refused: another stack's image has the name.
    """
    found = _image_of(compute, inputs)
    if found is not None and found.get("labels", {}).get(OWNER_LABEL) != inputs.labels.get(OWNER_LABEL):
        raise Refused(
            f"the image {inputs.name} of project {inputs.project} belongs to another stack\n  do:  choose another name for the stack, or delete the image"
        )
    # The builder's disk is what it is made from: the builder stays until then.
    work.wait_until(
        lambda: _state(compute, inputs) not in MOVING, awaiting=f"the image {inputs.name} to be made", within_s=BAKED_WITHIN_S, every_s=LOOK_EVERY_S
    )
    match _state(compute, inputs):
        case "READY":
            return True
        case "FAILED":
            with rest.missing():
                _change(compute, work, "DELETE", f"global/images/{inputs.name}")
    return False


def _image_of(compute: rest.Compute, inputs: MachineImageInputs) -> dict[str, Any] | None:
    return compute.find(f"global/images/{inputs.name}")


def _state(compute: rest.Compute, inputs: MachineImageInputs) -> str:
    found = _image_of(compute, inputs)
    return GONE if found is None else str(found.get("status", ""))


def _bake(compute: rest.Compute, inputs: MachineImageInputs, work: Work) -> None:
    """Let an instance bake itself until it has powered itself off.

    Raises:
        Refused: the bake failed; the instance is deleted.
    """
    path = f"zones/{inputs.zone}/instances/{_builder(inputs)}"
    try:
        if compute.find(path) is None:
            work.say("starting the instance that becomes the image")
            _change(compute, work, "POST", f"zones/{inputs.zone}/instances", _instance(inputs))
        _said(compute, path)  # asked before the bake: nobody should wait half an hour for a result that can't be read
    except rest.Failed as error:
        if error.status != FORBIDDEN_BY_POLICY and POLICY not in str(error):
            raise
        with rest.missing():
            _change(compute, work, "DELETE", path)
        raise Refused(
            f"the image {inputs.name} can't be built: an organization policy forbids guest attributes in project {inputs.project}\n"
            f"  why: the instance that becomes the image says in a guest attribute how the bake ended; Google Cloud answered: {error}\n"
            f"  do:  have an administrator of the organization run `gcloud resource-manager org-policies disable-enforce {POLICY} --project {inputs.project}`, then run the same command again"
        ) from error
    work.say("installing the software profile")
    work.wait_until(lambda: _is_off(compute, path, work), awaiting="the bake to end", within_s=BAKED_WITHIN_S, every_s=LOOK_EVERY_S)
    said = _said(compute, path) or "it said nothing"
    if said != DONE:
        _change(compute, work, "DELETE", path)
        raise Refused(f"the bake of {inputs.name} failed: {said}\n  do:  the log of serial port 1 of its last run tells more; run the same command again")


def _said(compute: rest.Compute, path: str) -> str:
    """Give what the instance says of its bake; empty: nothing yet."""
    told = compute.find(f"{path}/getGuestAttributes", {"queryPath": f"{NAMESPACE}/{KEY}"}) or {}
    return next((str(one.get("value", "")) for one in told.get("queryValue", {}).get("items", ())), "")


def _is_off(compute: rest.Compute, path: str, work: Work) -> bool:
    try:
        return bool(compute.get(path).get("status") == "TERMINATED")
    except rest.Silent as silent:
        work.say(f"the bake goes on; {silent}")  # a connection that is lost for a while must not cost the work of half an hour
        return False


def _change(compute: rest.Compute, work: Work, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
    operation = compute.start(method, path, body)
    work.wait_until(lambda: compute.is_done(operation), awaiting=f"{method} {path}", within_s=BAKED_WITHIN_S)


def _builder(inputs: MachineImageInputs) -> str:
    """Name the instance after what is different in the image's name: its end."""
    return f"{_BUILDER}{inputs.name[-57:].lstrip('-')}"


def _instance(inputs: MachineImageInputs) -> dict[str, Any]:
    values = {
        "startup-script": STARTUP,
        BUNDLE: bundle(),
        SCRIPT: inputs.script,
        "enable-guest-attributes": "TRUE",
        "enable-oslogin": "FALSE",
        "block-project-ssh-keys": "TRUE",
    }
    disk = {
        "boot": True,
        "autoDelete": True,
        "initializeParams": {
            "sourceImage": inputs.base,
            "diskSizeGb": str(inputs.size_gib),
            "diskType": f"zones/{inputs.zone}/diskTypes/{inputs.disk_type}",
            "labels": dict(inputs.labels),
        },
    }
    return {
        "name": _builder(inputs),
        "machineType": f"zones/{inputs.zone}/machineTypes/{inputs.machine}",
        "disks": [disk],
        "networkInterfaces": [{"subnetwork": inputs.subnet, "nicType": "GVNIC"}],
        "metadata": {"items": [{"key": key, "value": value} for key, value in values.items()]},
        "labels": dict(inputs.labels),
        "scheduling": {"automaticRestart": False},
    }


def _image(inputs: MachineImageInputs) -> dict[str, Any]:
    return {
        "name": inputs.name,
        "sourceDisk": f"projects/{inputs.project}/zones/{inputs.zone}/disks/{_builder(inputs)}",
        "labels": dict(inputs.labels),
        "guestOsFeatures": [{"type": feature} for feature in FEATURES],
    }


def bundle() -> str:
    """Pack the roles, Base64; the same files give the same text.

    Raises:
        Refused: they don't fit into a value of an instance's metadata.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(
            {bake.REQUIREMENTS: bake.requirements().encode(), **{name: path.read_bytes() for name, path in bake.archive_files().items()}}.items()
        ):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    text = base64.b64encode(written.getvalue()).decode()
    if len(text) > VALUE_BYTES:
        raise Refused(f"the roles have {len(text)} bytes, and a value of an instance's metadata takes {VALUE_BYTES}")
    return text
