"""File systems, disks and buckets: keys of each kind, homes, quotas and exchange."""

import re
from collections.abc import Iterator, Mapping

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_MISPLACED: Mapping[str, tuple[str, ...]] = {
    "lustre": ("source",),
    "nfs": ("throughput", "source", "exchange"),
    "block": ("throughput", "source", "exchange"),
    "object": ("size", "throughput", "source", "exchange", "quotas", "backup_days", "writable_by"),
    "existing": ("size", "throughput", "exchange", "quotas", "backup_days", "key"),
}
"""Keys that don't apply to a kind."""
_WHOSE = {"size": "grows automatically or exists already", "throughput": "isn't sold by throughput", "source": "is created by clusterwright"}
_LUSTRE, _LUSTRE_NAME = "lustre", "lustre_file_system"
"""Kind of storage; kind of name in a target's limits."""
_WITH_SCRATCH = (_LUSTRE,)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find keys that don't apply to a kind of storage, homes on unsuitable storage, and buckets of another cloud."""
    for name, entry in blueprint.storage.items():
        yield from _keys(name, entry, blueprint, source)
        if entry.mount == "/home" and blueprint.scheduler != "training" and (entry.durability == "scratch" or entry.kind == "object"):
            is_bucket = entry.kind == "object"
            what = "the homes are " + ("in a bucket" if is_bucket else "on a file system that loses files when a server fails")
            why = "a bucket has no file owners, permissions or locks" if is_bucket else "files that users can't recreate need persistent storage"
            where = source.where("storage", name, "kind" if is_bucket else "durability")
            remedy = "write `kind: nfs` for homes" if is_bucket else "write `durability: persistent`"
            yield finding.Finding(_ERROR, Code.HOME_UNFIT, where, what, why, remedy)
        if entry.mount == spec.HOMES and entry.writable_by in ("users", "administrators"):
            what = f"{entry.writable_by} may write in {spec.HOMES} itself"
            why = "they could take the place of a home before its user has one"
            where = source.where("storage", name, "writable_by")
            yield finding.Finding(_ERROR, Code.HOME_UNFIT, where, what, why, "remove `writable_by`: every user owns the own home")
        if entry.kind == "block" and blueprint.scheduler != "training":
            yield from _block(name, blueprint, source)
        yield from _quotas(name, entry, source)
        yield from _enforcement(name, entry, cluster, source)
    yield from _names(cluster, source)
    yield from _room(cluster, source)
    yield from _exchanges(cluster, blueprint, source)


def _names(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find names by which clients could not mount a file system, since the cloud takes them as they are."""
    target = lookup.target_of(cluster)
    longest = target.name_limits.get(_LUSTRE_NAME) if target else None
    if target is None or longest is None:
        return
    for entry in cluster.storage:
        known = lookup.storage_class_of(cluster, entry.name)
        if known and known.kind == _LUSTRE and not (len(entry.name) <= longest and entry.name.isalnum()):
            what = f"{known.product} can't have the name `{entry.name}`"
            why = f"{target.title} allows {longest} letters and digits; hosts mount the file system by this name"
            remedy = f"rename it, for example to `{re.sub('[^a-z0-9]', '', entry.name)[:longest]}`"
            yield finding.Finding(_ERROR, Code.STORAGE_NAME, source.where_key("storage", entry.name), what, why, remedy)


def _room(cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find more file systems than the cloud's own network has addresses for, and such that an existing network would have to be peered for."""
    peered = [(entry.name, known, known.peered) for entry in cluster.storage if (known := lookup.storage_class_of(cluster, entry.name)) and known.peered]
    for number, (name, known, room) in enumerate(peered, start=1):
        if cluster.network.existing is not None:
            what = f"clusterwright can't create {known.product} in the existing network {cluster.network.existing}"
            why = "a network has one peering with the cloud's services, and others may use that of this network"
            remedy = f"create it yourself and write `storage.{name}: {{kind: existing, source: …}}`, or remove `network.existing`"
            yield finding.Finding(_ERROR, Code.STORAGE_PEERED, source.where_key("storage", name), what, why, remedy)
        if number > room.most:
            what = f"{name} is one file system of {known.product} too many: a cluster can have {room.most}"
            why = f"each takes a /{room.prefix} of the /{room.range_prefix} that is reserved for them ({catalog.source(room.source).where.partition(' (')[0]})"
            yield finding.Finding(_ERROR, Code.STORAGE_MANY, source.where_key("storage", name), what, why, "put several folders on one file system")


def _keys(name: str, entry: language.Storage, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    for key in _MISPLACED[entry.kind]:
        if getattr(entry, key) != language.Storage.model_fields[key].default:
            what = f"`{key}` does not apply to storage of the kind `{entry.kind}`"
            kinds = [kind for kind, keys in _MISPLACED.items() if key not in keys]
            why = f"such storage {_WHOSE.get(key, f'has no `{key}`')}"
            if blueprint.scheduler == "training" and key == "source":
                remedy = (
                    "remove it, or remove the entry if the data exists: its jobs see every bucket that they may read" if entry.kind == "object" else "remove it"
                )
            else:
                remedy = f"remove it, or choose a kind that has it: {', '.join(kinds)}"
            yield finding.Finding(_ERROR, Code.STORAGE_KEY_MISPLACED, source.where_key("storage", name, key), what, why, remedy)
    if entry.durability == "scratch" and entry.kind not in _WITH_SCRATCH:
        what = f"storage of the kind `{entry.kind}` can't be `scratch`"
        why = "only parallel file systems have a cheaper scratch type, which can lose files"
        where = source.where("storage", name, "durability")
        yield finding.Finding(_ERROR, Code.STORAGE_KEY_MISPLACED, where, what, why, "remove `durability`, or write `kind: lustre`")
    if entry.kind == "existing" and entry.source is None:
        what = f"the storage {name} exists already, and its `source` is missing"
        why = "`source` names the file system to mount"
        remedy = "write `source: …`, such as `fs-0123456789abcdef0` or `10.0.0.5:/export`; often it belongs under `targets`"
        yield finding.Finding(_ERROR, Code.SOURCE_MISSING, source.where("storage", name, "kind"), what, why, remedy)


def _block(name: str, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    where = source.where("storage", name, "kind")
    if catalog.asks_for_service(blueprint.control.managed, "slurm") or blueprint.scheduler == "kubernetes":
        what = f"the disk {name} requires a controller, and this cluster has no controller of its own"
        why = "the controller serves the disk to all other hosts"
        yield finding.Finding(_ERROR, Code.BLOCK_HOST, where, what, why, "write `kind: nfs`")
    elif blueprint.control.highly_available:
        what = f"the disk {name} is attached to the first of two controllers"
        why = "a disk is attached to one host: if that host fails, the second controller takes over without the disk"
        yield finding.Finding(_WARNING, Code.BLOCK_HOST, where, what, why, "write `kind: nfs`, which does not depend on a controller")


def _quotas(name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    if entry.size is None:
        return
    for key in ("user", "group"):
        quota = getattr(entry.quotas, key)
        if quota is not None and values.size_gib(quota) > values.size_gib(entry.size):
            what = f"each {key} may store {quota} on {name}, which has only {entry.size}"
            why = f"a quota above the size has no effect: one {key} can fill the file system"
            where = source.where("storage", name, "quotas", key)
            yield finding.Finding(_WARNING, Code.QUOTA_TOO_LARGE, where, what, why, "check the unit of both")


def _enforcement(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find quotas that the storage does not enforce, or may not enforce."""
    storage_class = lookup.storage_class_of(cluster, name)
    if storage_class is None or storage_class.user_quotas or "quotas" in _MISPLACED[entry.kind] or entry.quotas == language.Quotas():
        return
    where = source.where_key("storage", name, "quotas")
    able = dict.fromkeys(one.kind for one in catalog.storage_classes(cluster.target).values() if one.user_quotas)
    remedy = f"write {' or '.join(f'`kind: {kind}`' for kind in able)}, or remove `quotas`" if able else "remove `quotas`"
    if storage_class.user_quotas is False:
        what = f"{storage_class.product} can't limit what each user or group stores on {name}"
        why = f"it does not support quotas ({catalog.source(storage_class.quotas_source).where})"
        yield finding.Finding(_ERROR, Code.QUOTAS_NOT_ENFORCED, where, what, why, remedy)
    else:
        what = f"{storage_class.product} may not limit what each user or group stores on {name}"
        why = "its documentation does not mention user quotas"
        yield finding.Finding(_WARNING, Code.QUOTAS_NOT_ENFORCED, where, what, why, remedy)


def _exchanges(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    writers: dict[str, str] = {}
    for name, entry in blueprint.storage.items():
        exchange = entry.exchange
        if exchange is None:
            continue
        where = source.where("storage", name, "exchange", "bucket")
        scheme, _, bucket = exchange.bucket.partition("://")
        owner_target = next(name for name in catalog.target_names() if catalog.target(name).bucket_scheme == scheme)
        if lookup.is_bought(cluster) and owner_target != cluster.target:
            what = f"`{exchange.bucket}` is a bucket of another cloud"
            why = f"a file system exchanges files with buckets of its own cloud, and this one is on {cluster.target}"
            remedy = f"write the bucket of each cloud under `targets.{owner_target}` and `targets.{cluster.target}`"
            yield finding.Finding(_ERROR, Code.BUCKET_TARGET, where, what, why, remedy)
        if not exchange.import_files and not exchange.export_files:
            what = f"the storage {name} neither imports files from its bucket nor exports any"
            why = "without import or export the link to the bucket has no effect"
            remedy = "write `import_files: true` or `export_files: true`, or remove `exchange`"
            yield finding.Finding(_WARNING, Code.EXCHANGE_NOTHING, source.where_key("storage", name, "exchange"), what, why, remedy)
        other = next((owner for known, owner in writers.items() if _is_same_or_inside(bucket, known)), None)
        if exchange.export_files and other is not None:
            what = f"{other} and {name} export their files to the same place, `{exchange.bucket}`"
            why = "files with the same name would overwrite each other"
            yield finding.Finding(_WARNING, Code.EXCHANGE_SHARED, where, what, why, "write a different prefix of the bucket for each")
        if exchange.export_files:
            writers.setdefault(bucket, name)


def _is_same_or_inside(bucket: str, known: str) -> bool:
    one, other = f"{bucket.rstrip('/')}/", f"{known.rstrip('/')}/"
    return one.startswith(other) or other.startswith(one)
