"""Checksums of files, remembered below /run: a file whose inode is as it was is not read again.

A change of content, mode or owner sets the inode's ctime, which no system call sets to a chosen value. A file that changed shortly before it was read is not remembered: a second change within
the resolution of the clock would leave the same ctime. Whoever is root and writes this file, or sets the clock, can deceive a check, as root can deceive any program on its host.
"""

import contextlib
import hashlib
import json
import os
import time
from typing import Any

FILE = "/run/clusterwright/inspected.json"
FORMAT = 1
SETTLED_NS = 2_000_000_000
"""A file is remembered when its inode has not changed for this long before it was read."""


class Digests:
    """The remembered checksums of this boot, by path and algorithm."""

    def __init__(self, path: str = FILE):
        self._path = path
        self._before = _read(path)
        self._now: dict[str, Any] = {}

    def of(self, path: str, status: os.stat_result, algorithm: str = "sha256") -> str:
        """Give the checksum of a regular file.

        Raises:
            OSError: the file can't be read.
        """
        key, inode = f"{algorithm}:{path}", [status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev]
        remembered = self._before.get(key)
        if isinstance(remembered, list) and remembered[0] == inode:
            self._now[key] = remembered
            return str(remembered[1])
        begun_ns = time.time_ns()
        digest = hashlib.new(algorithm, usedforsecurity=False)
        with open(path, "rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
        if begun_ns - status.st_ctime_ns > SETTLED_NS:
            self._now[key] = [inode, digest.hexdigest()]
        return digest.hexdigest()

    def keep(self) -> None:
        """Write what this inspection saw, for the next one. Without space below /run the next one reads everything."""
        if self._now == self._before:
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o755, exist_ok=True)
            temporary = f"{self._path}.{os.getpid()}"
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w", encoding="utf-8") as stream:
                json.dump({"format": FORMAT, "digests": self._now}, stream, separators=(",", ":"))
            os.replace(temporary, self._path)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as stream:
            status = os.fstat(stream.fileno())
            if status.st_uid != os.getuid() or status.st_mode & 0o077:
                return {}
            content = json.load(stream)
    except (OSError, ValueError):
        return {}
    return dict(content["digests"]) if isinstance(content, dict) and content.get("format") == FORMAT else {}
