"""Let the stack's key log in as root: one line in root's authorized keys, and a drop-in where the SSH server forbids root."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from . import places
from .system import CommandFailed, Refused

if TYPE_CHECKING:
    from .system import System

KEYS = "/root/.ssh/authorized_keys"
COMMENT = "clusterwright"
"""Marks the line."""
DROP_IN = "/etc/ssh/sshd_config.d/00-clusterwright-root.conf"
DROP_IN_TEXT = "# Written by clusterwright: finishing logs in as root with the stack's key.\nPermitRootLogin prohibit-password\n"
SERVICES = ("ssh.service", "sshd.service")


def allow(system: System, key: str) -> None:
    """Let a key log in as root.

    Args:
        key: OpenSSH public key.
    Raises:
        Refused: the SSH server keeps root out, and its settings have no place for a drop-in.
    """
    line = _line(key)
    lines = system.read(KEYS).splitlines()
    wanted = [one for one in lines if not one.endswith(f" {COMMENT}") or one == line]
    if line not in wanted:
        wanted.append(line)
    if wanted != lines:
        os.makedirs(system.path("/root/.ssh"), mode=0o700, exist_ok=True)
        places.replace(system.path(KEYS), "".join(f"{one}\n" for one in wanted).encode(), mode=0o600)
    if _permits(system) == "no":
        _permit(system)


def is_allowed(system: System, key: str) -> bool:
    """Say whether root's authorized keys have the stack's line."""
    return bool(key) and _line(key) in system.read(KEYS).splitlines()


def forbid(system: System) -> None:
    """Take the stack's line out of root's authorized keys."""
    lines = system.read(KEYS).splitlines()
    wanted = [one for one in lines if not one.endswith(f" {COMMENT}")]
    if wanted != lines:
        places.replace(system.path(KEYS), "".join(f"{one}\n" for one in wanted).encode(), mode=0o600)


def _line(key: str) -> str:
    kind, material = key.split()[:2]
    return f"{kind} {material} {COMMENT}"


def _permits(system: System) -> str:
    """Give the server's own word on root's logins; empty: it gives none."""
    return next((line.split()[1] for line in system.answer("sshd", "-T").splitlines() if line.lower().startswith("permitrootlogin ")), "")


def _permit(system: System) -> None:
    os.makedirs(os.path.dirname(system.path(DROP_IN)), exist_ok=True)
    places.replace(system.path(DROP_IN), DROP_IN_TEXT.encode(), mode=0o644)
    if _permits(system) == "no":
        with contextlib.suppress(FileNotFoundError):
            os.unlink(system.path(DROP_IN))
        raise Refused(
            "the SSH server of this host keeps root out",
            why="PermitRootLogin is `no`, and a drop-in in /etc/ssh/sshd_config.d does not change it",
            remedy="set `PermitRootLogin prohibit-password` in /etc/ssh/sshd_config, and let the server read it: sudo systemctl reload ssh",
        )
    for service in SERVICES:
        with contextlib.suppress(CommandFailed):
            system.run("systemctl", "reload", service)
