"""What the catalogue holds, as lists for programs and as tables for people. Pure."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from blueprints import catalog
from blueprints.plan.estimate import CURRENCY
from blueprints.spec import CapacityKind, Gpus

from . import formatting
from .tables import Cell, Column, Facts, Section, Shown, Table

Entry: TypeAlias = Mapping[str, Any]
_EVERYWHERE = "*"
_SPOKEN = (CapacityKind.ON_DEMAND, CapacityKind.SPOT)
"""Kinds of purchase that have a price of their own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """One kind of thing that the catalogue knows."""

    entries: Callable[[Sequence[str]], list[dict[str, Any]]]
    """Of some targets, as plain JSON values."""
    columns: tuple[Column, ...]
    row: Callable[[Entry], tuple[Shown, ...]]
    by_target: bool
    """True: each target has its own, and `target` says whose an entry is."""


def sections(kind: str, targets: Sequence[str]) -> list[Section]:
    """Write what is known of a kind, for each target or for all together."""
    shelf = SHELVES[kind]
    entries = shelf.entries(targets)
    groups = {target: [entry for entry in entries if entry["target"] == target] for target in targets} if shelf.by_target else {"": entries}
    return [_section(kind, target, several) for target, several in groups.items()]


def _section(kind: str, target: str, entries: Sequence[Entry]) -> Section:
    shelf = SHELVES[kind]
    title = f"{kind.capitalize()}{f', {catalog.target(target).title}' if target else ''}"
    if not entries:
        return Section(title, (Facts((("", f"the catalogue has no {kind} here"),)),))
    return Section(title, (Table(shelf.columns, tuple(shelf.row(entry) for entry in entries)), Facts(tuple(_remarks(kind, entries)))))


def _remarks(kind: str, entries: Sequence[Entry]) -> list[tuple[str, Shown]]:
    priced = [price for entry in entries for price in entry.get("prices", ())]
    remarks: list[tuple[str, Shown]] = []
    if kind in ("machines", "storage") and priced:
        regions = dict.fromkeys(entry["price_region"] for entry in entries if entry["price_region"])
        remarks.append(("prices", Cell(f"{CURRENCY} in {', '.join(regions)}; `--json` has those of all regions, with their sources", "soft")))
    if any(price["confidence"] != "high" for price in priced):
        remarks.append((formatting.DOUBTFUL, Cell("medium or low confidence", "soft")))
    return remarks


# --- Machines ------------------------------------------------------------------------------------------------------------


def _machines(targets: Sequence[str]) -> list[dict[str, Any]]:
    return [_machine(target, machine) for target in targets for machine in catalog.machines(target).values()]


def _machine(target: str, machine: catalog.MachineType) -> dict[str, Any]:
    known = {place: price for place, price in catalog.prices(target).items() if place[0] == machine.name}
    prices = [{"region": region, "capacity": capacity, **dataclasses.asdict(price)} for (_, region, capacity), price in known.items()]
    return {**dataclasses.asdict(machine), "price_region": catalog.target(target).default_region, "prices": prices}


def _machine_row(entry: Entry) -> tuple[Shown, ...]:
    gpus = Gpus(entry["accelerator"], entry["gpus"], simulated=False, memory_gib=entry["gpu_memory_gib"]) if entry["accelerator"] else None
    has = f"{gpus.count} × {gpus.type} {formatting.gpu_memory(gpus)}".rstrip() if gpus else ""
    fabric = f"{entry['fabric']}, {entry['fabric_nics'] * entry['fabric_nic_gbps']:g} Gb/s" if entry["fabric"] else ""
    return (
        entry["name"],
        f"{entry['vcpus']:,}" if entry["vcpus"] else "unknown",
        formatting.size(entry["memory_gib"]) if entry["memory_gib"] else "unknown",
        has,
        fabric,
        ", ".join(entry["capacity"]),
        *(_machine_price(entry, capacity) for capacity in _SPOKEN),
        _dated(entry["prices"], entry["price_region"]),
        f"{entry['source']}, {entry['as_of']}",
    )


def _machine_price(entry: Entry, capacity: str) -> str:
    found = [price for price in entry["prices"] if (price["region"], price["capacity"]) == (entry["price_region"], capacity)]
    if not found:
        return "unknown" if capacity in entry["capacity"] else ""
    return _marked(found[0], "usd_per_hour")


def _marked(price: Entry, field: str) -> str:
    return f"{'' if price['confidence'] == 'high' else formatting.DOUBTFUL}{formatting.unit_price(price[field])}"


def _dated(prices: Sequence[Entry], region: str) -> str:
    """Give the oldest and the newest date of prices in one region."""
    dates = sorted(price["as_of"] for price in prices if price["region"] in (region, _EVERYWHERE))
    return "" if not dates else dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"


# --- GPUs, regions ---------------------------------------------------------------------------------------------------------


def _accelerators(targets: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for accelerator in catalog.accelerators().values():
        machines = {target: [one.name for one in catalog.machines(target).values() if one.accelerator == accelerator.name] for target in targets}
        if any(machines.values()):
            found.append({**dataclasses.asdict(accelerator), "machines": machines})
    return found


def _accelerator_row(entry: Entry) -> tuple[Shown, ...]:
    slices = ", ".join(dict.fromkeys(profile["name"] for profile in entry["mig"]))
    sizes = " or ".join(str(size) for size in entry["memory_gb"])
    counts = ", ".join(str(count) for count in entry["per_node"])
    there = ", ".join(target for target, machines in entry["machines"].items() if machines)
    return (
        entry["name"],
        entry["description"],
        f"{sizes} GB",
        counts,
        "yes" if entry["nvlink"] else "no",
        slices,
        there,
        f"{entry['source']}, {entry['date']}",
    )


def _regions(targets: Sequence[str]) -> list[dict[str, Any]]:
    return [_region(target, name) for target in targets for name in _region_names(target)]


def _region_names(target: str) -> tuple[str, ...]:
    of_machines = sorted({region for machine in catalog.machines(target).values() for region in machine.regions})
    return tuple(dict.fromkeys((*catalog.target(target).regions, *of_machines)))


def _region(target: str, name: str) -> dict[str, Any]:
    machines = [one for one in catalog.machines(target).values() if name in one.regions]
    dates = sorted(price.as_of for (_, region, _), price in catalog.prices(target).items() if region == name)
    return {
        "target": target,
        "name": name,
        "default": name == catalog.target(target).default_region,
        "accelerators": list(dict.fromkeys(one.accelerator for one in machines if one.accelerator)),
        "machines": [one.name for one in machines],
        "prices_from": dates[0] if dates else None,
        "prices_to": dates[-1] if dates else None,
        "source": catalog.target(target).source,
        "as_of": catalog.target(target).as_of,
    }


def _region_row(entry: Entry) -> tuple[Shown, ...]:
    dates = "none" if entry["prices_from"] is None else f"{entry['prices_from']} to {entry['prices_to']}"
    return (
        f"{entry['name']}{' (usual)' if entry['default'] else ''}",
        ", ".join(entry["accelerators"]) or "none known",
        str(len(entry["machines"])),
        dates,
        f"{entry['source']}, {entry['as_of']}",
    )


# --- Storage, software, fabrics ----------------------------------------------------------------------------------------------


def _storage(targets: Sequence[str]) -> list[dict[str, Any]]:
    return [_storage_class(target, kept) for target in targets for kept in catalog.storage_classes(target).values()]


def _storage_class(target: str, kept: catalog.StorageClass) -> dict[str, Any]:
    regions = _region_names(target)
    tiers: list[int | None] = [tier.mbs_per_tib for tier in kept.tiers]
    prices = [
        {"region": region, "mbs_per_tib": tier, **dataclasses.asdict(price)}
        for region in regions
        for tier in tiers or [None]
        if (price := catalog.storage_price(target, kept.name, region=region, mbs_per_tib=tier))
    ]
    return {**dataclasses.asdict(kept), "price_region": catalog.target(target).default_region, "prices": prices}


def _storage_row(entry: Entry) -> tuple[Shown, ...]:
    runs = entry["sizes"] or [run for tier in entry["tiers"] for run in tier["sizes"]]
    least = min((run["first"] for run in runs), default=None)
    most = None if not runs or any(run["last"] is None for run in runs) else max(run["last"] for run in runs)
    sizes = "" if least is None else f"from {formatting.size(least)}{f' to {formatting.size(most)}' if most else ''}"
    here = [price for price in entry["prices"] if price["region"] == entry["price_region"]]
    prices = ", ".join(f"{_marked(price, 'usd_per_gib_month')}{f' ({tier})' if (tier := price['mbs_per_tib']) else ''}" for price in here)
    tiers = ", ".join(str(tier["mbs_per_tib"]) for tier in entry["tiers"])
    source = f"{entry['source']}, {entry['as_of']}"
    return (entry["name"], entry["kind"], entry["product"], sizes, tiers, prices or "unknown", _dated(here, entry["price_region"]), source)


def _software(targets: Sequence[str]) -> list[dict[str, Any]]:
    known = (catalog.profile(name) for name in catalog.profile_names())
    return [dataclasses.asdict(one) for one in known if set(one.targets) & set(targets)]


def _software_row(entry: Entry) -> tuple[Shown, ...]:
    ran = Cell("never", "care") if not entry["tested_on"] else "simulated hosts" if entry["tested_on"] == "simulated" else entry["tested_on"]
    versions = tuple(entry[part] for part in ("slurm", "kubernetes", "driver", "cuda", "nccl"))
    return (entry["profile"], entry["os"], entry["arch"], *versions, ", ".join(entry["targets"]), ran, f"{entry['source']}, {entry['date']}")


def _fabrics(targets: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for fabric in catalog.fabrics().values():
        everywhere = {target: [one.name for one in catalog.machines(target).values() if one.fabric == fabric.name] for target in catalog.target_names()}
        machines = {target: everywhere[target] for target in targets}
        if any(machines.values()) or not any(everywhere.values()):  # NVLink is no machine's way to other racks, and so named by none
            found.append({**dataclasses.asdict(fabric), "machines": machines})
    return found


def _fabric_row(entry: Entry) -> tuple[Shown, ...]:
    users = "; ".join(f"{target}: {formatting.named(machines)}" for target, machines in entry["machines"].items() if machines)
    known = [one for one in entry["expected"] if one["typical_gbs"] is not None]
    best = max(known, key=lambda one: float(one["typical_gbs"]), default=None)
    busbw = "unknown" if best is None else f"up to {best['typical_gbs']:g} GB/s ({formatting.collective(best['collective'])})"
    return (entry["name"], entry["title"], entry["plugin"] or "NCCL's own transport", users, busbw, f"{entry['source']}, {entry['as_of']}")


def _addons(_: Sequence[str]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(one) for one in catalog.addons().values()]


_WHERE = {
    catalog.When.ALWAYS: "every cluster",
    catalog.When.DEFAULT: "every cluster, unless left out",
    catalog.When.ASKED: "where asked for",
    catalog.When.METRICS: "where `monitoring.metrics` asks for them",
    catalog.When.GPUS: "nodes with GPUs",
    catalog.When.SIMULATED_GPUS: "nodes with simulated GPUs",
    catalog.When.POD_NETWORK: "where `pod_network` names it",
    catalog.When.OWN_NETWORK: "on hosts, unless left out",
    catalog.When.FABRICS: "where nodes have InfiniBand or RoCE",
    catalog.When.SECONDARY_NETWORKS: "where `secondary_networks` names networks",
}


def _addon_row(entry: Entry) -> tuple[Shown, ...]:
    built = "yes" if entry["is_built"] else Cell("planned only", "care")
    source = f"{entry['source']}, {entry['as_of']}"
    return (entry["name"], entry["version"], entry["title"], _WHERE[entry["when"]], ", ".join(entry["excludes"]), ", ".join(entry["needs"]), built, source)


_SOURCE = Column("source")
SHELVES: Mapping[str, Shelf] = {
    "machines": Shelf(
        _machines,
        (
            *(Column("machine"), Column("CPUs", right=True), Column("memory", right=True), Column("GPUs"), Column("fabric"), Column("sold as")),
            *(Column("on-demand/h", right=True), Column("spot/h", right=True), Column("prices of"), _SOURCE),
        ),
        _machine_row,
        by_target=True,
    ),
    "accelerators": Shelf(
        _accelerators,
        (
            *(Column("name"), Column("what"), Column("memory", right=True), Column("in a node"), Column("NVLink"), Column("MIG"), Column("machines on")),
            _SOURCE,
        ),
        _accelerator_row,
        by_target=False,
    ),
    "regions": Shelf(_regions, (Column("region"), Column("GPUs"), Column("machines", right=True), Column("prices of"), _SOURCE), _region_row, by_target=True),
    "storage": Shelf(
        _storage,
        (
            *(Column("class"), Column("kind"), Column("product"), Column("sizes"), Column("MB/s/TiB"), Column("GiB-month (tier)"), Column("prices of")),
            _SOURCE,
        ),
        _storage_row,
        by_target=True,
    ),
    "software": Shelf(
        _software,
        (
            *(Column("profile"), Column("system"), Column("processors"), Column("Slurm"), Column("Kubernetes"), Column("driver"), Column("CUDA")),
            *(Column("NCCL"), Column("targets"), Column("has run on"), _SOURCE),
        ),
        _software_row,
        by_target=False,
    ),
    "fabrics": Shelf(
        _fabrics,
        (Column("name"), Column("title"), Column("plugin"), Column("machines"), Column("measured busbw"), _SOURCE),
        _fabric_row,
        by_target=False,
    ),
    "addons": Shelf(
        _addons,
        (
            *(Column("add-on"), Column("version"), Column("what"), Column("installed on"), Column("not beside"), Column("needs"), Column("installs")),
            _SOURCE,
        ),
        _addon_row,
        by_target=False,
    ),
}
