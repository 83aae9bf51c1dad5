"""Addresses and keys of hosts that exist already: IPv4, hardware addresses, SSH host keys."""

import dataclasses
import ipaddress
import re

from .. import message_text
from ..codes import Code
from ..finding import Unfit
from . import values

HOST_KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
DNS_NAME = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*")
HOST = re.compile(rf"{values.ADDRESS.pattern}|{DNS_NAME.pattern}")
WITH_PREFIX = re.compile(rf"{values.ADDRESS.pattern}/([0-9]|[12][0-9]|3[0-2])")
RANGE = re.compile(rf"({values.ADDRESS.pattern})\+(/([0-9]|[12][0-9]|3[0-2]))?")
MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){19}")
"""6 bytes of Ethernet, or the 20 of an InfiniBand interface (RFC 4391, section 9.1.1)."""
PARTITION_KEY = re.compile(r"0x(?!8000|[Ff]{4})[89A-Fa-f][0-9A-Fa-f]{3}")
GROUP_BIT = 0x01
"""Of the first byte of an Ethernet address: set, it names a group of stations, as in multicast and broadcast (IEEE 802-2014, section 8.2.2)."""
ETHERNET_LETTERS = 17
FULL_MEMBER = 0x8000
"""Of a partition key's 16 bits: the highest one. The other 15 bits are the partition (InfiniBand Architecture Specification, volume 1, section 10.9.1.1)."""
DEFAULT_PARTITION = 0x7FFF
FINGERPRINT = re.compile(r"(SHA256:)?[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}")


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """Consecutive addresses."""

    first: int
    """As a number: thousands of addresses are written from it."""
    suffix: str
    """The length of the prefix of each (`/24`); empty where none is written."""

    def address(self, number: int) -> str:
        """Give the address of the range's host with this number."""
        value = self.first + number
        return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}{self.suffix}"


def host_key(text: str) -> str:
    """Check a public SSH host key; give its type and key, without the comment."""
    if message_text.is_private(text):
        why = "everyone who can read the blueprint can read the key, so it is no longer secret"
        remedy = "remove it, create new host keys on the host, and write the line of the new .pub file"
        raise Unfit(Code.SSH_KEY_PRIVATE, "this is a private key", why=why, remedy=remedy)
    fields = text.split()
    fault = values.key_fault(fields, HOST_KEY_TYPES) if text.isprintable() and fields else "it is empty, or has a line break or control character"
    if fault:
        remedy = "write the line of /etc/ssh/ssh_host_ed25519_key.pub of the host; `clusterwright lookup hosts` reads it"
        raise Unfit(Code.HOST_KEY_FORM, f"{message_text.quoted(text)} is not an SSH host key", why=fault, remedy=remedy)
    return f"{fields[0]} {fields[1]}"


def ipv4(text: str) -> str:
    """Check an IPv4 address that a host can have."""
    if is_ipv4(text):
        return _of_a_host(text, text)
    raise _no_address(text, why="an IPv4 address has four numbers from 0 to 255 with dots between them", remedy="write it like `10.20.0.11`")


def host(text: str) -> str:
    """Check an IPv4 address or DNS name."""
    return _of_a_host(text, text) if is_ipv4(text) else _name(text)


def bmc(text: str) -> str:
    """Check an IPv4 address or DNS name of a management controller. An SSH tunnel gives it an address of this machine's own (127.0.0.0/8)."""
    if is_ipv4(text):
        return text if text.startswith("127.") else _of_a_host(text, text)
    return _name(text)


def _name(text: str) -> str:
    if DNS_NAME.fullmatch(text) and not text.replace(".", "").isdigit():
        return text
    if "/" in text and is_ipv4(text.partition("/")[0]):
        raise _no_address(
            text, why="one host has an address without the length of a prefix", remedy=f"write `{text.partition('/')[0]}`", meant=text.partition("/")[0]
        )
    raise _no_address(text, why="hosts are reached at an IPv4 address or a DNS name", remedy="write it like `10.20.0.11` or `gpu-001.example.org`")


def interface(text: str) -> str:
    """Check the IPv4 address of an interface with the length of its prefix."""
    try:
        if not WITH_PREFIX.fullmatch(text):
            raise ValueError
        found = str(ipaddress.IPv4Interface(text))
    except ValueError:
        why = "an interface has an IPv4 address and the length of its network's prefix"
        raise _no_address(text, why=why, remedy="write it like `10.40.0.11/24`") from None
    _of_a_host(text, found)
    return found


def first_of_range(text: str) -> Range:
    """Read the first address of a range (`10.20.0.11+`, `10.40.0.11+/24`)."""
    found = RANGE.fullmatch(text)
    if not found or not is_ipv4(found[1]):
        why = "a range begins with its first host's IPv4 address, and the plus says that each following host has the next one"
        meant = f"{text}+" if is_ipv4(text) else None
        raise _no_address(text, why=why, remedy=f"write `{meant}`" if meant else "write it like `10.20.0.11+`", meant=meant)
    address, _, prefix = text.partition("+")
    _of_a_host(text, address)
    return Range(int(ipaddress.IPv4Address(address)), prefix)


def mac(text: str) -> str:
    """Check a hardware address; give it in lower case with colons."""
    if MAC.fullmatch(text):
        written = text.lower().replace("-", ":")
        if fault := _mac_fault(written):
            raise Unfit(Code.MAC_FORM, f"no interface can have the hardware address {written}", why=fault, remedy="write it as `ip link` shows it")
        return written
    why = "a hardware address has six pairs of hexadecimal digits, or the twenty of InfiniBand, with colons between them"
    raise Unfit(
        Code.MAC_FORM, f"{message_text.quoted(text)} is not a hardware address", why=why, remedy="write it as `ip link` shows it, like `b8:3f:d2:00:11:22`"
    )


def partition_key(text: str) -> str:
    """Check the key of an InfiniBand partition; give it in lower case."""
    key = int(text, 16) if re.fullmatch("0x[0-9A-Fa-f]{1,4}", text) else -1
    partition = key & ~FULL_MEMBER
    if key < 0:
        what, why, meant = "is not the key of a partition", "a key has 16 bits, written as `0x` and four hexadecimal digits", None
    elif partition == 0:
        what, why, meant = "is the key of no partition", "the number of a partition is not 0", None
    elif partition == DEFAULT_PARTITION:
        what, why, meant = "is the key of the default partition", "each port has the default partition, and its interface uses that without a key", None
    elif not key & FULL_MEMBER:
        why = "nodes that are limited members (without the highest bit) can't reach each other"
        what, meant = "lacks the bit of full membership", f"0x{key | FULL_MEMBER:04x}"
    else:
        return text.lower()
    remedy = (
        "leave `partition_key` out"
        if partition == DEFAULT_PARTITION
        else f"write `{meant}`"
        if meant
        else "write the key that the subnet manager has, like `0x8001`"
    )
    raise Unfit(Code.PARTITION_KEY_FORM, f"{message_text.quoted(text)} {what}", why=why, remedy=remedy, meant=meant)


def fingerprint(text: str) -> str:
    """Check the SHA-256 fingerprint of a certificate; give its 64 hexadecimal digits in lower case."""
    if FINGERPRINT.fullmatch(text):
        return text.removeprefix("SHA256:").replace(":", "").lower()
    why = "a SHA-256 fingerprint has 32 pairs of hexadecimal digits, with or without colons between them"
    remedy = "write it as `clusterwright lookup bmcs` shows it, or as `openssl x509 -noout -fingerprint -sha256` does"
    raise Unfit(Code.FINGERPRINT_FORM, f"{message_text.quoted(text)} is not the fingerprint of a certificate", why=why, remedy=remedy)


def is_ipv4(text: str) -> bool:
    return values.ADDRESS.fullmatch(text) is not None and all(int(number) <= 255 for number in text.split("."))


def _of_a_host(text: str, address: str) -> str:
    """Refuse addresses that no host has in any network. Source: RFC 6890, tables 1, 4 and 15; RFC 5771 (multicast)."""
    match int(address.partition(".")[0]):
        case 0:
            why = "addresses that begin with 0 mean this host or this network, whichever it is"
        case 127:
            why = "addresses that begin with 127 lead each host to itself"
        case first if 224 <= first < 240:
            why = "addresses from 224.0.0.0 to 239.255.255.255 are for multicast: they name groups of hosts"
        case first if first >= 240:
            why = "addresses from 240.0.0.0 on are reserved"
        case _:
            return text
    what = f"no host can have the address {message_text.quoted(text)}"
    raise Unfit(Code.ADDRESS_FORM, what, why=why, remedy="write the address that `ip address` shows on the host")


def _mac_fault(written: str) -> str | None:
    if not written.strip("0:"):
        return "an address of zeros is what a card without an address shows"
    if len(written) == ETHERNET_LETTERS and int(written[:2], 16) & GROUP_BIT:
        return "the first byte is odd: such addresses name a group of stations, and no card sends from one"
    return None


def _no_address(text: str, *, why: str, remedy: str, meant: str | None = None) -> Unfit:
    return Unfit(Code.ADDRESS_FORM, f"{message_text.quoted(text)} is not an address", why=why, remedy=remedy, meant=meant)
