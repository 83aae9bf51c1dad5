"""File systems and their free space."""

import os
from typing import Any

from . import asking


def wanted_mounts(wanted: list[str]) -> dict[str, dict[str, Any]]:
    mounted = {}
    for line in asking.lines("/proc/self/mounts"):
        source, target, kind, options = line.split()[:4]
        mounted[target] = {"source": source, "kind": kind, "options": options.split(",")}
    found: dict[str, dict[str, Any]] = {}
    for target in ("/", *wanted):
        if target in mounted:
            found[target] = {**mounted[target], **_space(target)}
    return found


def _space(target: str) -> dict[str, Any]:
    """Give size and free space; nothing where the file system doesn't answer, which is said by the missing keys."""
    try:
        space, device = os.statvfs(target), os.stat(target).st_dev
    except OSError as error:
        return {"error": error.strerror}
    return {
        "device": device,
        # As `df` counts: what the file system holds back from files (reserved blocks) is no space that could be freed.
        "size_bytes": (space.f_blocks - space.f_bfree + space.f_bavail) * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
        "inodes": space.f_files,
        "free_inodes": space.f_favail,
    }
