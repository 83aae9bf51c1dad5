"""Data of a stack on a host (database tables, the scheduler's state): kept at a release, taken back by the next adoption of the same stack."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import mounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .system import System

STATE = "/var/lib/clusterwright/state"
"""Database tables and job state, where no mounted file system holds them."""
KEPT = "/var/lib/clusterwright/kept"
_ABOUT = "kept.json"


def folder_of(mark: Mapping[str, Any]) -> str:
    """Give the folder on the host that holds what a release of the stack keeps."""
    return f"{KEPT}/{mark['stack']}"


def make_folder(system: System, mark: Mapping[str, Any]) -> None:
    """Create the folder for what is kept. Its owner may be no user of the host any more: whoever gets that number later must not read it."""
    os.makedirs(system.path(folder_of(mark)), exist_ok=True)
    os.chmod(system.path(folder_of(mark)), 0o700)


def set_aside(system: System, mark: Mapping[str, Any], paths: Sequence[str]) -> list[str]:
    """Move data out of the way of a release; what is mounted or not below the stack's own folders stays in its place. Give where the data is."""
    where = []
    for inside in paths:
        path, target = system.path(inside), f"{folder_of(mark)}{inside}"
        if holds_files(system.path(target)):
            where.append(target)  # by a release that was cut off later
            continue
        if not holds_files(path):
            continue
        has_mounts = any(one == inside or one.startswith(f"{inside}/") for one in mounts.folders(system))
        if has_mounts or not inside.startswith("/var/lib/"):
            where.append(inside)
            continue
        make_folder(system, mark)
        os.makedirs(os.path.dirname(system.path(target)), exist_ok=True)
        with open(system.path(f"{folder_of(mark)}/{_ABOUT}"), "w", encoding="utf-8") as stream:
            json.dump({"stack": mark["stack"], "owner": mark["owner"]}, stream)
        os.rename(path, system.path(target))
        where.append(target)
    return where


def take_back(system: System, mark: Mapping[str, Any]) -> list[str]:
    """Move data back that a release of the same stack kept; give where it is now."""
    folder = system.path(folder_of(mark))
    try:
        with open(os.path.join(folder, _ABOUT), encoding="utf-8") as stream:
            about = json.load(stream)
    except (OSError, ValueError):
        return []
    if about.get("owner") != mark["owner"]:
        return []
    where = []
    source = f"{folder}{STATE}"
    if os.path.isdir(source) and not holds_files(system.path(STATE)):
        os.makedirs(os.path.dirname(system.path(STATE)), exist_ok=True)
        if os.path.isdir(system.path(STATE)):
            os.rmdir(system.path(STATE))
        os.rename(source, system.path(STATE))
        where.append(STATE)
    return where


def holds_files(path: str) -> bool:
    """Say whether there is a file below a folder, given as this machine has it."""
    return any(files for _, _, files in os.walk(path))
