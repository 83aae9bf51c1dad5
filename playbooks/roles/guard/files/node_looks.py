"""Look at a node: what it lacks of what its cluster says of it, in one line, whatever the scheduler.

The start guard and the check between jobs of Slurm (guard.py) and the check of Kubernetes' nodes (node_health.py) use it, with Python's standard library alone. Devices are looked for below a folder, the
root of the host unless a test names another. It changes nothing but what is mounted.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from typing import Any

EXPECTED = "/etc/clusterwright/expected.json"
"""Written before the first boot (components/expected.py)."""
MOUNTED = "/usr/lib/clusterwright/mounted"
"""Mounts what a host of a cloud lacks, and gives up after the seconds in its argument."""
DIAGNOSTICS = "/usr/lib/clusterwright/diagnostics.py"
UNASKED = "/run/clusterwright/unasked"
"""What the diagnostics could not ask, as it was said last: it is said once."""
GPU_UNIT = "clusterwright-gpu.service"
LOST_DISK = "has lost a disk"
OWN_DISK = re.compile(r"/dev/(?:nvme|md)")
MOUNTINFO = "/proc/self/mountinfo"
CONSOLE = "/dev/console"
DIAGNOSED_WITHIN_S = 37
"""More than its tools are given together, less than slurmd leaves to a health check beside the rest."""
REPAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repairs.json")
"""What ends a finding of the diagnostics, by its action, and how often it is tried (blueprints/catalog/repairs.yaml)."""
NVIDIA, DISPLAYS = "0x10de", ("0x0300", "0x0302")
"""Vendor of GPUs and the beginnings of their PCI classes: VGA-compatible and 3D controllers (pci.ids)."""
FABRICS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fabric-devices.json")
"""The devices of each fabric, from blueprints/catalog/fabric_devices.yaml."""
MIG, MIG_RECORD = "/usr/lib/clusterwright/mig.py", "var/lib/clusterwright/mig.json"
LAYOUT = "MIG layout"
LOOK_EVERY_S = 0.5
DAY_S = 86400
HEALTH = "clusterwright: health: "
"""Drift checks know it (components/inspection/slurm/nodes.py); the elastic program replaces a node that anything of ours drained."""


def look(path: str, hardware: str, *, devices_s: float, mounts_s: int, mountinfo: str) -> list[tuple[str, str]]:
    """List what is missing or broken, each with what ends it (an action of REPAIRS, or nothing).

    Args:
        devices_s, mounts_s: how long to wait for either, seconds.
    """
    expected = read(path)
    if expected["check"] == "none":
        return []
    deadline = time.monotonic() + devices_s
    while (short := devices(expected, hardware)) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    # File systems can take minutes: a node that is replaced anyway doesn't wait for them.
    short = short or mounts(expected["mounts"], mounts_s, mountinfo) or broken(expected["mounts"], hardware, mountinfo)
    return [(one, "") for one in short] + (diagnosed(expected, hardware) if expected["check"] == "full" else [])


def joined(found: list[tuple[str, str]], hardware: str) -> str:
    """Say in one line what is missing or broken; empty: nothing."""
    where = "" if hardware == "/" else f" (hardware below {hardware})"
    return "; ".join(f"{what} ({read(REPAIRS)['actions'][action]['says']})" if action else what for what, action in found) + where if found else ""


def diagnosed(expected: dict[str, Any], hardware: str, *more: str) -> list[tuple[str, str]]:
    """Ask diagnostics.py. That it fails, or can't ask a tool, is said once, and is no fault of the node."""
    simulated = ["--simulated"] if (expected["gpus"] or {}).get("simulated") else []
    words = [sys.executable, "-I", "-S", "-B", DIAGNOSTICS, "--hardware", hardware, *simulated, *more]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=DIAGNOSED_WITHIN_S)
        answer = json.loads(done.stdout)
        wrong, unasked = [(one["what"], one["action"]) for one in answer["wrong"]], "; ".join(answer["unasked"])
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        wrong, unasked = [], f"the diagnostics failed: {why(error)}"
    with contextlib.suppress(OSError):
        before = word(UNASKED)
        with open(UNASKED, "w") as file:
            file.write(unasked)
        if unasked and unasked != before:
            say([f"{HEALTH}not asked: {unasked}"])
    return wrong


def devices(expected: dict[str, Any], root: str) -> list[str]:
    """List what there is less of than expected: GPUs, devices of the fabric."""
    gpus, fabrics = expected["gpus"], read(FABRICS)
    of_fabrics = [fabric_short(fabric, expected[name], root) for name, fabric in fabrics.items() if expected.get(name)]
    return [one for one in (gpus_short(gpus, root) if gpus else "", *of_fabrics) if one]


def gpus_found(gpus: dict[str, Any], root: str) -> int:
    """Count the GPUs that can be used."""
    files, on_bus, driven = gpu_counts(root)
    return files if gpus["simulated"] else min(files, on_bus, driven)


def gpu_counts(root: str) -> tuple[int, int, int]:
    """Count device files, GPUs on the PCI bus, and those that the driver has."""
    files = sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in listed(root, "dev"))
    on_bus = sum(one["vendor"] == NVIDIA and one["class"].startswith(DISPLAYS) for one in pci(root))
    return files, on_bus, len(listed(root, "proc/driver/nvidia/gpus"))


def gpus_short(gpus: dict[str, Any], root: str) -> str:
    wanted, least = gpus["count"], gpus_found(gpus, root)
    files, on_bus, driven = gpu_counts(root)
    if gpus["simulated"]:
        return f"{files} of {wanted} simulated GPUs" if files < wanted else instances_short(gpus, root)
    if least < wanted:
        return f"{least} of {wanted} GPUs: {on_bus} on the PCI bus, {driven} with the driver, {files} device files"
    if root == "/" and subprocess.run(["systemctl", "is-failed", "--quiet", GPU_UNIT], check=False).returncode == 0:
        return f"the GPUs did not come up: {GPU_UNIT} failed"
    return instances_short(gpus, root)


def instances_short(gpus: dict[str, Any], root: str) -> str:
    words, divides = [sys.executable, "-I", "-S", "-B", MIG, "check", "--expected", EXPECTED, "--root", root], os.path.exists(os.path.join(root, MIG_RECORD))
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout if gpus.get("mig") or divides else ""


def fabric_short(fabric: dict[str, Any], wanted: int, root: str) -> str:
    folder = os.path.join(root, "sys/class/infiniband")
    driven = sum(os.path.basename(os.path.realpath(os.path.join(folder, name, "device/driver"))) == fabric["driver"] for name in listed(folder))
    if driven >= wanted:
        return ""
    on_bus = sum(one["vendor"] == fabric["vendor"] and one["device"] in fabric["devices"] for one in pci(root))
    return f"{driven} of {wanted} {fabric['title']} devices: {on_bus} on the PCI bus, {driven} with the driver"


def pci(root: str) -> list[dict[str, str]]:
    """Give vendor, device and class of everything on the PCI bus (Linux, ABI/testing/sysfs-bus-pci)."""
    folder = os.path.join(root, "sys/bus/pci/devices")
    return [{name: word(os.path.join(folder, one, name)) for name in ("vendor", "device", "class")} for one in listed(folder)]


def mounts(wanted: list[str], within_s: int, mountinfo: str) -> list[str]:
    """List the folders that have no file system of their own, after trying to give it to them."""
    said = []
    if os.access(MOUNTED, os.X_OK):
        said = subprocess.run([MOUNTED, str(within_s)], capture_output=True, text=True, check=False).stderr.splitlines()
    with open(mountinfo) as file:
        there = {re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), line.split()[4]) for line in file}  # proc(5): blanks are written so
    return [next((line for line in said if line.startswith(f"{one} (")), f"{one} is not mounted") for one in wanted if one not in there]


def broken(wanted: list[str], root: str, mountinfo: str) -> list[str]:
    """List file systems of the node's own disks that have lost one: they stay mounted, and every use of them fails."""
    with open(mountinfo) as file:
        rows = [(line.split()[4], line.partition(" - ")[2].split()[1]) for line in file]
    return [f"{folder} {LOST_DISK} ({device})" for folder, device in rows if folder in wanted and OWN_DISK.match(device) and has_lost(device, root)]


def has_lost(device: str, root: str) -> bool:
    """Whether a disk is gone, or an array without redundancy misses one (Linux, Documentation/admin-guide/md.rst: its `array_state` is `broken`)."""
    devices = listed(root, "sys/class/block")
    name = os.path.basename(os.path.realpath(os.path.join(root, device.lstrip("/"))))
    return bool(devices) and (name not in devices or word(os.path.join(root, "sys/class/block", name, "md/array_state")) == "broken")


def is_reboot_due(path: str) -> bool:
    """Say whether this host tried no reboot lately, by the limits of REPAIRS. It counts as tried.

    Args:
        path: when it was tried, one time in seconds in a line.
    """
    now, limits = time.time(), read(REPAIRS)["limits"]
    tried = [one for one in map(int, re.findall(r"\d+", word(path))) if now - one < DAY_S]
    if len(tried) >= limits["a_day"] or any(now - one < limits["every_s"] for one in tried):
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w") as file:
        file.write("".join(f"{one:.0f}\n" for one in [*tried, now]))
    os.replace(f"{path}.new", path)
    return True


def say(lines: list[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)
        # Where nobody can log in, this is what is left to read.
        with contextlib.suppress(OSError), open(CONSOLE, "a") as console:
            console.write(line + "\n")


def why(error: Exception) -> str:
    said = (getattr(error, "stderr", "") or "").strip()
    return said.splitlines()[-1] if said else f"{type(error).__name__}: {error}"


def read(path: str) -> dict[str, Any]:
    with open(path) as file:
        return dict(json.load(file))


def word(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""  # it went while it was looked at


def listed(*folder: str) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(*folder)))
    except FileNotFoundError:
        return []
