"""One blueprint on several targets: what it would be on each, what it would cost, and what keeps it from standing there."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import catalog, finding, library, load, spec
from ..codes import Code
from ..facts import Facts
from . import estimate, quotas

SAID_ELSEWHERE = frozenset({*load.PLANNED_ONLY, Code.REGION_CHOSEN, Code.QUOTA_NEEDED})
"""Findings that a comparison shows in figures and words of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """One machine type of a pool: what a target has for it."""

    pool: str
    node_set: str
    machine: str
    capacity: spec.CapacityKind
    nodes_min: int
    nodes_max: int
    accelerator: str | None
    gpus_per_node: int
    gpu_memory_gib: float | None
    """Of each GPU, by its source; None: unknown, or there are no GPUs."""
    gpu_memory_gb: int | None
    """The same as the vendor names it, so that targets that report it differently compare."""
    simulated: bool
    """True: the GPUs are no real ones."""
    fabric: str | None
    fabric_gbps_per_gpu: float | None
    expected: spec.Expectation | None
    usd_per_gpu_hour: float | None
    """Of the machine alone; None: owned, without GPUs, or unknown."""

    pool_most: int | None
    """Where the pool has several machines: the most nodes that it has of all of them together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """A blueprint on one target."""

    target: str
    title: str
    cluster: spec.ClusterSpec | None
    """None: the blueprint is invalid for this target; the findings give the reasons."""
    findings: tuple[finding.Finding, ...]
    offers: tuple[Offer, ...] = ()
    costs: estimate.Estimate | None = None
    needs: tuple[quotas.QuotaNeed, ...] = ()
    uncounted: tuple[str, ...] = ()
    """Machines that no known quota counts."""

    @property
    def is_built(self) -> bool:
        """Say whether this version can provision it, or only plan it."""
        return self.cluster is not None and not any(found.code in (*load.PLANNED_ONLY, Code.HOSTS_UNNAMED) for found in self.findings)

    @property
    def gpus_max(self) -> int:
        """Count GPUs with every pool at its largest."""
        return round(self._most(lambda offer: offer.gpus_per_node))

    @property
    def gpu_memory_gib(self) -> float | None:
        """Sum the memory of all GPUs; None when there are none, or a machine's is unknown."""
        if not self.gpus_max or any(offer.gpus_per_node and offer.gpu_memory_gib is None for offer in self.offers):
            return None
        return self._most(lambda offer: offer.gpus_per_node * (offer.gpu_memory_gib or 0.0))

    @property
    def gpu_memory_gb(self) -> int | None:
        """Do as `gpu_memory_gib`, with the memory that vendors name."""
        if not self.gpus_max or any(offer.gpus_per_node and offer.gpu_memory_gb is None for offer in self.offers):
            return None
        return round(self._most(lambda offer: offer.gpus_per_node * (offer.gpu_memory_gb or 0)))

    @property
    def usd_per_gpu_hour(self) -> float | None:
        """Divide what everything costs at most by all GPUs; None: owned, without GPUs, or a price is unknown and it would look too cheap."""
        if self.costs is None or self.costs.owned or not self.gpus_max or not self.costs.complete:
            return None
        return self.costs.hourly_max / self.gpus_max

    @property
    def pools(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(offer.pool for offer in self.offers))

    def _most(self, of_node: Callable[[Offer], float]) -> float:
        """Sum over all nodes, with every pool at its largest. Machines of one pool are alternatives to each other: those with the most count first."""
        found = 0.0
        for pool in self.pools:
            offers = sorted((offer for offer in self.offers if offer.pool == pool), key=lambda offer: -of_node(offer))
            left = offers[0].pool_most if offers[0].pool_most is not None else sum(offer.nodes_max for offer in offers)
            for offer in offers:
                count = min(left, offer.nodes_max)
                found, left = found + count * of_node(offer), left - count
        return found


def compare(name_or_path: str, *, targets: Sequence[str], stack: str, facts: Facts, overrides: Mapping[str, Any] | None = None) -> tuple[Side, ...]:
    """Put a blueprint on each of some targets, in their order.

    Args:
        name_or_path: a blueprint of the library, or the path of a file, relative to the current folder.
        stack, facts, overrides: as for `load.load`.
    Raises:
        finding.Invalid: it can't be read, or has the same errors on every target.
    """
    path = library.find(name_or_path)
    source = load.open_document(path)
    sides = []
    for target in targets:
        try:
            loaded = load.from_document(source, target=target, stack=stack, facts=facts, overrides=overrides, folder=path.parent)
        except finding.Invalid as invalid:
            sides.append(Side(target, catalog.target(target).title, None, invalid.findings))
        else:
            sides.append(side(loaded.spec, loaded.findings))
    shared = set.intersection(*(set(_errors(one)) for one in sides)) if sides else set()
    if shared and all(set(_errors(one)) == shared for one in sides):
        raise finding.Invalid(finding.in_order(shared))
    return tuple(sides)


def side(cluster: spec.ClusterSpec, findings: tuple[finding.Finding, ...] = ()) -> Side:
    """Describe a resolved cluster as one side of a comparison."""
    costs = estimate.estimate(cluster)
    offers = tuple(_offer(node_set, costs) for node_set in cluster.node_sets)
    return Side(cluster.target, catalog.target(cluster.target).title, cluster, findings, offers, costs, quotas.needed(cluster), quotas.unknown(cluster))


def differences(sides: Sequence[Side]) -> dict[str, list[tuple[finding.Finding, int]]]:
    """Give by target what is missing or different there: each kind of finding once, with the number of further ones like it.

    Findings that hold on every target are not among them, nor those that the comparison shows otherwise.
    """
    everywhere = set.intersection(*(set(one.findings) for one in sides)) if len(sides) > 1 else set()
    return {one.target: _by_kind([found for found in one.findings if found not in everywhere and found.code not in SAID_ELSEWHERE]) for one in sides}


def as_record(blueprint: str, sides: Sequence[Side]) -> dict[str, Any]:
    """Turn a comparison into plain JSON values."""
    return {"blueprint": blueprint, "targets": [_side_record(one) for one in sides]}


def _errors(one: Side) -> list[finding.Finding]:
    return [found for found in one.findings if found.level is finding.Level.ERROR]


def _by_kind(findings: Sequence[finding.Finding]) -> list[tuple[finding.Finding, int]]:
    kinds: dict[str, list[finding.Finding]] = {}
    for found in sorted(findings, key=lambda one: [*finding.Level].index(one.level)):
        kinds.setdefault(found.code, []).append(found)
    return [(alike[0], len(alike) - 1) for alike in kinds.values()]


def _offer(node_set: spec.NodeSet, costs: estimate.Estimate) -> Offer:
    machine, gpus, fabric = node_set.hosts.machine, node_set.hosts.machine.gpus, node_set.fabric
    part = costs.part("compute", node_set.hosts.name)
    unit = part.unit_usd_per_hour if part else None
    return Offer(
        pool=node_set.pool,
        node_set=node_set.hosts.name,
        machine=machine.name,
        capacity=node_set.capacity.kind,
        nodes_min=node_set.always,
        nodes_max=node_set.hosts.count,
        pool_most=node_set.pool_most,
        accelerator=gpus.type if gpus else None,
        gpus_per_node=gpus.count if gpus else 0,
        gpu_memory_gib=gpus.memory_gib if gpus else None,
        gpu_memory_gb=_nominal_gb(gpus) if gpus else None,
        simulated=gpus.simulated if gpus else False,
        fabric=fabric.title if fabric else None,
        fabric_gbps_per_gpu=fabric.gbps_per_gpu if fabric else None,
        expected=fabric.expected if fabric else None,
        usd_per_gpu_hour=unit / gpus.count if unit is not None and gpus else None,
    )


def _nominal_gb(gpus: spec.Gpus) -> int | None:
    known = catalog.accelerators().get(gpus.type)
    return known.nominal_gb(gpus.memory_gib) if known and gpus.memory_gib is not None else None


def _side_record(one: Side) -> dict[str, Any]:
    cluster = one.cluster
    return {
        "target": one.target,
        "title": one.title,
        "exists": cluster is not None,
        "built": one.is_built,
        "region": cluster.network.region if cluster else None,
        "gpus_max": one.gpus_max if cluster else None,
        "gpu_memory_gib": one.gpu_memory_gib,
        "gpu_memory_gb": one.gpu_memory_gb,
        "usd_per_gpu_hour": _rounded(one.usd_per_gpu_hour),
        "offers": [{**dataclasses.asdict(offer), "usd_per_gpu_hour": _rounded(offer.usd_per_gpu_hour)} for offer in one.offers],
        "storage": [_storage_record(entry) for entry in cluster.storage] if cluster else [],
        "estimate": estimate.as_record(one.costs) if one.costs else None,
        "quotas": quotas.as_record(one.needs, one.uncounted) if cluster else None,
        "findings": [finding.as_record(found) for found in one.findings],
    }


def _storage_record(entry: spec.FileSystem) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "product": entry.product,
        "size_gib": entry.size_gib,
        "throughput_mbs": entry.throughput_mbs,
        "simulated": entry.simulated,
    }


def _rounded(money: float | None) -> float | None:
    return None if money is None else round(money, 4)
