"""SSH host keys that hosts present: read by `ssh-keyscan`, all hosts at once. What it reads is what the network answers, and still has to be confirmed."""

import base64
import hashlib
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from blueprints import ssh_places
from blueprints.language import addresses

from .. import errors

WITHIN_S = 5
"""A host that doesn't answer within this time is down or filtered."""
AT_ONCE = 64
"""One ssh-keyscan asks its hosts at the same time, for each kind of key in turn."""


class ScanImpossible(errors.Refusal):
    """This machine can't read host keys."""


def scan(hosts: Sequence[str], *, port: int) -> Mapping[str, str]:
    """Read the host keys at addresses: address → key (`ssh-ed25519 AAAA…`). Addresses that don't answer are left out.

    Of several keys of a host the first kind of `addresses.HOST_KEY_TYPES` counts.

    Raises:
        ScanImpossible: this machine has no ssh-keyscan.
    """
    if not shutil.which("ssh-keyscan"):
        why = "`ssh-keyscan` is not installed"
        raise ScanImpossible("this machine can't read SSH host keys", why=why, remedy="install OpenSSH's client: apt-get install openssh-client")
    found: dict[str, str] = {}
    for kinds in ("ed25519", "ecdsa,rsa"):
        missing = [host for host in dict.fromkeys(hosts) if host not in found]
        batches = [missing[start : start + AT_ONCE] for start in range(0, len(missing), AT_ONCE)]
        running = [_start(kinds, port) for _ in batches]
        for process, batch in zip(running, batches, strict=True):
            output, _ = process.communicate("\n".join(batch) + "\n")
            found |= _keys(output, port)
    return found


def fingerprint(key: str) -> str:
    """Give a key's fingerprint as `ssh-keygen -l` prints it (`SHA256:…`)."""
    digest = hashlib.sha256(base64.b64decode(key.split(" ")[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def kind(key: str) -> str:
    """Name the kind of a key as sshd's files do (`ed25519`, `ecdsa`, `rsa`)."""
    return key.partition(" ")[0].removeprefix("ssh-").partition("-")[0]


def _start(kinds: str, port: int) -> subprocess.Popen[str]:
    words = ["ssh-keyscan", "-T", str(WITHIN_S), "-p", str(port), "-t", kinds, "-f", "-"]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _keys(output: str, port: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in output.splitlines():
        place, _, key = line.partition(" ")
        kind = key.partition(" ")[0]
        host = place if port == ssh_places.SSH_PORT else place.removeprefix("[").rpartition("]:")[0]
        known = found.get(host, "").partition(" ")[0]
        if kind in addresses.HOST_KEY_TYPES and (not known or addresses.HOST_KEY_TYPES.index(kind) < addresses.HOST_KEY_TYPES.index(known)):
            found[host] = key.strip()
    return found
