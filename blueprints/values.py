"""Texts that stand for values: sizes, time limits, mount points, networks, public keys. Each function gives the value or raises Unfit."""

import base64
import binascii
import ipaddress
import re

from . import display
from .codes import Code
from .finding import Unfit

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(MiB|GiB|TiB)")
_MIB = {"MiB": 1, "GiB": 1024, "TiB": 1024 * 1024}
_LARGEST_MEMORY_MIB = 64 * 1024 * 1024

_UNLIMITED = ("unlimited", "infinite")
_LONGEST_TIME_S = 366 * 24 * 3600

_MOUNT = re.compile(r"(/[A-Za-z0-9._-]+)+")
_SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc"),
    *("/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"),  # noqa: S108 - no file is made there
)
_PARENTS_ONLY = ("/opt", "/srv", "/mnt", "/media")
"""Folders of the operating system where file systems are mounted below, never on top."""

_KEY_TYPES = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)
_KEY_REMEDY = "paste the one line of the .pub file"


def memory_mib(text: str) -> int:
    """Read a size of memory (`64 GiB`, `1.5 TiB`) as MiB."""
    found = _SIZE.fullmatch(text)
    if not found:
        why = "a size is a number and one of MiB, GiB, TiB (powers of 1024, as Slurm counts)"
        raise Unfit(Code.SIZE_FORM, f"{display.quoted(text)} is not a size", why=why, remedy="write it like `64 GiB`")
    size = int(float(found[1]) * _MIB[found[2]])
    if not 256 <= size <= _LARGEST_MEMORY_MIB:
        what = f"{display.quoted(text)} is no size for the memory of a node"
        raise Unfit(Code.SIZE_FORM, what, why="nodes have from 256 MiB to 64 TiB", remedy="check the unit")
    return size


def time_limit(text: str) -> str:
    """Read one of Slurm's time formats and write it as `scontrol` does: `1-00:00:00`, `02:30:00`, `UNLIMITED`.

    Source: sbatch(1), `--time`: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds.
    """
    if text.lower() in _UNLIMITED:
        return "UNLIMITED"
    seconds = _time_s(text)
    if seconds is None or not 60 <= seconds <= _LONGEST_TIME_S:
        what = f"{display.quoted(text)} is not a time limit"
        why = "Slurm reads minutes, `hours:minutes:seconds` or `days-hours:minutes:seconds`, from a minute to a year, or `unlimited`"
        raise Unfit(Code.TIME_FORM, what, why=why, remedy="write it like `1-00:00:00` (one day)")
    days, rest = divmod(seconds, 24 * 3600)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def _time_s(text: str) -> int | None:
    if not re.fullmatch(r"([0-9]{1,5}-)?[0-9]{1,8}(:[0-9]{1,2}){0,2}", text):
        return None
    days, _, clock = text.rpartition("-")
    parts = [int(part) for part in clock.split(":")]
    if days:
        hours, minutes, seconds = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, seconds = parts
    else:
        hours, (minutes, seconds) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def mount_point(text: str) -> str:
    """Check an absolute path where a file system can be mounted without hiding the operating system."""
    if text == "/" or any(text == folder or text.startswith(f"{folder}/") for folder in _SYSTEM_FOLDERS) or text in _PARENTS_ONLY:
        what = f"nothing can be mounted at {display.quoted(text)}"
        why = "it would hide what the operating system keeps there"
        raise Unfit(Code.MOUNT_RESERVED, what, why=why, remedy="choose a place such as /home, /shared or /scratch")
    if not _MOUNT.fullmatch(text) or {".", ".."} & set(text.split("/")) or len(text) > 200:
        why = "a mount point is an absolute path of letters, digits, `.`, `_` and `-`, with no slash at its end and no `..`"
        raise Unfit(Code.MOUNT_FORM, f"{display.quoted(text)} is not a mount point", why=why, remedy="write it like /shared")
    return text


def network(text: str) -> str:
    """Check an IPv4 network (`10.80.0.0/20`)."""
    try:
        if "/" not in text:
            raise ValueError
        return str(ipaddress.IPv4Network(text, strict=True))
    except ValueError:
        pass
    try:
        remedy = f"write {display.quoted(str(ipaddress.IPv4Network(text, strict=False)))}" if "/" in text else "write it like `10.80.0.0/20`"
    except ValueError:
        remedy = "write it like `10.80.0.0/20`"
    why = "a network is an IPv4 address and the length of its prefix, with all bits after the prefix zero"
    raise Unfit(Code.CIDR_FORM, f"{display.quoted(text)} is not a network", why=why, remedy=remedy)


def public_key(text: str) -> str:
    """Check a line of OpenSSH's authorized_keys format without options. A private key is refused without being repeated."""
    if display.is_private(text):
        why = "a private key in a blueprint is known to everyone who reads it; from now on it is no secret any more"
        raise Unfit(
            Code.SSH_KEY_PRIVATE, "a private key stands here", why=why, remedy="take it out, make a new pair, and paste the one line of the new .pub file"
        )
    fields = text.split(" ")
    reason = _key_fault(fields) if text.isprintable() else "it has a line break or control character"
    if reason:
        raise Unfit(Code.SSH_KEY_FORM, f"{display.quoted(text)} is not an OpenSSH public key", why=reason, remedy=_KEY_REMEDY)
    return text


def _key_fault(fields: list[str]) -> str | None:
    if fields[0] not in _KEY_TYPES or len(fields) < 2:
        return f"a public key reads `type base64 comment`, and the type is one of {', '.join(_KEY_TYPES)}"
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (binascii.Error, ValueError):
        return "its second word is not base64"
    name = fields[0].encode()
    # RFC 4253 section 6.6: the key begins with the length and text of its type.
    if len(blob) < 4 + len(name) + 16 or blob[: 4 + len(name)] != len(name).to_bytes(4) + name:
        return "the key inside is cut off or of another type than its first word says"
    return None


def plain_text(text: str) -> str:
    """Check a text that is shown on one line."""
    if len(text) > 200 or not text.isprintable():
        why = "it is shown on one line, in reports and in Slurm's database: 200 characters without line breaks at most"
        raise Unfit(Code.TEXT_FORM, f"{display.quoted(text)} is not one short line", why=why, remedy="shorten it, and keep longer remarks in comments")
    return text
