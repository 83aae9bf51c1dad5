"""Units that run on a host. Which are enabled or masked is a matter of links below /etc/systemd, which are restored with the files."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from .system import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from .system import System

KINDS = "service,socket,timer,path"
PASSING = (
    "user@*",
    "user-runtime-dir@*",
    "session-*",
    "systemd-*-upgrade*",
    "run-*",
    "*@tty*",
    "apt-daily*.service",
    "man-db.service",
    "dpkg-db-backup.service",
    "logrotate.service",
)
"""Units that come and go by themselves."""
OWN = ("clusterwright*", "slurm*", "munge*")
"""Units that are the stack's whenever they started."""
RELOADED = (
    ("/etc/ssh/", ("ssh.service", "sshd.service"), "reload-or-restart"),
    ("/etc/systemd/journald.conf", ("systemd-journald.service",), "restart"),
    ("/etc/chrony/", ("chrony.service", "chronyd.service"), "restart"),
    ("/etc/systemd/resolved.conf", ("systemd-resolved.service",), "restart"),
    ("/etc/systemd/timesyncd.conf", ("systemd-timesyncd.service",), "restart"),
    ("/etc/systemd/logind.conf", ("systemd-logind.service",), "reload"),
    ("/etc/rsyslog", ("rsyslog.service",), "restart"),
    ("/etc/exports", ("nfs-server.service",), "reload"),
    ("/etc/cron", ("cron.service",), "reload-or-restart"),
    ("/etc/apparmor", ("apparmor.service",), "reload"),
)
"""What of a path's beginning was changed, the services that read it, and how they read it again."""


def active(system: System) -> list[str]:
    """Name the units that run, or ran and count as active. One that is only starting or waits for others to start, as after a boot, runs soon."""
    said = system.answer("systemctl", "list-units", f"--type={KINDS}", "--state=active,activating,reloading", "--plain", "--no-legend", "--full", "--no-pager")
    names = {line.split()[0] for line in said.splitlines() if line.split()}
    jobs = [line.split() for line in system.answer("systemctl", "list-jobs", "--plain", "--no-legend", "--full", "--no-pager").splitlines()]
    names |= {job[1] for job in jobs if job[2:3] == ["start"] and job[1].rpartition(".")[2] in KINDS.split(",")}
    return sorted(name for name in names if not any(fnmatch.fnmatchcase(name, pattern) for pattern in PASSING))


def to_stop(*, before: Collection[str], left: Collection[str], now: Collection[str]) -> list[str]:
    """Name the units that the stack started and that still run. Pure."""
    own = {name for name in now if any(fnmatch.fnmatchcase(name, pattern) for pattern in OWN)}
    return sorted((set(left) & set(now) | own) - set(before))


def to_start(*, before: Collection[str], left: Collection[str], now: Collection[str]) -> list[str]:
    """Name the units that ran before the stack stopped them. Pure."""
    return sorted(set(before) - set(left) - set(now))


def stop(system: System, names: Sequence[str]) -> None:
    """Stop units. What can't be stopped is found by the caller, who looks at what runs."""
    if names:
        system.answer("systemctl", "stop", *names)


def start(system: System, names: Sequence[str]) -> list[tuple[str, str]]:
    """Start units one by one; give those that don't: (unit, why)."""
    failed = []
    for name in names:
        try:
            system.run("systemctl", "start", name)
        except CommandFailed as failure:
            failed.append((name, f"it ran before, and does not start: {failure}"))
    return failed


def read_again(system: System, changed: Sequence[str], running: Collection[str]) -> list[tuple[str, str]]:
    """Let running services read the files that were restored; give those that don't: (unit, why)."""
    failed = []
    wanted: dict[str, str] = {}
    for beginning, names, verb in RELOADED:
        if any(path.startswith(beginning) for path in changed):
            wanted.update((name, verb) for name in names if name in running)
    for path in changed:
        parts = path.split("/")
        if path.startswith("/etc/systemd/system/") and len(parts) > 4 and parts[4].endswith(".service.d") and parts[4][:-2] in running:
            wanted[parts[4][:-2]] = "restart"
    for name, verb in wanted.items():
        try:
            system.run("systemctl", verb, name)
        except CommandFailed as failure:
            failed.append((name, f"it does not read its settings again: {failure}"))
    return failed
