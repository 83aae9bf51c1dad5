"""Users, groups and keys that may log in."""

import base64
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


def munge_key_attributes() -> dict[str, str] | None:
    """Describe the key's file as `host_places.describe` does; None where there is none."""
    described = host_places.describe(MUNGE_KEY)
    return described and {name: described[name] for name in ("mode", "owner", "group") if name in described}
