"""What a drained node without jobs does itself where its pool says `on_failure: repair`, by the catalogue's data; systemd, the driver's tool and Slurm are stand-ins."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from blueprints import catalog
from components.elastic import model
from tests.playbooks import templates
from tests.playbooks.test_guard import guard, patches
from tests.playbooks.test_health import ME, REPAIRS, Node

FILES = templates.PLAYBOOKS / "roles/guard/files"
ROW = ("GPU 0000:18:00.0: a row of its memory waits to be remapped", "reset-gpu")
XID = ("GPU 0000:3b:00: Xid 95: Uncontained ECC error", "reset-gpu")
FABRIC = ("GPU 0000:18:00.0: not registered with the NVSwitch fabric (In Progress)", "restart-fabric-manager")
OFF_THE_BUS = ("GPU 0000:3b:00: Xid 79: GPU has fallen off the bus", "reboot")
PART = ("GPU 0000:18:00.0: a row of its memory could not be remapped", "replace")
RESET_ROW, RESET_XID, RESTART = (
    "nvidia-smi --gpu-reset --id=0000:18:00.0",
    "nvidia-smi --gpu-reset --id=0000:3b:00.0",
    "systemctl restart nvidia-fabricmanager.service",
)
TOOL = '#!/bin/sh\necho "$(basename "$0") $*" >>{folder}/ran\nexit {status}\n'


class Repairing(Node):
    """A node of a pool with `on_failure: repair`."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.on_failure = "repair"
        for name in ("guard.py", "node_looks.py", "repair_node.py"):
            shutil.copy(FILES / name, folder / name)
        self.tools()

    def tools(self, status: int = 0) -> None:
        """Let the tools end with this status; systemd-run only says what it is given."""
        for name in ("nvidia-smi", "systemctl", "systemd-run"):
            (self.folder / "bin" / name).write_text(TOOL.format(folder=self.folder, status=0 if name == "systemd-run" else status))
            (self.folder / "bin" / name).chmod(0o755)

    @property
    def ran(self) -> list[str]:
        path = self.folder / "ran"
        return path.read_text().splitlines() if path.exists() else []

    def drain(self, *found: tuple[str, str]) -> str:
        """Be drained for what was found, and look again; give the reason."""
        self.diagnose(*found)
        self.look()
        return self.me[1]

    def repair(self, *found: tuple[str, str]) -> str:
        """Run the program as the unit does; give what it said."""
        places = {"SETTINGS": "node.env", "CONFIGURATION": "slurm.conf", "CONSOLE": "console", "EXPECTED": "expected.json", "REBOOTS": "reboots"}
        places |= {"REPAIRS": "repairs.json", "DIAGNOSTICS": "diagnostics.py", "UNASKED": "unasked"}
        script = f"import sys\nsys.path.insert(0, {str(self.folder)!r})\nimport guard, repair_node\n"
        script += patches(places, self.folder)
        script += f"guard.PATH = {str(self.folder / 'bin') + os.pathsep + os.environ['PATH']!r}\nrepair_node.TRIED = {str(self.folder / 'tried')!r}\n"
        script += f"sys.argv = ['repair_node', {json.dumps(found)!r}]\nsys.exit(repair_node.main())\n"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stderr


@pytest.fixture
def node(tmp_path: Path) -> Repairing:
    return Repairing(tmp_path)


def test_a_node_drains_first_and_starts_its_repair_once_it_has_no_jobs(node: Repairing) -> None:
    node.drain(ROW)
    assert (node.me[0], node.ran) == ("IDLE+DRAIN", [])
    node.set_nodes({**node.nodes, ME: {**node.nodes[ME], "state": "MIXED+DRAIN"}})
    node.look()
    assert node.ran == []
    node.set_nodes({**node.nodes, ME: {**node.nodes[ME], "state": "IDLE+DRAIN"}})
    node.look()
    [started] = node.ran
    assert started.startswith("systemd-run --quiet --collect --unit=clusterwright-repair ")
    assert started.endswith(f"repair_node.py {json.dumps([[*ROW]])}")


@pytest.mark.parametrize("on_failure", ["drain", "reboot"])
def test_no_other_pool_is_repaired(node: Repairing, on_failure: str) -> None:
    node.on_failure = on_failure
    node.drain(ROW)
    node.set_nodes({**node.nodes, ME: {**node.nodes[ME], "state": "IDLE+DRAIN"}})
    node.look()
    assert node.ran == []


def test_what_only_a_reboot_ends_is_rebooted_for(node: Repairing) -> None:
    node.drain(OFF_THE_BUS)
    assert node.me[0] == "IDLE+DRAIN+REBOOT_REQUESTED"


@pytest.mark.parametrize(
    ("found", "ran"), [((ROW,), [RESET_ROW]), ((XID,), [RESET_XID]), ((FABRIC,), [RESTART]), ((ROW, FABRIC), [RESET_ROW, RESTART]), ((ROW, ROW), [RESET_ROW])]
)
def test_each_finding_is_ended_by_its_command(node: Repairing, found: tuple[tuple[str, str], ...], ran: list[str]) -> None:
    node.drain(*found)
    said = node.repair(*found)
    assert node.ran == ran
    assert all(f"`{one}` succeeded" in said for one in ran)
    assert node.me[0] == "IDLE+DRAIN", "the next look decides"
    node.diagnose()
    assert "back in service" in node.look()


@pytest.mark.parametrize("status", [1, 0], ids=["it fails", "it does not help"])
def test_a_command_that_fails_or_does_not_help_is_followed_by_a_reboot_and_then_by_nothing(node: Repairing, status: int) -> None:
    node.tools(status)
    node.drain(ROW)
    node.repair(ROW)
    assert ("REBOOT_REQUESTED" in node.me[0]) is bool(status)
    if not status:
        node.repair(ROW)
    assert (node.me[0], node.ran) == ("IDLE+DRAIN+REBOOT_REQUESTED", [RESET_ROW])
    node.boot()
    node.drain(ROW)
    node.repair(ROW)
    assert (node.me[0], node.ran[:2]) == ("IDLE+DRAIN", [RESET_ROW]), "one command and one reboot in two hours"


@pytest.mark.parametrize(("hours_ago", "is_tried"), [((1,), False), ((3,), True), ((3, 6, 9), False), ((3, 6, 25), True)])
def test_commands_have_a_limit(node: Repairing, hours_ago: tuple[int, ...], is_tried: bool) -> None:
    (node.folder / "tried").write_text(json.dumps({RESET_ROW: [time.time() - hours * 3600 for hours in hours_ago]}))
    node.drain(ROW)
    node.repair(ROW)
    assert (RESET_ROW in node.ran) is is_tried


def test_a_broken_part_is_left_to_a_person(node: Repairing) -> None:
    node.drain(ROW, PART)
    node.repair(ROW, PART)
    assert (node.ran, node.me[0]) == ([], "IDLE+DRAIN")


@pytest.mark.parametrize(
    ("state", "reason"),
    [("IDLE+DRAIN", "ada looks at the fans"), ("MIXED+DRAIN", ""), ("IDLE", ""), ("IDLE+DRAIN+REBOOT_ISSUED", "")],
    ids=["a person's", "busy", "in service", "reboots"],
)
def test_a_node_that_is_not_drained_by_its_own_check_and_idle_is_left_alone(node: Repairing, state: str, reason: str) -> None:
    theirs = reason or node.drain(ROW)
    node.set_nodes({**node.nodes, ME: node.idle(state, "" if state == "IDLE" else theirs)})
    node.repair(ROW)
    assert (node.ran, node.me[0]) == ([], state)


def test_a_node_of_a_cloud_says_when_only_another_one_helps(node: Repairing) -> None:
    """The elastic program replaces it then; what a node still tries itself it leaves alone."""
    node.is_replaced = True
    beyond = guard.BEYOND_REPAIR
    assert not node.drain(ROW).endswith(beyond)
    node.tools(1)
    node.repair(ROW)
    assert node.me[0] == "IDLE+DRAIN+REBOOT_REQUESTED"
    assert not node.me[1].endswith(beyond), "a reboot may help"
    node.boot()
    assert not node.drain(ROW).endswith(beyond)
    node.repair(ROW)
    assert (node.me[0], node.me[1].endswith(beyond)) == ("IDLE+DRAIN", True), "all is tried"
    node.look()
    assert node.me[1].endswith(beyond)
    node.diagnose()
    assert node.look() == ""
    assert (node.me[0], node.me[1].endswith(beyond)) == ("IDLE+DRAIN", True), (
        "another one is about to take its place, or its host is reported: no job may begin"
    )


@pytest.mark.parametrize(
    ("on_failure", "found", "is_beyond"),
    [("repair", (PART,), True), ("repair", (ROW, PART), True), ("reboot", (PART,), True), ("repair", (ROW,), False), ("drain", (PART,), False)],
)
def test_a_broken_part_is_beyond_what_a_node_of_a_cloud_can_do(node: Repairing, on_failure: str, found: tuple[tuple[str, str], ...], is_beyond: bool) -> None:
    node.on_failure, node.is_replaced = on_failure, on_failure != "drain"
    assert node.drain(*found).endswith(guard.BEYOND_REPAIR) is is_beyond
    assert node.me[0] == "IDLE+DRAIN"


def test_a_node_of_a_cloud_that_a_reboot_did_not_help_says_so(node: Repairing) -> None:
    node.on_failure, node.is_replaced = "reboot", True
    node.drain(OFF_THE_BUS)
    assert node.me[0] == "IDLE+DRAIN+REBOOT_REQUESTED"
    node.look()
    assert not node.me[1].endswith(guard.BEYOND_REPAIR)
    node.boot()
    assert node.drain(OFF_THE_BUS).endswith(guard.BEYOND_REPAIR)


def test_the_elastic_program_knows_what_nodes_say() -> None:
    assert (model.HEALTH, model.BEYOND_REPAIR) == (guard.node_looks.HEALTH, guard.BEYOND_REPAIR)
    assert f"({yaml.safe_load(REPAIRS.read_text())['actions']['replace']['says']})" == model.BROKEN_PART


def test_every_action_of_a_rule_is_in_the_catalogue_and_says_what_a_person_does() -> None:
    known = yaml.safe_load(REPAIRS.read_text())
    rules = yaml.safe_load((FILES.parent / "vars/main.yml").read_text())["guard_diagnostics"]
    named = {
        one["action"]
        for one in (
            *rules["gpus"],
            *rules["port_counters"],
            *rules["file_systems"].values(),
            *(rules[name] for name in ("narrow_link", "port_down", "port_slow", "port_falls", "imex", "stuck", "clock")),
        )
    }
    assert {*named, *rules["xids"], *rules["recovery_actions"].values()} == {*known["actions"]}
    assert all(set(one["steps"]) <= {"any", *catalog.target_names()} and "any" in one["steps"] for one in known["actions"].values())
    assert all(shlex.join(one["command"]) and one["within_s"] > 0 for one in known["actions"].values() if "command" in one)


@pytest.mark.parametrize(
    ("target", "steps"),
    [
        ("metal", ["`clusterwright power cycle train-1`", "order the part"]),
        ("aws", ["`scontrol reboot ASAP nextstate=RESUME train-1`", "aws ec2 report-instance-status"]),
        ("gcp", ["scontrol reboot", "clusterwright-elastic report-host train-1"]),
    ],
)
def test_what_a_person_does_depends_on_the_target(target: str, steps: list[str]) -> None:
    reason = f"clusterwright: health: {OFF_THE_BUS[0]} (reboot); {PART[0]} (replace the part)"
    found = [one.by_hand(target, "train-1") for one in catalog.wanted_repairs(reason)]
    assert [step in one for step, one in zip(steps, found, strict=True)] == [True, True]
