"""DCGM's diagnostic in acceptance: a GPU that it calls unfit fails its node with DCGM's words, a setting warns, and a tool that fails says nothing of the node.

Documents below `dcgm`: level 2 of a GB10 with driver 580.82.09 and DCGM 4.5.2, and with 4.2.3, which leaves out two tests there (github.com/baldwinSPC/glimmer-burnin, runners/dcgm-diag/testdata,
captured 2026-08-17, read 2026-11-27). All others come from the stand-in, whose form is compared with them.
"""

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from tests.playbooks import clusters, templates

dcgm = importlib.import_module("acceptance.dcgm")
steps = importlib.import_module("acceptance.steps")
judge = importlib.import_module("acceptance.judge_diagnostics")
expectation = importlib.import_module("acceptance.expectation")
allocation = importlib.import_module("acceptance.allocation")
gate = importlib.import_module("acceptance.gate")

FILES = templates.PLAYBOOKS / "roles/acceptance/files/acceptance"
RECORDED = Path(__file__).parent / "dcgm"
NODES = ("train-0", "train-1")
GPUS = 8
PASSED = {1: "software", 2: "software, memory, pcie", 3: "software, memory, diagnostic, pcie, targeted_stress, targeted_power"}
"""Level → tests that the stand-in for dcgmi runs."""


def node_set(level: int = 1, gpus: int = GPUS) -> Any:
    on = clusters.machine(gpus=gpus)
    return expectation.expect({**clusters.cluster(clusters.node_set(on=on)), "diagnostics": {"train": level}}).node_sets[0]


def stand_in(folder: Path, described: Mapping[str, Any] | None) -> str:
    """Give the stand-in's text for a node whose description and device files lie in a folder."""
    text = (FILES / "simulated_dcgmi.py").read_text()
    dev = folder / "dev"
    dev.mkdir(parents=True, exist_ok=True)
    for number in range(GPUS):
        (dev / f"nvidia{number}").touch()
    if described is not None:
        (folder / "fabric.json").write_text(json.dumps(described))
    for place, other in (("/etc/clusterwright/simulated-fabric.json", folder / "fabric.json"), ("/dev", dev)):
        assert f'"{place}"' in text
        text = text.replace(f'"{place}"', f'"{other}"')
    return text


def step(folder: Path, level: int, described: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    """Run the probe on each node as a job step does, and give what the step gives."""
    said = ""
    for rank, (node, description) in enumerate(described.items()):
        task = {"level": level, "limit_s": 20, "simulated": stand_in(folder / node, description)}
        environment = {**os.environ, "SLURMD_NODENAME": node, "SLURM_PROCID": str(rank)}
        command = [sys.executable, "-c", (FILES / "dcgm.py").read_text(), json.dumps(task)]
        said += subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return {"lines": steps.json_lines(said), "error": ""}


def judged(outcome: Mapping[str, Any], level: int = 1, gpus: int = GPUS) -> list[tuple[str, str, str]]:
    return [(check.node, check.measured, check.verdict.value) for check in judge.diagnostics(node_set(level, gpus), NODES, outcome)]


def fault(test: str, gpu: int, severity: int, words: str) -> dict[str, Any]:
    return {"test": test, "gpu": gpu, "severity": severity, "category": 10, "id": 5, "words": words}


HEALTHY: dict[str, Any] = {"faults": {}}
MEMORY = "GPU 3 has 1 volatile DBEs. Drain and reset the GPU."
FAULTS: dict[str, tuple[int, dict[str, Any] | None, tuple[str, str]]] = {
    # what is wrong with train-1 → level, description, what is measured and the verdict
    "a GPU to isolate": (2, {"faults": {"dcgm": [fault("memory", 3, 2, MEMORY)]}}, (f"memory of GPU 3: {MEMORY.rstrip('.')}", "fail")),
    "a GPU to reset": (1, {"faults": {"dcgm": [fault("software", 0, 6, "pending row remap")]}}, ("software of GPU 0: pending row remap", "fail")),
    "a severity that nobody knows": (1, {"faults": {"dcgm": [fault("software", 1, 99, "new")]}}, ("software of GPU 1: new", "fail")),
    "a GPU that can not hold its power, found by level 3 alone": (
        3,
        {"faults": {"dcgm": [fault("targeted_power", 5, 2, "GPU 5 reached 380.0 watts of 700.0")]}},
        ("targeted_power of GPU 5: GPU 5 reached 380.0 watts of 700.0", "fail"),
    ),
    "a GPU to watch": (1, {"faults": {"dcgm": [fault("software", 2, 1, "SBEs")]}}, ("software of GPU 2: SBEs", "warn")),
    "a setting": (
        1,
        {"faults": {"dcgm": [fault("software", gpu, 5, "off") for gpu in range(GPUS)]}},
        ("software of GPU 0: off; software of GPU 1: off; software of GPU 2: off; and 5 more", "warn"),
    ),
    "a setting beside a broken GPU": (
        2,
        {"faults": {"dcgm": [fault("software", 0, 5, "off"), fault("pcie", 7, 2, "replays")]}},
        ("pcie of GPU 7: replays", "fail"),
    ),
    "a broken GPU behind more settings than are told": (
        2,
        {"faults": {"dcgm": [*(fault("software", number % GPUS, 5, "off") for number in range(3 * GPUS)), fault("pcie", 7, 2, "replays")]}},
        ("pcie of GPU 7: replays", "fail"),
    ),
    "a missing GPU": (1, {"faults": {"dcgm_gpus": 7}}, ("DCGM knows 7 of 8 GPUs", "fail")),
    "an engine that does not run": (1, {"faults": {"dcgm_engine": False}}, ("not judged", "warn")),
    "a program that fails": (1, None, ("not judged", "warn")),
}


@pytest.mark.parametrize("case", FAULTS)
def test_what_dcgm_says_of_a_node_is_judged_with_its_words_and_its_neighbour_passes(tmp_path: Path, case: str) -> None:
    level, described, found = FAULTS[case]
    outcome = step(tmp_path, level, {"train-0": HEALTHY, "train-1": described})
    passed = f"passed: {PASSED[level]}"
    assert judged(outcome, level) == [("train-0", passed, "pass"), ("train-1", *found)]


def test_a_fault_that_the_level_does_not_look_for_is_not_found(tmp_path: Path) -> None:
    described = {"faults": {"dcgm": [fault("memory", 3, 2, MEMORY)]}}
    outcome = step(tmp_path, 1, dict.fromkeys(NODES, described))
    assert judged(outcome) == [("train-[0-1]", "passed: software", "pass")]


def test_the_stand_in_is_called_simulated(tmp_path: Path) -> None:
    (check,) = judge.diagnostics(node_set(), NODES, step(tmp_path, 1, dict.fromkeys(NODES, HEALTHY)))
    assert "no GPU was tested" in check.detail
    assert check.detail.startswith("simulated:")


def test_a_node_that_gives_no_answer_is_not_judged() -> None:
    outcome = {"lines": [{"node": "train-0", **recorded("gb10-level2-4.5.2.json")}], "error": "slurmstepd: error"}
    assert judged(outcome, 2, gpus=1)[1] == ("train-1", "not judged", "warn")


def recorded(name: str) -> dict[str, Any]:
    return dict(dcgm.read((RECORDED / name).read_text()))


PERSISTENCE = (
    'software of GPU 0: Persistence Mode: Persistence mode for GPU 0 is disabled. Enable persistence mode by running "nvidia-smi -i <gpuId> -pm 1 " as root'
)


def test_documents_of_a_real_gpu_are_read() -> None:
    ran, skipped = recorded("gb10-level2-4.5.2.json"), recorded("gb10-level2-4.2.3.json")
    assert (ran["version"], ran["gpus"], ran["tests"]) == ("4.5.2", 1, {"software": {"fail": 1}, "memory": {"pass": 1}, "pcie": {"pass": 1}})
    assert (skipped["version"], skipped["tests"]) == ("4.2.3", {"software": {"fail": 1}, "memory": {"skip": 1}, "pcie": {"skip": 1}})
    outcome = {"lines": [{"node": name, **ran} for name in NODES], "error": ""}
    assert judged(outcome, 2, gpus=1) == [("train-[0-1]", PERSISTENCE, "warn")], "a setting of the host is no broken GPU"


def document(name: str) -> dict[str, Any]:
    return dict(json.loads((RECORDED / name).read_text()))


def test_tests_that_dcgm_leaves_out_are_no_pass() -> None:
    whole = document("gb10-level2-4.2.3.json")
    software = whole["DCGM Diagnostic"]["test_categories"].pop(0)
    line = dcgm.read(json.dumps(whole))
    assert judged({"lines": [{"node": name, **line} for name in NODES], "error": ""}, 2, gpus=1) == [
        ("train-[0-1]", "nothing was tested; left out by DCGM: memory, pcie", "warn")
    ]
    del software["tests"][0]["results"][0]["warnings"]
    software["tests"][0]["results"][0]["status"] = software["tests"][0]["test_summary"]["status"] = "Pass"
    whole["DCGM Diagnostic"]["test_categories"].append(software)
    line = dcgm.read(json.dumps(whole))
    assert judged({"lines": [{"node": name, **line} for name in NODES], "error": ""}, 2, gpus=1) == [
        ("train-[0-1]", "passed: software; left out by DCGM: memory, pcie", "pass")
    ]


def test_an_error_that_only_a_summary_has_is_of_the_node() -> None:
    whole = document("gb10-level2-4.5.2.json")
    memory = whole["DCGM Diagnostic"]["test_categories"][1]["tests"][0]
    memory["test_summary"] = {"status": "Fail", "warnings": [{"error_category": 8, "error_id": 1, "error_severity": 2, "warning": "a plugin failed"}]}
    line = dcgm.read(json.dumps(whole))
    assert judged({"lines": [{"node": name, **line} for name in NODES], "error": ""}, 2, gpus=1) == [
        ("train-[0-1]", "memory of the node: a plugin failed", "fail")
    ]


def test_an_error_that_only_a_summary_has_counts_beside_the_settings_of_gpus() -> None:
    whole = document("gb10-level2-4.5.2.json")
    software = whole["DCGM Diagnostic"]["test_categories"][0]["tests"][0]
    software["test_summary"]["warnings"].append({"error_category": 8, "error_id": 1, "error_severity": 2, "warning": "a plugin failed"})
    line = dcgm.read(json.dumps(whole))
    assert [one["where"] for one in line["faults"]] == ["the node", "GPU 0"], "what the summary repeats is told once"
    assert line["tests"]["software"] == {"fail": 1}
    assert judged({"lines": [{"node": name, **line} for name in NODES], "error": ""}, 2, gpus=1) == [
        ("train-[0-1]", "software of the node: a plugin failed", "fail")
    ]


@pytest.mark.parametrize(
    "printed", ["", "Error: setup failed", "{}", '{"DCGM Diagnostic": {}}', '{"DCGM Diagnostic": {"test_categories": [{"tests": "none"}]}}']
)
def test_what_is_in_no_known_form_tells_nothing_of_the_node(printed: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        dcgm.read(printed)


def test_a_tool_that_is_missing_or_hangs_tells_nothing_of_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert dcgm.diagnosed(1, 5, "") == {"error": "dcgmi is not installed"}
    (tmp_path / "dcgmi").write_text(f"#!{sys.executable}\nimport signal; signal.pause()\n")
    (tmp_path / "dcgmi").chmod(0o755)
    assert dcgm.diagnosed(1, 0.3, "") == {"error": "dcgmi gave no answer within 0.3 s"}


def test_the_stand_in_has_the_form_and_the_status_of_the_real_one(tmp_path: Path) -> None:
    def run(described: Mapping[str, Any], *words: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, "-c", stand_in(tmp_path, described), *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    setting = {"faults": {"dcgm": [{"test": "software", "gpu": 0, "severity": 5, "category": 8, "id": 29, "words": "off"}]}}
    status, printed = run(setting, "diag", "-r", "2", "-j")
    assert status == 226, "as the GB10 with a setting that DCGM dislikes"
    assert shape(json.loads(printed)) <= shape(document("gb10-level2-4.5.2.json"))
    assert run({"faults": {"dcgm": [fault("memory", 0, 2, "")]}}, "diag", "--run", "2", "--json")[0] == 205
    assert run(HEALTHY, "diag", "--run", "medium", "--json")[0] == 0
    for words in (("diag", "--run", "2"), ("diag", "--json"), ("diag", "--run", "2", "--json", "--quietly"), ("health",)):
        assert run(HEALTHY, *words) == (1, ""), f"the stand-in is strict: {words}"


def shape(value: Any, place: str = "") -> set[tuple[str, str]]:
    """Name each place of a document with the type of what is there."""
    if isinstance(value, dict):
        return {found for name, inner in value.items() for found in shape(inner, f"{place}/{name}")}
    if isinstance(value, list):
        return {found for inner in value for found in shape(inner, f"{place}[]")}
    return {(place, type(value).__name__)}


def test_nodes_without_dcgm_are_not_asked_and_jobs_are_as_long_as_their_diagnostic(tmp_path: Path) -> None:
    assert judge.diagnostics(node_set(0), NODES, {"lines": [], "error": ""}) == []
    assert {allocation.limit_min(node_set(level)) for level in (0, 1, 2, 3)} == {10, 12, 22, 28}
    assert judge.LIMIT_S[3] + 300 < templates.value("acceptance_deadline_s", role="acceptance"), "the whole of acceptance ends within its own limit"


def test_the_gate_has_it_among_the_gpus(tmp_path: Path) -> None:
    broken = {"faults": {"dcgm": [fault("software", 3, 2, MEMORY)]}}
    checks = judge.diagnostics(node_set(), NODES, step(tmp_path, 1, dict.fromkeys(NODES, broken)))
    assert [check.verdict.value for check in gate.apply(checks, ("nodes", "gpus"))] == ["fail"]
    assert [check.verdict.value for check in gate.apply(checks, ("nodes", "jobs"))] == ["warn"]


@pytest.mark.parametrize(
    ("check", "software", "simulated", "level"),
    [
        ("basic", {}, False, {"train": 1}),
        ("full", {}, False, {"train": 2}),
        ("none", {}, False, None),
        ("full", {}, True, None),
        ("full", {"versions": ()}, False, None),
        ("full", {"origins": ()}, False, None),
        ("full", {"origins": (("nvidia_archive_key", "A" * 40), ("nvidia_archive_simulated", "yes"))}, False, None),
    ],
)
def test_acceptance_asks_dcgm_where_the_profile_installs_it_as_deep_as_the_pool_is_checked(
    check: str, software: dict[str, Any], simulated: bool, level: dict[str, int] | None
) -> None:
    pool = dataclasses.replace(clusters.node_set(on=clusters.machine(simulated=simulated)), health_check=check)
    cluster = clusters.resolved(pool)
    installed = {"versions": (("dcgm", "4.5.1"),), "origins": (("nvidia_archive_key", "A" * 40),), **software}
    cluster = dataclasses.replace(cluster, software=dataclasses.replace(cluster.software, **installed))
    assert spec.acceptance_view(cluster).get("diagnostics") == level
    has_dcgm = not simulated and not software
    assert spec.acceptance_view(cluster, dcgm_level=3).get("diagnostics") == ({"train": 3} if has_dcgm else None), (
        "who asks gets it, also where pools have no checks"
    )
