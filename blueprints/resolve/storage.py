"""Storage: each file system's class on the target, and a valid size and throughput."""

import dataclasses
import math
from collections.abc import Sequence

from .. import catalog, language, message_text, spec
from ..codes import Code
from ..language import values
from . import counts
from .context import Context

EXISTING = "existing"
_ALWAYS = "always"
_SINGLE = "single"
GIB_PER_TIB = 1024


def resolve(context: Context) -> tuple[spec.FileSystem, ...]:
    """Resolve every file system of the blueprint, in its order."""
    return tuple(_file_system(context, name, asked) for name, asked in context.blueprint.storage.items())


def over_fabric(file_systems: Sequence[spec.FileSystem], node_sets: Sequence[spec.NodeSet], *, target: str, profile: str) -> tuple[spec.FileSystem, ...]:
    """Decide which file systems the nodes reach over their fabric: those of a class and size that has it, where the software profile configures it on hosts.

    A cloud decides this once, when it creates the file system: one that no host could use over the fabric would keep the fabric's limits for good.
    """
    fabric = next((node_set.fabric.name for node_set in node_sets if node_set.fabric), "")
    if not fabric or catalog.profile(profile).lustre_fabric != fabric:
        return tuple(file_systems)
    return tuple(dataclasses.replace(one, fabric=fabric) if _takes_fabric(one, target) else one for one in file_systems)


def _takes_fabric(wanted: spec.FileSystem, target: str) -> bool:
    if not wanted.storage_class or not wanted.size_gib:
        return False
    tiers = catalog.storage_class(target, wanted.storage_class).tiers
    step = next((tier.fabric_step_gib for tier in tiers if tier.mbs_per_tib == wanted.throughput_mbs_per_tib), None)
    return bool(step) and int(wanted.size_gib) % (step or 1) == 0


def _file_system(context: Context, name: str, asked: language.Storage) -> spec.FileSystem:
    base = spec.FileSystem(
        name=name,
        kind=asked.kind,
        mount=asked.mount,
        protect=asked.protect,
        simulated=context.is_rehearsal,
        durability=asked.durability,
        on_delete=asked.on_delete,
        backup_days=asked.backup_days,
        encrypted=asked.encrypted,
        key=asked.key,
        source=asked.source,
        exchange=_exchange(asked),
        user_quota_gib=_gib(asked.quotas.user),
        group_quota_gib=_gib(asked.quotas.group),
        writable_by=asked.writable_by or "",
    )
    if context.is_rehearsal or asked.kind == EXISTING:
        return base
    kind = context.target.storage.get(asked.kind)
    if kind is None:
        _blame_kind(context, name, asked)
        return base
    usual = catalog.storage_class(context.target.name, kind)
    chosen = _with_throughput(context, name, asked, _with_durability(context, name, asked, usual))
    tier = _tier(asked, chosen)
    size_gib = _size(context, name, asked, chosen, tier)
    if not context.is_cloud and not counts.controllers(context):
        _blame_server(context, name, asked)
    elif not context.is_cloud:
        what = f"the controller exports {name} from its own disks"
        why = "bare metal has no storage service: the controller exports a folder over NFS, with the speed and safety of its disks"
        remedy = f"mount an existing file system: `targets.{context.target.name}.storage.{name}: {{kind: existing, source: …}}`"
        context.note(Code.STORAGE_ON_CONTROLLER, "storage", name, "kind", what=what, why=why, remedy=remedy)
    return dataclasses.replace(
        base,
        product=chosen.product,
        storage_class=chosen.name,
        size_gib=size_gib,
        throughput_mbs_per_tib=tier,
        throughput_mbs=tier * size_gib / GIB_PER_TIB if tier and size_gib else None,
        encrypted=asked.encrypted or chosen.encrypted == _ALWAYS,
    )


def _blame_kind(context: Context, name: str, asked: language.Storage) -> None:
    kinds = [*context.target.storage, EXISTING]
    what = f"{context.target.title} has no `{asked.kind}` storage"
    why = f"it has {message_text.listed(f'`{kind}`' for kind in kinds)}"
    remedy = f"mount an existing file system: `targets.{context.target.name}.storage.{name}: {{kind: existing, mount: {asked.mount}, source: …}}`, or choose another kind"
    context.error(Code.STORAGE_KIND_MISSING, "storage", name, "kind", what=what, why=why, remedy=remedy)


def _blame_server(context: Context, name: str, asked: language.Storage) -> None:
    """Report a folder that no host can export; `checks.storage` reports disks, on every target."""
    if asked.kind == "block" or context.blueprint.scheduler == counts.TRAINING:
        return  # a target without a service for training jobs is refused as a whole
    what = f"no host can export {name}: this cluster has no controller of its own"
    why = f"{context.target.title} has no storage service: Slurm's controller exports folders, and the hosts of Kubernetes' control plane do not"
    offered = context.target.built.get(counts.kubernetes_offering(context).name)
    if offered is not None and not any(key.partition(".")[0] == "storage" for key in (*offered.keys, *offered.values)):
        remedy = f"remove {name}: this version mounts no storage on nodes of Kubernetes there"
    else:
        remedy = f"mount an existing file system: `targets.{context.target.name}.storage.{name}: {{kind: existing, source: …}}`"
    context.error(Code.STORAGE_KIND_MISSING, "storage", name, "kind", what=what, why=why, remedy=remedy)


def _with_durability(context: Context, name: str, asked: language.Storage, usual: catalog.StorageClass) -> catalog.StorageClass:
    """Choose the scratch class if the blueprint requests it and the target sells one."""
    if asked.durability == "persistent" or not usual.survives:
        return usual
    found = next((one for one in _of_kind(context.target.name, asked.kind) if not one.survives), None)
    if found is None and any(not one.survives for one in _anywhere(asked.kind)):
        what = f"{name} is persistent storage, although `durability` is `scratch`"
        why = f"{context.target.title} has no scratch storage of the kind `{asked.kind}`"
        context.note(Code.STORAGE_DURABLE, "storage", name, "durability", what=what, why=why, remedy="keep it; it applies to targets with scratch storage")
    return found or usual


def _with_throughput(context: Context, name: str, asked: language.Storage, usual: catalog.StorageClass) -> catalog.StorageClass:
    """Choose a class of the same kind that is sold with the requested throughput."""
    wanted = _throughput(asked)
    alike = [usual, *(one for one in _of_kind(context.target.name, asked.kind) if one.survives == usual.survives)]
    found = next((one for one in alike if wanted in (None, *_throughputs(one))), None)
    if found is None and any(one.tiers for one in _anywhere(asked.kind)):
        what = f"{usual.product} is not sold with {asked.throughput}"
        sold = list(_throughputs(usual))
        why = f"it is sold with {message_text.listed(sold)} MB/s/TiB" if sold else "its throughput per TiB can't be chosen"
        remedy = f"write one of these, under `targets.{context.target.name}.storage.{name}` if other targets differ" if sold else "remove `throughput`"
        context.error(Code.STORAGE_THROUGHPUT, "storage", name, "throughput", what=what, why=why, remedy=remedy)
    return found or usual


def _of_kind(target: str, kind: str) -> list[catalog.StorageClass]:
    return [one for one in catalog.storage_classes(target).values() if one.kind == kind]


def _anywhere(kind: str) -> list[catalog.StorageClass]:
    """Return the classes of a kind on all targets; keys that none of them supports are refused by the language."""
    return [one for target in catalog.target_names() for one in _of_kind(target, kind)]


def _throughputs(storage_class: catalog.StorageClass) -> tuple[int, ...]:
    return tuple(tier.mbs_per_tib for tier in storage_class.tiers)


def _tier(asked: language.Storage, chosen: catalog.StorageClass) -> int | None:
    wanted = _throughput(asked)
    return wanted if wanted in _throughputs(chosen) else chosen.default_mbs_per_tib


def _size(context: Context, name: str, asked: language.Storage, chosen: catalog.StorageClass, tier: int | None) -> float | None:
    """Return a valid size: the requested one or the next larger one, else the minimum."""
    if asked.size is None:
        if not chosen.valid_sizes(tier) and chosen.attach == _SINGLE:
            what = f"{name} has no `size`, and {chosen.product} has no default"
            why = "a disk has a fixed size, and the catalogue has no minimum for this product"
            context.error(Code.STORAGE_SIZE, "storage", name, "kind", what=what, why=why, remedy="write `size`, for example `size: 1 TiB`")
        return float(chosen.minimum_gib(tier)) or None
    wanted = values.size_gib(asked.size)
    if not chosen.valid_sizes(tier):
        return wanted
    named = _named_tier(asked, chosen, tier)
    found = chosen.next_size(math.ceil(wanted), mbs_per_tib=tier)
    if named is None:
        return None if found is None else float(found)
    if found is None:
        largest = chosen.maximum_gib(tier)
        what = f"{asked.size} exceeds the maximum size of {chosen.product}"
        why = f"the largest{named} has {largest} GiB"
        remedy = "write a smaller size, or divide the files among several file systems"
        context.error(Code.STORAGE_SIZE, "storage", name, "size", what=what, why=why, remedy=remedy)
        return None if largest is None else float(largest)
    if found > wanted:
        below = chosen.previous_size(math.floor(wanted), mbs_per_tib=tier)
        what = f"{name} gets {found} GiB instead of {wanted:g}"
        why = (
            f"{chosen.product}{named} is sold in steps: {below} GiB below, {found} GiB above"
            if below
            else f"the smallest {chosen.product}{named} has {found} GiB"
        )
        remedy = _with_steps(asked.size, below, found, meant=_meant(asked.size, chosen, tier))
        context.note(Code.STORAGE_ROUNDED, "storage", name, "size", what=what, why=why, remedy=remedy)
    return float(found)


def _named_tier(asked: language.Storage, chosen: catalog.StorageClass, tier: int | None) -> str | None:
    """Name the throughput that determines the sizes; empty if all throughputs have the same sizes, None if the sizes of the requested one are unknown."""
    if tier is None:
        return ""
    if _throughput(asked) in (None, tier):
        return f" with {tier} MB/s/TiB"
    return "" if len({one.sizes for one in chosen.tiers}) == 1 else None


def _with_steps(size: str, below: int | None, above: int, *, meant: int | None) -> str:
    if meant is not None:
        return f"write `size: {meant} GiB` if you mean what is sold as {size.replace('iB', 'B')}, or `size: {above} GiB`"
    return f"write {f'`size: {below} GiB` or ' if below else ''}`size: {above} GiB`, or keep it"


def _meant(size: str, chosen: catalog.StorageClass, tier: int | None) -> int | None:
    """Return the size that vendors mean by this number, if they sell it: they count 1000 GiB as 1 TB of Lustre, so their 14.4 TB have 14400 GiB."""
    number, unit, _ = size.partition("TiB")
    as_sold = round(float(number) * 1000, 6) if unit else 0.0
    return int(as_sold) if as_sold.is_integer() and as_sold and chosen.is_valid_size(int(as_sold), mbs_per_tib=tier) else None


def _throughput(asked: language.Storage) -> int | None:
    return values.throughput(asked.throughput) if asked.throughput else None


def _exchange(asked: language.Storage) -> spec.Exchange | None:
    exchange = asked.exchange
    return spec.Exchange(exchange.bucket, exchange.import_files, exchange.export_files) if exchange else None


def _gib(size: str | None) -> float | None:
    return values.size_gib(size) if size else None
