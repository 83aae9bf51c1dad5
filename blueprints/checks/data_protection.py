"""Data protection: deletion, encryption, backups."""

from collections.abc import Iterator

from .. import catalog, finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_ERROR, _WARNING, _NOTE = finding.Level.ERROR, finding.Level.WARNING, finding.Level.NOTE


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find data that is deleted with the stack, data that is not encrypted, and backups that the cloud refuses."""
    for name, entry in blueprint.storage.items():
        if entry.kind == "existing":
            continue
        yield from _deletion(name, entry, source)
        yield from _encryption(name, entry, cluster, source)
        yield from _alias(name, entry, cluster, source)
        if entry.backup_days or entry.on_delete == "snapshot":
            yield from _backups(name, entry, cluster, source)


def _backups(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find daily and final backups that the cloud would refuse."""
    where = source.where("storage", name, "backup_days" if entry.backup_days else "on_delete")
    storage_class = lookup.storage_class_of(cluster, name)
    enabled = [f"backup_days: {entry.backup_days}"] * (entry.backup_days > 0) + ["on_delete: snapshot"] * (entry.on_delete == "snapshot")
    asked = f"{message_text.listed(f'`{one}`' for one in enabled)} {'ask' if len(enabled) > 1 else 'asks'} for backups of it"
    without = f"remove {message_text.listed(f'`{one}`' for one in enabled)}"
    if entry.durability == "scratch":
        what = f"the storage {name} is `scratch`, and {asked}"
        why = "the cloud makes backups and snapshots of persistent storage only"
        yield finding.Finding(_ERROR, Code.BACKUP_IMPOSSIBLE, where, what, why, f"write `durability: persistent`, or {without}")
    elif entry.exchange is not None and storage_class is not None and not storage_class.linked_backups:
        what = f"the storage {name} is linked to a bucket, and {asked}"
        why = f"{storage_class.product} does not back up a file system that is linked to a bucket ({catalog.source(storage_class.backups_source).where})"
        remedy = f"{without} and export the files to the bucket (`exchange: {{export_files: true}}`), or remove `exchange`"
        yield finding.Finding(_ERROR, Code.BACKUP_IMPOSSIBLE, where, what, why, remedy)


def _deletion(name: str, entry: language.Storage, source: Document) -> Iterator[finding.Finding]:
    if not entry.protect and entry.on_delete == "delete" and entry.durability == "persistent":
        what = f"`down` deletes the files on {name}"
        why = "`protect: false` and `on_delete: delete` disable both safeguards against a mistaken `down`"
        where = source.where("storage", name, "on_delete")
        remedy = "remove `protect`, or write `on_delete: snapshot`; for files that jobs can recreate write `durability: scratch`"
        # It takes two keys, so it is intended: every plan notes it, without a warning.
        yield finding.Finding(_NOTE, Code.DATA_DELETABLE, where, what, why, remedy)
    if entry.protect and entry.on_delete != "keep":
        what = f"`on_delete: {entry.on_delete}` has no effect on {name}, which is protected"
        why = "`down` does not delete protected storage"
        where = source.where("storage", name, "on_delete")
        yield finding.Finding(_NOTE, Code.ON_DELETE_UNUSED, where, what, why, "remove it, or write `protect: false`")


def _encryption(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    if not entry.encrypted and entry.key is not None:
        what = f"the storage {name} has an encryption key, and its encryption is disabled"
        where = source.where("storage", name, "key")
        yield finding.Finding(_ERROR, Code.KEY_UNUSED, where, what, "the two keys contradict each other", "remove `key` or `encrypted: false`")
    elif not entry.encrypted:
        where = source.where("storage", name, "encrypted")
        storage_class = lookup.storage_class_of(cluster, name)
        if storage_class is not None and storage_class.encrypted == "always":
            what = f"the storage {name} is encrypted anyway"
            why = f"{storage_class.product} always encrypts data at rest"
            yield finding.Finding(_NOTE, Code.UNENCRYPTED, where, what, why, "remove `encrypted: false`")
        else:
            what = f"the storage {name} is not encrypted at rest"
            why = "anyone with access to a disk or a snapshot can read its data"
            yield finding.Finding(_WARNING, Code.UNENCRYPTED, where, what, why, "remove `encrypted: false`")


def _alias(name: str, entry: language.Storage, cluster: spec.ClusterSpec, source: Document) -> Iterator[finding.Finding]:
    """Find unprotected files whose key can become another one without a change of the blueprint. Buckets keep the alias, and their files stay."""
    if entry.key is None or entry.protect or entry.kind == "object":
        return
    alias = (catalog.identifier_parts(cluster.target, "storage.key", entry.key) or {}).get("alias")
    if alias is not None:
        what = f"the key of the storage {name} is an alias, and its files are not protected"
        why = f"the file system is encrypted with the key that {alias} points to; when the alias points to another key, the next `up` replaces the file system and deletes its files"
        remedy = "write the key's ARN, or `protect: true`"
        yield finding.Finding(_WARNING, Code.KEY_ALIAS, source.where("storage", name, "key"), what, why, remedy)
