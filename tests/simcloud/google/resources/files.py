"""Filestore: tiers with their capacities, and one network."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import aip, errors, facts
from ..rules import Rules, Want, handles, rules_of
from . import keys

if TYPE_CHECKING:
    from ..cloud import Cloud

# Capacities in GiB: least, most, step. Source: cloud.google.com/filestore/docs/service-tiers and /docs/reference/rest/v1 (field capacityGb), of 2026.
_BANDS = ((1024, 9984, 256), (10_240, 102_400, 2560))
TIERS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "BASIC_HDD": ((1024, 65_433, 1),), "STANDARD": ((1024, 65_433, 1),), "BASIC_SSD": ((2560, 65_433, 1),), "PREMIUM": ((2560, 65_433, 1),),
    "HIGH_SCALE_SSD": ((10_240, 102_400, 2560),), "ZONAL": _BANDS, "REGIONAL": _BANDS, "ENTERPRISE": ((1024, 10_240, 256),),
}  # fmt: skip
REGIONAL = ("REGIONAL", "ENTERPRISE")
GROWS_ONLY = ("BASIC_HDD", "STANDARD", "BASIC_SSD", "PREMIUM")
SHARE_NAME_MOST = {tier: 16 if tier in GROWS_ONLY else 63 for tier in TIERS}  # FileShareConfig.name: 16 characters for basic tiers, 63 for the others
NFS_4 = ("HIGH_SCALE_SSD", "ZONAL", "REGIONAL", "ENTERPRISE")


@rules_of("file.instances")
class Instances(Rules):
    """File servers."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        tier, place = want.get("tier"), want.path.split("/")[3]
        if tier not in TIERS:
            raise errors.invalid("instance.tier", tier, "A tier is required.")
        if (tier in REGIONAL) != (place in facts.regions()) or (tier not in REGIONAL and place not in facts.zones()):
            raise errors.invalid("location", place, f"The tier {tier} is {'regional' if tier in REGIONAL else 'zonal'}.")
        if want.get("protocol") == "NFS_V4_1" and tier not in NFS_4:
            raise errors.invalid("instance.protocol", "NFS_V4_1", f"The tier {tier} speaks NFS_V3.")
        if want.get("deletionProtectionEnabled") and tier in GROWS_ONLY:  # filestore/docs/deletion-protection, "Limitations": not for basic tiers
            raise errors.invalid("instance.deletionProtectionEnabled", True, f"The tier {tier} has no deletion protection.")
        if want.former is None:
            if want.get("kmsKeyName") and tier in GROWS_ONLY:  # filestore/docs/cmek, "Supported tiers": not the basic ones
                raise errors.invalid("instance.kmsKeyName", want["kmsKeyName"], f"The tier {tier} takes no key.")
            keys.check(cloud, want.get("kmsKeyName", ""), want.kind, place, "instance.kmsKeyName")
        shares, networks = want.get("fileShares", []), want.get("networks", [])
        if len(shares) != 1 or len(networks) != 1:
            raise errors.invalid("instance.fileShares", len(shares), "An instance has one file share and one network.")
        self._check_share(want, shares[0], tier)
        if not networks[0].get("network"):
            raise errors.required("instance.networks[0].network")
        if not networks[0].get("modes"):
            raise errors.required("instance.networks[0].modes")
        if networks[0].get("connectMode") == "PRIVATE_SERVICE_ACCESS" and not _is_peered(cloud, network_path(cloud, networks[0]["network"])):
            raise Refused("failedPrecondition", f"The network {networks[0]['network']} has no private services access.")
        cloud.need(network_path(cloud, networks[0]["network"]), "compute.networks")

    def _check_share(self, want: Want, share: Mapping[str, Any], tier: str) -> None:
        size = int(share.get("capacityGb") or 0)
        if not share.get("name") or len(share["name"]) > SHARE_NAME_MOST[tier]:
            raise errors.invalid("instance.fileShares[0].name", share.get("name"), f"A name of at most {SHARE_NAME_MOST[tier]} characters is required.")
        if not any(least <= size <= most and size % step == 0 for least, most, step in TIERS[tier]):
            bands = ", ".join(f"{least} to {most} GiB in steps of {step}" for least, most, step in TIERS[tier])
            raise errors.invalid("instance.fileShares[0].capacityGb", size, f"The tier {tier} takes {bands}.")
        if want.former and tier in GROWS_ONLY and size < int(want.former["fileShares"][0]["capacityGb"]):
            raise errors.invalid("instance.fileShares[0].capacityGb", size, f"An instance of the tier {tier} can't become smaller.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former:
            return {}
        number = int(cloud.store.new_hex(3), 16)
        reserved = want["networks"][0].get("reservedIpRange", "").partition("/")[0]
        address = (
            f"{reserved.rpartition('.')[0]}.{int(reserved.rpartition('.')[2]) + 2}"
            if reserved.count(".") == 3
            else f"10.{200 + number // 256}.{number % 256}.2"
        )
        network = {"connectMode": "DIRECT_PEERING", "reservedIpRange": f"{address.rpartition('.')[0]}.0/29", **want["networks"][0], "ipAddresses": [address]}
        return {"networks": [network], "_networks": [f"https://www.googleapis.com/compute/v1/{network_path(cloud, network['network'])}"]}

    def ready(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"state": "READY"}

    def check_delete(self, cloud: "Cloud", thing: Thing) -> None:
        if thing.get("deletionProtectionEnabled"):
            raise Refused("failedPrecondition", f"The instance {thing.id} is protected against deletion.")


def network_path(cloud: "Cloud", name: str) -> str:
    """Give the path of a network that is named by name or path."""
    return name if name.startswith("projects/") else f"projects/{cloud.project}/global/networks/{name}"


def _is_peered(cloud: "Cloud", network: str) -> bool:
    found = cloud.find(network, "compute.networks")
    return bool(found and found.get("_peerings"))


handles("file.projects.locations.operations.get")(aip.operation)
