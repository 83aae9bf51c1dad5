"""Everything that decides whether a host can be adopted and configured. Nothing on the host is changed; what root alone may read is left out for other users."""

from __future__ import annotations

import glob
import json
import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from . import archives, clock, host_facts, listeners, packages, reachability
from .system import System

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE_FOLDERS = ("/", "/usr", "/var", "/var/lib", "/var/cache/apt", "/boot")
DKMS = "/usr/sbin/dkms"
"""There where the host's owner has modules built for each kernel (role kernel_and_drivers)."""
GPU_MODULES = ("nouveau", "nvidia")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""UEFI Specification, "Globally Defined Variables": four bytes of attributes, then 1 where Secure Boot is on."""


def main(order: Mapping[str, Any], *, mark: str) -> None:
    """Print what was found as JSON on one line.

    Args:
        order: `ports` that the cluster needs free; `peers` (name, address, port) that this host has to reach; `kernel`: the kernel that the host gets, or nothing;
            `reach_within_s`, `within_s`: limits; `root`, the folder of the host's file system (default: `/`).
        mark: begins the line.
    """
    signal.alarm(int(order["within_s"]))
    found = probe(System(str(order.get("root", "/"))), order)
    print(f"\n{mark}{json.dumps(found)}", flush=True)


def probe(system: System, order: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the host."""
    epoch_s, begun_s = time.time(), time.monotonic()
    running = _running(system)
    installed = packages.installed(system)
    places, through = archives.sources(system), archives.proxy(system)
    modules = {line.split()[0] for line in system.read("/proc/modules").splitlines()}
    within_s = float(order["reach_within_s"])
    return {
        "look": host_facts.look(system, str(order.get("role", ""))),
        "sudo": sys.argv[1] if len(sys.argv) > 1 else "",
        "is_root": os.geteuid() == 0,
        "arch": os.uname().machine,
        "in_container": os.path.exists(system.path("/run/systemd/container")),
        "has_systemd": os.path.exists(system.path("/run/systemd/system")),
        "disks": disks(system),
        "restart_for": _restart_for(system),
        "clock": clock.described(system, running),
        "is_secure_boot": _bytes(system, SECURE_BOOT)[4:5] == b"\x01",
        "modules": [name for name in GPU_MODULES if name in modules],
        "mig_modes": _mig_modes(system) if "nvidia" in modules else [],
        "incomplete": sorted(packages.broken(installed)),
        "locked_by": packages.lock_holder(system),
        "upgrades_unattended": _upgrades_unattended(system, installed),
        "headers": headers(system, order["kernel"]) if order["kernel"] and os.path.exists(system.path(DKMS)) else None,
        "archives": archives.unreached(places, through, within_s=within_s),
        "listeners": listeners.taken(system, set(order["ports"])),
        "filters": listeners.filters(system, running),
        "unreached": reachability.unreached([tuple(one) for one in order["peers"]], within_s=within_s),
        "users": numbers(system, "/etc/passwd"),
        "groups": numbers(system, "/etc/group"),
        "epoch_s": epoch_s,
        "took_s": time.monotonic() - begun_s,
    }


def disks(system: System) -> dict[str, dict[str, Any]]:
    """Describe the file systems where packages go, by folder; each is there once."""
    found, seen = {}, set()
    for folder in PACKAGE_FOLDERS:
        try:
            device, state = os.stat(system.path(folder)).st_dev, os.statvfs(system.path(folder))
        except OSError:
            continue
        if device not in seen:
            seen.add(device)
            found[folder] = {
                "free_mib": state.f_bavail * state.f_frsize >> 20,
                "size_mib": state.f_blocks * state.f_frsize >> 20,
                "free_files_percent": 100 * state.f_favail // state.f_files if state.f_files else 100,
                "is_read_only": bool(state.f_flag & os.ST_RDONLY),
            }
    return found


def numbers(system: System, table: str) -> dict[str, int]:
    """Give the number of each user or group of the host's own, by name (passwd(5), group(5)). Without those of a directory or of the cluster."""
    rows = (line.split(":") for line in system.read(table).splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) > 2 and row[2].isdigit()}


def headers(system: System, release: str) -> str:
    """Say where headers of a kernel are: `installed`, `archive` (a package can be installed), `none`, or `unknown`: the lists of packages are missing or too old to have the kernel."""
    if os.path.exists(system.path(f"/lib/modules/{release}/build/Makefile")):
        return "installed"
    if not glob.glob(system.path("/var/lib/apt/lists/*_Packages*")):
        return "unknown"
    # Caches in memory: nothing is written on the host.
    in_memory = ("--option=Dir::Cache::pkgcache=", "--option=Dir::Cache::srcpkgcache=")
    known = system.answer("apt-cache", *in_memory, "pkgnames", "linux-").split()
    return "archive" if f"linux-headers-{release}" in known else "none" if f"linux-image-{release}" in known else "unknown"


def _running(system: System) -> set[str]:
    return {system.read(system.inside(path)).strip() for path in glob.glob(system.path("/proc/[0-9]*/comm"))}


def _restart_for(system: System) -> list[str]:
    """Name the packages that ask for a restart (Ubuntu and Debian: update-notifier, needrestart and kernels write this file)."""
    if not os.path.exists(system.path("/run/reboot-required")):
        return []
    return sorted(set(system.read("/run/reboot-required.pkgs").split())) or ["a package"]


def _upgrades_unattended(system: System, installed: Mapping[str, Any]) -> bool:
    """Say whether packages are upgraded without being asked for (apt.conf(5), APT::Periodic::Unattended-Upgrade; the last file wins)."""
    if "unattended-upgrades" not in installed:
        return False
    text = "\n".join(system.read(system.inside(path)) for path in sorted(glob.glob(system.path("/etc/apt/apt.conf.d/*"))))
    values = re.findall(r'^\s*APT::Periodic::Unattended-Upgrade\s+"(\w+)"', text, re.MULTILINE)
    return bool(values) and values[-1] != "0"


def _mig_modes(system: System) -> list[str]:
    """Give the MIG mode of each GPU (`Enabled`, `Disabled`, `[N/A]`)."""
    said = system.answer("nvidia-smi", "--query-gpu=mig.mode.current", "--format=csv,noheader", within_s=10)
    return [line.strip() for line in said.splitlines() if line.strip()]


def _bytes(system: System, inside: str) -> bytes:
    try:
        with open(system.path(inside), "rb") as stream:
            return stream.read()
    except OSError:
        return b""
