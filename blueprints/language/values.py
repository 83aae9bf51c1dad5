"""Texts that stand for values: sizes, time limits, mount points, networks, public keys. Each function gives the value or raises Unfit."""

import base64
import binascii
import datetime as dt
import ipaddress
import re
from collections.abc import Sequence

from .. import catalog, dotted, durations, message_text
from ..codes import Code
from ..finding import Unfit
from . import value_suggestions

# How texts look, for the functions here and for the schema that editors read. A function may refuse more than its form does.
ROLLING = re.compile(r"[1-9][0-9]{0,4}|(?:[1-9][0-9]?|100) ?%", re.ASCII)
SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) ?(MiB|GiB|TiB)")
THROUGHPUT = re.compile(r"([0-9]{1,5}) ?MB/s/TiB")
CLOCK = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_BUCKET = r"(?![^/]*\.\.|[0-9]{1,3}(\.[0-9]{1,3}){3}(/|$))"
_KEPT_BY_S3 = r"(?!xn--|sthree-|amzn-s3-demo-|[^/]*(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)(/|$))"
_KEPT_BY_GOOGLE = r"(?!goog|[^/]*google)"
BUCKET = re.compile(
    rf"(s3://{_NO_BUCKET}{_KEPT_BY_S3}[a-z0-9][a-z0-9.-]{{1,61}}|gs://{_NO_BUCKET}{_KEPT_BY_GOOGLE}[a-z0-9][a-z0-9._-]{{1,61}})[a-z0-9](/[A-Za-z0-9!_.*'()-]+)*/?"
)
"""Amazon S3 User Guide, "General purpose bucket naming rules"; Cloud Storage, "Bucket names" (as of 2026-11)."""
_PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
"""1 to 65535."""
IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,254}")
SOFTWARE_VERSION = re.compile(r"[0-9][A-Za-z0-9_.:+~-]{0,254}")
"""Debian policy 5.6.12: a version begins with a digit; every version of the catalogue does."""
MOUNT_SOURCE = re.compile(r"[A-Za-z0-9/\[][A-Za-z0-9_.:/@,=\[\]+-]{0,254}")
MIG = re.compile(r"[1-7]g\.[0-9]{1,3}gb(\+me|\+gfx)?")
CODE = re.compile(r"CW[0-9]{3}")
DOTTED = dotted.FORM
REGISTRY = re.compile(rf"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:{_PORT})?(/[a-z0-9]+([._-][a-z0-9]+)*)*")
"""The host of a registry with its port and a prefix, as image names begin (reference of the OCI distribution specification)."""
ARCHIVE = re.compile(rf"https?://[A-Za-z0-9][A-Za-z0-9.-]{{0,252}}(:{_PORT})?(/[A-Za-z0-9._~+-]+)*")
"""Without a name or password, which would be on every host."""
WEBHOOK = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~+%-]*)*")
"""Without a name or password and without a query, where such are written, too."""
KEY_FINGERPRINT = re.compile(r"[0-9A-F]{40}")
NETWORK = re.compile(r"([0-9]{1,3}\.){3}[0-9]{1,3}/([0-9]{1,2}|([0-9]{1,3}\.){3}[0-9]{1,3})")
ADDRESS = re.compile(r"(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}")
MOUNT = re.compile(r"(/[A-Za-z0-9._-]+)+")
TIME_LIMIT = re.compile(r"[Uu]nlimited|UNLIMITED|[Ii]nfinite|INFINITE|([0-9]{1,5}-)?[0-9]{1,8}(:[0-9]{1,2}){0,2}")

MOUNT_LENGTH = 200
TEXT_LENGTH = 200
STEERING = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Control characters, line breaks, and what overrides the direction of text (UAX #9), so that a text reads otherwise than it is. Joiners of letters and emoji, soft
hyphens and other spaces only look.
"""
NOT_IN_TEXT = re.compile(f"[{STEERING}]")
LONGEST_TIME_S = 366 * 24 * 3600

_MIB = {"MiB": 1, "GiB": 1024, "TiB": 1024 * 1024}
_LARGEST_MEMORY_MIB = 64 * 1024 * 1024
_LARGEST_STORAGE_GIB = 1024 * 1024 * 1024

SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/lost+found", "/proc"),
    *("/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var"),  # noqa: S108 - no file is made there
)
TAKEN_FOLDERS = tuple(catalog.taken_folders())
"""What images, packages and roles fill outside of the system's own folders."""
PARENTS_ONLY = ("/opt", "/srv", "/mnt", "/media")
"""Folders of the operating system where file systems are mounted below, never on top."""

KEY_TYPES = (
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
    found = SIZE.fullmatch(text)
    if not found:
        raise _no_size(text, why="a size is a number and one of MiB, GiB, TiB (powers of 1024, as Slurm counts)", example="64 GiB")
    size = int(float(found[1]) * _MIB[found[2]])
    if not 256 <= size <= _LARGEST_MEMORY_MIB:
        what = f"{message_text.quoted(text)} is not a valid size for the memory of a node"
        raise Unfit(Code.SIZE_FORM, what, why="nodes have from 256 MiB to 64 TiB", remedy="check the unit")
    return size


def rolling(text: str) -> str:
    """Check how many nodes of a pool may be out of service at once: `2`, `10%`."""
    if not ROLLING.fullmatch(text):
        what = f"{message_text.quoted(text)} does not say how many nodes may be out of service at once"
        raise Unfit(
            Code.ROLLING_FORM,
            what,
            why="it is a number of nodes, or a share of the pool from 1% to 100%",
            remedy="write a number such as `2`, or a share such as `10%`",
        )
    return text


def size_gib(text: str) -> float:
    """Read a size of storage (`14400 GiB`, `2 TiB`) as GiB."""
    found = SIZE.fullmatch(text)
    if not found:
        raise _no_size(text, why="a size is a number and one of MiB, GiB, TiB (powers of 1024)", example="14400 GiB")
    size = float(found[1]) * _MIB[found[2]] / _MIB["GiB"]
    if not 1 <= size <= _LARGEST_STORAGE_GIB:
        raise Unfit(
            Code.SIZE_FORM,
            f"{message_text.quoted(text)} is not a valid size for storage",
            why="the smallest size of storage is 1 GiB" if size < 1 else "the largest size of storage is a million TiB",
            remedy="write `1 GiB` or more" if size < 1 else "check the unit, and write `1048576 TiB` or less",
        )
    return size


def _no_size(text: str, *, why: str, example: str) -> Unfit:
    """Say what isn't a size, and how the one that was meant is written."""
    meant, remark = value_suggestions.size(text) or (None, "")
    remedy = f"write `{meant}`{remark}" if meant else f"write it like `{example}`"
    return Unfit(Code.SIZE_FORM, f"{message_text.quoted(text)} is not a size", why=why, remedy=remedy, meant=meant)


def throughput(text: str) -> int:
    """Read the speed that each TiB of a file system brings (`250 MB/s/TiB`) as MB/s (powers of 1000)."""
    found = THROUGHPUT.fullmatch(text)
    if not found or int(found[1]) == 0:
        why = "throughput is given for each TiB of size, in MB/s (powers of 1000), as the clouds sell it"
        meant = value_suggestions.throughput(text)
        remedy = f"write `{meant}`" if meant else "write it like `250 MB/s/TiB`"
        raise Unfit(Code.THROUGHPUT_FORM, f"{message_text.quoted(text)} is not a throughput", why=why, remedy=remedy, meant=meant)
    return int(found[1])


def date(text: str) -> dt.date:
    """Read a day (`2027-03-31`)."""
    try:
        if not DATE.fullmatch(text):
            raise ValueError
        return dt.date.fromisoformat(text)
    except ValueError:
        why = "a day is written year-month-day, as in ISO 8601"
        raise Unfit(Code.DATE_FORM, f"{message_text.quoted(text)} is not a day", why=why, remedy="write it like `2027-03-31`") from None


def clock_time(text: str) -> str:
    """Check a time of day (`02:30`)."""
    why = "hours and minutes have two digits each, from 00:00 to 23:59"
    meant = value_suggestions.clock(text)
    remedy = f'write `"{meant}"`' if meant else 'write it like `"02:30"`'
    return _matched(CLOCK, text, Code.CLOCK_FORM, "a time of day", why=why, remedy=remedy, meant=meant)


def bucket(text: str) -> str:
    """Check a bucket and a prefix in it (`s3://name/prefix`, `gs://name`)."""
    why = (
        "a bucket is `s3://` or `gs://`, its name, and a prefix if any; a name has 3 to 63 lower-case letters, digits, `.` and `-` (and `_` in Cloud Storage), "
        "no two dots side by side, and is no IPv4 address; S3 keeps some beginnings and ends (`xn--`, `-s3alias`), and Cloud Storage names with `google`"
    )
    return _matched(BUCKET, text, Code.BUCKET_FORM, "a bucket", why=why, remedy="write it like `s3://name/prefix`")


def identifier(text: str) -> str:
    """Check the name that a cloud or catalogue gives something (`cr-0123456789abcdef0`, `projects/p/reservations/r`, `p5.48xlarge`)."""
    why = "identifiers have letters, digits and `_ . : / @ + -`, at most 255 characters, and start with a letter or digit"
    return _matched(IDENTIFIER, text, Code.IDENTIFIER_FORM, "an identifier", why=why, remedy="copy it from the cloud's console or the catalogue")


def software_version(text: str) -> str:
    """Check the version of a part of the software (`580.178.04`, `6.8.0-90-generic`)."""
    why = "a version begins with a digit; a word like `latest` is another version on each day, and not the same on all hosts"
    return _matched(
        SOFTWARE_VERSION, text, Code.IDENTIFIER_FORM, "a version", why=why, remedy="write it like `580.178.04`, or remove the line: the profile has one"
    )


def mount_source(text: str) -> str:
    """Check what names an existing file system (`10.0.0.5:/export`, `fs-0123456789abcdef0`); which forms a target mounts is not the language's knowledge."""
    why = "a source has letters, digits and `_ . : / @ , = [ ] + -`, at most 255 characters"
    return _matched(MOUNT_SOURCE, text, Code.IDENTIFIER_FORM, "a source of a file system", why=why, remedy="write it like `10.0.0.5:/export`")


def mig_profile(text: str) -> str:
    """Check the form of a MIG profile (`1g.10gb`); whether a GPU has it is the catalogue's knowledge."""
    why = "a MIG profile names its compute slices and its memory"
    return _matched(MIG, text, Code.MIG_FORM, "a MIG profile", why=why, remedy="write it like `1g.10gb`")


def registry(text: str) -> str:
    """Check the address of a registry of images (`registry.example.org:5000`, `registry.example.org/mirror`)."""
    why = "a registry is named as image names begin: a host in lower case, its port (65535 at most), and a path if any, without `https://`"
    meant = re.sub(r"^[a-z]+://", "", text).rstrip("/").lower()
    is_plain = meant != text and REGISTRY.fullmatch(meant) is not None
    remedy = f"write `{meant}`" if is_plain else "write it like `registry.example.org:5000`"
    return _matched(REGISTRY, text, Code.REGISTRY_FORM, "a registry", why=why, remedy=remedy, meant=meant if is_plain else None)


def archive_address(text: str) -> str:
    """Check the address of an archive of packages (`https://mirror.example.org/cuda/ubuntu2404`)."""
    why = "it begins with `https://` or `http://`, has a host, a port of 65535 at most if any, and plain folders, and neither a password nor a slash at its end"
    meant = text.rstrip("/")
    is_plain = meant != text and ARCHIVE.fullmatch(meant) is not None
    remedy = f"write `{meant}`" if is_plain else "write it like `https://mirror.example.org/cuda/ubuntu2404`"
    return _matched(ARCHIVE, text, Code.IDENTIFIER_FORM, "an address of an archive", why=why, remedy=remedy, meant=meant if is_plain else None)


def webhook(text: str) -> str:
    """Check the address that alerts are sent to (`https://alerts.example.org/gpu-clusters`)."""
    why = "it begins with `https://` or `http://`, and has a host and a path, without a name, a password or a query: blueprints, plans and records show it"
    return _matched(WEBHOOK, text, Code.IDENTIFIER_FORM, "an address for alerts", why=why, remedy="write it like `https://alerts.example.org/gpu-clusters`")


def key_fingerprint(text: str) -> str:
    """Check the fingerprint of an archive's key."""
    meant = re.sub(r"[\s:]", "", text).upper()
    is_plain = meant != text and KEY_FINGERPRINT.fullmatch(meant) is not None
    why = "it has 40 hexadecimal digits in upper case, as `gpg --show-keys` prints it"
    remedy = f"write `{meant}`" if is_plain else "copy it from `gpg --show-keys key.asc`"
    return _matched(KEY_FINGERPRINT, text, Code.IDENTIFIER_FORM, "a fingerprint of a key", why=why, remedy=remedy, meant=meant if is_plain else None)


def finding_code(text: str) -> str:
    """Check a finding's code."""
    codes = [str(code) for code in Code]
    if text not in codes:
        why = "each finding shows its code in brackets at the end of its first line"
        raise Unfit(Code.SUPPRESSION_CODE, f"there is no finding {message_text.quoted(text)}", why=why, remedy="copy the code, such as CW520")
    return text


def dotted_path(text: str) -> str:
    """Check a path of keys with dots between them (`pools.train`)."""
    why = "a path in a blueprint is its keys, separated by dots"
    return _matched(
        DOTTED, text, Code.PATH_FORM, "a place in a blueprint", why=why, remedy='write it like `pools.train`, and a name with dots in it as `["1g.10gb"]`'
    )


def _matched(form: re.Pattern[str], text: str, code: Code, kind: str, *, why: str, remedy: str, meant: str | None = None) -> str:
    if form.fullmatch(text):
        return text
    raise Unfit(code, f"{message_text.quoted(text)} is not {kind}", why=why, remedy=remedy, meant=meant)


def time_limit(text: str) -> str:
    """Read one of Slurm's time formats and write it as `scontrol` does: `1-00:00:00`, `02:30:00`, `UNLIMITED`.

    Source: sbatch(1), `--time`: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes, days-hours:minutes:seconds.
    """
    is_form = TIME_LIMIT.fullmatch(text) is not None
    if is_form and text[0].isalpha():
        return "UNLIMITED"
    seconds = durations.clock_s(text) if is_form else 0
    if not 60 <= seconds <= LONGEST_TIME_S:
        what = f"{message_text.quoted(text)} is not a time limit"
        why = "Slurm reads minutes, `hours:minutes:seconds` or `days-hours:minutes:seconds`, from a minute to a year, or `unlimited`"
        meant_s = value_suggestions.span_s(text) or 0
        meant = _clock(meant_s) if 60 <= meant_s <= LONGEST_TIME_S else None
        remedy = f"write `{meant}`" if meant else "write it like `1-00:00:00` (one day)"
        raise Unfit(Code.TIME_FORM, what, why=why, remedy=remedy, meant=meant)
    return _clock(seconds)


def _clock(seconds: int) -> str:
    days, rest = divmod(seconds, 24 * 3600)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def mount_point(text: str) -> str:
    """Check an absolute path where a file system can be mounted without hiding the operating system."""
    hidden = next((folder for folder in (*SYSTEM_FOLDERS, *TAKEN_FOLDERS) if text == folder or text.startswith(f"{folder}/")), None)
    if text == "/" or hidden or text in PARENTS_ONLY:
        what = f"nothing can be mounted at {message_text.quoted(text)}"
        why = f"a mount there would hide {catalog.taken_folders().get(hidden or '', 'files of the operating system or of its packages')}"
        raise Unfit(Code.MOUNT_RESERVED, what, why=why, remedy="choose a path such as /home, /shared or /scratch")
    if not MOUNT.fullmatch(text) or {".", ".."} & set(text.split("/")) or len(text) > MOUNT_LENGTH:
        why = "a mount point is an absolute path of letters, digits, `.`, `_` and `-`, with no slash at its end and no `..`"
        meant = "/" + text.strip("/")
        is_plain = MOUNT.fullmatch(meant) and meant != text and not {".", ".."} & set(meant.split("/")) and len(meant) <= MOUNT_LENGTH
        remedy = f"write `{meant}`" if is_plain else "write it like /shared"
        raise Unfit(Code.MOUNT_FORM, f"{message_text.quoted(text)} is not a mount point", why=why, remedy=remedy, meant=meant if is_plain else None)
    return text


def network(text: str) -> str:
    """Check an IPv4 network (`10.80.0.0/20`)."""
    try:
        if not NETWORK.fullmatch(text):
            raise ValueError
        return str(ipaddress.IPv4Network(text, strict=True))
    except ValueError:
        pass
    if ADDRESS.fullmatch(text):
        raise _without_prefix(text)
    try:
        meant = str(ipaddress.IPv4Network(text, strict=False)) if "/" in text else None
    except ValueError:
        meant = None
    remedy = f"write `{meant}`" if meant else "write it like `10.80.0.0/20`"
    why = "a network is an IPv4 address and the length of its prefix, with all bits after the prefix zero"
    raise Unfit(Code.CIDR_FORM, f"{message_text.quoted(text)} is not a network", why=why, remedy=remedy, meant=meant)


def _without_prefix(text: str) -> Unfit:
    """Say of an address alone how a network is written: one host where its last number says so."""
    what = f"{message_text.quoted(text)} is an address without the length of its prefix"
    why = "a network is an address and a prefix: `/32` is one host, `/24` has 256 addresses, `/16` 65,536"
    numbers = text.split(".")
    if any(int(number) > 255 for number in numbers):
        return Unfit(
            Code.CIDR_FORM,
            f"{message_text.quoted(text)} is no IPv4 address",
            why="each of its four numbers is at most 255",
            remedy="write it like `10.80.0.0/20`",
        )
    if numbers[-1] != "0":
        meant = f"{ipaddress.IPv4Address(text)}/32"
        return Unfit(Code.CIDR_FORM, what, why=why, remedy=f"write `{meant}` for this host only, or write its network", meant=meant)
    prefix = 24 if numbers[-2] != "0" else 16
    return Unfit(Code.CIDR_FORM, what, why=why, remedy=f"write `{text}/{prefix}`, or the prefix that the network has")


def public_key(text: str) -> str:
    """Check a line of OpenSSH's authorized_keys format without options. A private key is refused without being repeated."""
    if message_text.is_private(text):
        why = "everyone who can read the blueprint can read the key, so it is no longer secret"
        raise Unfit(Code.SSH_KEY_PRIVATE, "this is a private key", why=why, remedy="remove it, create a new key pair, and paste the line of the new .pub file")
    fields = text.split(" ")
    reason = key_fault(fields, KEY_TYPES) if text.isprintable() else "it has a line break or control character"
    if reason:
        raise Unfit(Code.SSH_KEY_FORM, f"{message_text.quoted(text)} is not an OpenSSH public key", why=reason, remedy=_KEY_REMEDY)
    return text


def key_fault(fields: Sequence[str], types: Sequence[str]) -> str | None:
    """Say why words are no public key of OpenSSH (type, base64, comment)."""
    if fields[0] not in types or len(fields) < 2:
        return f"a public key reads `type base64 comment`, and the type is one of {', '.join(types)}"
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (binascii.Error, ValueError):
        return "its second word is not base64"
    name = fields[0].encode()
    # RFC 4253 section 6.6: the key begins with the length and text of its type.
    if len(blob) < 4 + len(name) + 16 or blob[: 4 + len(name)] != len(name).to_bytes(4) + name:
        return "the key inside is cut off or of another type than its first word says"
    return None


def reason(text: str) -> str:
    """Check a text that says why: it must hold a word."""
    if not any(character.isalnum() for character in text):
        why = "later readers must know why the warning is accepted"
        raise Unfit(
            Code.EMPTY, "this suppression gives no reason", why=why, remedy="write why the warning is accepted, such as `two nodes until the reservation grows`"
        )
    return plain_text(text)


def plain_text(text: str) -> str:
    """Check a text that is shown on one line."""
    why = f"it is shown on one line, in reports and in Slurm's database: at most {TEXT_LENGTH} characters without line breaks"
    if "\n" in text:
        lines = text.strip("\n").split("\n")
        line = " ".join(lines)
        what = f"{message_text.quoted(line)} {'ends with a line break' if len(lines) == 1 else 'has several lines'}"
        remedy = (
            "write it on the line of its key"
            if len(line) <= TEXT_LENGTH
            else "shorten it, write it on the line of its key, and keep longer remarks in comments"
        )
        raise Unfit(Code.TEXT_FORM, what, why=why, remedy=f"{remedy}, without `>` or `|`", meant=line[:TEXT_LENGTH])
    if odd := NOT_IN_TEXT.search(text):
        what = f"{message_text.quoted(text)} has the character U+{ord(odd[0]):04X}, which steers how text is shown"
        remedy = f"take it out: it is character {odd.start() + 1} of the text"
        raise Unfit(Code.TEXT_FORM, what, why=why, remedy=remedy, meant=NOT_IN_TEXT.sub("", text)[:TEXT_LENGTH])
    if len(text) > TEXT_LENGTH:
        what = f"{message_text.quoted(text)} has {len(text)} characters"
        raise Unfit(Code.TEXT_FORM, what, why=why, remedy="shorten it, and keep longer remarks in comments", meant=text[:TEXT_LENGTH])
    return text
