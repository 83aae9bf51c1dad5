"""Names and values that commands take as they are; systemctl, apt and scontrol would read others as patterns, lists or options."""

import re

UNIT = re.compile(r"(?=.{1,255}\Z)[A-Za-z0-9:_.\\@-]+\.(?:service|socket|device|mount|automount|swap|target|path|timer|slice|scope)")
"""systemd.unit(5)."""
SYSCTL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]*")
SYSCTL_VALUE = re.compile(r"[\x20-\x7e]*")
MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(?::[a-z0-9-]+)?")
"""deb-src-control(5), Package; dpkg(1) for the architecture."""
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~:-]*")
"""deb-version(7)."""
ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\$?")
"""A user or group of a host by name or number (useradd(8))."""
MODE = re.compile(r"[0-7]{4}")
INTERFACE = re.compile(r"(?!-)[A-Za-z0-9_.@:-]{1,15}")
"""A network interface (netdevice(7))."""
TIME_ZONE = re.compile(r"(?:[A-Za-z0-9_+-]+/){0,2}[A-Za-z0-9_+-]+")
OBJECT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""A node, partition, account or QOS. scontrol and sacctmgr expand brackets and commas."""
FIELD = re.compile(r"[A-Za-z]+")
FIELD_VALUE = re.compile(r"[\x21-\x7e]+")


def is_path(text: str) -> bool:
    """Say whether a text is the absolute path of one place, which reaches the host as it is: bytes that are not UTF-8 don't."""
    parts = text.split("/")
    return text.startswith("/") and len(parts) > 1 and "\0" not in text and not {"", ".", ".."} & set(parts[1:]) and is_text(text)


def is_text(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
