"""Keeping data: deletion, encryption, backups."""

from collections.abc import Iterator

from .. import catalog, finding, language, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find data that goes with the stack, that anyone with the disk can read, or that can't be kept as it is asked."""
    for name, entry in blueprint.storage.items():
        if entry.kind == "existing":
            continue
        yield from _deletion(name, entry, source)
        yield from _encryption(name, entry, cluster, source)
        if entry.backup_days or entry.on_delete == "snapshot":
            yield from _backups(name, entry, cluster, source)


def _backups(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find backups, daily ones or the last one, that the cloud would refuse."""
    where = source.where("storage", name, "backup_days" if entry.backup_days else "on_delete")
    storage_class = lookup.storage_class_of(cluster, name)
    if entry.durability == "scratch":
        what = f"the storage {name} is `scratch`, and is to have backups"
        why = "the cloud makes backups and snapshots of persistent storage only"
        yield finding.Finding(_ERROR, Code.BACKUP_IMPOSSIBLE, where, what, why, "write `durability: persistent`, or ask for no backups")
    elif entry.exchange is not None and storage_class is not None and not storage_class.linked_backups:
        what = f"the storage {name} is linked to a bucket, and is to have backups"
        why = f"{storage_class.product} has no backups of a file system that is linked to one ({catalog.source(storage_class.backups_source).where})"
        remedy = "ask for no backups and keep the files in the bucket (`exchange: {export_files: true}`), or take `exchange` out"
        yield finding.Finding(_ERROR, Code.BACKUP_IMPOSSIBLE, where, what, why, remedy)


def _deletion(name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    if not entry.protect and entry.on_delete == "delete" and entry.durability == "persistent":
        what = f"the files on {name} are deleted with the stack"
        why = "`protect: false` and `on_delete: delete` leave nothing between a mistaken `down` and an empty file system"
        where = source.where("storage", name, "on_delete")
        remedy = "leave `protect` out, or write `on_delete: snapshot`; for files that can be made again `durability: scratch`"
        # Two words were needed for it, so that it is meant: worth knowing at every plan, and no warning.
        yield finding.Finding(_NOTE, Code.DATA_DELETABLE, where, what, why, remedy)
    if entry.protect and entry.on_delete != "keep":
        what = f"`on_delete: {entry.on_delete}` has no effect on {name}, which is protected"
        why = "what is protected is not deleted with the stack, so that nothing happens to its data"
        where = source.where("storage", name, "on_delete")
        yield finding.Finding(_NOTE, Code.ON_DELETE_UNUSED, where, what, why, "take it out, or write `protect: false`")


def _encryption(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if not entry.encrypted and entry.key is not None:
        what = f"the storage {name} has an encryption key and is not to be encrypted"
        where = source.where("storage", name, "key")
        yield finding.Finding(_ERROR, Code.KEY_UNUSED, where, what, "one of the two was not meant", "take `key` or `encrypted: false` out")
    elif not entry.encrypted:
        where = source.where("storage", name, "encrypted")
        storage_class = lookup.storage_class_of(cluster, name)
        if storage_class is not None and storage_class.encrypted == "always":
            what = f"the storage {name} is encrypted all the same"
            why = f"{storage_class.product} can't be had without"
            yield finding.Finding(_NOTE, Code.UNENCRYPTED, where, what, why, "take `encrypted: false` out")
        else:
            what = f"the storage {name} is not encrypted at rest"
            why = "who gets hold of a disk or a snapshot can read what is on it"
            yield finding.Finding(_WARNING, Code.UNENCRYPTED, where, what, why, "leave the key out")
