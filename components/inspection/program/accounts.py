"""Users, groups and keys that may log in."""

import base64
import glob
import hashlib
import os

from ansible.module_utils import host_places

from . import asking

PASSWD, GROUP = "/var/lib/extrausers/passwd", "/var/lib/extrausers/group"
ROOT_KEYS = "/root/.ssh/authorized_keys"
BLOCK_BEGIN, BLOCK_END = "# BEGIN clusterwright: keys of the blueprint; your own go outside of this block", "# END clusterwright"
"""As the module `cluster_users` writes them."""
KEYS_LIMIT_BYTES = 60_000
"""What a pipe takes at once."""
MUNGE_KEY = "/etc/munge/munge.key"
NOBODY_ELSE, NOBODY_ELSE_WRITES = 0o077, 0o022
PRIVATE = (
    ("munge", NOBODY_ELSE, (MUNGE_KEY,)),
    ("root", NOBODY_ELSE, ("/etc/ssh/ssh_host_*_key", "/etc/clusterwright/secrets/*")),
    ("root", NOBODY_ELSE_WRITES, ("/root", "/root/.ssh", ROOT_KEYS)),
)
"""Owner, bits that their modes don't have, and patterns of files that no record names: each host has keys of its own."""


def by_name(path: str) -> dict[str, str]:
    return {line.split(":")[0]: line for line in asking.lines(path) if line}


def block(uid: int, home: str) -> list[str] | None:
    """Give the lines of our block in a user's authorized_keys; None: the home isn't there or can't be read. The rest of the file is the user's own.

    It is read in a child that is that user: root must not follow links that a user laid in the own home, and reads nothing where a server takes its rights.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            if os.path.isdir(home):
                os.write(writing, "\n".join(between(asking.lines(f"{home}/.ssh/authorized_keys")))[:KEYS_LIMIT_BYTES].encode())
                status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as stream:
        text = stream.read()
    return text.splitlines() if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else None


def between(lines: list[str]) -> list[str]:
    """Give what stands in our block. Pure."""
    if BLOCK_BEGIN not in lines or BLOCK_END not in lines:
        return []
    return [line for line in lines[lines.index(BLOCK_BEGIN) + 1 : lines.index(BLOCK_END)] if line.strip() and not line.lstrip().startswith("#")]


def munge_key_checksum() -> str:
    try:
        with open(MUNGE_KEY, "rb") as stream:
            return hashlib.sha256(base64.b64encode(stream.read())).hexdigest()
    except OSError:
        return ""


def private_files() -> list[dict[str, str]]:
    """Give the private files that others than their owner may read or change, or that belong to somebody else: with the mode and owner that they should have."""
    found = []
    for owner, forbidden, patterns in PRIVATE:
        for path in (path for pattern in patterns for path in sorted(glob.glob(pattern))):
            described = host_places.describe(path)
            if described is None or described["kind"] not in ("file", "folder"):
                continue
            mode = int(described["mode"], 8)
            if mode & forbidden or described["owner"] != owner:
                needed = {"needed_mode": f"{mode & ~forbidden:04o}", "needed_owner": owner}
                found.append({"path": path, **{name: described[name] for name in ("kind", "mode", "owner", "group")}, **needed})
    return found
