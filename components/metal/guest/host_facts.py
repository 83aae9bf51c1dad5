"""Facts of a host, read in a moment and without changing anything: who has it, what it is, how it is connected."""

from __future__ import annotations

import hashlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

from . import adoption, occupied
from .system import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .system import System

DISPLAY_CLASSES = ("0x0300", "0x0302")
"""PCI classes of GPUs: VGA controller and 3D controller (pci.ids)."""
NETWORK_CLASSES = ("0x0200", "0x0207")
"""PCI classes of Ethernet and InfiniBand controllers (pci.ids)."""
RESTARTED = "/var/lib/clusterwright/restarted"
"""Written by finishing where it restarts the host (playbooks/roles/kernel_and_drivers)."""
MACHINE = {"serial": "product_serial", "product": "product_name", "vendor": "sys_vendor", "board_serial": "board_serial", "firmware": "bios_version"}
"""Fact → its file below /sys/class/dmi/id."""


def look(system: System, role: str = "") -> dict[str, Any]:
    """Describe the host.

    Args:
        role: what it will be (`occupied.found`).
    """
    release = dict(line.split("=", 1) for line in system.read("/etc/os-release").splitlines() if "=" in line)
    root = _root(system)
    machine_id = adoption.machine_id(system)
    mark, problem = _mark(system)
    return {
        "token": (mark or {}).get("token", ""),
        "mark": mark,
        "mark_problem": problem,
        "is_recorded": os.path.exists(system.path(f"{adoption.FOLDER}/record.json")),
        "incarnation": incarnation(machine_id, str(root["uuid"]), mark),
        "occupied": occupied.found(system, role) if mark is None else [],
        "hostname": system.read("/proc/sys/kernel/hostname").strip(),
        "machine_id": machine_id,
        "os": {
            key: release.get(name, "").strip('"')
            for key, name in (("id", "ID"), ("version", "VERSION_ID"), ("suite", "VERSION_CODENAME"), ("name", "PRETTY_NAME"))
        },
        "kernel": system.read("/proc/sys/kernel/osrelease").strip(),
        "has_kernel_headers": os.path.isdir(system.path(f"/lib/modules/{system.read('/proc/sys/kernel/osrelease').strip()}/build")),
        "boot_id": boot(system.read("/proc/sys/kernel/random/boot_id").strip(), system.read(RESTARTED)),
        "uptime_s": float((system.read("/proc/uptime").split() or ["0"])[0]),
        "epoch_s": time.time(),
        "root": root,
        "machine": {fact: system.read(f"/sys/class/dmi/id/{name}").strip() for fact, name in MACHINE.items()},
        "hardware": _hardware(system),
        "gpus": _devices(system, DISPLAY_CLASSES, vendors=("0x10de", "0x1002")),
        "nics": _devices(system, NETWORK_CLASSES),
        "gpu_driver": system.read("/sys/module/nvidia/version").strip(),
        "interfaces": _interfaces(system),
        "routes": _routes(system),
        "rules": _json(system, "ip", "-json", "rule"),
    }


def boot(now: str, restarted: str) -> str:
    """Give the boot that the host counts as: a restart that finishing itself asked for is none that the stack has to hear of. Pure.

    Args:
        restarted: the boot after finishing's restart, and the one that it began with; empty where it restarted nothing.
    """
    after, _, before = restarted.strip().partition("\n")
    return before if before and after == now else now


def incarnation(machine_id: str, root: str, mark: Mapping[str, Any] | None) -> str:
    """Give another word for each installation of the host and each adoption of it; empty: nobody adopted it. Pure."""
    if mark is None:
        return ""
    return hashlib.sha256(f"{machine_id} {root} {mark.get('born', '')}".encode()).hexdigest()[:16]


def _mark(system: System) -> tuple[dict[str, Any] | None, str]:
    try:
        return adoption.mark(system), ""
    except Refused as refused:
        return {}, refused.why


def _root(system: System) -> dict[str, Any]:
    status = os.statvfs(system.path("/"))
    source, kind = next(((line.split()[0], line.split()[2]) for line in system.read("/proc/self/mounts").splitlines() if line.split()[1:2] == ["/"]), ("", ""))
    unit = status.f_frsize
    return {
        "source": source,
        "kind": kind,
        "uuid": _uuid(system, source),
        "free_mib": status.f_bavail * unit >> 20,
        "size_mib": status.f_blocks * unit >> 20,
    }


def _uuid(system: System, source: str) -> str:
    """Give the identity of a file system on a disk; empty where its source is no disk."""
    folder = system.path("/dev/disk/by-uuid")
    if not source.startswith("/dev/") or not os.path.isdir(folder):
        return ""
    device = os.path.realpath(system.path(source))
    return next((name for name in sorted(os.listdir(folder)) if os.path.realpath(os.path.join(folder, name)) == device), "")


def _hardware(system: System) -> dict[str, int]:
    """Count processors as Slurm does, and give the memory."""
    sockets, cores, cpus = set(), set(), 0
    allowed = os.sched_getaffinity(0)
    for line in system.answer("lscpu", "--parse=CPU,CORE,SOCKET").splitlines():
        if not line.startswith("#"):
            cpu, core, socket = line.split(",")
            if int(cpu) in allowed:
                sockets.add(socket)
                cores.add(core)
                cpus += 1
    memory = next((int(line.split()[1]) // 1024 for line in system.read("/proc/meminfo").splitlines() if line.startswith("MemTotal:")), 0)
    if not cpus:
        return {"memory_mib": memory}
    return {"sockets": len(sockets), "cores_per_socket": len(cores) // len(sockets), "threads_per_core": cpus // len(cores), "memory_mib": memory}


def _devices(system: System, classes: tuple[str, ...], vendors: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """List PCI devices of some classes: address, vendor and device number."""
    top = "/sys/bus/pci/devices"
    found = []
    for address in sorted(os.listdir(system.path(top))) if os.path.isdir(system.path(top)) else []:
        vendor = system.read(f"{top}/{address}/vendor").strip()
        if system.read(f"{top}/{address}/class").startswith(classes) and (not vendors or vendor in vendors):
            found.append({"address": address, "vendor": vendor, "device": system.read(f"{top}/{address}/device").strip()})
    return found


def _interfaces(system: System) -> dict[str, dict[str, Any]]:
    """Describe the network interfaces: name → MAC, MTU, whether it is up, speed in Mbit/s, addresses."""
    addresses: dict[str, list[str]] = {}
    for link in _json(system, "ip", "-json", "address"):
        addresses[link.get("ifname", "")] = [f"{one['local']}/{one['prefixlen']}" for one in link.get("addr_info", ()) if one.get("scope") == "global"]
    top = "/sys/class/net"
    found = {}
    for name in sorted(os.listdir(system.path(top))) if os.path.isdir(system.path(top)) else []:
        if name == "lo" or not os.path.isdir(system.path(f"{top}/{name}")):
            continue
        speed = system.read(f"{top}/{name}/speed").strip()
        found[name] = {
            # An interface in a bond shows the bond's address as its own.
            "mac": (system.read(f"{top}/{name}/bonding_slave/perm_hwaddr") or system.read(f"{top}/{name}/address")).strip(),
            "mtu": int(system.read(f"{top}/{name}/mtu").strip() or 0),
            "is_up": system.read(f"{top}/{name}/operstate").strip() in ("up", "unknown"),
            "speed_mbits": int(speed) if speed.isdigit() else 0,
            "addresses": addresses.get(name, []),
        }
    return found


def _routes(system: System) -> list[dict[str, Any]]:
    """List routes of all tables but the kernel's own for local addresses."""
    kept = ("dst", "gateway", "dev", "table", "prefsrc", "metric", "mtu", "metrics")
    return [
        {key: route[key] for key in kept if key in route}
        for route in _json(system, "ip", "-json", "-4", "route", "show", "table", "all")
        if route.get("table") != "local"
    ]


def _json(system: System, *argv: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(system.answer(*argv) or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)]
