"""Values as other programs write them: what a refused text probably means, in the language's own form. Each function gives None where it can't tell."""

import math
import re

_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?) *([A-Za-z]*)")
_BINARY = {**dict.fromkeys(("m", "mi", "mib"), "MiB"), **dict.fromkeys(("", "g", "gi", "gib"), "GiB"), **dict.fromkeys(("t", "ti", "tib"), "TiB")}
"""Powers of 1024; a number alone is in GiB, as the clouds' own interfaces count."""
_DECIMAL_BYTES = {"mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15}
_GIB_BYTES = 2**30
_THROUGHPUT = re.compile(r"([0-9]{1,5}) *(MB/?s|MBps)?(/TiB)?", re.IGNORECASE)
_CLOCK = re.compile(r"[0-9]:[0-5][0-9]")
_SPAN = re.compile(r"([0-9]{1,8}) *(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?: +|$|(?=[0-9]))", re.IGNORECASE)
_UNIT_S = {"w": 7 * 24 * 3600, "d": 24 * 3600, "h": 3600, "m": 60, "s": 1}
_RANGE = re.compile(r"([0-9]{1,5}) *(?:-|\.\.|:|to) *([0-9]{1,5})")
_TAINT = re.compile(r"([^=:]+)(?:=([^=:]*))?:([A-Za-z]+)")


def size(text: str) -> tuple[str, str] | None:
    """Read `500GB`, `1200` or `64Gi`. Gives the size, and a remark that goes with it."""
    found = _SIZE.fullmatch(text)
    unit = found[2].lower() if found else ""
    if found and unit in _BINARY:
        return f"{found[1]} {_BINARY[unit]}", ""
    if found and unit in _DECIMAL_BYTES:
        gib = math.ceil(float(found[1]) * _DECIMAL_BYTES[unit] / _GIB_BYTES)
        return f"{gib} GiB", f", which is as much: {unit.upper()} counts in powers of 1000, and GiB in powers of 1024"
    return None


def throughput(text: str) -> str | None:
    """Read `250` or `250 MB/s`."""
    found = _THROUGHPUT.fullmatch(text)
    return f"{int(found[1])} MB/s/TiB" if found and int(found[1]) else None


def clock(text: str) -> str | None:
    """Read `2:30`."""
    return f"0{text}" if _CLOCK.fullmatch(text) else None


def span_s(text: str) -> int | None:
    """Read `24h`, `1d12h` or `2 days` as seconds."""
    parts = _SPAN.findall(text)
    is_whole = not _SPAN.sub("", text)
    return sum(int(number) * _UNIT_S[unit[0].lower()] for number, unit in parts) if parts and is_whole else None


def between(text: str) -> dict[str, int] | None:
    """Read `2-4` as a range."""
    found = _RANGE.fullmatch(text)
    return {"min": int(found[1]), "max": int(found[2])} if found else None


def taint(text: str) -> dict[str, str] | None:
    """Read `key=value:NoSchedule`, as kubectl writes a taint."""
    found = _TAINT.fullmatch(text)
    return {"key": found[1], **({"value": found[2]} if found[2] else {}), "effect": found[3]} if found else None
