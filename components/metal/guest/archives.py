"""Where the packages of a host come from, and whether it reaches these archives."""

from __future__ import annotations

import glob
import re
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .system import System

ONE_LINE = re.compile(r"^deb\s+(?:\[[^\]]*\]\s*)?(\S+)\s+(\S+)")
FIELD = re.compile(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", re.MULTILINE)
NO = ("no", "false")
DONE_BELOW = 400
"""Status codes of HTTP below this are no error (RFC 9110, section 15)."""


def sources(system: System) -> list[tuple[str, str]]:
    """Give URI and suite of each source, once (sources.list(5))."""
    found: list[tuple[str, str]] = []
    for path in _files(system, "/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list"):
        found += [(matched[1], matched[2]) for line in system.read(path).splitlines() if (matched := ONE_LINE.match(line.strip()))]
    for path in _files(system, "/etc/apt/sources.list.d/*.sources"):
        text = "\n".join(line for line in system.read(path).splitlines() if not line.startswith("#"))
        for stanza in re.split(r"\n\s*\n", text):
            fields = {name.lower(): value.split() for name, value in FIELD.findall(stanza)}
            if fields.get("enabled", ["yes"])[0].lower() not in NO and "deb" in fields.get("types", []):
                found += [(uri, suite) for uri in fields.get("uris", []) for suite in fields.get("suites", [])]
    return [*dict.fromkeys(found)]


def _files(system: System, *patterns: str) -> list[str]:
    return [system.inside(path) for pattern in patterns for path in sorted(glob.glob(system.path(pattern)))]


def proxy(system: System) -> str:
    """Give apt's proxy for HTTP; empty: none (apt.conf(5), Acquire::http::Proxy)."""
    said = re.search(r'Acquire::http::Proxy "([^"]*)"', system.answer("apt-config", "dump", "Acquire::http::Proxy"))
    return said[1] if said and said[1] != "DIRECT" else ""


def unreached(places: Iterable[tuple[str, str]], through: str, *, within_s: float) -> dict[str, str]:
    """Ask each server for the description of a suite; of an archive with TLS only the connection is tried.

    Args:
        places: URI and suite.
        through: apt's proxy for HTTP.
    Returns:
        URI → why it gives no packages.
    """
    faults: dict[str, str] = {}
    asked: set[tuple[str, str]] = set()
    until = time.monotonic() + 2 * within_s
    for uri, suite in places:
        place = urlsplit(uri)
        server = (place.scheme, place.netloc)
        if place.scheme in ("http", "https") and server not in asked and time.monotonic() < until:
            asked.add(server)
            if why := _fault(place, suite, through, within_s):
                faults[uri] = why
    return faults


def _fault(place: SplitResult, suite: str, through: str, within_s: float) -> str:
    by_proxy = bool(through) and place.scheme == "http"
    way = urlsplit(through) if by_proxy else place
    whom = f"the proxy {way.netloc}" if by_proxy else place.netloc
    try:
        with socket.create_connection((way.hostname or "", way.port or (443 if way.scheme == "https" else 80)), within_s) as connection:
            if way.scheme == "https":
                return ""
            folder = place.path.rstrip("/") + (f"/{suite}" if suite.endswith("/") else f"/dists/{suite}/") + "InRelease"
            target = f"{place.scheme}://{place.netloc}{folder}" if by_proxy else folder
            connection.sendall(f"HEAD {target} HTTP/1.1\r\nHost: {place.netloc}\r\nUser-Agent: clusterwright\r\nConnection: close\r\n\r\n".encode())
            words = connection.recv(256).split()
    except OSError as error:
        return f"{whom}: {error.strerror or error}"
    status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
    return "" if 0 < status < DONE_BELOW else f"{whom} answers with status {status} for the suite {suite}"
