"""The quotas that an account needs for the whole cluster, under the names by which the cloud raises them. Pure."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from .. import catalog, message_text, spec
from ..capacity_kind import CapacityKind
from . import estimate


@dataclasses.dataclass(frozen=True, slots=True)
class QuotaNeed:
    """What a cluster takes of one quota, with every elastic pool at its largest."""

    name: str
    code: str
    """What the cloud's interface calls it."""
    needed: int
    unit: str
    """`vcpus`, `gpus`, `nodes`, `GiB`."""
    default: int | None
    """What a new account has; None: unknown."""
    takers: tuple[str, ...]
    """What takes it: `train 16 × p5.48xlarge`."""

    @property
    def why(self) -> str:
        return f"for {message_text.listed(self.takers)}"

    @property
    def to_raise(self) -> bool | None:
        """Whether a new account has less than this; None: unknown."""
        return None if self.default is None else self.needed > self.default


@dataclasses.dataclass(frozen=True, slots=True)
class _Take:
    quota: catalog.Quota
    amount: int
    taker: str
    pool: str = ""
    """The pool whose node sets are alternatives to each other: only the largest amount counts."""


def needed(cluster: spec.ClusterSpec) -> tuple[QuotaNeed, ...]:
    """Give each known quota that the cluster takes from, in the order of the cluster's parts."""
    takes: dict[tuple[str, str], list[_Take]] = {}
    for take in (*_of_machines(cluster), *_of_storage(cluster)):
        takes.setdefault((take.quota.code, _name(take.quota)), []).append(take)
    return tuple(_sum(several) for several in takes.values())


def unknown(cluster: spec.ClusterSpec) -> tuple[str, ...]:
    """Name the machines, with how they are bought, that no known quota counts; none where nothing is bought."""
    if not catalog.target(cluster.target).capacity:
        return ()
    groups = _groups(cluster)
    uncounted = [(_machine(cluster, group), kind) for group, kind in groups if not _quotas(cluster, group, kind)]
    return tuple(dict.fromkeys(f"{machine} ({kind})" for machine, kind in uncounted))


def as_record(needs: tuple[QuotaNeed, ...], without: tuple[str, ...]) -> dict[str, Any]:
    """Turn needs into plain JSON values."""
    return {"needed": [{**dataclasses.asdict(need), "why": need.why, "to_raise": need.to_raise} for need in needs], "unknown": list(without)}


def _groups(cluster: spec.ClusterSpec) -> Iterator[tuple[spec.HostGroup, CapacityKind]]:
    """Give each group of hosts with the way it is bought."""
    bought = _bought(cluster)
    for group in cluster.host_groups:
        yield group, bought.get(group.name, CapacityKind.ON_DEMAND) if group.role in ("compute", "worker") else CapacityKind.ON_DEMAND


def _quotas(cluster: spec.ClusterSpec, group: spec.HostGroup, kind: CapacityKind) -> tuple[catalog.Quota, ...]:
    """Give the known quotas of a group's machines; a service that starts machines by itself counts them in quotas of its own, which are unknown."""
    service = estimate.selling_service(cluster, group.name)
    return () if service and service.own_prices else tuple(catalog.quotas_for(cluster.target, _machine(cluster, group), kind))


def _machine(cluster: spec.ClusterSpec, group: spec.HostGroup) -> str:
    """Name a group's machine as whoever sells it does: a service counts `ml.p5.48xlarge` in a quota of its own."""
    service = estimate.selling_service(cluster, group.name)
    return f"{service.machine_prefix if service else ''}{group.machine.name}{f' of {service.title}' if service and service.own_prices else ''}"


def _bought(cluster: spec.ClusterSpec) -> dict[str, CapacityKind]:
    return {node_set.hosts.name: node_set.capacity.kind for node_set in cluster.node_sets}


def _of_machines(cluster: spec.ClusterSpec) -> Iterator[_Take]:
    pools = {node_set.hosts.name: node_set.pool for node_set in cluster.node_sets if node_set.pool_most is not None}
    for group, kind in _groups(cluster):
        machine = group.machine
        gpus = machine.gpus.count if machine.gpus else 0
        for quota in _quotas(cluster, group, kind):
            yield _Take(
                quota, quota.amount(nodes=group.count, vcpus=machine.cpus, gpus=gpus), f"{group.name} {group.count} × {machine.name}", pools.get(group.name, "")
            )


def _of_storage(cluster: spec.ClusterSpec) -> Iterator[_Take]:
    for entry in cluster.storage:
        quota = catalog.storage_quota_for(cluster.target, entry.storage_class)
        if quota and entry.size_gib is not None and entry.source is None:
            yield _Take(quota, round(entry.size_gib), f"{entry.name} {entry.size_gib:g} GiB")


def _sum(takes: list[_Take]) -> QuotaNeed:
    quota = takes[0].quota
    largest: dict[str, _Take] = {}
    for take in takes:
        if take.pool and (take.pool not in largest or take.amount > largest[take.pool].amount):
            largest[take.pool] = take
    counted = [take for take in takes if not take.pool or take is largest[take.pool]]
    return QuotaNeed(_name(quota), quota.code, sum(take.amount for take in counted), quota.unit, quota.default, tuple(take.taker for take in counted))


def _name(quota: catalog.Quota) -> str:
    """Give the quota's name with its dimensions (`GPUs per GPU family, NVIDIA_H100`)."""
    return ", ".join([quota.name, *quota.dimensions.values()])
