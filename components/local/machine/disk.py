"""Root file systems of hosts: base, layer and the host's own disk, stacked by overlayfs."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from . import command
from .names import RUN_ROOT, STATE_ROOT, cache_root

NSPAWN_ROOT = Path("/run/systemd/nspawn")
"""Where systemd-nspawn keeps folders for each container while it runs."""


def mounted(table: str | None = None) -> list[str]:
    """Give the machine's mount points, oldest first.

    Args:
        table: the kernel's table (proc(5), /proc/self/mounts), in which blanks and backslashes are octal; read when not given.
    """
    lines = (Path("/proc/self/mounts").read_text() if table is None else table).splitlines()
    return [re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split(" ")[1]) for line in lines]


def is_mounted(path: Path) -> bool:
    return os.path.ismount(path)


def mount(root: Path, *, lowers: Sequence[Path], upper: Path, work: Path) -> None:
    """Mount `upper` over `lowers` (topmost first) at `root`.

    'volatile' leaves out the syncs that a rehearsal on one machine doesn't need; overlayfs then refuses a work folder that was in use when the machine lost power, so it is made anew.
    """
    if is_mounted(root):
        return
    shutil.rmtree(work, ignore_errors=True)
    for folder in (root, upper, work):
        folder.mkdir(parents=True, exist_ok=True)
    layers = ":".join(str(lower) for lower in lowers)
    command.run("mount", "-t", "overlay", "overlay", "-o", f"volatile,lowerdir={layers},upperdir={upper},workdir={work}", str(root))


def unmount(root: Path) -> None:
    """Unmount now; what is still open inside goes with the processes that hold it."""
    while is_mounted(root):
        command.run("umount", "-l", str(root))


def remove_tree(path: Path) -> None:
    """Remove a folder with all in it, never through a mount and nowhere but below the project's own folders.

    Raises:
        OSError: something below is still mounted, or can't be removed.
        ValueError: the folder is not one of the project's.
    """
    path = path.resolve()
    if not any(root.resolve() in path.parents for root in (STATE_ROOT, RUN_ROOT, NSPAWN_ROOT, cache_root())):
        raise ValueError(f"{path} is not in a folder of this project; nothing was removed")
    if not path.exists():
        return
    for point in mounted():
        if point == str(path) or point.startswith(f"{path}/"):
            raise OSError(f"{point} is still mounted; nothing below {path} was removed")
    shutil.rmtree(path)


def free_gib(path: Path) -> float:
    """Free space where `path` is or will be, in GiB."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free / 2**30
