"""What a compute node has to have before it takes jobs: written on its disk before its first boot, counted there by the start guard (playbooks/roles/guard). Pure."""

import json
from collections.abc import Sequence

from blueprints.spec import NodeSet

PLACE = "/etc/clusterwright/expected.json"
_EFA_KINDS = ("efa", "efa-only")
"""Kinds of interfaces that bring an EFA device (EC2 User Guide, "EFA interface types")."""


def expected(node_set: NodeSet, *, mounts: Sequence[str]) -> str:
    """Write the file as JSON: whether to look (`check`), GPUs, EFA devices, and the folders that have a file system of their own."""
    machine = node_set.hosts.machine
    record = {
        "check": node_set.health_check,
        "gpus": {"count": machine.gpus.count, "simulated": machine.gpus.simulated} if machine.gpus else None,
        "efa": sum(nic.kind in _EFA_KINDS for nic in machine.nics),
        "mounts": [*mounts],
    }
    return json.dumps(record, indent=1) + "\n"
