"""Room in the cache: each change of a role or a version makes another layer of about a gibibyte, and nobody comes back for the one before it.

Only where the file system runs short, and only what no stack of this machine boots from: a layer that is gone costs the two minutes of baking it again.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from . import disk, rootfs
from .names import STATE_ROOT, cache_root

FREE_SHARE = 0.2
"""Of the space that the file system has for files: below it layers are removed. Far above the share at which drift calls a file system nearly full."""
YOUNG_S = 3600
"""A layer that was asked for since then may be what an `up` is about to start hosts from, before any record names it."""


def mark_used(key: str) -> None:
    """Note that the layer is wanted now.

    Raises:
        FileNotFoundError: somebody has just removed it.
    """
    os.utime(rootfs.layer_path(key))


def make_room(*, keep: str, free_share: float = FREE_SHARE, state: Path = STATE_ROOT) -> Iterator[str]:
    """Remove layers that nobody uses, the one first whose last use is longest ago, until enough space is free; give the name of each as it goes.

    Args:
        keep: the layer that is wanted now.
        free_share: share of the file system (0 to 1) that is to be free.
        state: folder of all stacks of this machine.
    """
    layers = cache_root() / "layers"
    if not layers.is_dir() or _free_share(layers) >= free_share:
        return
    wanted = _named(state)
    for path in _oldest_first(layers):
        if _free_share(layers) >= free_share:
            return
        if path.name != keep and path.name not in wanted and _remove(path):
            yield path.name


def _oldest_first(layers: Path) -> list[Path]:
    found = []
    for path in layers.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process removes it, or has just built it
            if rootfs.is_whole(path) and not path.name.endswith((".partial", ".lock")):
                found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found)]


def _remove(path: Path) -> bool:
    """Remove a layer unless it is young or somebody else removes it. What a kill leaves has the name of an interrupted build and goes as one."""
    partial = path.with_name(f"{path.name}.partial")
    with partial.with_suffix(".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if time.time() - path.stat().st_mtime < YOUNG_S:
                return False
            path.rename(partial)
        except (BlockingIOError, FileNotFoundError):
            return False
        disk.remove_tree(partial)
    return True


def _named(state: Path) -> set[str]:
    """Give the layers that a host's record, the description of an elastic pool or a mount names."""
    texts = [Path("/proc/self/mounts").read_text()]
    for path in (path for pattern in ("*/hosts/*/host.json", "*/elastic/pools/*.json") for path in state.glob(pattern)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # the host has just gone
            texts.append(path.read_text(errors="replace"))
    return {path.name for path in (cache_root() / "layers").iterdir() if any(path.name in text for text in texts)}


def _free_share(folder: Path) -> float:
    """Of what files may take: some file systems hold back much of their size, which `df` leaves out, too."""
    space = os.statvfs(folder)
    usable = space.f_blocks - space.f_bfree + space.f_bavail
    return space.f_bavail / usable if usable else 1.0
