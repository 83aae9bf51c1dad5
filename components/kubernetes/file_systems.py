"""The blueprint's file systems in pods: nodes mount them, and each account's namespace has a claim for each, with which pods get it at any place. Pure.

Kubernetes demands a size of volumes and claims and enforces none; a claim binds to its own volume alone.
Source: Kubernetes, "Persistent Volumes" (reserving a volume, node affinity).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints.spec import FileSystem

from . import labels

CLAIMS = "files-"
"""Names of claims begin with it, and nobody else's may: a pod that names one is held to `pod_rules`, whether the claim is there yet or not."""
NOMINAL = "1Gi"
MODES = ["ReadWriteMany"]


def claim_name(file_system: FileSystem) -> str:
    """Give the name that pods find a file system by."""
    return f"{CLAIMS}{labels.object_name(file_system.name)}"


def claims(account: str, file_systems: Sequence[FileSystem], *, marks: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Give the volumes and claims of one account.

    Args:
        account: its namespace.
        marks: labels of all objects.
    """
    for one in file_systems:
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": claim_name(one), "namespace": account}
        volume = f"{account}.{claim_name(one)}"  # no name of an account has a dot
        on_nodes = {"matchExpressions": [{"key": labels.POOL, "operator": "Exists"}]}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume, "labels": dict(marks)},
            "spec": {
                "accessModes": MODES,
                "capacity": {"storage": NOMINAL},
                "claimRef": claim,
                "hostPath": {"path": one.mount, "type": "Directory"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [on_nodes]}},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
            },
        }
        wanted = {"accessModes": MODES, "resources": {"requests": {"storage": NOMINAL}}, "storageClassName": "", "volumeName": volume}
        metadata = {"name": claim_name(one), "namespace": account, "labels": dict(marks)}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": wanted}
