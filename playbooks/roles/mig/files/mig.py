"""Divide the GPUs of this node into the MIG instances that its cluster says, and give each a name that does not change, which Slurm's gres.conf has.

`apply` runs before slurmd at each start (the driver forgets instances when the host restarts, and keeps the mode on some GPUs), and again when the start guard has drained the node because its
layout differs. It asks nvidia-smi first and changes only GPUs that differ, so that a second run changes nothing. While a job runs here it changes nothing, also of simulated GPUs. Whoever restarts its
unit meanwhile waits until it has ended. What the driver refuses is said in one line, which the start guard repeats to Slurm; docs/health.md says what to do. `check` says whether `apply` would change anything, from the record of the last run and the kernel's list of instances.

Simulated GPUs have no driver: their instances are device files of a number that belongs to no driver, and are called simulated.

Sources: NVIDIA MIG User Guide ("Getting Started with MIG", "Device Nodes and Capabilities"), read 2026-11-27; texts of nvidia-smi also from NVIDIA/DCGM#95 and NVIDIA/go-nvml#146.
"""

import argparse
import collections
import contextlib
import csv
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from mig_host import is_in_job, listed, make_node, number_of, read, text_of, tool, write

EXPECTED = "/etc/clusterwright/expected.json"
SETTINGS = "etc/clusterwright/node.env"
"""Has the device number of simulated GPUs."""
RECORD = "var/lib/clusterwright/mig.json"
"""What the last run did. It outlives a restart of the host: by it a node knows that its GPUs are divided when the blueprint no longer divides them."""
REBOOTED = "var/lib/clusterwright/mig-rebooted"
"""There while a restart of the host was tried to make MIG mode effective: it is tried once."""
LINKS = "dev/clusterwright-mig"
"""Slurm knows instances by these names (playbooks/roles/slurm_config): the driver gives them other numbers each time."""
CAPABILITIES = "proc/driver/nvidia/capabilities"
DCGM = "nvidia-dcgm.service"
"""Holds GPUs open: NVIDIA's guide stops it while GPUs are divided."""
SAID_WITHIN_S = 300
INSTANCE = re.compile(r"^\|\s+(?P<gpu>\d+)\s+MIG (?P<profile>\S+)\s+\d+\s+(?P<instance>\d+)\s+\d+:\d+\s*\|", re.MULTILINE)
"""A row of `nvidia-smi mig -lgi`."""
COMPUTE = re.compile(r"^\|\s+(?P<gpu>\d+)\s+(?P<instance>\d+)\s+MIG (?P<profile>\S+)\s+\d+\s+(?P<compute>\d+)\b.*\|", re.MULTILINE)
"""A row of `nvidia-smi mig -lci`; newer drivers add the placement."""
NOTHING = ("No GPU instances found", "No compute instances found", "No MIG-enabled devices found")
IN_USE = "In use by another client"
IN_JOB = "the GPUs are to be divided otherwise, and a job runs here: it is done when the jobs have ended"
RESTARTING = "the host restarts to make MIG mode effective"


class Refused(Exception):
    """The GPUs are not divided as they should be; the text says why in one line."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="mig", description="Divide the GPUs of this node into MIG instances.")
    parser.add_argument("action", choices=["apply", "check"])
    parser.add_argument("--expected", default=EXPECTED, metavar="FILE", help="what the node has to have")
    parser.add_argument("--root", default="/", metavar="FOLDER", help="look for devices, programs and the record below this folder")
    given = parser.parse_args()
    gpus = read(given.expected).get("gpus") or {}
    if given.action == "check":
        print(differs(gpus, read(os.path.join(given.root, RECORD)), given.root), end="")
        return 0
    return apply(gpus, given.root)


def apply(gpus: Mapping[str, Any], root: str) -> int:
    place = os.path.join(root, RECORD)
    before, wanted = read(place), gpus.get("mig") or {}
    if not wanted and not before:
        return 0
    # A node's check between jobs, `drift fix` and `up` all restart the unit. Ended half way, GPUs would stay without instances; programs that are started inherit this.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        instances = simulated(gpus, root) if gpus.get("simulated") else divided(wanted, gpus.get("count", 0), root)
        name_devices(instances, root)
    except (Refused, OSError) as error:
        write(place, {**before, "refused": str(error)})
        print(f"MIG: {error}", file=sys.stderr)
        return 1
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(root, REBOOTED))
    if wanted:
        write(place, {"layout": wanted, "simulated": bool(gpus.get("simulated")), "instances": instances})
    else:
        os.unlink(place)
    return 0


def differs(gpus: Mapping[str, Any], record: Mapping[str, Any], root: str) -> str:
    """Say how the node's layout differs from the one that it should have; empty: it does not. Asks no program: the guard does this between jobs."""
    wanted, count = gpus.get("mig") or {}, gpus.get("count", 0)
    if not wanted and not record:
        return ""
    if record.get("refused"):
        return f"MIG layout: {record['refused']}"
    if record.get("layout", {}) != wanted:
        return f"MIG layout: {said(record.get('layout', {}))} on each GPU instead of {said(wanted)}"
    there = [one for one in record["instances"] if is_there(one, root)]
    made = sum(wanted.values()) * count
    strange = 0 if record["simulated"] else sum(len(instances_of(number, root)) for number in minors(root)) - len(there)
    if len(there) == made and strange == 0:
        return ""
    return f"MIG layout: {len(there)} of {made} instances{f', and {strange} that somebody made' if strange > 0 else ''}"


def is_there(instance: Mapping[str, Any], root: str) -> bool:
    names = [os.path.join(root, LINKS, name) for name in links_of(instance)]
    known = "access" not in instance or os.path.exists(os.path.join(root, instance["access"]))
    return known and all(os.path.islink(one) and os.path.exists(os.path.join(root, os.readlink(one).lstrip("/"))) for one in names)


def said(layout: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {profile}" for profile, count in layout.items()) or "whole GPUs"


def divided(wanted: Mapping[str, int], count: int, root: str) -> list[dict[str, Any]]:
    """Make every GPU have the wanted instances, and list them.

    Raises:
        Refused: the driver does not do it, or a job runs here.
    """
    gpus = asked_gpus(root)
    if wanted and len(gpus) < count:
        raise Refused(f"nvidia-smi sees {len(gpus)} of {count} GPUs")
    different = [gpu for gpu in gpus if not is_as_wanted(gpu, wanted, root)]
    if different:
        if is_in_job(root):
            raise Refused(IN_JOB)
        with without_dcgm(root):
            for gpu in different:
                divide(gpu, wanted, root)
    found = []
    for gpu in gpus if wanted else []:
        numbers: collections.Counter[str] = collections.Counter()
        for instance, profile in sorted(instances(gpu["index"], root).items(), key=lambda one: (order(one[1]), one[0])):
            found.append(
                {"gpu": gpu["minor"], "profile": profile, "number": numbers[profile], "instance": instance, "access": access(gpu["minor"], instance, 0)}
            )
            numbers[profile] += 1
    return found


def divide(gpu: Mapping[str, Any], wanted: Mapping[str, int], root: str) -> None:
    index = str(gpu["index"])
    if wanted and gpu["mode"] != "Enabled":
        set_mode(gpu, "1", root)
    elif gpu["mode"] == "Enabled":
        if computes(index, root):
            changed(gpu, "mig", "-i", index, "-dci", root=root)
        if instances(index, root):
            changed(gpu, "mig", "-i", index, "-dgi", root=root)
    if not wanted:
        if gpu["mode"] == "Enabled":
            set_mode(gpu, "0", root)
        return
    # The largest first: small ones in the middle leave no place for a large one (MIG User Guide, "Creating GPU Instances", example 2).
    profiles = [profile for profile in sorted(wanted, key=order) for _ in range(wanted[profile])]
    changed(gpu, "mig", "-i", index, "-cgi", ",".join(profiles), "-C", root=root)
    if not is_as_wanted({**gpu, "mode": "Enabled"}, wanted, root):
        raise Refused(f"GPU {index}: nvidia-smi made {said(collections.Counter(instances(index, root).values()))} instead of {said(wanted)}")


def set_mode(gpu: Mapping[str, Any], mode: str, root: str) -> None:
    """Turn MIG on or off. Where the driver can't reset the GPU (virtual machines with A100), the host restarts for it, one time.

    Raises:
        Refused: the mode is not effective.
    """
    told = changed(gpu, "-i", str(gpu["index"]), "-mig", mode, root=root)
    (now,) = [one for one in asked_gpus(root) if one["index"] == gpu["index"]]
    if now["mode"] == ("Enabled" if mode == "1" else "Disabled"):
        return
    if IN_USE in told or os.path.exists(os.path.join(root, REBOOTED)):
        raise Refused(f"GPU {gpu['index']}: {first(told, 'Warning:')}")
    write(os.path.join(root, REBOOTED), {})
    subprocess.run([tool("systemctl", root), "reboot"], check=False, capture_output=True)
    raise Refused(f"GPU {gpu['index']}: {RESTARTING}")


def changed(gpu: Mapping[str, Any], *words: str, root: str) -> str:
    done = smi(*words, root=root)
    if done.returncode != 0:
        raise Refused(f"GPU {gpu['index']}: {first(done.stdout + done.stderr, 'Unable to')}")
    return done.stdout


def first(text: str, sign: str) -> str:
    """Give the line that says why: the first with a sign, else the last."""
    lines = text.split("\n") if text.strip() else ["nvidia-smi failed and gave no reason"]
    filled = [line.strip() for line in lines if line.strip()]
    return next((line for line in filled if line.startswith(sign)), filled[-1])


def asked_gpus(root: str) -> list[dict[str, Any]]:
    """List the GPUs with index, minor number of the device, and MIG mode."""
    done = smi("--query-gpu=index,pci.bus_id,mig.mode.current", "--format=csv,noheader", root=root)
    if done.returncode != 0:
        raise Refused(f"nvidia-smi failed: {first(done.stdout + done.stderr, 'NVIDIA-SMI')}")
    rows = [[cell.strip() for cell in row] for row in csv.reader(done.stdout.splitlines()) if row]
    numbers = minors(root)
    buses = {bus.lower(): number for number, bus in numbers.items()}
    found = []
    for index, bus, mode in rows:
        # nvidia-smi writes eight digits of the domain, the kernel four.
        number = buses.get(bus.lower()[-12:])
        if number is None:
            raise Refused(f"the driver has no device number for the GPU {bus}")
        found.append({"index": index, "minor": number, "mode": mode})
    return found


def minors(root: str) -> dict[int, str]:
    """Give the PCI address of each GPU by the number in its device's name."""
    folder, found = os.path.join(root, "proc/driver/nvidia/gpus"), {}
    for bus in listed(folder):
        matched = re.search(r"^Device Minor:\s*(\d+)", text_of(os.path.join(folder, bus, "information")), re.MULTILINE)
        if matched:
            found[int(matched[1])] = bus
    return found


def is_as_wanted(gpu: Mapping[str, Any], wanted: Mapping[str, int], root: str) -> bool:
    if gpu["mode"] != "Enabled":
        return not wanted
    found = instances(gpu["index"], root)
    alone = sorted(computes(gpu["index"], root)) == [(instance, 0) for instance in sorted(found)]
    return bool(wanted) and alone and collections.Counter(found.values()) == collections.Counter(wanted)


def instances(index: str, root: str) -> dict[int, str]:
    """Give the profile of each GPU instance of a GPU by its number."""
    return {int(one["instance"]): one["profile"] for one in INSTANCE.finditer(shown("-lgi", index, root))}


def computes(index: str, root: str) -> list[tuple[int, int]]:
    return [(int(one["instance"]), int(one["compute"])) for one in COMPUTE.finditer(shown("-lci", index, root))]


def shown(what: str, index: str, root: str) -> str:
    done = smi("mig", "-i", index, what, root=root)
    text = done.stdout + done.stderr
    if done.returncode != 0 and not any(sign in text for sign in NOTHING):
        raise Refused(f"GPU {index}: {first(text, 'Failed')}")
    return text


def order(profile: str) -> tuple[int, int]:
    compute, _, memory = profile.partition("g.")
    return -int(compute), -int(memory.partition("gb")[0])


def access(gpu: int, instance: int, compute: int) -> str:
    return f"{CAPABILITIES}/gpu{gpu}/mig/gi{instance}/ci{compute}/access"


def instances_of(gpu: int, root: str) -> list[str]:
    """List the compute instances of a GPU that the kernel's driver knows."""
    folder = os.path.join(root, CAPABILITIES, f"gpu{gpu}/mig")
    return [f"{one}/{inner}" for one in listed(folder) if one.startswith("gi") for inner in listed(os.path.join(folder, one)) if inner.startswith("ci")]


def name_devices(found: Sequence[Mapping[str, Any]], root: str) -> None:
    """Make the links by which Slurm knows the instances; those of former ones go, and a right one is never away."""
    folder, wanted = os.path.join(root, LINKS), {}
    for one in found:
        whole = os.path.dirname(os.path.dirname(one["access"])) + "/access" if "access" in one else ""
        targets = [device(os.path.join(root, path), root) for path in (whole, one["access"])] if whole else one["devices"]
        wanted |= dict(zip(links_of(one), targets, strict=True))
    there = {name: os.readlink(os.path.join(folder, name)) for name in listed(folder)}
    for name, target in there.items():
        if wanted.get(name) != target:
            os.unlink(os.path.join(folder, name))
    if wanted:
        os.makedirs(folder, exist_ok=True)
    for name, target in wanted.items():
        if there.get(name) != target:
            os.symlink(target, os.path.join(folder, name))


def links_of(instance: Mapping[str, Any]) -> tuple[str, str]:
    """Name the device files of an instance and of its compute instance (slurm_tables.py has the same form)."""
    base = f"gpu{instance['gpu']}-{instance['profile']}-{instance['number']}"
    return f"{base}-instance", f"{base}-compute"


def device(capability: str, root: str) -> str:
    """Give the device file of a capability, and make it where nothing made it yet (MIG User Guide, "/dev based nvidia-capabilities")."""
    matched = re.search(r"^DeviceFileMinor:\s*(\d+)", text_of(capability), re.MULTILINE)
    if not matched:
        raise Refused(f"the driver names no device file in {capability}")
    path = f"/dev/nvidia-caps/nvidia-cap{matched[1]}"
    major = re.search(r"^\s*(\d+) nvidia-caps$", text_of(os.path.join(root, "proc/devices")), re.MULTILINE)
    if root == "/" and major and not os.path.exists(path):
        make_node(path, int(major[1]), int(matched[1]), 0o444)
    return path


def simulated(gpus: Mapping[str, Any], root: str) -> list[dict[str, Any]]:
    """Make device files of simulated instances: none has a device behind it, and Slurm gives them to jobs and keeps them from others.

    Raises:
        Refused: a job runs here.
    """
    wanted: Mapping[str, int] = gpus.get("mig") or {}
    matched = re.search(r"^CLUSTERWRIGHT_GPU_MAJOR=(\d+)$", text_of(os.path.join(root, SETTINGS)), re.MULTILINE)
    major = int(matched[1]) + 1 if matched else 0
    found, files = [], {}
    for gpu in range(gpus["count"]):
        instance = 0
        for profile in sorted(wanted, key=order):
            for number in range(wanted[profile]):
                instance += 1
                # As the driver counts them (/proc/driver/nvidia-caps/mig-minors).
                minor = 3 + 135 * gpu + 9 * instance
                paths = {f"/dev/nvidia-caps/nvidia-cap{one}": one for one in (minor, minor + 1)}
                files |= paths
                found.append({"gpu": gpu, "profile": profile, "number": number, "instance": instance, "devices": list(paths)})
    folder = os.path.join(root, "dev/nvidia-caps")
    strange = [name for name in listed(folder) if f"/dev/nvidia-caps/{name}" not in files]
    missing = [path for path, minor in files.items() if number_of(os.path.join(root, path.lstrip("/"))) != os.makedev(major, minor)]
    if (strange or missing) and is_in_job(root):
        raise Refused(IN_JOB)
    for name in strange:
        os.unlink(os.path.join(folder, name))
    for path in missing:
        place = os.path.join(root, path.lstrip("/"))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        make_node(place, major, files[path], 0o666)
    return found


@contextlib.contextmanager
def without_dcgm(root: str) -> Any:
    """Stop DCGM for a moment: it holds the GPUs open."""
    systemctl = tool("systemctl", root)
    was_active = subprocess.run([systemctl, "is-active", "--quiet", DCGM], check=False).returncode == 0
    if was_active:
        subprocess.run([systemctl, "stop", DCGM], check=False)
    try:
        yield
    finally:
        if was_active:
            subprocess.run([systemctl, "start", "--no-block", DCGM], check=False)


def smi(*words: str, root: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run([tool("nvidia-smi", root), *words], capture_output=True, text=True, check=False, timeout=SAID_WITHIN_S)
    except FileNotFoundError:
        raise Refused("there is no nvidia-smi on this host") from None
    except subprocess.TimeoutExpired:
        raise Refused(f"`nvidia-smi {' '.join(words)}` did not end within {SAID_WITHIN_S} s") from None


if __name__ == "__main__":
    sys.exit(main())
