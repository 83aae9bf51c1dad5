"""Storage: each file system's class on the target, and a size and throughput that can be bought."""

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


def over_fabric(file_systems: Sequence[spec.FileSystem], node_sets: Sequence[spec.NodeSet], *, target: str) -> tuple[spec.FileSystem, ...]:
    """Decide which file systems the nodes reach over their fabric: those of a class and a size that the target offers with it."""
    fabric = next((node_set.fabric.name for node_set in node_sets if node_set.fabric), "")
    return tuple(dataclasses.replace(one, fabric=fabric) if fabric and _takes_fabric(one, target) else one for one in file_systems)


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
        what = f"{name} is served by the controller from its own disks"
        why = "nobody makes file systems on bare metal: the controller exports a folder over NFS, no faster and no safer than its disks"
        remedy = f"mount one that is there: `targets.{context.target.name}.storage.{name}: {{kind: existing, source: …}}`"
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
    what = f"no `{asked.kind}` storage can be made on {context.target.title}"
    why = f"what can be had there is {message_text.listed(f'`{kind}`' for kind in kinds)}"
    remedy = (
        f"mount one that is there: `targets.{context.target.name}.storage.{name}: {{kind: existing, mount: {asked.mount}, source: …}}`, or choose another kind"
    )
    context.error(Code.STORAGE_KIND_MISSING, "storage", name, "kind", what=what, why=why, remedy=remedy)


def _blame_server(context: Context, name: str, asked: language.Storage) -> None:
    """Say that no host can serve a folder; of a disk the checks say it on every target."""
    if asked.kind == "block":
        return
    what = f"nothing serves {name}: this cluster has no controller of its own"
    why = f"nobody makes file systems on {context.target.title}: there the controller of Slurm exports a folder, and the hosts of Kubernetes' control plane serve none"
    remedy = f"mount one that is there: `targets.{context.target.name}.storage.{name}: {{kind: existing, source: …}}`"
    context.error(Code.STORAGE_KIND_MISSING, "storage", name, "kind", what=what, why=why, remedy=remedy)


def _with_durability(context: Context, name: str, asked: language.Storage, usual: catalog.StorageClass) -> catalog.StorageClass:
    """Take the class whose files are lost with a server where that is asked for and sold."""
    if asked.durability == "persistent" or not usual.survives:
        return usual
    found = next((one for one in _of_kind(context.target.name, asked.kind) if not one.survives), None)
    if found is None and any(not one.survives for one in _anywhere(asked.kind)):
        what = f"{name} is made to last, although `scratch` is asked for"
        why = f"{context.target.title} sells no cheaper `{asked.kind}` storage without it"
        context.note(Code.STORAGE_DURABLE, "storage", name, "durability", what=what, why=why, remedy="leave it; it counts on targets that have such storage")
    return found or usual


def _with_throughput(context: Context, name: str, asked: language.Storage, usual: catalog.StorageClass) -> catalog.StorageClass:
    """Take a class of the same kind that is sold with the throughput asked for."""
    wanted = _throughput(asked)
    alike = [usual, *(one for one in _of_kind(context.target.name, asked.kind) if one.survives == usual.survives)]
    found = next((one for one in alike if wanted in (None, *_throughputs(one))), None)
    if found is None and any(one.tiers for one in _anywhere(asked.kind)):
        what = f"{usual.product} is not sold with {asked.throughput}"
        sold = list(_throughputs(usual))
        why = f"it comes with {message_text.listed(sold)} MB/s/TiB" if sold else "its throughput can't be chosen for each TiB"
        remedy = f"write one of these, under `targets.{context.target.name}.storage.{name}` if other targets differ" if sold else "leave `throughput` out"
        context.error(Code.STORAGE_THROUGHPUT, "storage", name, "throughput", what=what, why=why, remedy=remedy)
    return found or usual


def _of_kind(target: str, kind: str) -> list[catalog.StorageClass]:
    return [one for one in catalog.storage_classes(target).values() if one.kind == kind]


def _anywhere(kind: str) -> list[catalog.StorageClass]:
    """Give the classes of every target: what no storage of a kind has is a matter of the language."""
    return [one for target in catalog.target_names() for one in _of_kind(target, kind)]


def _throughputs(storage_class: catalog.StorageClass) -> tuple[int, ...]:
    return tuple(tier.mbs_per_tib for tier in storage_class.tiers)


def _tier(asked: language.Storage, chosen: catalog.StorageClass) -> int | None:
    wanted = _throughput(asked)
    return wanted if wanted in _throughputs(chosen) else chosen.default_mbs_per_tib


def _size(context: Context, name: str, asked: language.Storage, chosen: catalog.StorageClass, tier: int | None) -> float | None:
    """Give a size that can be bought: the one asked for or the next, the least where none is asked for."""
    if asked.size is None:
        if not chosen.valid_sizes(tier) and chosen.attach == _SINGLE:
            what = f"{name} has no size, and {chosen.product} has no usual one"
            why = "a disk holds what it is bought with, and the catalogue knows no least size of this one"
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
        what = f"{chosen.product} doesn't come as large as {asked.size}"
        why = f"the largest{named} has {largest} GiB"
        remedy = "ask for less, or divide the files among several file systems"
        context.error(Code.STORAGE_SIZE, "storage", name, "size", what=what, why=why, remedy=remedy)
        return None if largest is None else float(largest)
    if found > wanted:
        below = chosen.previous_size(math.floor(wanted), mbs_per_tib=tier)
        what = f"{name} gets {found} GiB instead of {wanted:g}"
        why = f"{chosen.product}{named} is sold in steps: {f'{below} GiB below, ' if below else ''}{found} GiB above"
        remedy = _with_steps(asked.size, below, found, meant=_meant(asked.size, chosen, tier))
        context.note(Code.STORAGE_ROUNDED, "storage", name, "size", what=what, why=why, remedy=remedy)
    return float(found)


def _named_tier(asked: language.Storage, chosen: catalog.StorageClass, tier: int | None) -> str | None:
    """Name the throughput that sizes go by; nothing where all have the same sizes and another one was asked for, None where those of that one are unknown."""
    if tier is None:
        return ""
    if _throughput(asked) in (None, tier):
        return f" with {tier} MB/s/TiB"
    return "" if len({one.sizes for one in chosen.tiers}) == 1 else None


def _with_steps(size: str, below: int | None, above: int, *, meant: int | None) -> str:
    if meant is not None:
        return f"write `size: {meant} GiB` if you mean what is sold as {size.replace('iB', 'B')}, or `size: {above} GiB`"
    return f"write {f'`size: {below} GiB` or ' if below else ''}`size: {above} GiB`, or leave it"


def _meant(size: str, chosen: catalog.StorageClass, tier: int | None) -> int | None:
    """Give the size that sellers mean by this number, if they sell one: they count 1000 GiB as a TB of Lustre, so that their 14.4 TB have 14400 GiB."""
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
