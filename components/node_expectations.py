"""What a compute node has to have before it takes jobs: written on its disk before its first boot, counted there by the start guard (playbooks/roles/guard). Pure."""

import json
from collections.abc import Sequence

from blueprints import catalog
from blueprints.spec import Gpus, NodeSet

PLACE = "/etc/clusterwright/expected.json"
OWN_ANSWERS = ("reboot", "repair")
"""What a node does itself when it fails a check (playbooks/roles/guard)."""


def expected(node_set: NodeSet, *, mounts: Sequence[str], reboots: bool = False) -> str:
    """Write the file as JSON: how to look (`check`), GPUs and how MIG divides them, devices of the fabric, and the folders that have a file system of their own.

    Args:
        reboots: a host that stands: where the pool says `on_failure: reboot` or `repair`, it does that for what it lacks. Elastic ones are replaced.
    """
    machine = node_set.hosts.machine
    record = {
        "check": node_set.health_check,
        "gpus": _gpus(machine.gpus) if machine.gpus else None,
        **{fabric.name: sum(nic.kind in fabric.device_interfaces for nic in machine.nics) for fabric in catalog.fabrics().values() if fabric.device_interfaces},
        "mounts": [*mounts],
        **({"brake": node_set.health_brake} if node_set.health_brake else {}),
        **({"on_failure": node_set.on_failure} if reboots and node_set.on_failure in OWN_ANSWERS else {}),
    }
    return json.dumps(record, indent=1) + "\n"


def _gpus(gpus: Gpus) -> dict[str, object]:
    slices = {"mig": {one.profile: one.per_gpu for one in gpus.mig}} if gpus.mig else {}
    return {"count": gpus.count, "simulated": gpus.simulated, **slices}
