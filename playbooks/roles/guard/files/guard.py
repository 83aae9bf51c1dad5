"""Count what this node has, before it takes jobs, against what its cluster says of it, and tell Slurm what is missing.

Runs on the host as root, once after each start and before slurmd, with Python's standard library alone. A node that has all of it is left to slurmd, without a word to Slurm. One that comes short is
set down with a reason that begins with REASON, and its slurmd does not start; so is one where this program itself fails, and the reason says that it did. `--hardware FOLDER` looks for devices below
another folder, and every message names it.
"""

import argparse
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from typing import Any

EXPECTED = "/etc/clusterwright/expected.json"
"""Written before the first boot (components/expected.py)."""
SETTINGS = "/etc/clusterwright/node.env"
REASON = "clusterwright: start guard: "
"""The elastic program (components/elastic/model.py) and drift checks (stacks/drift/scheduler.py) know a node's own word by it."""
OURS = "clusterwright:"
MOUNTED = "/usr/lib/clusterwright/mounted"
"""Mounts what a host of a cloud lacks, for as long as it is told."""
GPU_UNIT = "clusterwright-gpu.service"
CONFIGURATION = "/run/clusterwright/guard-slurm.conf"
CONSOLE = "/dev/console"
PATH = "/usr/local/bin:/usr/bin:/bin"

DEVICES_WITHIN_S = 15
"""Devices can come later than this program; AWS's own check of EFA devices looks three times, 5 s apart (awsome-distributed-ai, gpu-cluster-healthcheck)."""
MOUNTS_WITHIN_S = 300
LOOK_EVERY_S = 0.5
TELL_EVERY_S = 2.0
"""A controller can come minutes after its nodes."""
ANSWER_WITHIN_S = 60

NVIDIA, DISPLAYS = "0x10de", ("0x0300", "0x0302")
"""Vendor of GPUs and the beginnings of their PCI classes: VGA-compatible and 3D controllers (pci.ids)."""
AMAZON, EFA_DEVICES = "0x1d0f", ("0xefa0", "0xefa1", "0xefa2", "0xefa3")
"""Vendor and devices that Linux's driver takes for EFA (drivers/infiniband/hw/efa/efa_main.c)."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="guard", description="Count what this node has before it takes jobs.")
    parser.add_argument("--hardware", default="/", metavar="FOLDER", help="look for devices below this folder")
    hardware = parser.parse_args().hardware
    said, devices_s, mounts_s = set(), DEVICES_WITHIN_S, MOUNTS_WITHIN_S
    while True:
        try:
            wrong = look(EXPECTED, hardware, devices_s=devices_s, mounts_s=mounts_s)
        except Exception as error:  # whatever it is, it is no fault of the hardware, and somebody has to hear of it
            wrong = f"the guard itself failed: {type(error).__name__}: {error}"
        if not wrong:
            return 0
        lines = [REASON + wrong]
        try:
            lines += tell(wrong)
            return 1
        except (OSError, KeyError, subprocess.SubprocessError) as error:
            lines.append(f"{REASON}Slurm can't be told yet: {why(error)}")
        finally:
            say([line for line in lines if line not in said])
        said = set(lines)
        # While nobody listens, what is missing may come.
        devices_s, mounts_s = 0, 1
        time.sleep(TELL_EVERY_S)


def look(path: str, hardware: str, *, devices_s: float, mounts_s: int, mountinfo: str = "/proc/self/mountinfo") -> str:
    """Say in one line what is missing; empty: nothing.

    Args:
        devices_s, mounts_s: how long to wait for either, seconds.
    """
    with open(path) as file:
        expected = json.load(file)
    if expected["check"] == "none":
        return ""
    deadline = time.monotonic() + devices_s
    while (short := devices(expected, hardware)) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    # File systems can take minutes: a node that is replaced anyway doesn't wait for them.
    short = short or mounts(expected["mounts"], mounts_s, mountinfo)
    where = "" if hardware == "/" else f" (hardware below {hardware})"
    return "; ".join(short) + where if short else ""


def devices(expected: dict[str, Any], root: str) -> list[str]:
    """List what there is less of than expected: GPUs, EFA devices."""
    gpus, efa = expected["gpus"], expected["efa"]
    return [one for one in (gpus_short(gpus, root) if gpus else "", efa_short(efa, root) if efa else "") if one]


def gpus_short(gpus: dict[str, Any], root: str) -> str:
    wanted = gpus["count"]
    files = sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in listed(root, "dev"))
    if gpus["simulated"]:
        return f"{files} of {wanted} simulated GPUs" if files < wanted else ""
    on_bus = sum(one["vendor"] == NVIDIA and one["class"].startswith(DISPLAYS) for one in pci(root))
    driven = len(listed(root, "proc/driver/nvidia/gpus"))
    least = min(on_bus, driven, files)
    if least < wanted:
        return f"{least} of {wanted} GPUs: {on_bus} on the PCI bus, {driven} with the driver, {files} device files"
    if root == "/" and subprocess.run(["systemctl", "is-failed", "--quiet", GPU_UNIT], check=False).returncode == 0:
        return f"the GPUs did not come up: {GPU_UNIT} failed"
    return ""


def efa_short(wanted: int, root: str) -> str:
    folder = os.path.join(root, "sys/class/infiniband")
    driven = sum(driver(os.path.join(folder, name)) == "efa" for name in listed(folder))
    if driven >= wanted:
        return ""
    on_bus = sum(one["vendor"] == AMAZON and one["device"] in EFA_DEVICES for one in pci(root))
    return f"{driven} of {wanted} EFA devices: {on_bus} on the PCI bus, {driven} with the driver"


def driver(device: str) -> str:
    try:
        return os.path.basename(os.readlink(os.path.join(device, "device/driver")))
    except OSError:
        return ""


def pci(root: str) -> list[dict[str, str]]:
    """Give vendor, device and class of everything on the PCI bus (Linux, ABI/testing/sysfs-bus-pci)."""
    folder = os.path.join(root, "sys/bus/pci/devices")
    return [{name: word(os.path.join(folder, one, name)) for name in ("vendor", "device", "class")} for one in listed(folder)]


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


def mounts(wanted: list[str], within_s: int, mountinfo: str) -> list[str]:
    """List the folders that have no file system of their own, after trying to give it to them."""
    said = []
    if os.access(MOUNTED, os.X_OK):
        said = subprocess.run([MOUNTED, str(within_s)], capture_output=True, text=True, check=False).stderr.splitlines()
    with open(mountinfo) as file:
        there = {re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), line.split()[4]) for line in file}  # proc(5): blanks are written so
    return [next((line for line in said if line.startswith(f"{one} (")), f"{one} is not mounted") for one in wanted if one not in there]


def tell(wrong: str) -> list[str]:
    """Set this node down in Slurm, unless a person has it; give what is to be said beside.

    Raises:
        OSError, KeyError, subprocess.SubprocessError: Slurm was not told.
    """
    with open(SETTINGS) as file:
        settings = dict(line.strip().split("=", 1) for line in file if "=" in line)
    # The daemon brings its copy of the configuration; for two questions, whom to ask is enough.
    hosts = [f"SlurmctldHost=controller-{number}({host})" for number, host in enumerate(settings["CLUSTERWRIGHT_CONTROLLERS"].split(","))]
    with open(CONFIGURATION, "w") as file:
        file.write("\n".join([f"ClusterName={settings['CLUSTERWRIGHT_CLUSTER']}", "SlurmUser=slurm", "AuthType=auth/munge", *hosts, ""]))
    node = socket.gethostname().partition(".")[0]
    if is_kept(scontrol("--oneliner", "show", "node", node)):
        return [f"{REASON}somebody drained this node or put it under maintenance: their reason stays"]
    scontrol("update", f"nodename={node}", "state=DOWN", f"reason={REASON}{wrong}")
    return []


def is_kept(shown: str) -> bool:
    """Say whether a person took the node out of service, by what `scontrol --oneliner show node` says of it: that person's word is not written over."""
    state = re.search(r" State=(\S+)", shown)
    reason = re.search(r" Reason=(.*?)(?: \[|$)", shown, re.MULTILINE)
    is_out = bool(state) and bool({"DRAIN", "MAINT", "MAINTENANCE"} & set(re.split(r"[+*]", state[1])))
    return is_out and not (reason and reason[1].startswith(OURS))


def scontrol(*words: str) -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": CONFIGURATION}
    return subprocess.run(["scontrol", *words], env=environment, capture_output=True, text=True, check=True, timeout=ANSWER_WITHIN_S).stdout


def say(lines: list[str]) -> None:
    for line in lines:
        print(line, file=sys.stderr, flush=True)
        # Where nobody can log in, this is what is left to read.
        with contextlib.suppress(OSError), open(CONSOLE, "a") as console:
            console.write(line + "\n")


def why(error: Exception) -> str:
    said = (getattr(error, "stderr", "") or "").strip()
    return said.splitlines()[-1] if said else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
