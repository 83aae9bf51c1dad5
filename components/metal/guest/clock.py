"""What the time service of a host says about its clock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

    from .system import System

SERVICES = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l")
"""Names of their processes, cut to 15 letters as the kernel does."""
ANSWER_WITHIN_S = 5
UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def described(system: System, running: Collection[str]) -> dict[str, Any]:
    """Give the running time service, whether it follows a source, and the offset that it reports in seconds; None: it doesn't say."""
    service = next((name for name in SERVICES if name in running), "")
    asked = {"chronyd": _chrony, "ntpd": _ntp, "systemd-timesyn": _timesyncd}.get(service)
    is_synchronized, offset_s = asked(system) if asked else (None, None)
    return {"service": service, "is_synchronized": is_synchronized, "offset_s": offset_s}


def _chrony(system: System) -> tuple[bool | None, float | None]:
    """Read `chronyc -c tracking` (chronyc(1)): field 5 is the offset of the system clock in seconds, field 14 the leap status."""
    fields = system.answer("chronyc", "-n", "-c", "tracking", within_s=ANSWER_WITHIN_S).strip().split(",")
    if len(fields) < 14:
        return None, None
    return fields[13] != "Not synchronised", _number(fields[4])


def _ntp(system: System) -> tuple[bool | None, float | None]:
    """Read `ntpq -c rv` (ntpq(8)): the offset is in milliseconds, and stratum 16 means not synchronized."""
    said = dict(re.findall(r"(\w+)=([^,\s]+)", system.answer("ntpq", "-n", "-c", "rv 0 stratum,offset", within_s=ANSWER_WITHIN_S)))
    offset_ms = _number(said.get("offset", ""))
    return (said["stratum"] != "16" if "stratum" in said else None), (None if offset_ms is None else offset_ms / 1000)


def _timesyncd(system: System) -> tuple[bool | None, float | None]:
    """Read `timedatectl timesync-status` (timedatectl(1)), which prints no offset before a server answered."""
    said = system.answer("timedatectl", "timesync-status", within_s=ANSWER_WITHIN_S)
    follows = system.answer("timedatectl", "show", "--property=NTPSynchronized", "--value", within_s=ANSWER_WITHIN_S).strip()
    offset = re.search(r"Offset: (.+)", said)
    return {"yes": True, "no": False}.get(follows), duration_s(offset[1]) if offset else None


def duration_s(words: str) -> float | None:
    """Read a span of time as systemd prints it (`-1min 2.5s`); None where it is none. Pure."""
    parts = re.findall(r"([\d.]+)\s*(us|ms|s|min|h|d)\b", words.replace("\N{GREEK SMALL LETTER MU}", "u").replace("\N{MICRO SIGN}", "u"))
    total = sum(float(number) * UNITS_S[unit] for number, unit in parts)
    return (-total if words.strip().startswith("-") else total) if parts else None


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
