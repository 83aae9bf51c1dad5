"""What a compute node has to have before it takes jobs: written on its disk before its first boot, counted there by the start guard (playbooks/roles/guard). Pure."""

import json
from collections.abc import Sequence

from blueprints import catalog
from blueprints.spec import Gpus, NodeSet

PLACE = "/etc/clusterwright/expected.json"
OWN_ANSWERS = {"reboot": "reboot", "repair": "repair", "report": "repair"}
"""`on_failure` of a pool → what a node of it does itself when it fails a check (playbooks/roles/guard)."""


def expected(node_set: NodeSet, *, mounts: Sequence[str], is_replaced: bool | None = None) -> str:
    """Write the file as JSON: how to look (`check`), GPUs and how MIG divides them, devices of the fabric, and the folders that have a file system of their own.

    Args:
        is_replaced: the elastic program replaces the node where what it does itself doesn't help; a host that stands stays drained then. None: it is told nothing, and does nothing itself.
    """
    machine = node_set.hosts.machine
    record = {
        "check": node_set.health_check,
        "gpus": _gpus(machine.gpus) if machine.gpus else None,
        **{fabric.name: sum(nic.kind in fabric.device_interfaces for nic in machine.nics) for fabric in catalog.fabrics().values() if fabric.device_interfaces},
        "mounts": [*mounts],
        **({"brake": node_set.health_brake} if node_set.health_brake else {}),
    }
    if is_replaced is not None and (answer := OWN_ANSWERS.get(node_set.on_failure)):
        record |= {"on_failure": answer, **({"else": "replace"} if is_replaced else {})}
    return json.dumps(record, indent=1) + "\n"


def _gpus(gpus: Gpus) -> dict[str, object]:
    slices = {"mig": {one.profile: one.per_gpu for one in gpus.mig}} if gpus.mig else {}
    return {"count": gpus.count, "simulated": gpus.simulated, **slices}
