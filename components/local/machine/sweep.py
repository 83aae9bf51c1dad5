"""Remove everything that carries a stack's label, whether anyone recorded it or not."""

from collections.abc import Callable, Iterator
from pathlib import Path

from . import cgroup, command, disk, folder, network, record, rootfs, sysctl
from .host import kill
from .names import RUN_ROOT, STATE_ROOT, StackNames, machine_lock
from .power import NSPAWN_FOLDERS

SHOWN = 8
"""Names of one sort that a summary has."""


def left_behind(names: StackNames) -> tuple[str, ...]:
    """Name what the stack still has on the machine, for messages and tests."""
    found = [f"process {pid}" for pid in sorted(cgroup.processes(cgroup.of_stack(names)))]
    found += [f"unit {unit}" for unit in _units(names)]
    found += [f"network namespace {namespace}" for namespace in _namespaces(names)]
    found += [f"interface {interface}" for interface in _interfaces(names)]
    found += [f"mount {mount}" for mount in _mounts(names)]
    found += [f"firewall rule {' '.join(arguments)}" for arguments in network.labelled_rules(names)]
    found += [f"folder {path}" for path in (*_unprotected(names), names.run) if path.exists()]
    return tuple(found)


def summary(names: StackNames) -> tuple[str, ...]:
    """Say in a few lines what the stack still has on the machine, for whoever decides whether to remove it."""
    folders = sorted(path.name for path in names.folders.iterdir() if path.is_dir()) if names.folders.is_dir() else []
    kept = {path.name for path in folder.protected(names)}
    parts = {
        "hosts": sorted(_hostnames(names)),
        "processes": [str(pid) for pid in sorted(cgroup.processes(cgroup.of_stack(names)))],
        "folders with data": [name for name in folders if name not in kept],
        "protected folders, which stay": sorted(kept),
        "interfaces": _interfaces(names),
    }
    lines = [f"{len(found)} {what}: {', '.join(found[:SHOWN])}{' …' if len(found) > SHOWN else ''}" for what, found in parts.items() if found]
    return (*lines, f"everything else in {names.state} and {names.run}")


def sweep(names: StackNames, *, wait_until: Callable[..., None], say: Callable[[str], None]) -> tuple[Path, ...]:
    """Remove all of it, the machine's settings included when this was the last stack, and give the folders that stay because they are protected.

    Args:
        wait_until: waits for a condition with a deadline (`Work.wait_until`).
        say: shows progress.
    """
    hosts = [names.host(hostname) for hostname in sorted(_hostnames(names))]
    if hosts:
        say(f"removing {len(hosts)} hosts without a record: {', '.join(host.hostname for host in hosts[:8])}")
    # All power supplies before the first host: one that lives starts its host again, and hosts of a large stack would boot while others are removed.
    if cgroup.has_systemd():
        command.succeeds("systemctl", "stop", names.slice)  # with every unit in it
    cgroup.kill(cgroup.of_stack(names))
    for host in hosts:
        kill(host)
    wait_until(lambda: cgroup.remove(cgroup.of_stack(names)), awaiting=f"the last processes of stack {names.stack} to end", within_s=20)
    for namespace in _namespaces(names):
        command.run("ip", "netns", "del", namespace)
    for interface in _interfaces(names):
        command.succeeds("ip", "link", "del", interface)
    network.remove(names)
    for mount in _mounts(names):
        disk.unmount(Path(mount))
    rootfs.clear_interrupted()
    disk.remove_tree(names.run)
    kept = folder.protected(names)
    if kept:
        for path in _unprotected(names):
            disk.remove_tree(path)
        return kept
    disk.remove_tree(names.state)
    _leave_machine()
    return ()


def _unprotected(names: StackNames) -> tuple[Path, ...]:
    """What a sweep removes of the stack's folder: all of it, or all but the protected folders and what says whose they are."""
    kept = folder.protected(names)
    if not kept:
        return (names.state,)
    unprotected = (path for path in names.folders.iterdir() if path.is_dir() and path not in kept)
    return (names.hosts, names.kept, names.cluster_folder, names.elastic, *unprotected)


def _leave_machine() -> None:
    """With the last stack, restore the machine's settings and remove the folders that all stacks share."""
    with record.lock(machine_lock()):
        if STATE_ROOT.exists() and not any(path.is_dir() for path in STATE_ROOT.iterdir()):
            sysctl.restore()
            for leftover in STATE_ROOT.iterdir():
                leftover.unlink()
            if not disk.is_mounted(STATE_ROOT):  # a disk of its own stays
                STATE_ROOT.rmdir()
            if cgroup.has_systemd():
                command.succeeds("systemctl", "stop", cgroup.of_all_stacks())
            cgroup.remove(cgroup.of_all_stacks())
            if RUN_ROOT.exists() and not any(RUN_ROOT.iterdir()):
                RUN_ROOT.rmdir()


def _hostnames(names: StackNames) -> Iterator[str]:
    found = {path.name for parent in (names.hosts, names.run) if parent.is_dir() for path in parent.iterdir() if path.is_dir()}
    return iter(found)


def _units(names: StackNames) -> list[str]:
    if not cgroup.has_systemd():
        return []
    listed = command.run("systemctl", "list-units", "--plain", "--full", "--no-legend", names.slice, f"clusterwright-{names.tag}-*.service")
    return [line.split()[0] for line in listed.splitlines()]


def _namespaces(names: StackNames) -> list[str]:
    folder = Path("/run/netns")
    return sorted(path.name for path in folder.glob(f"cw-{names.tag}-*")) if folder.is_dir() else []


def _interfaces(names: StackNames) -> list[str]:
    return sorted(path.name for path in Path("/sys/class/net").glob(f"cw{names.tag}.*"))


def _mounts(names: StackNames) -> list[str]:
    own = (f"{names.state}/", f"{names.run}/", *(f"{folder}/cw-{names.tag}-" for folder in NSPAWN_FOLDERS))
    return [mount for mount in reversed(disk.mounted()) if mount.startswith(own)]
