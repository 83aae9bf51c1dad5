"""Control groups: where a host's processes are counted, found and ended.

Three sorts of machine: systemd runs it (each host is a delegated unit, systemd makes the groups), the controllers are in version 1 hierarchies, or there is one
version 2 hierarchy without systemd. In the latter two this module makes the groups itself.
"""

import contextlib
import os
import signal
from pathlib import Path

from .names import HostNames, StackNames

CGROUP_ROOT = Path("/sys/fs/cgroup")
CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")
FREEZER = "freezer.state"
"""Source: Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst."""


def has_systemd() -> bool:
    """Say whether systemd runs the machine (sd_booted(3))."""
    return Path("/run/systemd/system").is_dir()


def is_version_1() -> bool:
    """Say whether the machine keeps its controllers in version 1 hierarchies."""
    return not (CGROUP_ROOT / "cgroup.controllers").exists()


def of_all_stacks() -> str:
    """The group of all stacks on the machine, as a path below every hierarchy's root."""
    return "clusterwright.slice" if has_systemd() else "clusterwright"


def of_stack(names: StackNames) -> str:
    """The stack's group: where systemd runs the machine, that of its slice."""
    return f"{of_all_stacks()}/{names.slice}" if has_systemd() else names.cgroup


def of_host(host: HostNames) -> str:
    """The host's group: where systemd runs the machine, that of its unit."""
    return f"{of_stack(host.names)}/{host.unit}" if has_systemd() else host.cgroup


def of_supply(host: HostNames) -> str:
    """The group of what starts the host again, where systemd doesn't; no host has an underscore in its name."""
    return f"{of_host(host)}_power"


def hierarchies() -> tuple[Path, ...]:
    """The roots of all mounted hierarchies in which a host gets a group of its own."""
    if not is_version_1():
        return (CGROUP_ROOT,)
    mounted = []
    for line in Path("/proc/mounts").read_text().splitlines():
        _, mount, kind, *_ = line.split()
        if kind in ("cgroup", "cgroup2") and mount.startswith(str(CGROUP_ROOT)):
            mounted.append(Path(mount))
    return tuple(mounted)


def make(path: str) -> tuple[Path, ...]:
    """Make the group `path` in every hierarchy and give the files that a process id is written to."""
    return tuple(_make(hierarchy, path) for hierarchy in hierarchies())


def make_in_one_hierarchy(path: str) -> Path:
    """Make the group `path` where processes are only to be found again, and give the file that a process id is written to."""
    return _make(hierarchies()[0], path)


def _make(hierarchy: Path, path: str) -> Path:
    group = hierarchy
    for part in Path(path).parts:
        parent, group = group, group / part
        _pass_on_controllers(parent)
        group.mkdir(exist_ok=True)
        _inherit_cpuset(parent, group)
    return group / "cgroup.procs"


def _pass_on_controllers(group: Path) -> None:
    # In version 2 a group has only the controllers that the one above passes on. Where systemd runs the machine, that is systemd's to say.
    if is_version_1() or has_systemd():
        return
    for controller in (group / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):  # the kernel keeps one that it can't divide here; the hosts then see fewer
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def _inherit_cpuset(parent: Path, group: Path) -> None:
    # A version 1 cpuset starts empty and takes no process until it has processors and memory.
    for name in CPUSET_FILES:
        file = group / name
        if file.exists() and is_version_1() and not file.read_text().strip():
            file.write_text((parent / name).read_text())


def processes(path: str) -> set[int]:
    """Process ids in the group `path` and below, in any hierarchy."""
    found: set[int] = set()
    for hierarchy in hierarchies():
        for folder, _, files in os.walk(hierarchy / path):
            if "cgroup.procs" in files:
                try:
                    found |= {int(pid) for pid in (Path(folder) / "cgroup.procs").read_text().split()}
                except OSError:  # the group went away, or is threaded, while we looked
                    continue
    return found - {0}


def kill(path: str) -> None:
    """SIGKILL everything in the group `path` and below, what is started meanwhile too."""
    killed: set[int] = set()
    while found := processes(path) - killed:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= found


def remove(path: str) -> bool:
    """Remove the group `path` of what was killed and those below; False while a process is still in one.

    runc freezes a container's group while it changes its limits. Where runc is killed meanwhile, the group stays frozen, and in version 1 no signal ends a frozen process.
    """
    gone = True
    for hierarchy in hierarchies():
        for folder, _, _ in os.walk(hierarchy / path, topdown=False):
            try:
                Path(folder).rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                gone = False
                with contextlib.suppress(OSError):  # another hierarchy, or no process at last
                    (Path(folder) / FREEZER).write_text("THAWED")
    return gone
