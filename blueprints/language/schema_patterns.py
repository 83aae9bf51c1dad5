"""How checked texts and numbers look in JSON Schema. Each comes from the patterns and limits that the checks themselves use.

A form never refuses what the check accepts; the check may know more (a day that the calendar doesn't have, a public key that is cut off).
"""

import re
from collections.abc import Iterable
from typing import Any

import pydantic

from . import addresses, names, values


def _form(title: str, pattern: re.Pattern[str] | str, *examples: str, **more: Any) -> pydantic.WithJsonSchema:
    shown = {"examples": [*examples]} if examples else {}
    return pydantic.WithJsonSchema({"title": title, "type": "string", "pattern": _whole(pattern), **more, **shown})


def _whole(pattern: re.Pattern[str] | str) -> str:
    text = pattern if isinstance(pattern, str) else pattern.pattern
    return f"^(?:{text})$"


def _name(title: str, example: str, length: int, *, reserved: Iterable[str] = (), form: re.Pattern[str] = names.FORM) -> pydantic.WithJsonSchema:
    taken = {"not": {"enum": sorted(reserved)}} if reserved else {}
    return _form(title, form, example, maxLength=length, **taken)


def _any_of(words: Iterable[str]) -> str:
    """Write words as a pattern. Only what can stand in them is escaped, as JSON Schema's regular expressions allow no needless backslash."""
    return "|".join(re.sub(r"([.+])", r"\\\1", word) for word in words)


def _but_for(pattern: str) -> dict[str, Any]:
    return {"not": {"pattern": pattern}}


TEXT = _form("line of text", rf"[^{values.STEERING}]{{0,{values.TEXT_LENGTH}}}")
REASON = _form(
    "reason",
    rf"(?=[^{values.STEERING}]*[^\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f])[^{values.STEERING}]{{1,{values.TEXT_LENGTH}}}",
    "two nodes until the reservation grows",
)
SIZE = _form("size", values.SIZE, "14400 GiB")
MEMORY = _form("size of memory", values.SIZE, "64 GiB")
_NODES = {"type": "integer", "minimum": 1, "maximum": 99_999}
ROLLING = pydantic.WithJsonSchema({"title": "nodes at once", "anyOf": [{"type": "string", "pattern": _whole(values.ROLLING)}, _NODES], "examples": ["10%", 2]})
THROUGHPUT = _form("throughput", values.THROUGHPUT, "250 MB/s/TiB")
DATE = _form("day", values.DATE, "2027-03-31")
CLOCK_TIME = _form("time of day", values.CLOCK, "02:00")
CIDR = _form("network", values.NETWORK, "10.80.0.0/20")
BUCKET = _form("bucket", values.BUCKET, "s3://name/prefix")
IDENTIFIER = _form("identifier", values.IDENTIFIER)
SOFTWARE_VERSION = _form("version", values.SOFTWARE_VERSION, "580.178.04")
MOUNT_SOURCE = _form("source of a file system", values.MOUNT_SOURCE, "10.0.0.5:/export")
MIG_PROFILE = _form("MIG profile", values.MIG, "1g.10gb")
ARCHIVE_ADDRESS = _form("address of an archive", values.ARCHIVE, "https://mirror.example.org/cuda/ubuntu2404")
WEBHOOK = _form("address for alerts", values.WEBHOOK, "https://alerts.example.org/gpu-clusters")
KEY_FINGERPRINT = _form("fingerprint of a key", values.KEY_FINGERPRINT)
REGISTRY = _form("registry of images", values.REGISTRY, "registry.example.org:5000")
FINDING_CODE = _form("code of a finding", values.CODE, "CW520")
DOTTED_PATH = _form("place in the blueprint", values.DOTTED, "pools.train")
_HIDING = rf"^(?:{_any_of((*values.SYSTEM_FOLDERS, *values.TAKEN_FOLDERS))})(?:/|$)|^(?:{_any_of(values.PARENTS_ONLY)})$|/\.{{1,2}}(?:/|$)"
MOUNT_POINT = _form("mount point", values.MOUNT, "/shared", maxLength=values.MOUNT_LENGTH, **_but_for(_HIDING))
_MINUTES = {"type": "integer", "minimum": 1, "maximum": values.LONGEST_TIME_S // 60}
_WRITTEN = {"type": "string", "pattern": _whole(values.TIME_LIMIT)}
# Two forms, not one of two types: strict validators (ajv) refuse the latter.
TIME_LIMIT = pydantic.WithJsonSchema({"title": "time limit", "anyOf": [_WRITTEN, _MINUTES], "examples": ["1-00:00:00", "60", "unlimited"]})
PUBLIC_KEY = _form("public key", rf"(?:{_any_of(values.KEY_TYPES)}) [A-Za-z0-9+/]+=*(?: .*)?")
UID = pydantic.WithJsonSchema({"title": "user number", "type": "integer", "minimum": names.FIRST_UID, "maximum": names.LAST_UID, "examples": [2001]})
CLUSTER = _name("name of a cluster", "starter", names.CLUSTER_LENGTH)
POOL = _name("name of a pool", "train", names.POOL_LENGTH, reserved=names.RESERVED_POOLS)
STORAGE = _name("name of a file system", "home", names.STORAGE_LENGTH)
ACCOUNT = _name("name of an account", "research", names.ACCOUNT_LENGTH, reserved=names.RESERVED_ACCOUNTS)
QOS = _name("name of a quality of service", "high", names.ACCOUNT_LENGTH, reserved=names.RESERVED_QOS)
USER = _name("name of a user", "ada", names.LINUX_NAME_LENGTH, reserved=names.RESERVED_USERS, form=names.USER)
CLOUD_IDENTITY = _form("address of a person", names.CLOUD_IDENTITY, "ada@example.org")
_LABEL_KEY = rf"(?:{names.LABEL_PREFIX.pattern}/)?{names.LABEL_VALUE.pattern}"
_OTHERS_LABEL = rf"^(?:.*\.)?(?:{_any_of(names.RESERVED_LABELS)})/|[^/]{{{names.LABEL_LENGTH + 1}}}$|^[^/]{{{names.LABEL_PREFIX_LENGTH + 1}}}"
LABEL_KEY = _form("key of a label", _LABEL_KEY, "team", "example.org/team", **_but_for(_OTHERS_LABEL))
LABEL_VALUE = _form("value of a label", f"(?:{names.LABEL_VALUE.pattern})?", maxLength=names.LABEL_LENGTH)
HOST_KEY = _form("SSH host key", rf"(?:{_any_of(addresses.HOST_KEY_TYPES)}) [A-Za-z0-9+/]+=*(?: .*)?", "ssh-ed25519 AAAA…")
IPV4 = _form("IPv4 address", values.ADDRESS, "10.20.0.11")
HOST_ADDRESS = _form("address or DNS name", addresses.HOST, "10.20.0.11")
INTERFACE_ADDRESS = _form("address with prefix", addresses.WITH_PREFIX, "10.40.0.11/24")
ADDRESS_RANGE = _form("first address of a range", addresses.RANGE, "10.20.0.11+")
MAC = _form("hardware address", addresses.MAC, "b8:3f:d2:00:11:22")
PARTITION_KEY = _form("key of an InfiniBand partition", addresses.PARTITION_KEY, "0x8001")
FINGERPRINT = _form("fingerprint of a certificate", addresses.FINGERPRINT, "F5:7A:1D:…")
HOST_NAME = _form("name of a host", names.HOST, "gpu-001", **{"not": {"enum": sorted(names.RESERVED_HOSTS)}})
INTERFACE_NAME = _form("name of an interface", names.INTERFACE, "rail0", **{"not": {"enum": [names.LOOPBACK]}})
LINUX_USER = _form("name of a Linux user", names.LINUX_USER, "ubuntu")
_HOSTS = {"type": "string", "pattern": _whole(names.HOST_LIST)}
HOST_LIST = pydantic.WithJsonSchema({"title": "host list", "anyOf": [_HOSTS, {"type": "array", "items": _HOSTS, "minItems": 1}], "examples": ["gpu-[001-016]"]})
TAG_KEY = _form("key of a tag", names.TAG, "cost-center", **_but_for(f"^{names.RESERVED_TAGS}"))
