"""In a maintenance window a node on which the system wants a reboot asks Slurm for it: once, few at a time, and only where nobody else has the node."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.playbooks import templates
from tests.playbooks.test_guard import patches
from tests.playbooks.test_health import CONTROLLER, ME, Node

FILES = templates.PLAYBOOKS / "roles/guard/files"
WINDOW = "clusterwright-maintenance-20261201T0200-4h"
OPEN = f"ReservationName={WINDOW} StartTime=2026-12-01T02:00:00 EndTime=2026-12-01T06:00:00 Flags=MAINT,IGNORE_JOBS State=ACTIVE BurstBuffer=(null)"
REASON = "clusterwright: maintenance: a reboot is required by libc6, linux-image-6.8"
SHOWS_WINDOWS = 'if sys.argv[-2:] == ["show", "reservation"]:\n    print((place / "reservations").read_text())\n    sys.exit()\n'
KILLED = 'if "reboot" in sys.argv and (place / "shutdown").exists():\n    os.kill(os.getpid(), 15)\n'
REFUSES = 'if "reboot" in sys.argv and ((place / "refuses").exists() or not (place / "asked-in").exists()):\n    sys.exit("scontrol: error: not now")\n'
"""A reboot begins at once, so that the node must have noted before that it asked."""


class InWindow(Node):
    """A node in an open window, among three others."""

    def __init__(self, folder: Path):
        super().__init__(folder)
        for name in ("guard.py", "node_looks.py", "reboot_in_window.py"):
            shutil.copy(FILES / name, folder / name)
        before, words, after = CONTROLLER.partition("nodes = json.loads")
        (folder / "bin/scontrol").write_text(f"#!{sys.executable}\nimport os\n{before}{SHOWS_WINDOWS}{KILLED}{REFUSES}{words}{after}")
        (folder / "reservations").write_text(OPEN)
        (folder / "required").touch()
        (folder / "packages").write_text("linux-image-6.8\nlibc6\nlibc6\n")
        self.set_nodes({name: self.idle("IDLE+MAINTENANCE") for name in self.nodes})

    def look(self) -> str:
        of_guard = {"SETTINGS": "node.env", "CONFIGURATION": "slurm.conf", "CONSOLE": "console", "EXPECTED": "expected.json"}
        own = {"REQUIRED": "required", "PACKAGES": "packages", "ASKED": "asked-in"}
        script = f"import sys\nsys.path.insert(0, {str(self.folder)!r})\nimport guard, reboot_in_window\n"
        script += patches(of_guard, self.folder)
        script += "".join(f"reboot_in_window.{name} = {str(self.folder / path)!r}\n" for name, path in own.items())
        script += f"guard.PATH = {str(self.folder / 'bin') + os.pathsep + os.environ['PATH']!r}\nsys.exit(reboot_in_window.main())\n"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        return done.stderr


@pytest.fixture
def node(tmp_path: Path) -> InWindow:
    return InWindow(tmp_path)


def test_a_node_asks_for_the_reboot_once_in_a_window_and_says_what_wants_it(node: InWindow) -> None:
    assert node.look() == f"{REASON}\n"
    assert node.me == ("IDLE+DRAIN+REBOOT_REQUESTED", REASON)
    node.set_nodes({**node.nodes, ME: node.idle("IDLE+MAINTENANCE")})  # it came back, and something wants a reboot again
    assert node.look() == ""
    (node.folder / "reservations").write_text(OPEN.replace("1201T", "1208T"))
    assert node.look() == f"{REASON}\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda node: (node.folder / "required").unlink(),
        lambda node: (node.folder / "reservations").write_text("No reservations in the system"),
        lambda node: (node.folder / "reservations").write_text(OPEN.replace("ACTIVE", "INACTIVE")),
        lambda node: (node.folder / "reservations").write_text(OPEN.replace("clusterwright-maintenance-", "exam-")),
        lambda node: node.set_nodes({**node.nodes, ME: node.idle("IDLE")}),
        lambda node: node.set_nodes({**node.nodes, ME: node.idle("IDLE+DRAIN+MAINTENANCE", "fans")}),
        lambda node: node.set_nodes({**node.nodes, ME: node.idle("DOWN+MAINTENANCE", "x")}),
        lambda node: node.set_nodes({**node.nodes, "other-0": node.idle("IDLE+REBOOT_ISSUED+MAINTENANCE")}),
        lambda node: node.set_nodes({**node.nodes, "other-0": node.idle("DOWN+MAINTENANCE", REASON)}),
    ],
    ids=["not required", "no window", "later", "another's reservation", "outside", "drained", "down", "another reboots", "another did not come back"],
)
def test_a_node_asks_for_nothing_otherwise(node: InWindow, change: object) -> None:
    assert callable(change)
    change(node)
    before = node.nodes
    assert node.look() == ""
    assert node.nodes == before


def test_a_node_that_slurm_shows_with_its_reservation_asks_too(node: InWindow) -> None:
    node.set_nodes({**node.nodes, ME: node.idle(f"IDLE+MAINTENANCE ReservationName={WINDOW}")})
    assert node.look() == f"{REASON}\n"


def test_a_node_of_another_partition_that_reboots_takes_no_room(node: InWindow) -> None:
    node.set_nodes({**node.nodes, "other-0": node.idle("IDLE+REBOOT_ISSUED+MAINTENANCE", partition="debug")})
    assert node.look() == f"{REASON}\n"


def test_a_controller_that_does_not_answer_is_said_and_changes_nothing(node: InWindow) -> None:
    (node.folder / "away").touch()
    assert "Slurm can't be asked" in node.look()
    assert not (node.folder / "asked-in").exists()


def test_a_node_that_shuts_down_before_slurm_answers_keeps_its_note(node: InWindow) -> None:
    (node.folder / "shutdown").touch()
    node.look()
    (node.folder / "shutdown").unlink()
    assert node.look() == "", "it was asked for in this window"


def test_a_reboot_that_is_refused_is_asked_for_again(node: InWindow) -> None:
    (node.folder / "refuses").touch()
    assert "not now" in node.look()
    (node.folder / "refuses").unlink()
    assert node.look() == f"{REASON}\n"
