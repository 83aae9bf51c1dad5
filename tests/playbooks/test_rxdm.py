"""The daemon of TCPXO runs from before a job to its end: the program that slurmd runs before and after jobs is run here as slurmd runs it, with a docker that only remembers."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.playbooks import templates

FILES = templates.PLAYBOOKS / "roles/tcpxo/files"
DOCKER = """#!/bin/sh
echo "$1 $2" >>"$STATE/calls"
case "$1 $2" in
"container inspect") [ -e "$STATE/running" ] && echo true ;;
"container rm") rm -f "$STATE/running" ;;
"container logs") cat "$STATE/log" ;;
"run --detach") echo "$*" >"$STATE/command"; [ "$START" = fails ] && exit 125; [ "$START" = ends ] || touch "$STATE/running" ;;
esac
exit 0
"""
READY = "I0101 Buffer manager initialization complete.\n"


class Node:
    """A node of the pool `train`, whose fabric needs the daemon."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("bin", "programs", "apertures", "state"):
            (folder / name).mkdir()
        self.put("bin/docker", DOCKER)
        self.put("bin/modprobe", '#!/bin/sh\necho "modprobe $1" >>"$STATE/calls"\n')
        self.put("programs/rxdm", (FILES / "rxdm.sh").read_text())
        self.put("programs/health", '#!/bin/sh\necho health >>"$STATE/calls"\n')
        (folder / "programs" / "rxdm.image").write_text("registry.example/tcpgpudmarxd-dev:v1.0.23\n")
        (folder / "apertures" / "0000:06:00.0").touch()
        (folder / "environment").write_text("train variable A=1\ntrain daemon rxdm\n")
        (folder / "state" / "log").write_text(READY)
        self.group = "train"

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def run(self, context: str, job: int = 42, *, start: str = "works", **variables: str) -> int:
        (self.folder / "node.env").write_text(f"CLUSTERWRIGHT_GROUP={self.group}\n")
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "STATE": str(self.folder / "state"),
            "START": start,
            "RXDM_RUN": str(self.folder / "run"),
            "RXDM_ENVIRONMENT": str(self.folder / "environment"),
            "RXDM_PAUSE_S": "0",
            "CLUSTERWRIGHT_NODE_ENV": str(self.folder / "node.env"),
            "APERTURE_DEVICES": str(self.folder / "apertures"),
            "SLURM_SCRIPT_CONTEXT": context,
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_NUM_NODES": "2",
            **variables,
        }
        return subprocess.run([self.folder / "programs" / "rxdm"], env=environment, check=False, capture_output=True, timeout=30).returncode

    @property
    def calls(self) -> list[str]:
        found = self.folder / "state" / "calls"
        return found.read_text().splitlines() if found.exists() else []

    def has_daemon(self) -> bool:
        return (self.folder / "state" / "running").exists()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_daemon_runs_beside_a_job_over_several_nodes_and_ends_with_it(node: Node) -> None:
    assert node.run("prolog_slurmd") == 0
    assert node.has_daemon()
    assert node.calls.index("modprobe import-helper") < node.calls.index("run --detach"), "it opens the module's device when it starts"
    command = (node.folder / "state" / "command").read_text()
    assert "--num_hops=2 --num_nics=8" in command
    assert "registry.example/tcpgpudmarxd-dev:v1.0.23" in command
    assert node.run("epilog_slurmd") == 0
    assert not node.has_daemon()
    assert node.calls[-1] == "health", "the node is looked at after each job"


def test_the_daemon_gets_the_arguments_of_the_machine_that_its_pool_has(node: Node) -> None:
    (node.folder / "environment").write_text("train daemon rxdm\ntrain arguments --num_hops=2\ntrain-2 arguments --other\n")
    assert node.run("prolog_slurmd") == 0
    assert (node.folder / "state" / "command").read_text().endswith("tcpgpudmarxd-dev:v1.0.23 --num_hops=2\n")


@pytest.mark.parametrize(("group", "nodes"), [("train", "1"), ("train-2", "2"), ("rain", "2")])
def test_other_jobs_get_no_daemon_and_their_nodes_are_looked_at(node: Node, group: str, nodes: str) -> None:
    node.group = group
    assert [node.run(context, SLURM_JOB_NUM_NODES=nodes) for context in ("prolog_slurmd", "epilog_slurmd")] == [0, 0]
    assert node.calls == ["health"]


def test_jobs_that_share_a_node_share_the_daemon_and_the_last_one_ends_it(node: Node) -> None:
    assert (node.run("prolog_slurmd", 1), node.run("prolog_slurmd", 2)) == (0, 0)
    assert node.calls.count("run --detach") == 1
    node.run("epilog_slurmd", 1)
    assert node.has_daemon()
    node.run("epilog_slurmd", 2)
    assert not node.has_daemon()


@pytest.mark.parametrize("start", ["fails", "ends", "says nothing", "no devices"])
def test_a_node_on_which_it_does_not_come_up_takes_no_job_and_keeps_nothing_of_it(node: Node, start: str) -> None:
    if start in ("ends", "says nothing"):
        (node.folder / "state" / "log").write_text("it waits\n")
    if start == "no devices":
        (node.folder / "apertures" / "0000:06:00.0").unlink()
    assert node.run("prolog_slurmd", start=start) == 1
    assert not node.has_daemon()
    assert list((node.folder / "run").iterdir()) == []
    (node.folder / "state" / "log").write_text(READY)
    (node.folder / "apertures" / "0000:06:00.0").touch()
    assert node.run("prolog_slurmd", 43) == 0, "the next job finds a clean node"


def test_aperture_devices_are_shown_once_to_every_user_and_other_devices_are_not(tmp_path: Path) -> None:
    for name, vendor, kind in (("0000:06:00.0", "0x1ae0", "0x0084"), ("0000:07:00.0", "0x1ae0", "0x0042"), ("0000:08:00.0", "0x10de", "0x0084")):
        device = tmp_path / "devices" / name
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "device").write_text(f"{kind}\n")
        (device / "resource0").write_text("")
        (device / "resource0").chmod(0o600)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mount").write_text('#!/bin/sh\nset -e\n[ "$1" = --bind ]\ncp -r "$2/." "$3"\necho mounted >>"$CALLS"\n')
    (tmp_path / "bin" / "mountpoint").write_text('#!/bin/sh\n[ -e "$2/vendor" ]\n')
    for program in (tmp_path / "bin").iterdir():
        program.chmod(0o755)
    settings = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PCI_DEVICES": str(tmp_path / "devices"),
        "APERTURE_DEVICES": str(tmp_path / "shown"),
        "CALLS": str(tmp_path / "calls"),
    }
    for _ in range(2):
        assert subprocess.run(["sh", str(FILES / "aperture-devices.sh")], env=settings, check=False, timeout=30).returncode == 0
    assert [one.name for one in (tmp_path / "shown").iterdir()] == ["0000:06:00.0"]
    assert (tmp_path / "shown" / "0000:06:00.0" / "resource0").stat().st_mode & 0o777 == 0o666
    assert (tmp_path / "calls").read_text().splitlines() == ["mounted"]
    assert subprocess.run(["sh", str(FILES / "aperture-devices.sh")], env={**settings, "PCI_DEVICES": str(tmp_path / "none")}, check=False).returncode == 0


@pytest.mark.parametrize("program", ["aperture-devices.sh", "rxdm.sh"])
def test_the_programs_have_no_known_fault(program: str) -> None:
    ended = subprocess.run(["shellcheck", str(FILES / program)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
