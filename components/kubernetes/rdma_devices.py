"""RDMA devices for pods: the configuration of the shared device plugin, and what pods of a fabric need beside the devices. Pure."""

import json
from collections.abc import Collection
from typing import Any

from blueprints import catalog

from . import manifests

ADDON = "rdma-shared-device-plugin"
PODS_MAX = 100
"""How many pods of one node may share its devices: more than a node with eight GPUs runs at once."""
LOOK_EVERY_S = 60
"""The plugin's own default."""


def settings(fabrics: Collection[str]) -> dict[str, Any]:
    """Give what differs from the plugin's manifests: its resources, one for each fabric, and that it restarts with another list.

    Source: github.com/Mellanox/k8s-rdma-shared-dev-plugin v1.5.3, README.md ("RDMA Shared Device Plugin Configurations").
    """
    known = [catalog.fabrics()[name] for name in sorted(fabrics)]
    resources = [
        {"resourceName": one.pod_resource.removeprefix(catalog.RDMA_PREFIX), "rdmaHcaMax": PODS_MAX, "selectors": {"linkTypes": [one.pod_link]}}
        for one in known
        if one.pod_link
    ]
    text = json.dumps({"periodicUpdateInterval": LOOK_EVERY_S, "configList": resources}, indent=2)
    template = {
        "metadata": manifests.restarted_with(text),
        "spec": {
            "tolerations": [{"operator": "Exists"}],
            "affinity": _nodes_with_pools(),
            "containers": [{"name": "k8s-rdma-shared-dp-ds", "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}}}],
        },
    }
    return {"ConfigMap/rdma-devices": {"data": {"config.json": text}}, "DaemonSet/rdma-shared-dp-ds": {"spec": {"template": template}}}


def needs_host_network(fabric: str) -> bool:
    """Say whether programs reach a fabric from the host's network only: RoCE addresses a port by the address of its interface, which a pod's own network does not have."""
    return catalog.fabrics()[fabric].pod_link == "ether"


def _nodes_with_pools() -> dict[str, Any]:
    """Keep the plugin off hosts of the control plane, whose NICs no pod of a pool uses."""
    expression = {"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
