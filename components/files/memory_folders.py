"""Folders in memory for what must touch no disk: named after the process that made them, so that a killed one's are known and removed."""

import os
import shutil
import tempfile
import time
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - the folders in it are made by mkdtemp, for their owner alone
PREFIX = "clusterwright-run-"
REMOVED_WITHIN_S = 10


def make_folder() -> Path:
    """Make a folder that only this process's user can look into; its maker removes it."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=MEMORY))


def remove(folder: Path) -> None:
    """Remove a folder into which another thread may still be writing."""
    deadline = time.monotonic() + REMOVED_WITHIN_S
    while folder.exists() and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)


def remove_own() -> None:
    """Remove every folder of this process, which is about to end without running what would remove them."""
    for folder in MEMORY.glob(f"{PREFIX}{os.getpid()}-*"):
        remove(folder)


def orphans() -> tuple[Path, ...]:
    """Folders whose process is gone."""
    found = []
    for folder in MEMORY.glob(f"{PREFIX}*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            found.append(folder)
    return tuple(found)


def clear_orphans() -> None:
    """Remove the folders of processes that were killed before they could."""
    for folder in orphans():
        shutil.rmtree(folder, ignore_errors=True)
