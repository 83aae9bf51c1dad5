"""Files, links and folders of a host: describe them, keep their content, and bring a place back to a description."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import os
import stat
import zlib
from typing import TYPE_CHECKING, Any

from . import mounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .system import System

WHOLE = ("/etc", "/root/.ssh", "/var/spool/cron")
"""Folders whose files are kept with their content."""
LISTED = ("/opt", "/usr/local", "/usr/lib/clusterwright", "/var/cache/apt/archives")
"""Folders that may be large: their files are described by size and time, and what finishing adds is removed again. One that is too large is skipped."""
TOPS = ("/root", "/srv", "/var/cache", "/var/lib", "/var/log", "/var/spool")
"""Folders of which the first level alone is described."""
OF_DAEMONS = ("/var/spool/slurmd",)
"""Folders that a daemon of the stack creates when it first runs, which may be after finishing was recorded: they are the stack's, unless they were there before."""
CACHE_OF_ROOT, LEFT_BY_LOGINS = "/root/.cache", frozenset({"motd.legal-displayed"})
"""Ubuntu's pam_motd(8) notes there that a user saw the legal notice. The stack logs in as root."""
LISTED_AT_MOST = 50_000
KEPT_AT_MOST_BYTES = 16 << 20
"""A larger file is described, and its content not kept."""
LEFT_OUT = (
    "/etc/.updated",
    "/etc/adjtime",
    "/etc/ld.so.cache",
    "/etc/machine-id",
    "/etc/mtab",
    "/etc/udev/hwdb.bin",
    "/var/lib/clusterwright",
    "/var/log/btmp*",
    "/var/log/lastlog*",
    "/var/log/wtmp*",
    "*/__pycache__",
    "*/__pycache__/*",
)
"""Places that the system rewrites by itself, and the program's own."""

Entry = dict[str, Any]  # what one place holds
ABSENT: Entry = {"kind": "absent"}
TEMPORARY = ".clusterwright-new"
_READ_BYTES = 1 << 20


class Contents:
    """The kept contents of files, by digest.

    Args:
        folder: where they are, on this machine.
    """

    def __init__(self, folder: str):
        self._folder = folder

    def keep(self, content: bytes) -> str:
        """Keep a content and give its digest."""
        digest = hashlib.sha256(content).hexdigest()
        path = os.path.join(self._folder, digest)
        if not os.path.exists(path):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace(path, zlib.compress(content, 1), mode=0o600)
        return digest

    def prune(self, wanted: set[str]) -> None:
        """Remove the contents that no record names any more."""
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._folder):
                if name not in wanted:
                    os.unlink(os.path.join(self._folder, name))

    def read(self, digest: str) -> bytes | None:
        """Give a content, or None when it was not kept."""
        try:
            with open(os.path.join(self._folder, digest), "rb") as stream:
                return zlib.decompress(stream.read())
        except FileNotFoundError:
            return None


def described(system: System, contents: Contents | None) -> dict[str, Entry]:
    """Describe all places of a host that finishing may touch: path → entry.

    Args:
        contents: where the contents are kept; None: nowhere.
    """
    found: dict[str, Entry] = {root: {"kind": "skipped"} for root in LISTED if _is_too_large(system, root)}
    for inside, is_whole in _paths(system):
        entry = describe(system, inside, contents=contents, is_whole=is_whole)
        if entry["kind"] != "absent":
            found[inside] = entry
    return found


def describe(system: System, inside: str, *, contents: Contents | None = None, is_whole: bool = True) -> Entry:
    """Describe one place.

    Args:
        is_whole: read the file's content; else its size and time describe it.
    """
    path = system.path(inside)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return {"kind": "link", "link": os.readlink(path)}
        attributes = {"mode": f"{stat.S_IMODE(status.st_mode):04o}", "owner": status.st_uid, "group": status.st_gid}
        if stat.S_ISDIR(status.st_mode):
            return {"kind": "folder", **attributes}
        if not stat.S_ISREG(status.st_mode):
            return {"kind": "special", **attributes}
        if not is_whole:
            return {"kind": "file", **attributes, "size": status.st_size, "changed": status.st_mtime_ns}
        return {"kind": "file", **attributes, "sha256": _digest(path, contents if status.st_size <= KEPT_AT_MOST_BYTES else None)}
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT


def size_of(system: System) -> int:
    """Give how many bytes the contents have that would be kept."""
    total = 0
    for inside, is_whole in _paths(system):
        if is_whole:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(system.path(inside)).st_size
    return total


def restore(system: System, inside: str, entry: Entry, contents: Contents) -> str:
    """Bring a place to an entry; give why it stays as it is, or nothing."""
    path = system.path(inside)
    if entry["kind"] == "absent":
        return _remove(system, inside)
    if entry["kind"] == "special" or (entry["kind"] == "file" and "sha256" not in entry):
        return "its content was not kept"
    if entry["kind"] == "folder":
        if not os.path.isdir(path) or os.path.islink(path):
            _make_room(system, inside)
            os.makedirs(path, exist_ok=True)
        _set_attributes(path, entry)
        return ""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if entry["kind"] == "link":
        if os.path.isdir(path) and not os.path.islink(path) and (why := _remove(system, inside)):
            return why
        temporary = f"{path}{TEMPORARY}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        os.symlink(entry["link"], temporary)
        os.replace(temporary, path)
        return ""
    content = contents.read(entry["sha256"])
    if content is None:
        return "its content was not kept"
    if os.path.isdir(path) and not os.path.islink(path) and (why := _remove(system, inside)):
        return why
    replace(path, content, mode=int(entry["mode"], 8), owner=entry["owner"], group=entry["group"])
    return ""


def replace(path: str, content: bytes, *, mode: int, owner: int = 0, group: int = 0) -> None:
    """Write a file in one step, so that a reader sees the old content or the new one."""
    # Its name is always the same, so that the next run takes the place of a file that a killed one left.
    temporary = f"{path}{TEMPORARY}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            os.fchmod(stream.fileno(), mode)
            if os.geteuid() == 0:
                os.fchown(stream.fileno(), owner, group)
                os.fchmod(stream.fileno(), mode)  # a change of owner takes the special bits
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def is_of_logins(system: System, inside: str) -> bool:
    """Say whether a folder has nothing but what logging in leaves."""
    try:
        return inside == CACHE_OF_ROOT and LEFT_BY_LOGINS.issuperset(os.listdir(system.path(inside)))
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_left_out(inside: str) -> bool:
    return any(fnmatch.fnmatchcase(inside, pattern) for pattern in LEFT_OUT)


def is_in(inside: str, folders: tuple[str, ...]) -> bool:
    """Say whether a path is one of the folders or below one."""
    return any(inside == folder or inside.startswith(f"{folder}/") for folder in folders)


def _paths(system: System) -> Iterator[tuple[str, bool]]:
    """Give each path with whether its content is read. Mounted file systems are others' and not entered."""
    others = mounts.folders(system)
    for top in TOPS:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for name in sorted(os.listdir(system.path(top))):
                if not is_left_out(inside := f"{top}/{name}"):
                    yield inside, False
    for root in (*WHOLE, *(one for one in LISTED if not _is_too_large(system, one))):
        for folder, names, files in os.walk(system.path(root)):
            here = system.inside(folder)
            names[:] = sorted(name for name in names if not is_left_out(inside := os.path.join(here, name)) and inside not in others)
            for name in (*names, *sorted(files)):
                inside = os.path.join(here, name)
                if not is_left_out(inside):
                    yield inside, root in WHOLE


def _is_too_large(system: System, root: str) -> bool:
    """Say whether a folder has too many files to be described."""
    count = 0
    for _, names, files in os.walk(system.path(root)):
        count += len(names) + len(files)
        if count > LISTED_AT_MOST:
            return True
    return False


def _digest(path: str, contents: Contents | None) -> str:
    with open(path, "rb") as stream:
        if contents is not None:
            return contents.keep(stream.read())
        digest = hashlib.sha256()
        while piece := stream.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _remove(system: System, inside: str) -> str:
    path = system.path(inside)
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return f"it can't be removed: {(error.strerror or str(error)).lower()}"
    return ""


def _make_room(system: System, inside: str) -> None:
    path = system.path(inside)
    if os.path.lexists(path):
        os.unlink(path)


def _set_attributes(path: str, entry: Entry) -> None:
    if os.geteuid() == 0:
        os.chown(path, entry["owner"], entry["group"])
    os.chmod(path, int(entry["mode"], 8))
