"""File systems without space, here and on hosts: whoever fails for lack of space seldom says where, and often says something else."""

import dataclasses
import os
import re
import shlex
import subprocess
from pathlib import Path

LEAST_FREE_MIB = 16
LEAST_FREE_SHARE = 1 / 4
"""Of a file system that is itself small."""
MIB_OF_GIB = 1024
WITHIN_S = 10
COMMAND = ("df", "-P", "-m", "-l", "-x", "squashfs", "-x", "iso9660")
"""POSIX's form, MiB, local file systems only; these two are always full."""
NO_SPACE = re.compile(r"(No space left on device|Disk quota exceeded)(?:: '([^']*)')?")
"""strerror(3) of ENOSPC and EDQUOT, with the file as Python adds it."""


@dataclasses.dataclass(frozen=True, slots=True)
class FileSystem:
    """What `df` says of a file system."""

    mount: str
    size_mib: int
    free_mib: int

    @property
    def is_full(self) -> bool:
        return self.size_mib > 0 and self.free_mib < min(LEAST_FREE_MIB, self.size_mib * LEAST_FREE_SHARE)

    def __str__(self) -> str:
        return f"{self.mount} ({self.free_mib} of {self.size_mib} MiB free)"


def parse(said: str) -> tuple[FileSystem, ...]:
    """Read what `df -P -m` printed; lines of another form are left out. Pure."""
    found = (re.fullmatch(r".*\s(\d+)\s+\d+\s+(\d+)\s+\d+%\s+(/.*)", line.strip()) for line in said.splitlines())
    return tuple(FileSystem(line[3], int(line[1]), int(line[2])) for line in found if line)


def full(said: str) -> tuple[FileSystem, ...]:
    """Give the full ones, without those that hold only what boots the machine and those of containers. Pure."""
    return tuple(one for one in parse(said) if one.is_full and not one.mount.startswith(("/boot", "/run/clusterwright/", "/var/lib/docker/")))


def full_here(needed_mib: int = LEAST_FREE_MIB) -> str:
    """Name the full file systems of this machine, what is needed there, and the commands that find space; empty when there are none."""
    try:
        done = subprocess.run(COMMAND, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = sentence("this machine", done.stdout, needed_mib=needed_mib)
    mounts = " ".join(shlex.quote(one.mount) for one in full(done.stdout))
    return f"{found}; `make clean-cache` empties the cache, `du -xh {mounts} | sort -h | tail` shows what else is large" if found else ""


def sentence(whose: str, said: str, *, needed_mib: int = LEAST_FREE_MIB) -> str:
    """Say which file systems are full and what is needed there; empty when none is. Pure."""
    found = ", ".join(map(str, full(said)))
    needed = f"{needed_mib} MiB" if needed_mib < MIB_OF_GIB else f"{needed_mib / MIB_OF_GIB:.1f} GiB"
    return f"no space is left on {whose}: {found}; at least {needed} are needed there" if found else ""


def on_host(host: str, stack: str, *, is_server: bool) -> str:
    """Say what frees space on a host of a stack. Pure.

    Args:
        is_server: its owner installed it, and nobody else can do that again.
    """
    frees = "`apt-get clean; journalctl --vacuum-size=50M` there frees what the system itself keeps"
    return frees if is_server else f"{frees}, `clusterwright rebuild --stack {stack} {host}` all that is not the cluster's state"


def plain(text: str) -> str:
    """Reduce what a program says about missing space to one place; Python's tools list every file that they could not copy. Pure."""
    found = NO_SPACE.search(text)
    return text if found is None else f"{found[1]}{f': {found[2]}' if found[2] else ''}"


def mount_point(path: Path) -> Path:
    """Give the mount point of the file system where `path` is or will be."""
    path = path.absolute()
    while not path.exists() or not os.path.ismount(path):
        path = path.parent
    return path
