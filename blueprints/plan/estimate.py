"""What a cluster costs: each part by the hour, from the catalogue's prices. Pure.

A part without a known price has none, and the totals are then the least that it can be. Discounts, contracts and taxes are not in any of it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from .. import catalog, spec
from ..capacity_kind import CapacityKind

HOURS_PER_MONTH = 730
"""As the clouds' own calculators count (365 × 24 / 12)."""
CURRENCY = "USD"

NOT_COUNTED = ("system disks", "traffic", "backups and snapshots", "support, taxes and discounts")
"""Costs that no part covers."""

_WITHOUT_PRICE = {CapacityKind.BLOCK: "a block has a price of its own, for all of its time"}
_SPOT = "the spot price moves"
_RESERVATION = "as on demand, used or not, before any discount"
_WHOLE_RESERVATION = "the whole reservation is billed, however few nodes run"


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One thing that is paid for by the hour. Money is USD."""

    name: str
    kind: str
    """`compute`, `control`, `access`, `storage` or `service`."""
    what: str
    """`p5.48xlarge, spot`."""
    count_min: int
    count_max: int
    unit_usd_per_hour: float | None
    """None: unknown."""
    as_of: str
    source: str
    """A name of the catalogue's sources."""
    method: str
    """How the price came about: `listed`, or from which other price."""
    confidence: str
    """`high`, `medium` or `low`; empty without a price."""
    note: str
    pool: str = ""
    """The pool whose node sets are alternatives to each other; empty for all other parts."""
    pool_most: int = 0
    """The most that all parts of this pool are together."""

    @property
    def hourly_min(self) -> float | None:
        return None if self.unit_usd_per_hour is None else self.unit_usd_per_hour * self.count_min

    @property
    def hourly_max(self) -> float | None:
        return None if self.unit_usd_per_hour is None else self.unit_usd_per_hour * self.count_max


@dataclasses.dataclass(frozen=True, slots=True)
class Estimate:
    owned: bool
    """True: nothing here is paid for by the hour, since the machines are there already."""
    region: str
    parts: tuple[Part, ...]

    @property
    def unknown(self) -> tuple[Part, ...]:
        """The parts without a price that there can be any of."""
        return tuple(part for part in self.parts if part.unit_usd_per_hour is None and part.count_max)

    @property
    def complete(self) -> bool:
        """False: the totals are the least that it can be."""
        return not self.unknown

    @property
    def hourly_min(self) -> float:
        """With every elastic pool at its smallest."""
        return self.of()[0]

    @property
    def hourly_max(self) -> float:
        """With every elastic pool at its largest."""
        return self.of()[1]

    @property
    def dates(self) -> tuple[str, str] | None:
        """The oldest and the newest date of the prices; None when there are none."""
        dates = sorted(part.as_of for part in self.parts if part.unit_usd_per_hour is not None and part.as_of)
        return (dates[0], dates[-1]) if dates else None

    def of(self, kind: str | None = None) -> tuple[float, float]:
        """Sum what has a price, of one kind of part or of all: least and most by the hour."""
        parts = [part for part in self.parts if kind in (None, part.kind)]
        alone = sum(part.hourly_max or 0.0 for part in parts if not part.pool)
        shared = sum(_dearest([part for part in parts if part.pool == pool]) for pool in dict.fromkeys(part.pool for part in parts if part.pool))
        return sum(part.hourly_min or 0.0 for part in parts), alone + shared

    def part(self, kind: str, name: str) -> Part | None:
        return next((part for part in self.parts if (part.kind, part.name) == (kind, name)), None)


def _dearest(parts: Sequence[Part]) -> float:
    """Sum the most that a pool with alternative parts can cost: the most expensive parts first, up to the pool's size."""
    left, hourly = parts[0].pool_most, 0.0
    for part in sorted(parts, key=lambda one: -(one.unit_usd_per_hour or 0.0)):
        count = min(left, part.count_max)
        hourly, left = hourly + count * (part.unit_usd_per_hour or 0.0), left - count
    return hourly


def estimate(cluster: spec.ClusterSpec) -> Estimate:
    """Estimate what a cluster costs by the hour."""
    if not catalog.target(cluster.target).capacity:
        return Estimate(owned=True, region=cluster.network.region, parts=())
    parts = (*_computing(cluster), *_standing(cluster), *_storage(cluster), *_pair_storage(cluster), *_services(cluster))
    return Estimate(owned=False, region=cluster.network.region, parts=parts)


def as_record(found: Estimate) -> dict[str, Any]:
    """Turn an estimate into plain JSON values, sums included."""
    return {
        "currency": CURRENCY,
        "hours_per_month": HOURS_PER_MONTH,
        "region": found.region,
        "owned": found.owned,
        "complete": found.complete,
        "hourly_min": round(found.hourly_min, 4),
        "hourly_max": round(found.hourly_max, 4),
        "monthly_min": round(found.hourly_min * HOURS_PER_MONTH, 2),
        "monthly_max": round(found.hourly_max * HOURS_PER_MONTH, 2),
        "prices_from": found.dates[0] if found.dates else None,
        "prices_to": found.dates[1] if found.dates else None,
        "not_counted": [] if found.owned else list(NOT_COUNTED),
        "parts": [_part_record(part) for part in found.parts],
    }


def _part_record(part: Part) -> dict[str, Any]:
    sums = {"hourly_min": part.hourly_min, "hourly_max": part.hourly_max}
    return {**dataclasses.asdict(part), **{name: None if value is None else round(value, 4) for name, value in sums.items()}}


def _computing(cluster: spec.ClusterSpec) -> Iterator[Part]:
    for node_set in cluster.node_sets:
        part = _machines(cluster, node_set.hosts, "compute", capacity=node_set.capacity.kind, least=node_set.always)
        if service := selling_service(cluster, node_set.hosts.name):
            which = f"`{service.machine_prefix}` machines" if service.machine_prefix else "machines"
            note = f"{service.title} sells {which} at prices of its own, and none is known"
            what = f"{service.machine_prefix}{part.what}"
            part = _part(part.name, "compute", what, least=part.count_min, most=part.count_max, price=None, note=note)
        if node_set.capacity.kind is CapacityKind.RESERVED and node_set.always < node_set.hosts.count:
            part = _whole(part, alone=node_set.pool_most is None)
        yield part if node_set.pool_most is None else dataclasses.replace(part, pool=node_set.pool, pool_most=node_set.pool_most)


def selling_service(cluster: spec.ClusterSpec, group: str) -> catalog.Offering | None:
    """Find the service that sells the machines of a group of nodes at prices and quotas of its own; None for others."""
    for scheduler in (cluster.slurm, cluster.kubernetes, cluster.training):
        offering = catalog.offering(scheduler.run_by) if scheduler else None
        if (
            scheduler
            and offering
            and (offering.machine_prefix or offering.own_prices)
            and any(node_set.hosts.name == group for node_set in scheduler.node_sets)
        ):
            return offering
    return None


def _whole(part: Part, *, alone: bool) -> Part:
    """Count an elastic pool in a reservation with all of its nodes at any time; of alternative machines it is unknown how many are reserved."""
    least = part.count_max if alone else part.count_min
    return dataclasses.replace(part, count_min=least, note=f"{part.note}; {_WHOLE_RESERVATION}")


def _standing(cluster: spec.ClusterSpec) -> Iterator[Part]:
    slurm, kubernetes = cluster.slurm.control if cluster.slurm else None, cluster.kubernetes.control if cluster.kubernetes else None
    for kind, group in (("control", slurm), ("control", kubernetes), ("access", cluster.access)):
        if group and group.count:
            yield _machines(cluster, group, kind, capacity=CapacityKind.ON_DEMAND, least=group.count)


def _machines(cluster: spec.ClusterSpec, group: spec.HostGroup, kind: str, *, capacity: CapacityKind, least: int) -> Part:
    found = catalog.price(cluster.target, group.machine.name, region=cluster.network.region, capacity=capacity.billed_as)
    what = group.machine.name if capacity is CapacityKind.ON_DEMAND else f"{group.machine.name}, {capacity}"
    return _part(group.name, kind, what, least=least, most=group.count, price=found, note=_machine_note(capacity, found))


def _machine_note(capacity: CapacityKind, found: catalog.Price | None) -> str:
    if found is None:
        return _WITHOUT_PRICE.get(capacity, "no price is known")
    if capacity is CapacityKind.RESERVED:
        return f"{found.note}; {_RESERVATION}" if found.note else _RESERVATION
    if capacity is not CapacityKind.SPOT:
        return found.note
    zones = f"; {found.highest_usd:.2f} in the dearest zone" if found.highest_usd and found.highest_usd > found.usd_per_hour else ""
    return f"{_SPOT}{zones}"


def _services(cluster: spec.ClusterSpec) -> Iterator[Part]:
    for service in cluster.services:
        found = catalog.service_price(cluster.target, service.name, region=cluster.network.region)
        note = found.note if found else "no price is known"
        yield _part(service.name, "service", service.product, least=service.count, most=service.count, price=found, note=note)


def _part(name: str, kind: str, what: str, *, least: int, most: int, price: catalog.Price | None, note: str) -> Part:
    if price is None:
        return Part(name, kind, what, least, most, unit_usd_per_hour=None, as_of="", source="", method="", confidence="", note=note)
    return Part(name, kind, what, least, most, price.usd_per_hour, price.as_of, price.source, price.method, price.confidence, note)


def _storage(cluster: spec.ClusterSpec) -> Iterator[Part]:
    for entry in cluster.storage:
        if entry.source is not None:
            continue  # it exists already, and who made it pays for it
        found = catalog.storage_price(cluster.target, entry.storage_class, region=cluster.network.region, mbs_per_tib=entry.throughput_mbs_per_tib)
        yield _file_system(entry, found)


def _pair_storage(cluster: spec.ClusterSpec) -> Iterator[Part]:
    """Count what two controllers keep their shared files on, where it is sold by size: Slurm's state, and the tables that all hosts read."""
    wanted = catalog.target(cluster.target).pair_storage
    if not wanted or cluster.slurm is None or cluster.slurm.control is None or cluster.slurm.control.count < 2:
        return
    known = catalog.storage_class(cluster.target, wanted)
    found = catalog.storage_price(cluster.target, wanted, region=cluster.network.region, mbs_per_tib=None)
    for name in ("controllers' state", "tables of hosts and users"):
        entry = spec.FileSystem(name=name, kind=known.kind, mount="", protect=False, simulated=False, product=known.product, size_gib=known.sizes[0].first)
        yield _file_system(entry, found)


def _file_system(entry: spec.FileSystem, found: catalog.StoragePrice | None) -> Part:
    if found is None:
        note = "paid by what is stored, and no price is known" if entry.size_gib is None else "no price is known"
        return _part(entry.name, "storage", entry.product, least=1, most=1, price=None, note=note)
    by_month = f"{found.usd_per_gib_month:g} {CURRENCY} per GiB-month"
    if entry.size_gib is None:
        return _part(entry.name, "storage", entry.product, least=1, most=1, price=None, note=f"paid by what is stored: {by_month}{_traffic(found)}")
    hourly = found.usd_per_gib_month * entry.size_gib / HOURS_PER_MONTH
    method = f"{entry.size_gib:g} GiB at {by_month}"
    return Part(entry.name, "storage", entry.product, 1, 1, hourly, found.as_of, found.source, method, found.confidence, found.note)


def _traffic(found: catalog.StoragePrice) -> str:
    """Say what reading and writing costs on top, where the class is billed for it: with home folders on it, that can be more than what is stored."""
    if found.usd_per_gb_read is None or found.usd_per_gb_written is None:
        return ""
    return f"; about {found.usd_per_gb_read:g} {CURRENCY} per GB read and {found.usd_per_gb_written:g} {CURRENCY} per GB written come on top"
