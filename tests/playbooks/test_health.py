"""Between jobs a node looks at itself: it drains itself when it lost something, comes back by itself, and leaves to others what others did."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playbooks import clusters, templates
from tests.playbooks.test_guard import DEVICES, MOUNTINFO, NODE_ENV, PROGRAM, machine, patches, record
from tests.playbooks.test_slurm_config import VERSIONS, slurm_conf

REPAIRS = DEVICES.with_name("repairs.yaml")
ME = socket.gethostname().partition(".")[0]
LOST = "clusterwright: health: 7 of 8 GPUs: 8 on the PCI bus, 8 with the driver, 7 device files"
CONTROLLER = """
import json, pathlib, sys
place = pathlib.Path(__file__).parent.parent
with open(place / "asked", "a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if (place / "away").exists():
    sys.exit("scontrol: error: Unable to contact slurm controller (connect failure)")
nodes = json.loads((place / "nodes").read_text())
words = [word for word in sys.argv[1:] if not word.startswith("--")]
if words[0] == "reboot":
    [when, after, why, name] = words[1:]
    assert (when, after) == ("ASAP", "nextstate=RESUME"), words
    nodes[name].update(state="IDLE+DRAIN+REBOOT_REQUESTED", reason=why.removeprefix("reason="))
    (place / "nodes").write_text(json.dumps(nodes))
elif words[0] == "update":
    given = dict(word.split("=", 1) for word in words[1:])
    node = nodes[given["nodename"]]
    if given.get("state") == "RESUME":
        node.update(state="IDLE", reason="")
    else:
        node["state"] = "IDLE+DRAIN" if given.get("state") == "DRAIN" else node["state"]
        node["reason"] = given["reason"]
    (place / "nodes").write_text(json.dumps(nodes))
else:
    for name, node in nodes.items():
        if len(words) < 3 or name == words[2]:
            reason = f"Reason={node['reason']} [root@2026-11-23T16:00:00]" if node["reason"] else ""
            print(f"NodeName={name} Arch=x86_64 State={node['state']} Partitions={node['partition']} BootTime=x {reason}")
"""
"""Takes scontrol's words and answers as it does, for a cluster in a file."""


class Node:
    """A node with eight GPUs among others, and its controller."""

    def __init__(self, folder: Path, others: int = 3):
        self.folder, self.on_failure, self.is_replaced = folder, "drain", False
        (folder / "bin").mkdir()
        (folder / "bin/scontrol").write_text(f"#!{sys.executable}\n{CONTROLLER}")
        (folder / "bin/scontrol").chmod(0o755)
        (folder / "node.env").write_text(NODE_ENV)
        (folder / "mountinfo").write_text(MOUNTINFO)
        (folder / "fabric-devices.json").write_text(json.dumps(yaml.safe_load(DEVICES.read_text())))
        (folder / "repairs.json").write_text(json.dumps(yaml.safe_load(REPAIRS.read_text())))
        record(folder, mounts=[], efa=0)
        machine(folder / "root", efa=0)
        self.set_nodes({name: self.idle() for name in (ME, *(f"other-{number}" for number in range(others)))})

    @staticmethod
    def idle(state: str = "IDLE", reason: str = "", partition: str = "train") -> dict[str, str]:
        return {"state": state, "reason": reason, "partition": partition}

    def set_nodes(self, nodes: dict[str, dict[str, str]]) -> None:
        (self.folder / "nodes").write_text(json.dumps(nodes))

    @property
    def nodes(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "nodes").read_text())
        return found

    @property
    def me(self) -> tuple[str, str]:
        return self.nodes[ME]["state"], self.nodes[ME]["reason"]

    @property
    def asked(self) -> int:
        path = self.folder / "asked"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def lose(self) -> None:
        (self.folder / "root/dev/nvidia7").unlink()

    def find(self) -> None:
        (self.folder / "root/dev/nvidia7").touch()

    def diagnose(self, *wrong: tuple[str, str], unasked: tuple[str, ...] = ()) -> None:
        """Let the diagnostics answer this, on a node whose pool has `health.check: full`."""
        answer = {"wrong": [{"what": what, "action": action} for what, action in wrong], "unasked": [*unasked]}
        (self.folder / "diagnostics.py").write_text(f"print({json.dumps(json.dumps(answer))})")
        more = {"else": "replace"} if self.is_replaced else {}
        record(self.folder, mounts=[], efa=0, check="full", on_failure=self.on_failure, **more)

    def boot(self) -> None:
        """Come back from a reboot as Slurm takes it, `nextstate=RESUME`."""
        (self.folder / "clear").unlink(missing_ok=True)
        self.set_nodes({**self.nodes, ME: self.idle()})

    def look(self) -> str:
        """Run the check as slurmd does; give what it said."""
        places = {"EXPECTED": "expected.json", "SETTINGS": "node.env", "CONFIGURATION": "slurm.conf", "CONSOLE": "console", "CLEAR": "clear"}
        places |= {"SCRATCH_UNIT": "clusterwright-scratch.service", "MOUNTINFO": "mountinfo", "MIG_UNIT": "clusterwright-mig.service"}
        places |= {"REBOOTS": "reboots", "UNASKED": "unasked", "DIAGNOSTICS": "diagnostics.py", "FABRICS": "fabric-devices.json", "REPAIRS": "repairs.json"}
        script = f"import sys\nsys.path.insert(0, {str(PROGRAM.parent)!r})\nimport guard\n" + patches(places, self.folder)
        script += f"guard.node_looks.MIG = {str(templates.PLAYBOOKS / 'roles/mig/files/mig.py')!r}\n"
        script += f"guard.PATH = {str(self.folder / 'bin') + os.pathsep + os.environ['PATH']!r}\nguard.BETWEEN_JOBS_S = 0\n"
        script += f"sys.argv = ['guard', '--between-jobs', '--hardware', {str(self.folder / 'root')!r}]\nsys.exit(guard.main())\n"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stderr.replace(f" (hardware below {self.folder / 'root'})", "")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def reason(node: Node) -> str:
    return node.me[1].partition(" (hardware")[0]


def test_a_complete_node_asks_slurm_once_and_then_never(node: Node) -> None:
    assert [node.look() for _ in range(3)] == ["", "", ""]
    assert (node.asked, node.me) == (1, ("IDLE", ""))


def test_a_node_that_lost_a_gpu_is_drained_with_the_reason_and_comes_back_with_it(node: Node) -> None:
    node.look()
    node.lose()
    assert node.look() == f"{LOST}\n"
    assert (node.me[0], reason(node)) == ("IDLE+DRAIN", LOST)
    assert node.look() == "", "the same is said once"
    node.find()
    assert "back in service" in node.look()
    assert node.me == ("IDLE", "")


def test_after_a_reboot_a_node_that_it_drained_still_comes_back(node: Node) -> None:
    node.lose()
    node.look()
    (node.folder / "clear").unlink(missing_ok=True)  # /run is new
    node.find()
    node.look()
    assert node.me == ("IDLE", "")


def test_a_reason_follows_what_is_missing(node: Node) -> None:
    node.lose()
    node.look()
    (node.folder / "root/dev/nvidia6").unlink()
    node.look()
    assert "6 of 8 GPUs" in node.me[1]


SYSTEMCTL = """#!/bin/sh
echo "$*" >>"{folder}/restarted"
echo clean >"{folder}/root/sys/class/block/md127/md/array_state"
"""


def test_scratch_space_that_lost_a_disk_is_made_again_once_no_job_has_it(node: Node) -> None:
    """The program behind the unit is tests/playbooks/test_scratch.py's matter."""
    record(node.folder, mounts=["/scratch"], efa=0)
    (node.folder / "clusterwright-scratch.service").touch()
    (node.folder / "bin/systemctl").write_text(SYSTEMCTL.format(folder=node.folder))
    (node.folder / "bin/systemctl").chmod(0o755)
    restarted = node.folder / "restarted"
    node.look()
    assert (node.me[0], reason(node)) == ("IDLE+DRAIN", "clusterwright: health: /scratch has lost a disk (/dev/md127)")
    node.set_nodes({ME: {**node.nodes[ME], "state": "MIXED+DRAIN"}})
    node.look()
    assert not restarted.exists(), "a job that began meanwhile keeps its files"
    node.set_nodes({ME: {**node.nodes[ME], "state": "IDLE+DRAIN"}})
    node.look()
    assert restarted.read_text() == "restart --no-block clusterwright-scratch.service\n"
    assert "back in service" in node.look()
    assert node.me == ("IDLE", "")


def test_gpus_that_are_divided_otherwise_are_divided_again_once_no_job_has_them(node: Node) -> None:
    """The program behind the unit is tests/playbooks/test_mig.py's matter: here it is a stand-in that leaves its record."""
    gpus = {"count": 8, "simulated": False, "mig": {"7g.80gb": 1}}
    record(node.folder, mounts=[], efa=0, gpus=gpus)
    (node.folder / "clusterwright-mig.service").touch()
    mine = node.folder / "root/var/lib/clusterwright/mig.json"
    mine.parent.mkdir(parents=True)
    made = [{"gpu": gpu, "profile": "7g.80gb", "number": 0, "instance": 0, "devices": []} for gpu in range(8)]
    (node.folder / "made.json").write_text(json.dumps({"layout": gpus["mig"], "simulated": True, "instances": made}))
    links = node.folder / "root/dev/clusterwright-mig"
    links.mkdir()
    for gpu in range(8):
        for name in ("instance", "compute"):
            (links / f"gpu{gpu}-7g.80gb-0-{name}").symlink_to("/dev/nvidia0")
    (node.folder / "bin/systemctl").write_text(f'#!/bin/sh\necho "$*" >>{node.folder}/restarted\ncp {node.folder}/made.json {mine}\n')
    (node.folder / "bin/systemctl").chmod(0o755)
    node.look()
    assert (node.me[0], reason(node)) == ("IDLE+DRAIN", "clusterwright: health: MIG layout: whole GPUs on each GPU instead of 1 x 7g.80gb")
    for state in ("MIXED+DRAIN", "IDLE+COMPLETING+DRAIN"):
        node.set_nodes({ME: {**node.nodes[ME], "state": state}})
        node.look()
        assert not (node.folder / "restarted").exists(), "a job that began meanwhile keeps its GPUs, and so does one whose epilog runs this check"
    node.set_nodes({ME: {**node.nodes[ME], "state": "IDLE+DRAIN"}})
    node.look()
    assert (node.folder / "restarted").read_text() == "restart --no-block clusterwright-mig.service\n"
    assert "back in service" in node.look()
    assert node.me == ("IDLE", "")


def test_a_node_that_slurm_took_out_for_its_former_layout_returns_when_it_has_registered_again(node: Node) -> None:
    said = "gres/gpu:3g.40gb count too low (2 < 4)"
    node.set_nodes({**node.nodes, ME: node.idle("IDLE+DRAIN+INVALID_REG", said)})
    node.look()
    assert node.me == ("IDLE+DRAIN+INVALID_REG", said), "its daemon still has other instances than slurm.conf"
    (node.folder / "clear").unlink(missing_ok=True)
    node.set_nodes({**node.nodes, ME: node.idle("IDLE+DRAIN", said)})
    node.look()
    assert node.me == ("IDLE", "")


@pytest.mark.parametrize("theirs", ["ada looks at the fans", "clusterwright: roll: kernel 6.8", "Not responding"])
def test_what_others_drained_stays_whether_it_is_complete_or_not(node: Node, theirs: str) -> None:
    node.set_nodes({**node.nodes, ME: node.idle("IDLE+DRAIN", theirs)})
    node.look()
    node.lose()
    node.look()
    node.find()
    node.look()
    assert node.me == ("IDLE+DRAIN", theirs)


def test_a_person_who_takes_over_a_drained_node_keeps_it(node: Node) -> None:
    node.lose()
    node.look()
    node.set_nodes({**node.nodes, ME: node.idle("IDLE+DRAIN", "ada: new GPU ordered")})
    node.find()
    node.look()
    assert node.me == ("IDLE+DRAIN", "ada: new GPU ordered")


def test_a_check_that_fails_drains_nothing(node: Node) -> None:
    (node.folder / "expected.json").write_text("{")
    assert "the check itself failed, and the node stays as it is" in node.look()
    assert node.me == ("IDLE", "")


def test_a_controller_that_is_away_is_told_later(node: Node) -> None:
    node.lose()
    (node.folder / "away").touch()
    assert "Slurm can't be told" in node.look()
    (node.folder / "away").unlink()
    node.look()
    assert reason(node) == LOST


@pytest.mark.parametrize(("others", "drained", "stops"), [(1, 0, False), (1, 1, True), (7, 1, False), (7, 2, True), (39, 9, False), (39, 10, True)])
def test_no_more_than_a_quarter_of_a_partition_is_drained_by_such_checks(node: Node, others: int, drained: int, stops: bool) -> None:
    alike = {f"other-{number}": node.idle(*(("IDLE+DRAIN", LOST) if number < drained else ())) for number in range(others)}
    elsewhere = {f"debug-{number}": node.idle("IDLE+DRAIN", LOST, "debug") for number in range(20)}
    node.set_nodes({ME: node.idle(), **alike, **elsewhere})
    node.lose()
    assert ("not drained: " in node.look()) is stops
    assert node.me[0] == ("IDLE" if stops else "IDLE+DRAIN")


@pytest.mark.parametrize(
    ("brake", "drained", "stops"), [("2", 1, False), ("2", 2, True), ("50%", 3, False), ("50 %", 4, True), ("1%", 0, False), ("1%", 1, True)]
)
def test_a_pool_has_a_brake_of_its_own(node: Node, brake: str, drained: int, stops: bool) -> None:
    record(node.folder, mounts=[], efa=0, brake=brake)
    node.set_nodes({ME: node.idle(), **{f"other-{number}": node.idle(*(("IDLE+DRAIN", LOST) if number < drained else ())) for number in range(7)}})
    node.lose()
    assert ("not drained: " in node.look()) is stops


XID, ROW = ("GPU 0000:3b:00: Xid 79: GPU has fallen off the bus", "reboot"), ("GPU 0000:18:00.0: a row of its memory could not be remapped", "replace")


def test_what_the_diagnostics_find_drains_the_node_with_what_ends_it(node: Node) -> None:
    node.diagnose(XID, ROW)
    node.look()
    assert node.me[0] == "IDLE+DRAIN"
    assert reason(node) == f"clusterwright: health: {XID[0]} (reboot); {ROW[0]} (replace the part)"
    node.diagnose()
    assert "back in service" in node.look()


def test_what_is_not_asked_for_is_not_diagnosed(node: Node) -> None:
    node.diagnose(XID)
    record(node.folder, mounts=[], efa=0, check="basic")
    node.look()
    assert node.me == ("IDLE", "")


def test_a_tool_that_fails_drains_nothing_and_is_said_once(node: Node) -> None:
    node.diagnose(unasked=("nvidia-smi gave no answer within 20 s",))
    assert [node.look(), node.look()] == ["clusterwright: health: not asked: nvidia-smi gave no answer within 20 s\n", ""]
    (node.folder / "diagnostics.py").write_text("raise SystemExit('broken')")
    assert "the diagnostics failed: broken" in node.look()
    assert node.me == ("IDLE", "")


def test_a_node_of_such_a_pool_is_rebooted_and_drained_where_that_did_not_help(node: Node) -> None:
    node.on_failure = "reboot"
    node.diagnose(XID)
    node.look()
    assert node.me == ("IDLE+DRAIN+REBOOT_REQUESTED", f"clusterwright: health: {XID[0]} (reboot) (hardware below {node.folder / 'root'}); rebooting")
    assert node.look() == "", "it is asked for once"
    node.boot()
    node.look()
    assert (node.me[0], reason(node)) == ("IDLE+DRAIN", f"clusterwright: health: {XID[0]} (reboot)"), "a second reboot within two hours helps no more"
    node.diagnose()
    node.look()
    assert node.me == ("IDLE", "")


def test_a_lost_device_is_worth_a_reboot_and_a_broken_part_is_not(node: Node) -> None:
    node.on_failure = "reboot"
    node.diagnose()
    node.lose()
    node.look()
    assert node.me[0] == "IDLE+DRAIN+REBOOT_REQUESTED"
    node.boot()
    (node.folder / "reboots").unlink()
    node.diagnose(XID, ROW)
    node.look()
    assert node.me[0] == "IDLE+DRAIN"


@pytest.mark.parametrize(("hours_ago", "reboots"), [((), True), ((1,), False), ((3,), True), ((3, 6, 9), False), ((3, 6, 25), True)])
def test_reboots_have_a_limit(node: Node, hours_ago: tuple[int, ...], reboots: bool) -> None:
    node.on_failure = "reboot"
    (node.folder / "reboots").write_text("".join(f"{time.time() - hours * 3600:.0f}\n" for hours in hours_ago))
    node.diagnose(XID)
    node.look()
    assert ("REBOOT_REQUESTED" in node.me[0]) is reboots


def test_no_more_nodes_are_rebooted_than_are_drained(node: Node) -> None:
    node.on_failure = "reboot"
    node.set_nodes({ME: node.idle(), "other-0": node.idle("IDLE+DRAIN", LOST)})
    node.diagnose(XID)
    assert "not drained: " in node.look()
    assert node.me == ("IDLE", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_slurm_runs_it_on_idle_nodes_one_after_the_other(version: str) -> None:
    settings = slurm_conf(clusters.cluster(slurm=version)).settings
    assert (settings["HealthCheckProgram"], settings["HealthCheckNodeState"]) == ("/usr/lib/clusterwright/health", "IDLE,CYCLE")
    assert settings["Epilog"] == "/usr/lib/clusterwright/health", "and after each job"
