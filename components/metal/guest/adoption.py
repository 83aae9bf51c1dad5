"""What is kept on an adopted host: its owner's mark, what was there before, and what the stack left."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from . import kernel, mounts, packages, places, units
from .system import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import System

MARK = "/etc/clusterwright/owner.json"
SETTINGS, GROUP, ROLE = "/etc/clusterwright/node.env", "CLUSTERWRIGHT_GROUP", "CLUSTERWRIGHT_ROLE"
"""Written by adopting (`components/bootstrap/files.py`), and the variables that name the group and the role."""
FOLDER = "/var/lib/clusterwright/adoption"
"""Readable by root only: contents of files are in it, the host's own secrets among them."""
FORMAT = 1
OWN_FOLDERS = ("/etc/clusterwright", "/usr/lib/clusterwright", "/run/clusterwright", "/run/clusterwright-modules", "/var/lib/clusterwright")
"""Folders that leave with the stack."""
OWN_FILES = ("/usr/sbin/clusterwright-*", "/var/lib/systemd/timers/stamp-clusterwright-*")
"""Patterns of files that leave with the stack: commands of its own, and what systemd notes of its timers."""
OWN_PLACES = (
    "/etc/clusterwright/*",
    "/etc/slurm/*",
    "/usr/lib/clusterwright/*",
    "/etc/munge/munge.key",
    "*/clusterwright.conf",
    "*/clusterwright-*",
    "*/*-clusterwright*",
)
"""Places that are the stack's, whoever changed them."""
SPARE_BYTES = 64 << 20
"""Space that a host must have left after everything was kept."""


class Record:
    """The record of an adopted host."""

    def __init__(self, system: System):
        self._system = system
        self._path = system.path(f"{FOLDER}/record.json")
        self.contents = places.Contents(system.path(f"{FOLDER}/contents"))

    def read(self) -> dict[str, Any] | None:
        """Give the record, or None when there is none.

        Raises:
            Refused: it can't be read.
        """
        try:
            with open(self._path, encoding="utf-8") as stream:
                found = dict(json.load(stream))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise Refused(
                "the record of this host's state before its adoption can't be read",
                why=f"{FOLDER}/record.json: {error}",
                remedy=f"restore the file from a backup of the host; without it (`sudo rm -r {FOLDER}`), nothing that was there before comes back",
            ) from error
        if found.get("format") != FORMAT:
            raise Refused(
                "another version of clusterwright adopted this host",
                why=f"its record has format {found.get('format')}, and this version reads {FORMAT}",
                remedy="use the version that adopted the host",
            )
        return found

    def write(self, record: Mapping[str, Any]) -> None:
        """Write the record in one step."""
        folder = os.path.dirname(self._path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        places.replace(self._path, json.dumps({**record, "format": FORMAT}, sort_keys=True, separators=(",", ":")).encode(), mode=0o600)

    def prune(self, record: Mapping[str, Any]) -> None:
        """Remove the contents that the record does not name."""
        named = [*record["before"]["places"].values(), *(record["left"] or {"places": {}})["places"].values()]
        self.contents.prune({entry["sha256"] for entry in named if "sha256" in entry})

    def remove(self) -> None:
        """Remove the record with all contents. The record is the last, so that a run that was killed is noticed."""
        folder = self._system.path(FOLDER)
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else (), key=lambda name: name == os.path.basename(self._path)):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(folder)


def mark(system: System) -> dict[str, Any] | None:
    """Give the owner's mark; None: nobody adopted the host.

    Raises:
        Refused: it can't be read, so that the host's owner is unknown.
    """
    text = system.read(MARK)
    if not text:
        return None
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError) as error:
        raise Refused(
            "the owner's mark of this host can't be read",
            why=f"{MARK}: {error}",
            remedy=f"if the host is yours: sudo rm {MARK}\nthen run the same command again, which writes the mark again",
        ) from error


def machine_id(system: System) -> str:
    """Give the identity of the installed system (machine-id(5)); a new installation has another one."""
    return system.read("/etc/machine-id").strip()


def setting(system: System, name: str) -> str:
    """Give what the stack wrote about the host when it adopted it: its group or its role; empty where that is gone."""
    lines = system.read(SETTINGS).splitlines()
    return next((line.partition("=")[2] for line in lines if line.startswith(f"{name}=")), "")


def write_mark(system: System, content: Mapping[str, Any]) -> None:
    folder = os.path.dirname(system.path(MARK))
    os.makedirs(folder, mode=0o755, exist_ok=True)
    places.replace(system.path(MARK), (json.dumps(content, indent=2, sort_keys=True) + "\n").encode(), mode=0o600)


def snapshot(system: System, contents: places.Contents | None) -> dict[str, Any]:
    """Describe the host as it is now."""
    return {
        "places": places.described(system, contents),
        "packages": packages.recorded(packages.installed(system)),
        "units": units.active(system),
        "settings": kernel.settings(system),
        "tables": kernel.tables(system),
        "mounts": mounts.mounted(system),
    }


def others(system: System) -> list[str]:
    """Name what is in the stack's own folders before an adoption: data that an earlier release kept, or stacks whose hosts are containers of this one."""
    found = []
    for folder in OWN_FOLDERS:
        with contextlib.suppress(FileNotFoundError):
            found += [f"{folder}/{name}" for name in sorted(os.listdir(system.path(folder)))]
    return found


def require_space(system: System) -> None:
    """Refuse a host whose disk can't hold what is kept.

    Raises:
        Refused: nothing was changed.
    """
    folder = "/var/lib"
    status = os.statvfs(system.path(folder))
    free, needed = status.f_bavail * status.f_frsize, places.size_of(system) + SPARE_BYTES
    if free < needed or (status.f_files and not status.f_favail):
        lacks = f"{free / 2**20:.0f} MiB free" if free < needed else "no inode free"
        raise Refused(
            "the disk of this host is full",
            why=f"{folder} has {lacks}; what is kept of the host as it was needs {needed / 2**20:.0f} MiB",
            remedy="free some space (`sudo apt-get clean; sudo journalctl --vacuum-size=50M`), then run the same command again",
        )
