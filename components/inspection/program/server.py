"""What identifies a server that its owner installed, how it is connected, and what it starts with next. Runs on the host."""

import glob
import json
import os
import re
from typing import Any

from ansible.module_utils import kernel_set

from . import asking

MARK = "/etc/clusterwright/owner.json"
IDENTITY = {"serial number": "product_serial", "serial number of the board": "board_serial", "product": "product_name"}
"""Fact → its file below /sys/class/dmi/id."""
DMI = "/sys/class/dmi/id"
GRUB = ("/etc/default/grub", "/etc/default/grub.d/*.cfg")
GRUB_CHOICE = "/boot/grub/grubenv"
IMAGES = "/boot/vmlinuz-"
NET = "/sys/class/net"
INFINIBAND = "32"
"""Type of an interface, ARPHRD_INFINIBAND (if_arp.h)."""
ROCE, ROCE_ORDER = "/usr/lib/clusterwright/roce/roce.py", "/etc/clusterwright/roce.json"
"""The program that sets up NICs for RoCE, and what it is given (role roce)."""
NO_PARTITION = "0x0000"
BESIDE_THE_KERNEL = ("updates", "extra", "kernel/nvidia*")
"""Folders below a kernel's modules with those that others than the kernel's package bring: DKMS, out-of-tree builds, the driver that Ubuntu builds."""


def facts() -> dict[str, Any]:
    """Read all of it."""
    return {
        "mark": _mark(),
        "machine_id": asking.first("/etc/machine-id"),
        "identity": {name: asking.first(f"{DMI}/{file}") for name, file in IDENTITY.items()},
        "firmware": firmware(),
        "interfaces": interfaces(),
        "routes": _json("ip", "-json", "-4", "route", "show", "table", "all"),
        "rules": _json("ip", "-json", "-4", "rule", "show"),
        "roce": roce(),
        "next_start": next_start(),
    }


def _mark() -> dict[str, str] | None:
    """Give whose the server is, `stack` and `token`; None: it has no mark. An unreadable mark has empty words."""
    if not os.path.exists(MARK):
        return None
    try:
        read = json.loads("\n".join(asking.lines(MARK)))
        return {name: str(read.get(name, "")) for name in ("stack", "token")}
    except (ValueError, AttributeError):
        return {"stack": "", "token": ""}


def firmware() -> dict[str, str]:
    """Give the versions of firmware that the kernel shows: of the mainboard and of RDMA devices, by device and model."""
    found = {"firmware of the mainboard": asking.first(f"{DMI}/bios_version")}
    for path in sorted(glob.glob("/sys/class/infiniband/*")):
        model = asking.first(f"{path}/board_id") or asking.first(f"{path}/hca_type")
        found[f"firmware of {os.path.basename(path)}{f' ({model})' if model else ''}"] = asking.first(f"{path}/fw_ver")
    return {name: version for name, version in found.items() if version}


def interfaces() -> dict[str, dict[str, Any]]:
    """Give the network interfaces: name → MAC, MTU, addresses. That of hardware in a bond shows the bond's MAC as its own, and is given with the one that it has by itself."""
    addresses = {
        link.get("ifname", ""): [f"{one['local']}/{one['prefixlen']}" for one in link.get("addr_info", ()) if one.get("family") == "inet"]
        for link in _json("ip", "-json", "address")
    }
    found = {}
    for path in sorted(glob.glob(f"{NET}/*")):
        name, mtu = os.path.basename(path), asking.first(f"{path}/mtu")
        if name != "lo" and os.path.isdir(path):
            mac = asking.first(f"{path}/bonding_slave/perm_hwaddr") or asking.first(f"{path}/address")
            found[name] = {"mac": mac.lower(), "mtu": int(mtu or 0), "addresses": addresses.get(name, []), "is_hardware": os.path.exists(f"{path}/device")}
            if asking.first(f"{path}/type") == INFINIBAND:
                found[name]["partition_keys"] = partition_keys(path)
                found[name]["is_partition"] = asking.first(f"{path}/iflink") != asking.first(f"{path}/ifindex")
    return found


def partition_keys(path: str) -> list[str]:
    """Give the keys of partitions that the subnet manager gives the port of an InfiniBand interface."""
    port = int(asking.first(f"{path}/dev_port") or 0) + 1  # counted from 0, unlike the ports of the device
    given = {asking.first(one).lower() for one in glob.glob(f"{path}/device/infiniband/*/ports/{port}/pkeys/*")}
    return sorted(given - {"", NO_PARTITION})


def roce() -> dict[str, list[dict[str, str]]] | None:
    """Give what NICs lack of their RoCE settings: `changes` that are necessary and what `failed`, each with its interface; None: nobody can say."""
    if not os.path.exists(ROCE):
        return None
    try:
        answer = json.loads(asking.program(["sh", "-c", f"exec /usr/bin/python3 -B {ROCE} check <{ROCE_ORDER}"]))
        return {kind: [{"interface": one["interface"], "what": one["what"]} for one in answer[kind]] for kind in ("changes", "failed")}
    except (ValueError, KeyError, TypeError):
        return None


def next_start() -> dict[str, Any]:
    """Give the kernel that the boot loader takes next, and the modules that it lacks beside the running one; no kernel: nobody can say, as in a container."""
    running, following = kernel_set.release(), next_kernel()
    missing = modules(running) - modules(following) if following and following != running else set()
    return {"running": running, "kernel": following, "missing": sorted(missing)}


def next_kernel() -> str:
    """Give the kernel that GRUB takes by its settings; empty: it can't be said."""
    images = [path.removeprefix(IMAGES) for path in glob.glob(f"{IMAGES}*")]
    chosen = ""
    for path in (path for pattern in GRUB for path in sorted(glob.glob(pattern))):
        for line in asking.lines(path):
            name, equals, value = line.partition("=")
            if equals and name.strip() == "GRUB_DEFAULT":
                chosen = value.strip().strip("\"'")
    if chosen == "saved":
        chosen = next((line.partition("=")[2] for line in asking.lines(GRUB_CHOICE) if line.startswith("saved_entry=")), "")
    entry = chosen.rpartition(">")[2]
    named = re.fullmatch(r"gnulinux-(\S+)-advanced-\S+", entry) or re.search(r"with Linux (\S+)$", entry)
    if named:
        return named[1] if named[1] in images else ""
    return max(images, key=_by_version, default="") if chosen in ("", "0") else ""


def modules(kernel: str) -> set[str]:
    """Name the modules of a kernel that others than its package bring."""
    folders = [f"{kernel_set.MODULES}/{kernel}/{folder}/**/*.ko*" for folder in BESIDE_THE_KERNEL]
    return {os.path.basename(path).partition(".ko")[0].replace("-", "_") for folder in folders for path in glob.glob(folder, recursive=True)}


def _by_version(release: str) -> list[tuple[int, str]]:
    """Order releases as GRUB does: numbers by their value."""
    return [(int(number or 0), word) for number, word in re.findall(r"(\d*)(\D*)", release)]


def _json(*argv: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(asking.program([*argv]) or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, dict)]
