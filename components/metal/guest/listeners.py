"""Ports of a host that are taken, and what may refuse packets of other hosts."""

from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from .system import System

LISTENS = "0A"
"""State TCP_LISTEN in /proc/net/tcp (<net/tcp_states.h>)."""


def taken(system: System, ports: Collection[int]) -> dict[str, str]:
    """Give which of some ports are taken: port → name of the program, empty where root alone may know."""
    sockets = {}
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in system.read(path).splitlines()[1:]:
            fields = line.split()
            number = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == LISTENS and number in ports:
                sockets[fields[9]] = number
    owners = _owners(system, sockets) if sockets else {}
    return {str(number): owners.get(inode, "") for inode, number in sockets.items()}


def _owners(system: System, sockets: Collection[str]) -> dict[str, str]:
    """Name the programs that have sockets open: inode → name."""
    found = {}
    for path in glob.glob(system.path("/proc/[0-9]*/fd/*")):
        try:
            matched = re.match(r"socket:\[(\d+)\]", os.readlink(path))
        except OSError:
            continue
        if matched and matched[1] in sockets:
            process = os.path.dirname(os.path.dirname(path))
            found[matched[1]] = system.read(f"{system.inside(process)}/comm").strip()
    return found


def filters(system: System, running: Collection[str]) -> list[str]:
    """Name programs that manage packet filters, and tables of nftables that drop incoming packets by default."""
    found = []
    if re.search(r"^ENABLED=yes", system.read("/etc/ufw/ufw.conf"), re.MULTILINE | re.IGNORECASE):
        found.append("ufw")
    if "firewalld" in running:
        found.append("firewalld")
    table = ""
    for line in system.answer("nft", "list", "chains").splitlines():
        named = re.match(r"table (\S+ \S+)", line)
        table = named[1] if named else table
        if "hook input" in line and "policy drop" in line:
            found.append(f"nftables table {table}")
    return found
