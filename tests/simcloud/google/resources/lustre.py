"""Managed Lustre: capacity in steps of its throughput, in a network with private services access."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...core.failure import Refused
from ...core.store import Thing
from .. import aip, errors, facts, links
from ..rules import Rules, Want, handles, rules_of

if TYPE_CHECKING:
    from ..cloud import Cloud

# MB/s for each TiB → least capacity and step, GiB. Source: cloud.google.com/managed-lustre/docs/create-instance, "Performance tiers"; pages of other age have twice that for 500.
TIERS: Mapping[int, int] = {1000: 9000, 500: 18_000, 250: 36_000, 125: 72_000}
MOST = 7_632_000
FILE_SYSTEM = re.compile(r"[A-Za-z0-9]{1,8}")
FULL_NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")


@rules_of("lustre.instances")
class Instances(Rules):
    """File systems."""

    def check(self, cloud: "Cloud", want: Want) -> None:
        place = want.path.split("/")[3]
        if place not in facts.zones():
            raise errors.invalid("location", place, "An instance is in a zone.")
        step = TIERS.get(int(want.get("perUnitStorageThroughput", 1000)))
        if step is None:
            raise errors.invalid("instance.perUnitStorageThroughput", want["perUnitStorageThroughput"], f"It must be one of {sorted(TIERS)}.")
        size = int(want["capacityGib"])
        if not step <= size <= MOST or size % step:
            raise errors.invalid("instance.capacityGib", size, f"It must be a multiple of {step}, up to {MOST}.")
        if want.former:
            if size < int(want.former["capacityGib"]):
                raise errors.invalid("instance.capacityGib", size, "An instance can't become smaller.")
            return
        if not FULL_NETWORK.fullmatch(want["network"]):
            raise errors.invalid("instance.network", want["network"], "It must be projects/{project}/global/networks/{network}.")
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


handles("lustre.projects.locations.operations.get")(aip.operation)
