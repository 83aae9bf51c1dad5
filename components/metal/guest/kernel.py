"""Values that the running kernel has: sysctl settings and tables of firewall rules."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from .system import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .system import System

SETTINGS = "/proc/sys"
BRANCHES = ("fs", "kernel", "net", "user", "vm")
SETTING_FILES = ("/etc/sysctl.d/", "/etc/sysctl.conf")
OWN_TABLE = "clusterwright"
"""Begins the name of each of the stack's own tables of nftables."""


def settings(system: System) -> dict[str, str]:
    """Read every setting that can be written and read: path below /proc/sys → value."""
    found = {}
    for branch in BRANCHES:
        for folder, _, files in os.walk(system.path(f"{SETTINGS}/{branch}")):
            for name in files:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    if os.stat(path).st_mode & 0o600 == 0o600:
                        with open(path, encoding="utf-8", errors="replace") as stream:
                            found[os.path.relpath(path, system.path(SETTINGS))] = stream.read().strip()
    return found


def named(text: str) -> dict[str, str]:
    """Read a file of sysctl.d(5): path below /proc/sys → value."""
    found = {}
    for line in text.splitlines():
        name, sign, value = line.strip().lstrip("-").partition("=")
        if sign and not name.startswith(("#", ";")):
            name = name.strip()
            dots = "/" not in name or ("." in name and name.index(".") < name.index("/"))
            found[name.translate(str.maketrans("./", "/.")) if dots else name] = value.strip()
    return found


def restore_setting(system: System, name: str, value: str) -> str:
    """Write a setting; give why it stays as it is, or nothing."""
    try:
        with open(system.path(f"{SETTINGS}/{name}"), "w", encoding="utf-8") as stream:
            stream.write(value)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def same(one: str, other: str) -> bool:
    """Say whether two values of a setting are the same; the kernel writes several with tabs between."""
    return one.split() == other.split()


def tables(system: System) -> dict[str, str]:
    """Give the tables of nftables without their counters: `family name` → rules."""
    found = {}
    for line in system.answer("nft", "list", "tables").splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "table":
            found[f"{words[1]} {words[2]}"] = system.answer("nft", "--stateless", "list", "table", words[1], words[2])
    return found


def restore_tables(system: System, *, before: Mapping[str, str], left: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str]]:
    """Delete the tables that the stack added and bring back those that it changed, unless somebody changed them since; give what stays: (table, why)."""
    stays = []
    for table in sorted({*before, *left, *now}):
        was, recorded, is_now = before.get(table), left.get(table), now.get(table)
        is_own = was is None and table.partition(" ")[2].startswith(OWN_TABLE)
        if is_now == was or (was == recorded and not is_own):
            continue
        if is_now != recorded and not is_own:
            stays.append((f"firewall table {table}", "somebody changed it since the stack did"))
            continue
        script = "".join([f"delete table {table}\n" if is_now is not None else "", was or ""])
        try:
            system.run("nft", "--file", "-", stdin=script)
        except CommandFailed as failure:
            stays.append((f"firewall table {table}", str(failure)))
    return stays


def changed_settings(texts: Sequence[str]) -> dict[str, str]:
    """Give the settings that the stack's own files name: path below /proc/sys → value."""
    return {name: value for text in texts for name, value in named(text).items()}
