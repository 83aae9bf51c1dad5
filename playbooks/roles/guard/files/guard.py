"""Count what this node has, before it takes jobs, against what its cluster says of it, and tell Slurm what is missing.

Runs on the host as root, once after each start and before slurmd, with Python's standard library alone. A node that has all of it is left to slurmd, without a word to Slurm. One that lacks something is
set down with a reason that begins with REASON, and its slurmd does not start; so is one where this program itself fails, and the reason says that it did. `--hardware FOLDER` looks for devices below
another folder, and every message names it.

With `--between-jobs`, slurmd runs it on idle nodes and after each job (slurm.conf(5), HealthCheckProgram, Epilog): a node that lost something is drained with a reason that begins with HEALTH, or
rebooted where its pool says so, and returned to service when it has it again. A node that anybody else drained stays as it is, and a failure of this program drains nothing.

Where the pool has `health.check: full`, diagnostics.py is asked as well.
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
HEALTH = "clusterwright: health: "
"""Drift checks know it (components/inspection/slurm/nodes.py); the elastic program replaces a node that anything of ours drained."""
OURS = "clusterwright:"
REBOOTING = "; rebooting"
MOUNTED = "/usr/lib/clusterwright/mounted"
"""Mounts what a host of a cloud lacks, for as long as it is told."""
DIAGNOSTICS = "/usr/lib/clusterwright/diagnostics.py"
UNASKED = "/run/clusterwright/unasked"
"""What the diagnostics could not ask, as it was said last: it is said once."""
STARTED = "/run/clusterwright/guard-started"
REBOOTS = "/var/lib/clusterwright/health-reboots"
"""When this program asked for a reboot, one time in seconds in a line."""
GPU_UNIT = "clusterwright-gpu.service"
SCRATCH_UNIT = "/etc/systemd/system/clusterwright-scratch.service"
"""Makes the node's own disks into one file system (role scratch_raid); a lost disk takes all files with it, and starting the unit again makes it of those that are left."""
LOST_DISK = "has lost a disk"
MIG, MIG_RECORD, MIG_UNIT = "/usr/lib/clusterwright/mig.py", "var/lib/clusterwright/mig.json", "/etc/systemd/system/clusterwright-mig.service"
LAYOUT, TOO_LOW = "MIG layout", re.compile(r"gres/gpu\S* count too low")
"""Slurm's own word of a node whose layout is not the one of slurm.conf; it stays in Slurm when the node has registered with the right one."""
OWN_DISK = re.compile(r"/dev/(?:nvme|md)")
MOUNTINFO = "/proc/self/mountinfo"
CONFIGURATION = "/run/clusterwright/guard-slurm.conf"
CLEAR = "/run/clusterwright/health-clear"
"""There when this node was complete at the last look and Slurm was asked whether it is drained for something else: the next look need not ask."""
CONSOLE = "/dev/console"
PATH = "/usr/local/bin:/usr/bin:/bin"

HELD, WINDOW = {"DRAIN", "MAINT", "MAINTENANCE"}, "clusterwright-maintenance-"
"""States in which somebody keeps a node; the blueprint's own maintenance windows (WINDOW) only keep jobs off it."""
DEVICES_WITHIN_S = 15
"""Devices can come later than this program; AWS's own check of EFA devices looks three times, 5 s apart (awsome-distributed-ai, gpu-cluster-healthcheck)."""
MOUNTS_WITHIN_S = 300
LOOK_EVERY_S, DAY_S = 0.5, 86400
TELL_EVERY_S = 2.0
"""A controller can come minutes after its nodes."""
ANSWER_WITHIN_S, BETWEEN_JOBS_S, BETWEEN_JOBS_ANSWER_S = 60, 5, 20
"""slurmd kills its health check after 60 s (slurm.conf(5), HealthCheckProgram)."""
DIAGNOSED_WITHIN_S = 35
"""More than its tools are given together, less than slurmd leaves to a health check beside the rest."""
REPAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repairs.json")
"""What ends a finding of the diagnostics, by its action, and how often it is tried (blueprints/catalog/repairs.yaml)."""
REPAIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "repair_node.py")
BEYOND_REBOOTS = {"replace", "free"}
BRAKE = "25%"
"""Of the nodes of a partition, no more are drained by their own checks where the pool names no other limit, but always one: what all nodes lack at once is no fault of each (Kubernetes' Cluster API stops at 40 %, NVIDIA's operators at 25 %)."""

NVIDIA, DISPLAYS = "0x10de", ("0x0300", "0x0302")
"""Vendor of GPUs and the beginnings of their PCI classes: VGA-compatible and 3D controllers (pci.ids)."""
FABRICS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fabric-devices.json")
"""The devices of each fabric, from blueprints/catalog/fabric_devices.yaml."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="guard", description="Count what this node has before it takes jobs.")
    parser.add_argument("--hardware", default="/", metavar="FOLDER", help="look for devices below this folder")
    parser.add_argument("--between-jobs", action="store_true", help="drain a node that lost something, and return it when it has it again")
    given = parser.parse_args()
    hardware = given.hardware
    if given.between_jobs:
        say(between_jobs(hardware))
        return 0
    begin_anew(EXPECTED, hardware)
    said, devices_s, mounts_s = set(), DEVICES_WITHIN_S, MOUNTS_WITHIN_S
    while True:
        try:
            wrong = joined(look(EXPECTED, hardware, devices_s=devices_s, mounts_s=mounts_s, mountinfo=MOUNTINFO), hardware)
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


def between_jobs(hardware: str) -> list[str]:
    """Look at a node and tell Slurm what changed; give what is to be said."""
    try:
        found = look(EXPECTED, hardware, devices_s=BETWEEN_JOBS_S, mounts_s=1, mountinfo=MOUNTINFO)
    except Exception as error:  # a check that fails is not a node that fails
        return [f"{HEALTH}the check itself failed, and the node stays as it is: {type(error).__name__}: {error}"]
    wrong = joined(found, hardware)
    if not wrong and os.path.exists(CLEAR):
        return []
    try:
        return settle(socket.gethostname().partition(".")[0], wrong, found)
    except (OSError, KeyError, subprocess.SubprocessError) as error:
        return [f"{HEALTH}{wrong or 'complete'}; Slurm can't be told: {why(error)}"]


def settle(node: str, wrong: str, found: list[tuple[str, str]]) -> list[str]:
    """Drain, repair or reboot this node, or return it to service, unless somebody else has it.

    Raises:
        OSError, KeyError, subprocess.SubprocessError: Slurm was not told.
    """
    configure()
    shown = scontrol("--oneliner", "show", "node", node, within_s=BETWEEN_JOBS_ANSWER_S)
    reason, is_out = described(shown)
    is_ours = is_out and (reason.startswith(HEALTH) or (bool(TOO_LOW.match(reason)) and (LAYOUT in wrong or "INVALID_REG" not in states(shown))))
    # Once it is drained and its last job has ended, nobody uses it any more; the next look finds whether it helped.
    for sign, unit in ((LOST_DISK, SCRATCH_UNIT), (LAYOUT, MIG_UNIT)):
        if is_ours and sign in wrong and "IDLE" in states(shown) and os.path.exists(unit):
            subprocess.run(["systemctl", "restart", "--no-block", os.path.basename(unit)], check=False, env={"PATH": PATH})
    if not wrong:
        if is_ours:
            scontrol("update", f"nodename={node}", "state=RESUME", within_s=BETWEEN_JOBS_ANSWER_S)
        with open(CLEAR, "w"):
            pass
        return [f"{HEALTH}complete again, and back in service"] if is_ours else []
    with contextlib.suppress(FileNotFoundError):
        os.unlink(CLEAR)
    answer = answered(found)
    if is_ours and answer == "repair" and "IDLE" in states(shown):  # as a unit of its own: slurmd gives its check a minute
        words = ("systemd-run", "--quiet", "--collect", "--unit=clusterwright-repair", sys.executable, "-I", "-S", "-B", REPAIR, json.dumps(found))
        subprocess.run(words, check=False, env={"PATH": PATH}, capture_output=True)
    if is_ours and reason not in (HEALTH + wrong, HEALTH + wrong + REBOOTING):
        scontrol("update", f"nodename={node}", f"reason={HEALTH}{wrong}", within_s=BETWEEN_JOBS_ANSWER_S)
    elif not is_out and (others := too_many(shown)):
        return [f"{HEALTH}{wrong}; not drained: {others}"]
    elif not is_out and answer == "reboot" and is_reboot_due():
        scontrol("reboot", "ASAP", "nextstate=RESUME", f"reason={HEALTH}{wrong}{REBOOTING}", node, within_s=BETWEEN_JOBS_ANSWER_S)
    elif not is_out:
        scontrol("update", f"nodename={node}", "state=DRAIN", f"reason={HEALTH}{wrong}", within_s=BETWEEN_JOBS_ANSWER_S)
    return [HEALTH + wrong] if not reason.startswith(HEALTH + wrong) else []


def answered(found: list[tuple[str, str]]) -> str:
    """Say what this node does about what it found, as far as its pool allows: `repair`, `reboot`, or nothing but to drain."""
    allowed, actions = read(EXPECTED).get("on_failure"), {action for _, action in found} - {""}
    if BEYOND_REBOOTS & actions or allowed not in ("reboot", "repair"):
        return ""
    return "repair" if allowed == "repair" and any("command" in read(REPAIRS)["actions"][one] for one in actions) else "reboot"


def read(path: str) -> dict[str, Any]:
    with open(path) as file:
        return dict(json.load(file))


def is_reboot_due() -> bool:
    """Say whether no reboot was tried lately. It counts as tried."""
    now, limits = time.time(), read(REPAIRS)["limits"]
    tried = [one for one in map(int, re.findall(r"\d+", word(REBOOTS))) if now - one < DAY_S]
    if len(tried) >= limits["a_day"] or any(now - one < limits["every_s"] for one in tried):
        return False
    os.makedirs(os.path.dirname(REBOOTS), exist_ok=True)
    with open(f"{REBOOTS}.new", "w") as file:
        file.write("".join(f"{one:.0f}\n" for one in [*tried, now]))
    os.replace(f"{REBOOTS}.new", REBOOTS)
    return True


def too_many(shown: str) -> str:
    """Say why no further node of its partitions may be drained; empty: it may."""
    partitions = re.search(r" Partitions=(\S+)", shown)
    alike = [
        line for line in scontrol("--oneliner", "show", "node", within_s=BETWEEN_JOBS_ANSWER_S).splitlines() if partitions and partitions[0] + " " in line + " "
    ]
    drained = sum(is_out and reason.startswith(HEALTH) for reason, is_out in map(described, alike))
    return f"{drained} of {len(alike)} nodes are drained by their checks already" if drained >= at_most(len(alike)) else ""


def at_most(nodes: int) -> int:
    brake = str(read(EXPECTED).get("brake", BRAKE)).replace(" ", "")
    return max(1, nodes * int(brake[:-1]) // 100 if brake.endswith("%") else int(brake))


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


def begin_anew(path: str, hardware: str) -> None:
    """After a repair (an administrator starts the guard again), leave out what the kernel's log holds so far. At the first start of a boot it counts."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        is_first = not os.path.exists(STARTED)
        with open(STARTED, "w"):
            pass
        expected = read(path)
        if expected["check"] == "full" and not is_first:
            diagnosed(expected, hardware, "--forget")


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


def tell(wrong: str) -> list[str]:
    """Set this node down in Slurm, unless a person has it; give what is to be said beside."""
    configure()
    node = socket.gethostname().partition(".")[0]
    if is_kept(scontrol("--oneliner", "show", "node", node)):
        return [f"{REASON}somebody drained this node or put it under maintenance: their reason stays"]
    scontrol("update", f"nodename={node}", "state=DOWN", f"reason={REASON}{wrong}")
    return []


def configure() -> None:
    """Write whom to ask. The daemon brings its copy of the configuration; for a few questions, this is enough. Without a RebootProgram scontrol asks for no reboot."""
    with open(SETTINGS) as file:
        settings = dict(line.strip().split("=", 1) for line in file if "=" in line)
    hosts = [f"SlurmctldHost=controller-{number}({host})" for number, host in enumerate(settings["CLUSTERWRIGHT_CONTROLLERS"].split(","))]
    with open(CONFIGURATION, "w") as file:
        file.write(
            "\n".join(
                [f"ClusterName={settings['CLUSTERWRIGHT_CLUSTER']}", "SlurmUser=slurm", "AuthType=auth/munge", "RebootProgram=/usr/sbin/reboot", *hosts, ""]
            )
        )


def is_kept(shown: str) -> bool:
    """Say whether a person took the node out of service: that person's word is not written over."""
    reason, _ = described(shown)
    return bool(HELD & states(shown)) and not reason.startswith(OURS)


def described(shown: str) -> tuple[str, bool]:
    """Give the reason that `scontrol --oneliner show node` says of a node, and whether the node is out of service."""
    reason = re.search(r" Reason=(.*?)(?: \[|$)", shown, re.MULTILINE)
    return reason[1] if reason else "", bool((HELD | {"DOWN", "FAIL", "ERROR"}) & states(shown))


def states(shown: str) -> set[str]:
    state = re.search(r" State=(\S+)", shown)
    found = set(re.split(r"[+*]", state[1])) if state else set()
    return found - {"MAINT", "MAINTENANCE"} if f" ReservationName={WINDOW}" in shown else found


def scontrol(*words: str, within_s: float = ANSWER_WITHIN_S) -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": CONFIGURATION}
    return subprocess.run(["scontrol", *words], env=environment, capture_output=True, text=True, check=True, timeout=within_s).stdout


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
