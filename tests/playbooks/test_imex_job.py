"""The NVLink domain of a job: the program that slurmd runs before and after jobs is run here as slurmd runs it, with stand-ins for scontrol, systemctl and nvidia-imex-ctl."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.playbooks import templates

PROGRAM = templates.PLAYBOOKS / "roles/imex/files/imex-job.sh"
SHOWN = "NodeName=train-{0} Arch=aarch64 CoresPerSocket=70 NodeAddr=10.0.1.{0} NodeHostName=train-{0} State=ALLOCATED Partitions=train\n"
"""As `scontrol --oneliner show node` writes it; names from field to field as in Slurm 23.11."""


class Node:
    """A node of the pool `train`, whose NVLink domains have 18 nodes."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("bin", "programs", "etc"):
            (folder / name).mkdir()
        self.put("bin/scontrol", '#!/bin/sh\necho "scontrol $*" >>"$STATE/calls"\ncat "$STATE/shown"\n')
        self.put("bin/squeue", '#!/bin/sh\n[ "$*" = "--all --noheader --format=%A --nodelist=train-0" ] && cat "$STATE/queue"\n')
        self.put("bin/systemctl", '#!/bin/sh\necho "systemctl $*" >>"$STATE/calls"\n')
        self.put("bin/nvidia-imex-ctl", '#!/bin/sh\n[ "$*" = -q ] && cat "$STATE/status"\n')
        self.put("programs/imex-job", PROGRAM.read_text())
        self.put("programs/health", '#!/bin/sh\necho health >>"$STATE/calls"\n')
        (folder / "node.env").write_text("CLUSTERWRIGHT_GROUP=train\n")
        (folder / "environment").write_text("train daemon imex\ntrain arguments 18\n")
        self.status("READY")
        self.job(0, 1)

    def put(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def status(self, said: str) -> None:
        (self.folder / "status").write_text(f"{said}\n")

    def queue(self, *jobs: int) -> None:
        """Let squeue show these jobs on the node."""
        (self.folder / "queue").write_text("".join(f"{job}\n" for job in jobs))

    def job(self, *numbers: int) -> None:
        """Let scontrol show these nodes."""
        (self.folder / "shown").write_text("".join(SHOWN.format(number) for number in numbers))

    def run(self, context: str, job: int = 42, /, **variables: str) -> int:
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "STATE": str(self.folder),
            "IMEX_RUN": str(self.folder / "run"),
            "IMEX_ENVIRONMENT": str(self.folder / "environment"),
            "IMEX_NODES": str(self.folder / "etc/nodes_config.cfg"),
            "IMEX_PAUSE_S": "0",
            "CLUSTERWRIGHT_NODE_ENV": str(self.folder / "node.env"),
            "SLURM_SCRIPT_CONTEXT": context,
            "SLURM_JOB_ID": str(job),
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_JOB_NODELIST": "train-[0-1]",
            "SLURMD_NODENAME": "train-0",
            **variables,
        }
        return subprocess.run([self.folder / "programs/imex-job"], env=environment, check=False, capture_output=True, timeout=30).returncode

    @property
    def calls(self) -> list[str]:
        found = self.folder / "calls"
        return found.read_text().splitlines() if found.exists() else []

    def peers(self) -> list[str] | None:
        found = self.folder / "etc/nodes_config.cfg"
        return found.read_text().splitlines() if found.exists() else None


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_daemon_knows_the_nodes_of_the_job_before_it_begins_and_ends_with_it(node: Node) -> None:
    assert node.run("prolog_slurmd") == 0
    assert node.peers() == ["10.0.1.0", "10.0.1.1"]
    assert node.calls == ["scontrol --all --oneliner show node train-[0-1]", "systemctl restart nvidia-imex.service"]
    assert node.run("epilog_slurmd") == 0
    assert node.peers() is None, "an idle node is expected to be connected with nobody"
    assert node.calls[2:] == ["systemctl stop nvidia-imex.service", "health"]


@pytest.mark.parametrize(("own", "peers"), [("train-17", [16, 17]), ("train-18", [18, 19]), ("train-35", [18, 19])])
def test_a_job_over_several_domains_has_a_list_for_each(node: Node, own: str, peers: list[int]) -> None:
    node.job(16, 17, 18, 19)
    assert node.run("prolog_slurmd", SLURMD_NODENAME=own) == 0
    assert node.peers() == [f"10.0.1.{number}" for number in peers]


def test_a_node_whose_daemon_does_not_become_ready_takes_no_job(node: Node) -> None:
    node.status("WAITING_FOR_RECOVERY")
    assert node.run("prolog_slurmd") == 1
    assert node.calls[-1] == "systemctl stop nvidia-imex.service"
    assert node.peers() is None


def test_a_job_whose_nodes_slurm_does_not_show_fails_there(node: Node) -> None:
    node.job()
    assert node.run("prolog_slurmd") == 1
    assert "systemctl restart nvidia-imex.service" not in node.calls


def test_jobs_that_share_a_node_have_the_list_of_the_first_and_the_last_ends_the_daemon(node: Node) -> None:
    node.run("prolog_slurmd", 1)
    node.job(0, 2)
    assert node.run("prolog_slurmd", 2) == 0
    assert node.peers() == ["10.0.1.0", "10.0.1.1"]
    node.run("epilog_slurmd", 1)
    assert node.peers() is not None
    node.run("epilog_slurmd", 2)
    assert node.peers() is None


def test_the_mark_of_a_job_whose_epilog_never_ran_keeps_no_daemon(node: Node) -> None:
    node.run("prolog_slurmd", 1)
    node.job(0, 2)
    node.queue(2)
    assert node.run("prolog_slurmd", 2) == 0
    assert node.peers() == ["10.0.1.0", "10.0.1.2"]
    assert node.run("epilog_slurmd", 2) == 0
    assert node.peers() is None


def test_a_job_that_is_over_while_another_one_lost_its_epilog_ends_the_daemon(node: Node) -> None:
    node.queue(1, 2)
    node.run("prolog_slurmd", 1)
    node.run("prolog_slurmd", 2)
    node.queue(2)
    assert node.run("epilog_slurmd", 2) == 0
    assert node.peers() is None


@pytest.mark.parametrize("queue", [None, (), (1, 2), (1,)], ids=["no answer", "an empty answer", "both jobs", "an answer without the own job"])
def test_the_mark_of_a_job_that_slurm_may_know_stays(node: Node, queue: tuple[int, ...] | None) -> None:
    node.run("prolog_slurmd", 1)
    node.job(0, 2)
    if queue is not None:
        node.queue(*queue)
    assert node.run("prolog_slurmd", 2) == 0
    assert node.peers() == ["10.0.1.0", "10.0.1.1"]


@pytest.mark.parametrize("variables", [{"SLURM_JOB_NUM_NODES": "1"}, {"CLUSTERWRIGHT_NODE_ENV": "/dev/null"}])
def test_other_jobs_start_no_daemon(node: Node, variables: dict[str, str]) -> None:
    assert node.run("prolog_slurmd", **variables) == 0
    assert node.calls == []
    assert node.run("epilog_slurmd", **variables) == 0
    assert node.calls == ["health"]
