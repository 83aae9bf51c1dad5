"""What a compute node has to have before it takes jobs: written on its disk before its first boot, counted there by the start guard (playbooks/roles/guard). Pure."""

import json
from collections.abc import Sequence

from blueprints import catalog
from blueprints.spec import NodeSet

PLACE = "/etc/clusterwright/expected.json"


def expected(node_set: NodeSet, *, mounts: Sequence[str]) -> str:
    """Write the file as JSON: whether to look (`check`), GPUs, devices of the fabric, and the folders that have a file system of their own."""
    machine = node_set.hosts.machine
    record = {
        "check": node_set.health_check,
        "gpus": {"count": machine.gpus.count, "simulated": machine.gpus.simulated} if machine.gpus else None,
        **{fabric.name: sum(nic.kind in fabric.device_interfaces for nic in machine.nics) for fabric in catalog.fabrics().values() if fabric.device_interfaces},
        "mounts": [*mounts],
    }
    return json.dumps(record, indent=1) + "\n"
