"""File systems, disks and buckets: which keys each kind has, and what is asked of them."""

from collections.abc import Iterator, Mapping

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from ..language import values
from . import lookup

_ERROR, _WARNING = finding.Level.ERROR, finding.Level.WARNING
_MISPLACED: Mapping[str, tuple[str, ...]] = {
    "lustre": ("source",),
    "nfs": ("throughput", "source", "exchange"),
    "block": ("throughput", "source", "exchange"),
    "object": ("size", "throughput", "source", "exchange", "quotas", "backup_days"),
    "existing": ("size", "throughput", "exchange", "quotas", "backup_days", "key"),
}
"""Keys that mean nothing for a kind."""
_WHOSE = {"size": "grows by itself or has its size already", "throughput": "isn't sold by throughput", "source": "is made, and not found"}
_WITH_SCRATCH = ("lustre",)


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find keys that a kind of storage doesn't have, homes where they don't belong, and buckets of another cloud."""
    for name, entry in blueprint.storage.items():
        yield from _keys(name, entry, source)
        if entry.mount == "/home" and (entry.durability == "scratch" or entry.kind == "object"):
            is_bucket = entry.kind == "object"
            what = "homes are to be " + ("in a bucket" if is_bucket else "on a file system that loses its files when a server does")
            why = "a bucket has no owners, permissions and locks of files" if is_bucket else "what people can't get again belongs on persistent storage"
            where = source.where("storage", name, "kind" if is_bucket else "durability")
            remedy = "write `kind: nfs` for homes" if is_bucket else "write `durability: persistent`"
            yield finding.Finding(_ERROR, Code.HOME_UNFIT, where, what, why, remedy)
        if entry.kind == "block":
            yield from _block(name, blueprint, source)
        yield from _quotas(name, entry, source)
        yield from _enforcement(name, entry, cluster, source)
    yield from _exchanges(cluster, blueprint, source)


def _keys(name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    for key in _MISPLACED[entry.kind]:
        if getattr(entry, key) != language.Storage.model_fields[key].default:
            what = f"`{key}` means nothing for storage of the kind `{entry.kind}`"
            kinds = [kind for kind, keys in _MISPLACED.items() if key not in keys]
            why = f"such storage {_WHOSE.get(key, 'has no such thing')}, so that nothing would read it"
            remedy = f"take it out; kinds that have it: {', '.join(kinds)}"
            yield finding.Finding(_ERROR, Code.STORAGE_KEY_MISPLACED, source.where_key("storage", name, key), what, why, remedy)
    if entry.durability == "scratch" and entry.kind not in _WITH_SCRATCH:
        what = f"storage of the kind `{entry.kind}` is never `scratch`"
        why = "only parallel file systems are sold in a cheaper form that loses its files"
        where = source.where("storage", name, "durability")
        yield finding.Finding(_ERROR, Code.STORAGE_KEY_MISPLACED, where, what, why, "take `durability` out, or write `kind: lustre`")
    if entry.kind == "existing" and entry.source is None:
        what = f"the storage {name} exists already, and nothing says which it is"
        why = "what is mounted is named by `source`"
        remedy = "write `source: …`, such as `fs-0123456789abcdef0` or `10.0.0.5:/export`; often it belongs under `targets`"
        yield finding.Finding(_ERROR, Code.SOURCE_MISSING, source.where("storage", name, "kind"), what, why, remedy)


def _block(name: str, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    where = source.where("storage", name, "kind")
    if blueprint.control.managed or blueprint.scheduler == "kubernetes":
        what = f"the disk {name} belongs to the controller, and this cluster has none of its own"
        why = "the controller serves the disk to all other hosts"
        yield finding.Finding(_ERROR, Code.BLOCK_HOST, where, what, why, "write `kind: nfs`")
    elif blueprint.control.highly_available:
        what = f"the disk {name} belongs to the first controller, and there are two"
        why = "a disk is attached to one host: when that is lost, the second controller takes over without it"
        yield finding.Finding(_WARNING, Code.BLOCK_HOST, where, what, why, "write `kind: nfs`, which no host of the cluster serves")


def _quotas(name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    if entry.size is None:
        return
    for key in ("user", "group"):
        quota = getattr(entry.quotas, key)
        if quota is not None and values.size_gib(quota) > values.size_gib(entry.size):
            what = f"each {key} may store {quota} on {name}, which holds {entry.size}"
            why = "a quota above the size is none: one of them can fill it for all"
            where = source.where("storage", name, "quotas", key)
            yield finding.Finding(_WARNING, Code.QUOTA_TOO_LARGE, where, what, why, "check the unit of both")


def _enforcement(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find quotas that nothing would hold anybody to; on this machine, where no quota counts, that is said of all of them."""
    storage_class = lookup.storage_class_of(cluster, name)
    if storage_class is None or storage_class.user_quotas or "quotas" in _MISPLACED[entry.kind] or entry.quotas == language.Quotas():
        return
    where = source.where_key("storage", name, "quotas")
    able = [one.product for one in catalog.storage_classes(cluster.target).values() if one.user_quotas]
    remedy = f"what can, of what is sold there: {message_text.listed(dict.fromkeys(able))}; or take `quotas` out" if able else "take `quotas` out"
    if storage_class.user_quotas is False:
        what = f"{storage_class.product} can't limit what each user or group stores on {name}"
        why = f"it knows no quotas ({catalog.source(storage_class.quotas_source).where})"
        yield finding.Finding(_ERROR, Code.QUOTAS_NOT_ENFORCED, where, what, why, remedy)
    else:
        what = f"nobody says that {storage_class.product} can limit what each user or group stores on {name}"
        why = "no document of it that is known here speaks of quotas for users, so that they may hold nobody back"
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
            why = "the two would know nothing of each other"
            remedy = "write `import_files: true` or `export_files: true`, or take `exchange` out"
            yield finding.Finding(_WARNING, Code.EXCHANGE_NOTHING, source.where_key("storage", name, "exchange"), what, why, remedy)
        other = next((owner for known, owner in writers.items() if _is_same_or_inside(bucket, known)), None)
        if exchange.export_files and other is not None:
            what = f"{other} and {name} write their files to one place, `{exchange.bucket}`"
            why = "files of one would take the place of files of the other that have the same name"
            yield finding.Finding(_WARNING, Code.EXCHANGE_SHARED, where, what, why, "give each a prefix of its own in the bucket")
        if exchange.export_files:
            writers.setdefault(bucket, name)


def _is_same_or_inside(bucket: str, known: str) -> bool:
    one, other = f"{bucket.rstrip('/')}/", f"{known.rstrip('/')}/"
    return one.startswith(other) or other.startswith(one)
