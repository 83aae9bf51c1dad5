"""What Slurm prints is read as it is meant, and processes of one job meet by name."""

import concurrent.futures
import importlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from blueprints.project import project_root
from tests.playbooks import clusters

slurm = importlib.import_module("acceptance.slurm")
expectation = importlib.import_module("acceptance.expectation")
probe = importlib.import_module("acceptance.probe")
steps = importlib.import_module("acceptance.steps")

ROLE = project_root() / "playbooks" / "roles" / "acceptance"
SHOWN = (
    "NodeName=train-0 Arch=x86_64 CPUAlloc=0 Gres=gpu:h100:8 OS=Linux 6.1 #1 SMP Debian  State=IDLE+DRAIN Partitions=train  Reason=gres/gpu count reported lower"
    " than configured (7 < 8) [slurm@2026-01-01T00:00:00]\nNodeName=nonesuch Gres=(null) State=FUTURE\n\n"
)


def test_nodes_are_read_with_blanks_in_their_values() -> None:
    nodes = slurm.parse_nodes(SHOWN)
    assert nodes["train-0"].state == "idle+drain"
    assert nodes["train-0"].base_state == "idle"
    assert nodes["train-0"].flags == {"drain"}
    assert nodes["train-0"].reason.startswith("gres/gpu count reported lower than configured (7 < 8)")
    assert nodes["nonesuch"].gres == ""


@pytest.mark.parametrize(
    ("gres", "counts"),
    [("gpu:h100:8", {"h100": 8}), ("gpu:h100:4(S:0),gpu:a100:2(S:1)", {"h100": 4, "a100": 2}), ("gpu:8", {"": 8}), ("tmpdisk:100", {}), ("", {})],
)
def test_gres_are_counted_by_type(gres: str, counts: dict[str, int]) -> None:
    assert slurm.gres_gpus(gres) == counts


def test_configuration_and_confinement_are_read() -> None:
    shown = (
        "Configuration data as of 2026\nTaskPlugin              = task/cgroup,task/affinity\n\nCgroup Support Configuration:\nConstrainDevices        = yes\n"
    )
    assert slurm.parse_configuration(shown)["ConstrainDevices"] == "yes"


def test_a_job_that_accounting_does_not_know_yet_is_none() -> None:
    assert slurm.parse_accounted("\n") is None
    assert slurm.parse_accounted("CANCELLED by 2001|ada|research|2|cpu=4\n").state == "CANCELLED"


def test_empty_pools_expect_nothing() -> None:
    assert expectation.expect(clusters.cluster(clusters.node_set(nodes=0))).node_sets == ()


def test_the_lines_of_a_step_are_told_from_its_noise() -> None:
    assert steps.json_lines('warning: x\n{"node": "train-0"}\n') == [{"node": "train-0"}]


def _free_port() -> int:
    with socket.create_server(("", 0)) as server:
        return int(server.getsockname()[1])


def test_processes_meet_and_each_learns_of_all() -> None:
    port = _free_port()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        # All stand on this host, under one of its names.
        met = [pool.submit(probe.meet, ["localhost"] * 3, rank, f"node-{rank}", port=port, deadline_s=10) for rank in (2, 1, 0)]
    assert [one.result()["met"] for one in met] == [["node-0", "node-1", "node-2"]] * 3


def test_a_process_whose_peer_never_comes_gives_up_in_time_and_says_who_came() -> None:
    begin = time.monotonic()
    seen = probe.meet(["localhost"] * 2, 0, "node-0", port=_free_port(), deadline_s=0.3)
    assert seen["met"] == []
    assert "0 of 1" in seen["meeting"]
    assert time.monotonic() - begin < 5


def test_a_name_that_nobody_knows_is_reported() -> None:
    seen = probe.meet(["localhost", "nobody.invalid"], 1, "node-1", port=_free_port(), deadline_s=0.2)
    assert seen["unresolved"] == ["nobody.invalid"]


def test_what_the_role_ships_starts_where_there_is_nothing_but_python(tmp_path: Path) -> None:
    role = yaml.safe_load((ROLE / "tasks" / "main.yml").read_text())
    for module in role[0]["vars"]["acceptance_modules"]:
        _ship(ROLE / "files" / "acceptance" / f"{module}.py", tmp_path / "acceptance" / f"{module}.py")
    _ship(project_root() / "blueprints" / "hostlist.py", tmp_path / "blueprints" / "hostlist.py")
    # -S leaves out every installed package, -I the project.
    program = "import sys; sys.path.insert(0, sys.argv[1]); import acceptance.__main__"
    ended = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def _ship(source: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(source.read_bytes())


def _srun(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay a stand-in for srun first in the path: it runs `script`."""
    program = folder / "srun"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_step_that_slurm_lets_wait_for_the_one_before_it_may_use_the_time_that_is_spare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """slurmstepd reports the end of a step again only after a minute, if the controller did not hear it."""
    _srun(tmp_path, """echo '{"node": "train-0"}'""", monkeypatch)
    job = steps.Steps(spare_s=30.0)
    late = job.run([], "probe.py", {}, 0.0)
    assert late == {"lines": [{"node": "train-0"}], "error": ""}
    assert 0 < job.spare_s < 30


def test_a_step_without_an_end_says_what_srun_said_and_leaves_the_others_no_spare_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "srun: Job 5 step creation temporarily disabled, retrying (Requested nodes are busy)"
    _srun(tmp_path, f"""echo '{{"node": "train-0"}}'; echo '{said}' >&2; exec tail -f /dev/null""", monkeypatch)
    job = steps.Steps(spare_s=0.2)
    stuck = job.run([], "probe.py", {}, 1.0)
    assert stuck["lines"] == [{"node": "train-0"}]
    assert stuck["error"].endswith("Job 5 step creation temporarily disabled, retrying (Requested nodes are busy)")
    assert job.spare_s == 0


def test_a_step_that_fails_says_srun_s_last_words_or_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _srun(tmp_path, "echo 'srun: error: train-0: task 0: Killed' >&2; exit 9", monkeypatch)
    assert steps.Steps().run([], "probe.py", {}, 30.0)["error"] == "error: train-0: task 0: Killed"
    _srun(tmp_path, "exit 9", monkeypatch)
    assert steps.Steps().run([], "probe.py", {}, 30.0)["error"] == "exit status 9"
