"""Managed Lustre: capacity in steps of its throughput, in a network with private services access."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import aip, errors, facts, links
from ..rules import Call, Rules, Want, handles, rules_of
from . import keys

if TYPE_CHECKING:
    from ..cloud import Cloud

TIERS: Mapping[int, tuple[tuple[int, int], ...]] = {
    1000: ((9000, 1_530_000), (72_000, 10_008_000)),
    500: ((18_000, 3_060_000), (144_000, 20_016_000)),
    250: ((36_000, 6_120_000), (288_000, 40_032_000)),
    125: ((72_000, 12_240_000),),
}
"""MB/s for each TiB → step of the capacity, which is the least one too, and to where it holds, GiB. Source: docs.cloud.google.com/managed-lustre/docs/performance-tiers (2026-11)."""
WITHOUT = ("asia-northeast1-a",)
"""Source: docs.cloud.google.com/managed-lustre/docs/locations (2026-11), as far as it was read: Africa, Asia, Europe and us-central1."""
FILE_SYSTEM = re.compile(r"[A-Za-z0-9]{1,8}")
FULL_NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")


@rules_of("lustre.instances")
class Instances(Rules):
    """File systems."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        place = want.path.split("/")[3]
        if place not in zones(cloud):
            raise errors.invalid("location", place, "An instance is in a zone that has Managed Lustre.")
        tiers = TIERS.get(int(want.get("perUnitStorageThroughput", 1000)))
        if tiers is None:
            raise errors.invalid("instance.perUnitStorageThroughput", want["perUnitStorageThroughput"], f"It must be one of {sorted(TIERS)}.")
        size = int(want["capacityGib"])
        step, most = next((one for one in tiers if size <= one[1]), tiers[-1])
        if not step <= size <= most or size % step:
            raise errors.invalid("instance.capacityGib", size, f"It must be a multiple of {step}, up to {most}.")
        if want.former:
            former = int(want.former["capacityGib"])
            if size < former:
                raise errors.invalid("instance.capacityGib", size, "An instance can't become smaller.")
            if former <= tiers[0][1] < size:
                raise errors.invalid("instance.capacityGib", size, f"An instance of the smaller steps grows to {tiers[0][1]}.")
            return
        if not FULL_NETWORK.fullmatch(want["network"]):
            raise errors.invalid("instance.network", want["network"], "It must be projects/{project}/global/networks/{network}.")
        keys.check(cloud, want.get("kmsKey", ""), want.kind, place, "instance.kmsKey")
        network = cloud.need(want["network"], "compute.networks")
        if not network.get("_peerings"):
            raise Refused("failedPrecondition", f"The network {network['name']} has no private services access.")

    def computed(self, cloud: "Cloud", want: Want) -> Mapping[str, Any]:
        if want.former:
            return {}
        address = f"10.{int(cloud.store.new_hex(2), 16)}.{int(cloud.store.new_hex(2), 16)}.2"
        return {
            "mountPoint": f"{address}@tcp:/{want['filesystem']}",
            "perUnitStorageThroughput": want.get("perUnitStorageThroughput", "1000"),
            "_network": links.link(want["network"]),
        }

    def ready(self, cloud: "Cloud", thing: Thing) -> Mapping[str, Any]:
        return {"state": "ACTIVE"}


def zones(cloud: "Cloud") -> list[str]:
    """List the zones that have the service; the setting `zones_without_lustre` names those that don't."""
    return sorted({*facts.zones()} - {*cloud.setting("zones_without_lustre", WITHOUT)})


@handles("lustre.projects.locations.list")
def places(cloud: "Cloud", call: Call) -> Any:
    return {"locations": [{"name": f"projects/{cloud.project}/locations/{zone}", "locationId": zone} for zone in zones(cloud)]}


handles("lustre.projects.locations.operations.get")(aip.operation)
