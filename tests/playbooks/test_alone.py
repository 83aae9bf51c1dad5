"""The program that ends a compute node which runs for nobody: what it says with a controller that listens or doesn't, and with a job's step or without."""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from blueprints.project import project_root

PROGRAM = project_root() / "playbooks/roles/cloud_host/files/alone.sh"
ALONE, NOT_ALONE = 0, 1
AFTER_S = 3600


class Node:
    """A compute node, as far as the program sees it."""

    def __init__(self, folder: Path, controllers: str, port: int):
        self.seen, self.console = folder / "seen", folder / "console"
        self.console.touch()
        names = {"SEEN": self.seen, "CONSOLE": self.console, "SLURMCTLD_PORT": port, "CLUSTERWRIGHT_CONTROLLERS": controllers, "ALONE_AFTER_S": AFTER_S}
        self.environment = {"PATH": "/usr/bin:/bin", **{name: str(value) for name, value in names.items()}}

    def look(self) -> int:
        return subprocess.run(["bash", PROGRAM], env=self.environment, capture_output=True, timeout=60, check=False).returncode

    def saw_controller(self, *, seconds_ago: int) -> None:
        self.seen.write_text(f"{uptime_s() - seconds_ago}\n")


def uptime_s() -> int:
    return int(float(Path("/proc/uptime").read_text().split()[0]))


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def silent() -> int:
    """Give a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def step(tmp_path: Path) -> Iterator[None]:
    """A job's step, by its name; it ends with its input."""
    program = tmp_path / "slurmstepd"
    shutil.copy("/bin/cat", program)
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        yield
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[None]:
    """What slurmd keeps alive where control groups are of version 2, whether jobs run or not."""
    program = tmp_path / "slurmstepd"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "infinity"]) as process:
        yield
        process.kill()


def test_a_controller_that_listens_is_remembered(tmp_path: Path, listening: int) -> None:
    node = Node(tmp_path, "127.0.0.2,127.0.0.1", listening)
    node.saw_controller(seconds_ago=2 * AFTER_S)
    assert node.look() == NOT_ALONE
    assert uptime_s() - int(node.seen.read_text()) < AFTER_S


def test_the_hour_begins_with_the_first_look(tmp_path: Path, silent: int) -> None:
    node = Node(tmp_path, "127.0.0.1", silent)
    assert [node.look(), node.look()] == [NOT_ALONE, NOT_ALONE]
    assert node.seen.exists()


def test_a_short_silence_is_borne(tmp_path: Path, silent: int) -> None:
    node = Node(tmp_path, "127.0.0.1", silent)
    node.saw_controller(seconds_ago=AFTER_S - 600)
    assert node.look() == NOT_ALONE


def test_a_node_without_controller_and_job_is_alone(tmp_path: Path, silent: int) -> None:
    node = Node(tmp_path, "127.0.0.1,127.0.0.2", silent)
    node.saw_controller(seconds_ago=AFTER_S)
    assert node.look() == ALONE
    assert "no controller has answered for 60 minutes" in node.console.read_text()


@pytest.mark.usefixtures("step")
def test_a_job_that_runs_keeps_its_node(tmp_path: Path, silent: int) -> None:
    node = Node(tmp_path, "127.0.0.1", silent)
    node.saw_controller(seconds_ago=2 * AFTER_S)
    with contextlib.suppress(FileNotFoundError):
        node.console.unlink()
    assert node.look() == NOT_ALONE


@pytest.mark.usefixtures("holder")
def test_the_program_that_holds_the_control_group_of_steps_is_no_job(tmp_path: Path, silent: int) -> None:
    node = Node(tmp_path, "127.0.0.1", silent)
    node.saw_controller(seconds_ago=AFTER_S)
    assert node.look() == ALONE
