"""Scratch space on a node's own disks. The disks and the programs that change them are simulated: stand-ins that keep what is on each disk and refuse what the real programs refuse."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.playbooks import templates

PROGRAM = templates.PLAYBOOKS / "roles/scratch_raid/files/scratch.py"
STAND_IN = '''\
#!{python}
"""Simulated {name}: reads and writes {state}."""
import json, os, sys
path = {state!r}
state = json.load(open(path))
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
disks, arrays = state["disks"], state["arrays"]
state["asked"].append([name, *words])


def refuse(text):
    state["asked"][-1].append("refused")
    json.dump(state, open(path, "w"))
    sys.exit(f"{{name}}: {{text}}")


def device(path):
    if path not in disks and path not in arrays:
        refuse(f"{{path}}: no such device")
    return disks[path] if path in disks else arrays[path]


def array_of(path):
    return next((one for one, array in arrays.items() if path in array["members"]), None)


options = [word for word in words if word.startswith("-")]
plain = [word for word in words if not word.startswith("-")]
if name == "lsblk":
    chosen = [word for word in plain if word in disks] or list(disks)
    rows = []
    for one in chosen:
        row = {{"name": one, "type": "disk", "tran": disks[one].get("tran", "nvme"), "ro": False, "mountpoints": [disks[one].get("mounted")]}}
        inside = ([array_of(one)] if array_of(one) else []) + disks[one].get("partitions", [])
        if inside:
            row["children"] = [{{"name": child, "type": "raid0", "mountpoints": [arrays.get(child, {{}}).get("mounted")]}} for child in inside]
        rows.append(row)
    print(json.dumps({{"blockdevices": rows}}))
elif name == "wipefs" and "--no-act" in options:
    found = device(plain[0]).get("signature")
    print(json.dumps({{"signatures": [found] if found else []}}))
elif name == "wipefs" and "--all" in options:
    if array_of(plain[0]) or disks[plain[0]].get("partitions"):
        refuse("device is busy")
    device(plain[0])["signature"] = None
    disks[plain[0]].pop("member", None)
elif name == "mdadm" and "--examine" in options:
    member = device(plain[0]).get("member") or refuse("no md superblock detected")
    print("\\n".join(f"{{key}}={{value}}" for key, value in member.items()))
elif name == "mdadm" and "--stop" in options:
    if plain[0] not in arrays:
        refuse("no such array")
    if arrays[plain[0]].get("mounted"):
        refuse("array is in use")
    state["stopped"][plain[0]] = arrays.pop(plain[0])
elif name == "mdadm" and "--create" in options:
    target, members = plain[0], plain[1:]
    if f"--raid-devices={{len(members)}}" not in options or "--level=0" not in options:
        refuse("number of devices")
    if any(disks[one].get("signature") or array_of(one) for one in members):
        refuse("device has data or is busy")
    title = next(word.split("=")[1] for word in options if word.startswith("--name="))
    state["made"] += 1
    for one in members:
        disks[one]["member"] = {{"MD_NAME": f"any:{{title}}", "MD_UUID": f"uuid-{{state['made']}}", "MD_DEVICES": str(len(members))}}
        disks[one]["signature"] = {{"type": "linux_raid_member", "label": f"any:{{title}}"}}
    arrays[target] = {{"members": members, "signature": None}}
elif name == "mdadm" and "--assemble" in options:
    target, members = plain[0], plain[1:]
    known = [disks[one].get("member") or refuse("no superblock") for one in members]
    if len({{one["MD_UUID"] for one in known}}) > 1 or len(known) != int(known[0]["MD_DEVICES"]) or any(array_of(one) for one in members):
        refuse("cannot assemble")
    before = next((array for array in state["stopped"].values() if sorted(array["members"]) == sorted(members)), None)
    arrays[target] = {{"members": members, "signature": before and before["signature"]}}
elif name == "mkfs.xfs":
    label = words[words.index("-L") + 1]
    if len(label) > 12:
        refuse("invalid label")
    if plain[-1] in disks and disks[plain[-1]].get("signature"):
        refuse("contains an existing filesystem")
    device(plain[-1])["signature"] = {{"type": "xfs", "label": label}}
elif name == "mount":
    if (device(plain[-2]).get("signature") or {{}}).get("type") != "xfs":
        refuse("wrong fs type")
    device(plain[-2])["mounted"] = plain[-1]
    open(os.environ["MOUNTS"], "a").write(f"{{plain[-2]}} {{plain[-1]}} xfs rw 0 0\\n")
elif name == "umount":
    lines = open(os.environ["MOUNTS"]).read().splitlines()
    if not any(line.split()[1] == plain[0] for line in lines):
        refuse("not mounted")
    if state.get("busy"):
        refuse("target is busy")
    open(os.environ["MOUNTS"], "w").write("".join(f"{{line}}\\n" for line in lines if line.split()[1] != plain[0]))
    for one in (*disks.values(), *arrays.values()):
        if one.get("mounted") == plain[0]:
            del one["mounted"]
else:
    refuse(f"unexpected {{words}}")
json.dump(state, open(path, "w"))
'''


class Node:
    """A node with simulated disks."""

    def __init__(self, folder: Path, disks: dict[str, dict[str, Any]]):
        self.folder, self.state = folder, folder / "state.json"
        (folder / "bin").mkdir()
        for name in ("lsblk", "wipefs", "mdadm", "mkfs.xfs", "mount", "umount"):
            program = folder / "bin" / name
            program.write_text(STAND_IN.format(python=sys.executable, name=name, state=str(self.state)))
            program.chmod(0o755)
        self.write({"disks": disks, "arrays": {}, "stopped": {}, "asked": [], "made": 0})
        self.boot()

    def read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.state.read_text())
        return found

    def write(self, state: dict[str, Any]) -> None:
        self.state.write_text(json.dumps(state))

    def boot(self, *, assembles: bool = False) -> None:
        """Start the node: nothing is mounted, and the kernel may have assembled the array under a name of its own."""
        state = self.read()
        (self.folder / "mounts").write_text("")
        arrays = {**state["stopped"], **state["arrays"]}
        state["stopped"], state["arrays"] = (state["stopped"], dict(zip(["/dev/md127"], arrays.values(), strict=False))) if assembles else (arrays, {})
        for one in (*state["disks"].values(), *state["arrays"].values(), *state["stopped"].values()):
            if one.get("mounted") == str(self.folder / "scratch"):
                del one["mounted"]
        self.write(state)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.folder / "bin"), "MOUNTS": str(self.folder / "mounts"), "CREATED": str(self.folder / "created.json")}
        argv = [sys.executable, "-I", "-S", "-B", str(PROGRAM), *(words or (str(self.folder / "scratch"),))]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)

    def mounted(self) -> list[str]:
        """Give the disks that the scratch space has."""
        state = self.read()
        [array] = [one for one in (*state["arrays"].values(), *state["disks"].values()) if one.get("mounted")]
        return list(array.get("members", ["single"]))


def blank(count: int) -> dict[str, dict[str, Any]]:
    return {f"/dev/nvme{number}n1": {} for number in range(count)}


EXT4 = {"signature": {"type": "ext4", "label": "backup"}}


def test_free_disks_become_one_array_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path, blank(4))
    assert node.run().returncode == 0
    assert node.mounted() == sorted(blank(4))
    asked = len(node.read()["asked"])
    assert node.run().returncode == 0
    assert len(node.read()["asked"]) == asked


@pytest.mark.parametrize("assembles", [False, True])
def test_a_complete_array_keeps_its_files_at_a_boot(tmp_path: Path, assembles: bool) -> None:
    node = Node(tmp_path, blank(4))
    node.run()
    node.boot(assembles=assembles)
    done = node.run()
    assert (done.returncode, "empty" in done.stdout) == (0, False), done.stderr
    assert [words[0] for words in node.read()["asked"]].count("mkfs.xfs") == 1
    assert node.mounted() == sorted(blank(4))


def test_folders_that_were_created_to_mount_it_leave_with_it(tmp_path: Path) -> None:
    node = Node(tmp_path, blank(2))
    (tmp_path / "own").mkdir()
    folder = str(tmp_path / "own/local/scratch")
    assert node.run(folder).returncode == 0
    node.boot()  # a power cut: nothing was unmounted
    assert node.run(folder).returncode == 0
    (tmp_path / "own/local/note").write_text("its owner's")
    assert node.run("--unmounted").returncode == 0
    assert sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "own").rglob("*")) == ["own/local", "own/local/note"]
    (tmp_path / "own/local/note").unlink()
    assert node.run("--unmounted").returncode == 0
    assert [*(tmp_path / "own").iterdir()] == []
    assert not (tmp_path / "created.json").exists()
    assert node.run("--unmounted").returncode == 0
    assert (tmp_path / "own").is_dir(), "it was there before"


@pytest.mark.parametrize("count", [1, 2])
def test_space_that_a_job_used_at_another_place_moves_when_the_job_has_ended(tmp_path: Path, count: int) -> None:
    """The unit's stop could not unmount it."""
    node = Node(tmp_path, blank(count))
    assert node.run(str(tmp_path / "before")).returncode == 0
    before = node.mounted()
    node.write({**node.read(), "busy": True})
    done = node.run()
    assert done.returncode == 1
    assert f"umount {tmp_path / 'before'}: umount: target is busy" in done.stderr
    assert node.mounted() == before
    node.write({**node.read(), "busy": False})
    done = node.run()
    assert (done.returncode, "empty" in done.stdout) == (0, False), done.stderr
    assert [line.split()[1] for line in (tmp_path / "mounts").read_text().splitlines()] == [str(tmp_path / "scratch")]
    assert node.mounted() == before
    assert [words[0] for words in node.read()["asked"]].count("mkfs.xfs") == 1


@pytest.mark.parametrize("assembles", [False, True])
def test_after_a_lost_disk_the_others_become_a_new_array(tmp_path: Path, assembles: bool) -> None:
    node = Node(tmp_path, blank(4))
    node.run()
    node.boot(assembles=assembles)
    state = node.read()
    del state["disks"]["/dev/nvme2n1"]
    node.write(state)
    done = node.run()
    assert done.returncode == 0, done.stderr
    assert "is empty now: 4 disks before, 3 now" in done.stdout
    assert node.mounted() == ["/dev/nvme0n1", "/dev/nvme1n1", "/dev/nvme3n1"]


def test_a_single_disk_has_a_file_system_without_an_array_and_keeps_it(tmp_path: Path) -> None:
    node = Node(tmp_path, blank(1))
    assert node.run().returncode == 0
    node.boot()
    assert node.run().returncode == 0
    asked = [words[0] for words in node.read()["asked"]]
    assert (asked.count("mkfs.xfs"), asked.count("mdadm")) == (1, 0)


@pytest.mark.parametrize(
    "theirs",
    [
        EXT4,
        {"partitions": ["/dev/nvme1n1p1"]},
        {"signature": {"type": "linux_raid_member", "label": "store:0"}, "member": {"MD_NAME": "store:0", "MD_UUID": "x", "MD_DEVICES": "2"}},
        {"signature": {"type": "LVM2_member"}},
        {"mounted": "/var"},
    ],
    ids=["file system", "partition", "array of others", "LVM", "mounted"],
)
def test_a_disk_of_others_is_left_alone_and_named(tmp_path: Path, theirs: dict[str, Any]) -> None:
    node = Node(tmp_path, {**blank(3), "/dev/nvme1n1": dict(theirs)})
    done = node.run()
    assert done.returncode == 0, done.stderr
    assert "left alone: /dev/nvme1n1: " in done.stdout
    changing = [
        words for words in node.read()["asked"] if "/dev/nvme1n1" in words and "--no-act" not in words and "--examine" not in words and words[0] != "lsblk"
    ]
    assert changing == []
    assert node.read()["disks"]["/dev/nvme1n1"].get("signature") == theirs.get("signature")


def test_disks_of_another_kind_are_no_scratch(tmp_path: Path) -> None:
    node = Node(tmp_path, {"/dev/sda": {"tran": "sata"}, "/dev/nvme0n1": dict(EXT4)})
    done = node.run()
    assert done.returncode == 1
    assert done.stderr.strip().endswith("this host has no free NVMe disk (left alone: /dev/nvme0n1: ext4)")


def test_a_creation_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    """The array is there, and its file system is not."""
    node = Node(tmp_path, blank(2))
    node.run()
    node.boot()
    state = node.read()
    for array in state["stopped"].values():
        array["signature"] = None
    node.write(state)
    done = node.run()
    assert done.returncode == 0, done.stderr
    assert node.mounted() == sorted(blank(2))


def test_the_decision_needs_no_disk() -> None:
    spec = importlib.util.spec_from_file_location("scratch", PROGRAM)
    assert spec
    assert spec.loader
    scratch = importlib.util.module_from_spec(spec)
    sys.modules["scratch"] = scratch  # dataclasses look their module up
    spec.loader.exec_module(scratch)
    ours = [scratch.Disk(f"/dev/nvme{number}n1", signature="linux_raid_member", array="u", array_disks=2) for number in range(2)]
    assert scratch.decide(ours).action == "keep"
    assert scratch.decide([*ours, scratch.Disk("/dev/nvme2n1")]).emptied == "2 disks before, 3 now"
    with pytest.raises(scratch.Refused):
        scratch.decide([])
