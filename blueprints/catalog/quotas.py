"""Quotas: what an account may have of a machine, and what it is called where it is raised."""

import dataclasses
import fnmatch
import functools
from collections.abc import Mapping
from typing import Any

from ..capacity_kind import CapacityKind
from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    target: str
    code: str
    """What the cloud's interface calls it: a Service Quotas code, a Compute Engine metric or quota id."""
    name: str
    unit: str
    """What is counted: `vcpus`, `gpus`, `nodes`, `GiB`."""
    machines: tuple[str, ...]
    """Patterns of machine names."""
    storage: tuple[str, ...]
    """Names of storage classes."""
    capacity: tuple[CapacityKind, ...]
    """The kinds of purchase that it counts."""
    dimensions: Mapping[str, str]
    """What distinguishes entries of the same code, besides the region."""
    default: int | None
    """What a new account has; None: unknown."""
    source: str
    as_of: str

    def counts(self, machine: str, capacity: str) -> bool:
        return capacity in self.capacity and any(fnmatch.fnmatchcase(machine, pattern) for pattern in self.machines)

    def amount(self, *, nodes: int, vcpus: int, gpus: int) -> int:
        """Say how much nodes of one machine take; `vcpus` and `gpus` are those of one node.

        Raises:
            KeyError: the quota doesn't count machines.
        """
        return nodes * {"vcpus": vcpus, "gpus": gpus, "nodes": 1}[self.unit]


@functools.cache
def quotas(target: str) -> tuple[Quota, ...]:
    """Give the known quotas of a target.

    Raises:
        KeyError: there is no such target.
    """
    return tuple(_quota(target, entry) for entry in files.mapping("quotas")[target])


def quotas_for(target: str, machine: str, capacity: str) -> tuple[Quota, ...]:
    """Give every known quota that counts this machine when it is bought this way, the one that counts GPUs first."""
    return tuple(quota for quota in quotas(target) if quota.counts(machine, capacity))


def storage_quota_for(target: str, storage_class: str) -> Quota | None:
    """Give the quota that counts this class of storage; None: unknown."""
    return next((quota for quota in quotas(target) if storage_class in quota.storage), None)


def _quota(target: str, entry: Mapping[str, Any]) -> Quota:
    lists = {field: tuple(entry.get(field, ())) for field in ("machines", "storage")}
    return Quota(
        target=target, **{"default": None, "dimensions": {}, **entry, **lists, "capacity": tuple(CapacityKind(word) for word in entry.get("capacity", ()))}
    )
