"""Keys of Cloud KMS: those that the setting `kms_keys` names, and which services may use them."""

from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from .. import errors
from ..rules import Call, handles
from .project_services import NUMBER

if TYPE_CHECKING:
    from ..cloud import Cloud

AGENTS = {
    "compute.disks": f"service-{NUMBER}@compute-system.iam.gserviceaccount.com",
    "file.instances": f"service-{NUMBER}@cloud-filer.iam.gserviceaccount.com",
    "lustre.instances": f"service-{NUMBER}@gcp-sa-lustre.iam.gserviceaccount.com",
    "storage.buckets": f"service-{NUMBER}@gs-project-accounts.iam.gserviceaccount.com",
}
"""Kind → the service agent that encrypts. Source: cloud.google.com/iam/docs/service-agents (2026-11)."""


@handles("cloudkms.projects.locations.keyRings.cryptoKeys.get")
def get_key(cloud: "Cloud", call: Call) -> Any:
    """Show a key with its primary version; keys for other purposes than encryption have none."""
    key = cloud.setting("kms_keys", {}).get(call.path)
    if key is None:
        raise Refused("notFound", f"CryptoKey {call.path} not found.", status=404)
    purpose = key.get("purpose", "ENCRYPT_DECRYPT")
    version = {"name": f"{call.path}/cryptoKeyVersions/1", "state": key.get("state", "ENABLED")}
    return {"name": call.path, "purpose": purpose, **({"primary": version} if purpose == "ENCRYPT_DECRYPT" else {})}


def check(cloud: "Cloud", name: str, kind: str, place: str, field: str) -> None:
    """Refuse a key that can't encrypt a thing of a kind at a place.

    Source: docs.cloud.google.com/managed-lustre/docs/cmek and cloud.google.com/filestore/docs/cmek (the key is in the region of the instance, the service agent encrypts and decrypts with it),
    cloud.google.com/compute/docs/disks/customer-managed-encryption, of 2026-11.
    """
    if not name:
        return
    key, region = cloud.setting("kms_keys", {}).get(name), place if place.count("-") == 1 else place.rpartition("-")[0]
    if name.count("/") != 7 or name.split("/")[3] != region:
        raise errors.invalid(field, name, f"The key must be in {region}.")
    if key is None or AGENTS[kind] not in key.get("users", ()):
        raise Refused("forbidden", f"Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied on resource '{name}' (or it may not exist).", status=403)
    if key.get("state", "ENABLED") != "ENABLED" or key.get("purpose", "ENCRYPT_DECRYPT") != "ENCRYPT_DECRYPT":
        raise Refused("failedPrecondition", f"{name} is not enabled, or is no key for encryption.")
