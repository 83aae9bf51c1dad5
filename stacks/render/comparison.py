"""A comparison of targets, as a person reads it: a column for each target, a table for each pool. Pure."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

from blueprints import message_text
from blueprints.finding import Level
from blueprints.plan.compare import Offer, Side, differences
from blueprints.plan.estimate import CURRENCY, HOURS_PER_MONTH
from blueprints.spec import CapacityKind, Expectation, FileSystem

from . import cost, finding_list, formatting
from .tables import Cell, Column, Facts, Section, Shown, Table

BYTES_PER_GIB = 2**30
NOTHING = "-"
"""Of a target where the blueprint can't run."""
_STYLES = {Level.ERROR: "bad", Level.WARNING: "care", Level.NOTE: "soft"}


def sections(name: str, sides: Sequence[Side]) -> Iterator[Section]:
    """Write the comparison of a blueprint."""
    yield Section(f"{name} on {message_text.listed(one.title for one in sides)}", (_table(sides, _standing(sides)),))
    standing = [one for one in sides if one.cluster]
    for pools in _alike(standing):
        yield Section(f"{'Pool' if len(pools) == 1 else 'Pools'} {formatting.named(pools)}", (_table(sides, _pool_rows(sides, pools[0])),))
    yield Section("Storage", (_table(sides, _storage_rows(sides)),))
    yield Section("Cost", (_table(sides, _cost_rows(sides)), Facts(tuple(_cost_remarks(sides)))))
    yield Section("Quotas needed", (_quotas(standing),))
    yield Section("Missing or different", (Facts(tuple(_differences(sides))),))


def _table(sides: Sequence[Side], rows: Iterator[tuple[Shown, ...]]) -> Table:
    """Put rows together, those without any content left out; a target where the blueprint can't run keeps its column."""
    kept = [row for row in rows if any(row[1:])]
    filled = [(row[0], *(cell or (NOTHING if one.cluster is None else "") for one, cell in zip(sides, row[1:], strict=True))) for row in kept]
    return Table((Column(""), *(Column(one.target) for one in sides)), tuple(filled))


def _row(title: str, sides: Sequence[Side], cell: Callable[[Side], Shown]) -> tuple[Shown, ...]:
    return (title, *(cell(one) for one in sides))


def _standing(sides: Sequence[Side]) -> Iterator[tuple[Shown, ...]]:
    yield _row("can run", sides, lambda one: Cell("yes", "good") if one.cluster else Cell(f"no: {_obstacle(one)}", "bad"))
    yield _row("this version", sides, lambda one: "" if not one.cluster else "provisions it" if one.is_built else Cell("plans it only", "care"))
    yield _row("region", sides, lambda one: one.cluster.network.region if one.cluster else "")
    yield _row("GPUs at most", sides, lambda one: f"{one.gpus_max:,}" if one.gpus_max else "")
    yield _row("GPU memory", sides, lambda one: f"{one.gpu_memory_gb:,} GB" if one.gpu_memory_gb else "unknown" if one.gpus_max else "")


def _obstacle(one: Side) -> str:
    """Say in a line why a blueprint can't run on a target."""
    errors = [found.what for found in one.findings if found.level is Level.ERROR]
    return errors[0] + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else "")


def _alike(sides: Sequence[Side]) -> list[list[str]]:
    """Put pools together that are the same on every target but for their names."""
    found: dict[tuple[tuple[Shown, ...], ...], list[str]] = {}
    for pool in dict.fromkeys(pool for one in sides for pool in one.pools):
        found.setdefault(tuple(_pool_rows(sides, pool)), []).append(pool)
    return list(found.values())


def _pool_rows(sides: Sequence[Side], pool: str) -> Iterator[tuple[Shown, ...]]:
    def each(write: Callable[[Offer], str]) -> Callable[[Side], Shown]:
        """Write something of each machine that the pool may have, the first one first; once where all have the same."""
        return lambda one: ", else ".join(dict.fromkeys(write(offer) for offer in one.offers if offer.pool == pool))

    yield _row("machine", sides, each(lambda offer: offer.machine))
    yield _row("nodes", sides, each(_nodes))
    yield _row("GPUs each", sides, each(_gpus))
    yield _row("bought", sides, each(lambda offer: offer.capacity))
    yield _row("fabric", sides, each(lambda offer: offer.fabric or ("none" if offer.gpus_per_node else "")))
    yield _row("Gb/s per GPU", sides, each(lambda offer: f"{offer.fabric_gbps_per_gpu:g}" if offer.fabric_gbps_per_gpu is not None else ""))
    yield _row("expected busbw", sides, each(lambda offer: _expected(offer.expected) if offer.fabric else ""))
    yield _row(f"{CURRENCY} per GPU-hour", sides, each(_gpu_hour))


def _nodes(offer: Offer) -> str:
    return f"{offer.nodes_max:,}" if offer.nodes_min == offer.nodes_max else f"{offer.nodes_min:,}–{offer.nodes_max:,}"


def _gpus(offer: Offer) -> str:
    if offer.accelerator is None:
        return ""
    memory = f" {offer.gpu_memory_gb} GB" if offer.gpu_memory_gb else ""
    return f"{offer.gpus_per_node} × {offer.accelerator}{memory}{' (simulated)' if offer.simulated else ''}"


def _expected(expected: Expectation | None) -> str:
    if expected is None:
        return "unknown"
    figure = f"at least {expected.floor_gbs:g}{formatting.lowered(expected)}" if expected.typical_gbs is None else f"{expected.typical_gbs:g}"
    return f"{figure} GB/s ({formatting.collective(expected.collective)} of {formatting.size(expected.size_bytes / BYTES_PER_GIB)}, {expected.nodes} nodes)"


def _gpu_hour(offer: Offer) -> str:
    if not offer.gpus_per_node:
        return ""
    if offer.capacity is CapacityKind.OWNED:
        return "owned"
    return "unknown" if offer.usd_per_gpu_hour is None else formatting.unit_price(offer.usd_per_gpu_hour)


def _storage_rows(sides: Sequence[Side]) -> Iterator[tuple[Shown, ...]]:
    names = dict.fromkeys(entry.name for one in sides if one.cluster for entry in one.cluster.storage)
    for name in names:
        yield _row(name, sides, functools.partial(_file_system, name))


def _file_system(name: str, one: Side) -> str:
    entry = next((entry for entry in one.cluster.storage if entry.name == name), None) if one.cluster else None
    return "" if entry is None else ", ".join(_described(entry))


def _described(entry: FileSystem) -> Iterator[str]:
    yield "a folder of this machine" if entry.simulated else entry.product or entry.kind
    if entry.size_gib is not None:
        yield formatting.size(entry.size_gib)
    if entry.throughput_mbs is not None:
        yield f"{entry.throughput_mbs:,.0f} MB/s"


def _cost_rows(sides: Sequence[Side]) -> Iterator[tuple[Shown, ...]]:
    yield _row(f"{CURRENCY} an hour", sides, lambda one: _money(one, 1))
    yield _row(f"{CURRENCY} a month ({HOURS_PER_MONTH} h)", sides, lambda one: _money(one, HOURS_PER_MONTH))
    yield _row(f"{CURRENCY} per GPU-hour, all in", sides, _all_in)


def _money(one: Side, hours: int) -> Shown:
    if one.costs is None:
        return ""
    return Cell("owned", "soft") if one.costs.owned else cost.total(one.costs, hours=hours)


def _cost_remarks(sides: Sequence[Side]) -> Iterator[tuple[str, Shown]]:
    """Say whose prices are missing, and what the mark before an amount means."""
    if any(one.usd_per_gpu_hour is not None for one in sides):
        yield "all in", Cell("an average: what everything costs with every pool at its largest, divided by all GPUs", "soft")
    for one in sides:
        if one.costs and one.costs.unknown:
            yield one.target, Cell(f"no price is known of {', '.join(part.name for part in one.costs.unknown)}", "care")
    if any(cost.is_doubtful(part) for one in sides if one.costs for part in one.costs.parts):
        yield formatting.DOUBTFUL, Cell("prices of medium or low confidence are in it; `plan` says which", "soft")


def _all_in(one: Side) -> Shown:
    if one.costs is None or one.costs.owned or not one.gpus_max:
        return ""
    return "unknown: a price is missing" if one.usd_per_gpu_hour is None else formatting.unit_price(one.usd_per_gpu_hour)


def _quotas(sides: Sequence[Side]) -> Table:
    columns = (Column(""), Column("quota"), Column("needed", right=True), Column("new accounts have", right=True))
    return Table(columns, tuple(row for one in sides for row in _quota_rows(one)))


def _quota_rows(one: Side) -> Iterator[tuple[Shown, ...]]:
    for need in one.needs:
        needed = Cell(formatting.counted(need.needed, need.unit), "care" if need.to_raise else "")
        yield (one.target, f"{need.name} ({need.code})", needed, "unknown" if need.default is None else f"{need.default:,}")
    for name in one.uncounted:
        yield (one.target, f"no known quota counts {name}", "", "")


def _differences(sides: Sequence[Side]) -> Iterator[tuple[str, Shown]]:
    for target, kinds in differences([dataclasses.replace(one, findings=finding_list.folded(one.findings)) for one in sides]).items():
        for found, others in kinds:
            more = f" (and {others} more like it)" if others else ""
            why = f": {found.why}" if found.level is Level.ERROR else ""
            yield target, Cell(f"{found.level}: {found.what}{why}{more} [{found.code}]", _STYLES[found.level])
