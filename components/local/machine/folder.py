"""Folders that outlive hosts: shared file systems and data volumes, each with a record beside it."""

import uuid
from pathlib import Path

from . import disk, record
from .names import StackNames


def make(names: StackNames, name: str, *, protect: bool) -> str:
    """Make the folder unless it is there, and give its incarnation, which is new whenever the folder is."""
    path, about = names.folder(name), names.folder_record(name)
    known = record.read(about) if path.is_dir() else None
    incarnation = str(known["incarnation"]) if known else uuid.uuid4().hex
    path.mkdir(parents=True, exist_ok=True)
    record.write(about, {"incarnation": incarnation, "protect": protect})
    return incarnation


def incarnation(names: StackNames, name: str) -> str | None:
    """Give the folder's incarnation; None when there is no such folder."""
    known = record.read(names.folder_record(name))
    return str(known["incarnation"]) if known and names.folder(name).is_dir() else None


def remove(names: StackNames, name: str) -> None:
    """Remove the folder with all that is in it."""
    disk.remove_tree(names.folder(name))
    names.folder_record(name).unlink(missing_ok=True)


def protected(names: StackNames) -> tuple[Path, ...]:
    """The folders that are not to be removed with the stack."""
    records = sorted(names.folders.glob(".*.json")) if names.folders.is_dir() else []
    marked = [about for about in records if (record.read(about) or {"protect": True})["protect"]]
    return tuple(path for about in marked if (path := names.folder(about.name[1:].removesuffix(".json"))).is_dir())
