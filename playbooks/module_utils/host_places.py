"""What a host holds in the places where software is set up: files, links, folders, packages. Read at the bake to be recorded, and by drift checks to be compared."""

import fnmatch
import grp
import hashlib
import json
import os
import pwd
import stat
from collections.abc import Iterator
from typing import Any

RECORD_FOLDER = "/var/lib/clusterwright/record"
INSTALLED = f"{RECORD_FOLDER}/installed.json"
"""What the installation left: every place below ROOTS, every package."""
BORN = f"{RECORD_FOLDER}/born.json"
"""What the first boot of a cloud's host made otherwise: path → entry. It counts where it differs from INSTALLED."""
WRITTEN = f"{RECORD_FOLDER}/written.json"
"""What the module `files` wrote since and before: path → entry. It counts where it differs from both."""

ROOTS = ("/etc", "/opt", "/usr/local", "/usr/lib/clusterwright", "/var/spool/cron")
LEFT_OUT = (
    # Identity that each host makes for itself or is given by its target.
    "/etc/hostname",
    "/etc/machine-id",
    "/etc/resolv.conf",
    "/etc/ssh/ssh_host_*",
    "/etc/munge/munge.key",
    "/etc/clusterwright/node.env",
    "/etc/clusterwright/expected.json",
    "/etc/clusterwright/secrets/*",
    # Written by the system in the course of its work.
    "/etc/.pwd.lock",
    "/etc/.updated",
    "/etc/adjtime",
    "/etc/ld.so.cache",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/udev/hwdb.bin",
    "*/__pycache__",
    "*/__pycache__/*",
    # Copies that the tools for users and groups leave.
    "/etc/passwd-",
    "/etc/group-",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/subuid-",
    "/etc/subgid-",
)
"""Places whose content is no drift, as patterns."""

TEXT_LIMIT_BYTES = 8 * 1024
"""Texts up to this size are kept, so that a difference can be shown line by line."""
DPKG_STATUS = "/var/lib/dpkg/status"


def places(roots: tuple[str, ...] = ROOTS) -> dict[str, dict[str, Any]]:
    """Describe every file, link and folder below the roots: path → description."""
    found = {}
    for path in _paths(roots):
        described = describe(path)
        if described is not None and not is_left_out(path):
            found[path] = described
    return found


ABSENT = {"kind": "absent"}
"""Stands in a record for a place where nothing is."""


def since(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Give what differs between two descriptions of places, as it is now."""
    return {path: now.get(path, ABSENT) for path in sorted({*before, *now}) if before.get(path) != now.get(path)}


def is_left_out(path: str) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in LEFT_OUT)


def describe(path: str) -> dict[str, Any] | None:
    """Describe one path; None when nothing is there. Only what everybody on the host may read is kept as text."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return {"kind": "link", "link": os.readlink(path)}
        described: dict[str, Any] = {"mode": f"{stat.S_IMODE(status.st_mode):04o}", "owner": _user(status.st_uid), "group": _group(status.st_gid)}
        if stat.S_ISDIR(status.st_mode):
            return {"kind": "folder", **described}
        if not stat.S_ISREG(status.st_mode):
            return {"kind": "special", **described}
        with open(path, "rb") as stream:
            content = stream.read(TEXT_LIMIT_BYTES + 1)
            digest = hashlib.sha256(content)
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except (FileNotFoundError, NotADirectoryError):
        return None
    described |= {"kind": "file", "sha256": digest.hexdigest()}
    text = _text(content) if status.st_mode & stat.S_IROTH else None
    return described if text is None else {**described, "text": text}


def packages(status: str = DPKG_STATUS) -> dict[str, dict[str, Any]]:
    """Give the installed packages: name → version, and whether it is held; empty where dpkg doesn't manage the host."""
    found: dict[str, dict[str, Any]] = {}
    try:
        with open(status, encoding="utf-8", errors="replace") as stream:
            paragraphs = stream.read().split("\n\n")
    except FileNotFoundError:
        return found
    for paragraph in paragraphs:
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and not line.startswith(" "))
        words = fields.get("Status", "").split()
        if len(words) == 3 and words[2] == "installed":
            found[fields["Package"]] = {"version": fields["Version"], "held": words[0] == "hold"}
    return found


def read_json(path: str) -> dict[str, Any] | None:
    """Give a record, or None when there is none or it is broken."""
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(json.load(stream))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def write_json(path: str, value: dict[str, Any]) -> bool:
    """Write a record in one step, readable by root only, unless it is there already; say whether it was written."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"
    try:
        with open(path, encoding="utf-8") as stream:
            if stream.read() == text:
                return False
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(temporary, path)
    return True


def _paths(roots: tuple[str, ...]) -> Iterator[str]:
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders.sort()
            yield from (os.path.join(folder, name) for name in (*folders, *sorted(files)))


def _text(content: bytes) -> str | None:
    if len(content) > TEXT_LIMIT_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
