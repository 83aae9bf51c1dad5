"""What is mounted, and removal that never enters a mounted file system."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from .system import CommandFailed

if TYPE_CHECKING:
    from .system import System

TABLE = "/proc/self/mountinfo"
KERNEL_KINDS = frozenset(
    {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore",
     "ramfs", "rpc_pipefs", "securityfs", "squashfs", "sysfs", "tmpfs", "tracefs"}
)  # fmt: skip
"""Kinds of file systems that hold nobody's files."""


def mounted(system: System) -> dict[str, str]:
    """Give what is mounted where, but for the kernel's own: folder → `kind source`."""
    found = {}
    for line in system.read(TABLE).splitlines():
        left, _, right = line.partition(" - ")
        fields, kind, source = left.split(), *right.split()[:2]
        if kind not in KERNEL_KINDS:
            found[_plain(fields[4])] = f"{kind} {_plain(source)}"
    return found


def folders(system: System) -> frozenset[str]:
    """Give every folder on which something is mounted."""
    return frozenset(_plain(line.split()[4]) for line in system.read(TABLE).splitlines())


def unmount(system: System, folder: str) -> str:
    """Unmount a file system; give why it stays, or nothing."""
    try:
        system.run("umount", folder)
    except CommandFailed as failure:
        return str(failure)
    return ""


def remove_tree(system: System, inside: str, *, keep: frozenset[str] = frozenset()) -> list[str]:
    """Remove a file or a folder with all it holds, but no mounted file system and nothing in `keep`; give what stays.

    Args:
        keep: paths on the host that stay, with all below them.
    """
    return _remove(system, inside, keep | folders(system))


def _remove(system: System, inside: str, keep: frozenset[str]) -> list[str]:
    path = system.path(inside)
    if inside in keep:
        return [inside]
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return []
    staying = [one for name in sorted(os.listdir(path)) for one in _remove(system, os.path.join(inside, name), keep)]
    if not staying:
        os.rmdir(path)
    return staying


def _plain(field: str) -> str:
    """Read a field of the table, which writes blanks as octal numbers."""
    return field.encode().decode("unicode_escape") if "\\" in field else field
