"""Shared file systems are written to and read from by every node, and what that gave is judged: values, rates against the product's, small files."""

import dataclasses
import errno
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from tests.playbooks import clusters, templates

steps = importlib.import_module("acceptance.steps")
judge = importlib.import_module("acceptance.judge_storage")
expectation = importlib.import_module("acceptance.expectation")
gate = importlib.import_module("acceptance.gate")

PROBE = templates.PLAYBOOKS / "roles/acceptance/files/acceptance/storage_probe.py"
NODES = ("train-0", "train-1", "train-2")
BYTES = 3 << 20
Outcome = dict[str, Any]


def step(place: Path, phase: str, **changed: Any) -> Outcome:
    """Run a phase on all nodes, one after the other, and give what a job step of acceptance gives."""
    task = {
        "user": "",
        "job": "42",
        "nodes": NODES,
        "places": {str(place): changed.pop("size", BYTES)},
        "homes": "/home",
        "files": 5,
        "limit_s": 10,
        "phase": phase,
        **changed,
    }
    said = ""
    for rank, node in enumerate(NODES):
        environment = {**os.environ, "SLURMD_NODENAME": node, "SLURM_PROCID": str(rank)}
        done = subprocess.run([sys.executable, "-c", PROBE.read_text(), json.dumps(task)], env=environment, capture_output=True, text=True, check=True)
        said += done.stdout
    return {"lines": steps.json_lines(said), "error": ""}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A file system; after the test, nothing of the job is left on it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    if folder.is_dir():
        step(folder, "clear")
        assert [*folder.iterdir()] == []


def judged(place: Path, *, known: float | None = None, between: Callable[[Path], object] = lambda _: None, **changed: Any) -> dict[str, tuple[str, str, str]]:
    wrote = step(place, "write", **changed)
    between(place / ".clusterwright-acceptance-42")
    got = step(place, "read", **changed)
    found = judge.storage(NODES, wrote, got, [expectation.Storage(str(place), known)])
    return {f"{check.name} of {check.node}": (check.measured, check.verdict.value, check.detail) for check in found}


def test_healthy_nodes_read_what_others_wrote(place: Path) -> None:
    found = judged(place, known=1.0)
    assert found.pop("storage values of train-[0-2]")[:2] == (f"0 wrong blocks on {place}", "pass")
    assert {name: verdict for name, (_, verdict, _) in found.items()} == {
        "storage write of train-[0-2]": "pass",
        "storage read of train-[0-2]": "pass",
        "storage metadata of train-[0-2]": "reported",
    }


def test_without_a_figure_rates_are_reported(place: Path) -> None:
    assert {verdict for name, (_, verdict, _) in judged(place).items() if "values" not in name} == {"reported"}


def corrupted(folder: Path) -> None:
    with (folder / "train-1").open("r+b") as file:
        file.seek(BYTES // 2)
        file.write(b"\0\1\2")


def as_of_another(folder: Path) -> None:
    (folder / "train-2").write_bytes((folder / "train-0").read_bytes())


FAULTS: Mapping[str, tuple[Callable[[Path], object], str, tuple[str, str, str]]] = {
    # what happens between write and read → the node that finds it, and what is said
    "a flipped byte": (corrupted, "train-0", ("1 wrong blocks", "fail", "written by train-1")),
    "the file of another node": (as_of_another, "train-1", ("3 wrong blocks", "fail", "written by train-2")),
    "a file that one node alone sees": (lambda folder: (folder / "train-2").unlink(), "train-1", ("can't read: No such file or directory", "fail", "")),
    "an empty file": (lambda folder: os.truncate(folder / "train-0", 0), "train-2", ("an empty file", "fail", "written by train-0")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_the_node_that_reads(place: Path, fault: str) -> None:
    between, node, said = FAULTS[fault]
    found = judged(place, between=between, known=1.0)
    assert found[f"storage values of {node}"] == said
    assert not any(name.startswith(("storage write", "storage read")) for name in found), "rates of a broken file system say nothing"


def test_a_file_system_that_refuses_to_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert judged(tmp_path / "file")["storage values of train-[0-2]"] == ("can't write: Not a directory", "fail", "")


@pytest.mark.parametrize(
    ("writable_by", "refused", "said"),
    [
        ("", NODES, {"storage values of train-[0-2]": ("not tried", "reported")}),
        ("users", NODES, {"storage values of train-[0-2]": ("can't write: Permission denied", "fail")}),
        ("", NODES[:1], {"storage values of train-0": ("can't write: Permission denied", "fail")}),
    ],
)
def test_a_folder_of_the_site_may_refuse_users_unless_the_blueprint_says_that_they_write(
    place: Path, writable_by: str, refused: tuple[str, ...], said: dict[str, tuple[str, str]]
) -> None:
    wrote = step(place, "write")
    for line in wrote["lines"]:
        if line["node"] in refused:
            line["places"][str(place)] = {"error": os.strerror(errno.EACCES), "seconds": 0.0}
    one = {"name": "site", "mount": str(place), **({"writable_by": writable_by} if writable_by else {})}
    checks = judge.storage(NODES, wrote, step(place, "read"), [expectation._storage(one, {})])
    found = {f"{check.name} of {check.node}": (check.measured, check.verdict.value) for check in checks}
    assert found.items() >= said.items()


SRUN = """#!/bin/sh
# Runs what is after the options once for each node, as srun does for one task on each.
while [ "$1" != python3 ]; do shift; done
rank=0
for node in {nodes}; do
    SLURMD_NODENAME=$node SLURM_PROCID=$rank "$@" </dev/null || exit 1
    rank=$((rank + 1))
done
"""


def test_the_steps_of_a_job_write_read_and_leave_nothing(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/srun").write_text(SRUN.replace("{nodes}", " ".join(NODES)))
    (tmp_path / "bin/srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    other = tmp_path / "other"
    other.mkdir()
    task = {"user": "", "job": "7", "nodes": [*NODES]}
    wrote, got = steps._storage(steps.Steps(), [], task, {str(place): True, str(other): False}, 30.0)
    sizes = {(path, answer["bytes"]) for line in wrote["lines"] for path, answer in line["places"].items()}
    assert sizes == {(str(place), 64 << 20), (str(other), 4 << 20)}, "no more is written than it takes to compare where no rate is judged"
    wanted = [expectation.Storage(str(place), 1.0), expectation.Storage(str(other))]
    verdicts = {(check.name, check.verdict.value) for check in judge.storage(NODES, wrote, got, wanted)}
    assert {("storage values", "pass"), ("storage read", "pass"), ("storage read", "reported")} <= verdicts
    assert [*place.iterdir(), *other.iterdir()] == []


def test_too_little_room_is_said_and_nothing_is_written(place: Path) -> None:
    assert judged(place, size=1 << 60)["storage values of train-[0-2]"][:2] == ("too little", "reported")
    assert not any(file for _, _, files in os.walk(place) for file in files)


def test_time_ends_a_slow_run(place: Path) -> None:
    assert judged(place, limit_s=0)["storage values of train-[0-2]"][:2] == ("nothing was written in time", "fail")


def answered(rate_mbs: float, nodes: int = 2) -> Outcome:
    each = {"bytes": int(rate_mbs * 1e6 / nodes), "seconds": 1.0, "files": 100, "files_seconds": 0.5, "wrong": 0, "of": "other"}
    return {"lines": [{"node": f"train-{number}", "places": {"/data": each}} for number in range(nodes)], "error": ""}


@pytest.mark.parametrize(
    ("known", "nodes", "rate", "verdict"),
    [
        (4800, 2, 400, "pass"),  # two nodes are taken to reach 400, not 4,800
        (4800, 2, 190, "warn"),
        (4800, 2, 70, "fail"),
        (4800, 64, 2500, "pass"),
        (4800, 64, 2300, "warn"),
        (4800, 64, 900, "fail"),
        (300, 64, 160, "pass"),  # a small file system is the limit
        (300, 64, 50, "fail"),
        (None, 2, 0.5, "reported"),
    ],
)
def test_rates_are_judged_by_the_product_and_the_number_of_nodes(known: float | None, nodes: int, rate: float, verdict: str) -> None:
    tested = [f"train-{number}" for number in range(nodes)]
    found = judge.storage(tested, answered(1e6, nodes), answered(rate, nodes), [expectation.Storage("/data", known)])
    assert [check.verdict.value for check in found if check.name == "storage read"] == [verdict]


def test_a_node_that_does_not_answer_fails() -> None:
    wrote, got = answered(100), answered(100)
    got["lines"].pop()
    got["error"] = "the step was not over after 50 s"
    found = judge.storage(["train-0", "train-1"], wrote, got, [expectation.Storage("/data", 300.0)])
    assert [(check.node, check.measured, check.verdict.value) for check in found if check.verdict.value == "fail"] == [("train-1", "no answer to read", "fail")]


def resolved() -> spec.ClusterSpec:
    one = spec.FileSystem("data", "lustre", "/data", protect=False, simulated=False, throughput_mbs=4800.0)
    home = spec.FileSystem("home", "nfs", "/home", protect=False, simulated=False)
    tools = spec.FileSystem("tools", "nfs", "/tools", protect=False, simulated=False, writable_by="root", throughput_mbs=100.0)
    return dataclasses.replace(clusters.resolved(), storage=(home, one, tools, dataclasses.replace(home, name="sets", kind="object", mount="/sets")))


def test_the_spec_s_throughput_reaches_the_judge_and_what_users_may_not_write_is_left_alone() -> None:
    expected = expectation.expect(json.loads(json.dumps(spec.acceptance_view(resolved()))))
    assert {one.path: (one.throughput_mbs, one.why_not) for one in expected.storage} == {
        "/home": (None, ""),
        "/data": (4800.0, ""),
        "/tools": (100.0, "root alone may write"),
        "/sets": (None, "an object store"),
    }
    simulated = dataclasses.replace(resolved(), storage=tuple(dataclasses.replace(one, simulated=True) for one in resolved().storage))
    assert "file_systems" not in spec.acceptance_view(simulated), "a folder of this machine is not the product"


def test_the_gate_has_storage() -> None:
    (check,) = judge.storage(["train-0"], {"lines": [], "error": "x"}, {"lines": [], "error": ""}, [expectation.Storage("/data")])
    assert (check.verdict.value, gate.apply([check], ["nodes"])[0].verdict.value) == ("fail", "warn")
