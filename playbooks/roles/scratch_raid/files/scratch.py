"""Make one file system of this host's own NVMe disks and mount it: at each boot, with Python's standard library alone, 3.9 or later.

Several disks are one RAID 0, which keeps its files while all of its disks are there. After a disk was lost or replaced it is created again from what is there, and is empty. A disk with a signature that is not this
program's is left alone and named: it has somebody's data.

    scratch.py FOLDER          mount it
    scratch.py --unmounted     remove the folders that this program created to mount it there
"""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from typing import Any

NAME = "clusterwright-scratch"
ARRAY = f"/dev/md/{NAME}"
LABEL = "cw-scratch"
"""Of the file system on a single disk: at most 12 characters (mkfs.xfs(8), `-L`)."""
RAID_MEMBER = "linux_raid_member"
CREATED = os.environ.get("CREATED", "/var/lib/clusterwright/scratch-folders.json")
"""Lists the folders that were created to mount the file system there: they leave with it."""
WITHIN_S = 300


@dataclasses.dataclass(frozen=True)
class Disk:
    path: str
    signature: str = ""
    """What is on it, as wipefs(8) says; empty: nothing."""
    array: str = ""
    """UUID of this program's array that it belongs to."""
    array_disks: int = 0
    """Disks that this array has when it is complete."""
    is_single: bool = False
    """It has this program's file system, without an array."""
    use: str = ""
    """Why it is in use; empty: it isn't."""

    @property
    def is_ours(self) -> bool:
        return bool(self.array) or self.is_single


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is done: `keep` mounts what is there, `create` makes a new file system on `disks`."""

    action: str
    disks: tuple[str, ...]
    emptied: str = ""
    """Why what was on the disks is gone; empty: there was nothing."""
    left_alone: tuple[str, ...] = ()


class Refused(Exception):
    """There is nothing to make a file system of."""


def decide(disks: list[Disk]) -> Plan:
    """Decide what becomes of the disks. Pure.

    Raises:
        Refused: no disk is free.
    """
    free = [disk for disk in disks if not disk.use and (disk.is_ours or not disk.signature)]
    left_alone = tuple(f"{disk.path}: {disk.use or disk.signature}" for disk in disks if disk not in free)
    paths = tuple(disk.path for disk in free)
    if not free:
        raise Refused("this host has no free NVMe disk" + (f" (left alone: {'; '.join(left_alone)})" if left_alone else ""))
    arrays = {disk.array for disk in free if disk.array}
    complete = len(free) > 1 and len(arrays) == 1 and all(disk.array for disk in free) and len(free) == free[0].array_disks
    if complete or (len(free) == 1 and free[0].is_single):
        return Plan("keep", paths, left_alone=left_alone)
    before = max((disk.array_disks or 1 for disk in free if disk.is_ours), default=0)
    emptied = f"{before} disk{'s' if before > 1 else ''} before, {len(free)} now" if before else ""
    return Plan("create", paths, emptied, left_alone)


def look() -> list[Disk]:
    """Ask for the NVMe disks of this host, whole ones alone."""
    return [_disk(one) for one in _listed()]


def leave_other_places() -> None:
    """Unmount this program's file system where it is: a job that used it kept the unit's stop from it when the blueprint moved it."""
    ours = [one for one in _listed() if _disk(one).is_ours]
    places = {place for one in ours for device in (one, *one.get("children", ())) for place in device.get("mountpoints") or () if place}
    for place in sorted(places):
        run("umount", place)


def _listed() -> list[dict[str, Any]]:
    listed = json.loads(run("lsblk", "--json", "--paths", "--output", "NAME,TYPE,TRAN,RO,MOUNTPOINTS"))["blockdevices"]
    return [one for one in sorted(listed, key=lambda one: str(one["name"])) if one["type"] == "disk" and one["tran"] == "nvme"]


def _disk(one: dict[str, Any]) -> Disk:
    path = one["name"]
    signatures = json.loads(run("wipefs", "--json", "--no-act", path).strip() or "{}").get("signatures", [])
    kinds = [str(found["type"]) for found in signatures]
    member = _member(path) if kinds == [RAID_MEMBER] else {}
    is_ours = member.get("MD_NAME", "").rpartition(":")[2] == NAME
    return Disk(
        path,
        signature=", ".join(kinds),
        array=member["MD_UUID"] if is_ours else "",
        array_disks=int(member["MD_DEVICES"]) if is_ours else 0,
        is_single=[found.get("label") for found in signatures] == [LABEL],
        use=_use(one, is_ours=is_ours),
    )


def _member(path: str) -> dict[str, str]:
    lines = run("mdadm", "--examine", "--export", path).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _use(one: dict[str, Any], *, is_ours: bool) -> str:
    if one["ro"]:
        return "read-only"
    if any(one.get("mountpoints") or ()):
        return "mounted"
    children = [str(child["name"]) for child in one.get("children", ())]
    # An array that the kernel assembled by itself is this program's own.
    return "" if not children or is_ours else f"used by {', '.join(children)}"


def act(plan: Plan, folder: str) -> None:
    if len(plan.disks) > 1:
        stop_arrays(plan.disks)
    if plan.action == "create":
        for path in plan.disks:
            run("wipefs", "--all", "--quiet", path)
        if len(plan.disks) > 1:
            run("mdadm", "--create", ARRAY, "--run", f"--name={NAME}", "--homehost=any", "--level=0", f"--raid-devices={len(plan.disks)}", *plan.disks)
    elif len(plan.disks) > 1:
        run("mdadm", "--assemble", ARRAY, "--run", *plan.disks)
    device = ARRAY if len(plan.disks) > 1 else plan.disks[0]
    # An array whose creation was cut off has no file system yet.
    if plan.action == "create" or not json.loads(run("wipefs", "--json", "--no-act", device).strip() or "{}").get("signatures"):
        run("mkfs.xfs", "-q", "-f", "-L", LABEL, device)
    create(folder)
    run("mount", "-o", "noatime", device, folder)
    os.chmod(folder, 0o1777)  # noqa: S103 - everyone's, as /tmp is


def create(folder: str) -> None:
    """Create the folder where the file system is mounted, and note what of it is new."""
    new, around = [], folder
    while not os.path.isdir(around):
        new.append(around)
        around = os.path.dirname(around)
    if new:
        note([*new, *(one for one in created() if one not in new)])
        os.makedirs(folder, exist_ok=True)


def remove_created() -> None:
    """Remove the folders that this program created, where they are empty."""
    kept = []
    for folder in created():
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError:  # it is still mounted, or holds files
            kept.append(folder)
    note(kept)


def created() -> "list[str]":
    """List the folders that this program created, the innermost first."""
    try:
        with open(CREATED, encoding="utf-8") as stream:
            return [str(folder) for folder in json.load(stream)]
    except FileNotFoundError:
        return []


def note(folders: "list[str]") -> None:
    if not folders:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(CREATED)
        return
    os.makedirs(os.path.dirname(CREATED), exist_ok=True)
    with open(f"{CREATED}.new", "w", encoding="utf-8") as stream:
        json.dump(folders, stream)
    os.replace(f"{CREATED}.new", CREATED)


def stop_arrays(disks: tuple[str, ...]) -> None:
    """Stop what the kernel assembled of these disks by itself, whole or not."""
    listed = json.loads(run("lsblk", "--json", "--paths", "--output", "NAME,TYPE,TRAN,RO,MOUNTPOINTS", *disks))["blockdevices"]
    for array in sorted({str(child["name"]) for one in listed for child in one.get("children", ())}):
        run("mdadm", "--stop", array)


def main(folder: str) -> int:
    with open(os.environ.get("MOUNTS", "/proc/self/mounts"), encoding="utf-8") as stream:
        if any(line.split()[1] == folder for line in stream):
            return 0
    try:
        leave_other_places()
        plan = decide(look())
        for words in plan.left_alone:
            print(f"left alone: {words}")
        if plan.emptied:
            print(f"{folder} is empty now: {plan.emptied}")
        act(plan, folder)
    except Refused as refused:
        print(f"{folder} is not mounted: {refused}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as failed:
        print(f"{folder} is not mounted: {' '.join(failed.cmd)}: {(failed.stderr or '').strip()[-400:]}", file=sys.stderr)
        return 1
    print(f"{folder} has {len(plan.disks)} disk{'s' if len(plan.disks) > 1 else ''}")
    return 0


def run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=WITHIN_S, check=True).stdout


if __name__ == "__main__":
    if sys.argv[1] == "--unmounted":
        remove_created()
    else:
        sys.exit(main(sys.argv[1]))
