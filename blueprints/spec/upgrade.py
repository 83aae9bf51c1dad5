"""Records of older versions of the spec in the form of this version. Pure: plain values in, plain values out."""

from collections.abc import Mapping
from typing import Any

from ..errors import Unreadable

SPEC_VERSION = 3
"""The form of the record. It grows when a record of the form before can't be read any more without `upgrade`."""

_OFFERINGS = {
    "AWS PCS": "pcs",
    "SageMaker HyperPod": "hyperpod",
    "Cluster Director": "cluster_director",
    "EKS": "eks",
    "GKE": "gke",
    "hosts": "kubernetes_hosts",
}
"""What version 2 called the service that runs a scheduler → the offering."""
_MOVED = ("scheduler", "managed_scheduler", "control", "database", "qos", "node_sets")
"""Fields of version 2 that version 3 has in the schedulers."""


def upgrade(record: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a recorded spec to the form of this version; a record of any other form than version 2 comes back as it is.

    Raises:
        Unreadable: the record says that it is of version 2, and isn't.
    """
    if record.get("version") != 2:
        return dict(record)
    try:
        return _from_2(record)
    except (AttributeError, KeyError, TypeError) as error:
        raise Unreadable(f"the record says that it is of version 2, and that version writes {error}") from None


def _from_2(record: Mapping[str, Any]) -> dict[str, Any]:
    node_sets = record["node_sets"]
    found = {name: value for name, value in record.items() if name not in _MOVED}
    found |= {"version": SPEC_VERSION, "slurm": None, "kubernetes": None}
    if record["scheduler"] in ("slurm", "both"):
        service = record.get("managed_scheduler")
        found["slurm"] = {
            "run_by": _OFFERINGS[service] if service else "slurm_hosts",
            "product": service or "",
            "control": None if service else record["control"],
            "database": record["database"],
            "qos": record.get("qos", []),
            "node_sets": [one for one in node_sets if one["partition"] is not None],
        }
    if kubernetes := record.get("kubernetes"):
        found["kubernetes"] = {
            "run_by": _OFFERINGS[kubernetes["product"]],
            "product": kubernetes["product"],
            "version": kubernetes["version"],
            "control": kubernetes["hosts"],
            "node_sets": [one for one in node_sets if one["partition"] is None],
        }
    return found
