"""How long a result of acceptance on Kubernetes holds, and which nodes of elastic pools are no fault."""

import dataclasses
from typing import Any

import pytest

from components.elastic.kubernetes.model import STOPPING
from components.finish import inspection_results
from components.kubernetes.acceptance import Acceptance, faults
from components.kubernetes.acceptance_jobs import AcceptanceInputs, PoolInputs
from components.provider import codec
from components.provider.servicer import difference

INPUTS = AcceptanceInputs("starter", "1.33.1", "{}", (), "/release", has_queues=True, proves={})
RECORDED: dict[str, Any] = {"ok": True, "checks": [{"name": "preemption"}], "seconds": 9.5, "began": "2026-11-22T20:00:00+00:00", "complete": True}


@pytest.mark.parametrize(
    ("moment", "outdated"), [("2026-11-22T19:00:00+00:00", ""), ("2026-11-22T21:00:00+00:00", "train-0 was repaired since")], ids=["before", "after"]
)
def test_it_is_outdated_once_a_host_was_repaired(moment: str, outdated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(inspection_results.VARIABLE, inspection_results.environment({"train-0": moment})[inspection_results.VARIABLE])
    found = Acceptance().read(INPUTS, RECORDED)
    assert found == {**{name: RECORDED[name] for name in ("ok", "checks", "seconds", "began")}, "outdated": outdated}
    inputs = codec.decode(codec.encode(dataclasses.asdict(INPUTS)))
    assert difference(Acceptance(), {**inputs, **RECORDED, **found}, inputs) == ({"outdated": False} if outdated else {})


def test_a_result_of_an_older_version_still_holds() -> None:
    recorded = Acceptance().upgrade(RECORDED)
    assert recorded == {**RECORDED, "outdated": ""}
    assert Acceptance().upgrade(recorded) is recorded


def ready(version: str = "v1.33.1", *, stopping: bool = False) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": version}, "allocatable": {"nvidia.com/gpu": "8"}}
    return {"metadata": {"annotations": {STOPPING: "outdated"} if stopping else {}}, "status": status}


@pytest.mark.parametrize(
    ("nodes", "busy", "expected"),
    [
        ({"train-0": ready()}, set(), {}),
        ({"train-0": ready("v1.32.9")}, {"train-0"}, {}),  # the autoscaler replaces it when it is idle
        ({"train-0": ready("v1.32.9")}, set(), {"train-0": "runs Kubernetes 1.32.9 instead of 1.33.1"}),  # and has not done so yet
        ({"train-0": ready("v1.32.9", stopping=True)}, set(), {"train-0": "is being stopped"}),
        ({}, set(), {"train-0": "is not there"}),
        ({"train-0": ready(), "train-1": ready("v1.32.9")}, set(), {}),
    ],
)
def test_an_elastic_node_of_an_older_version_is_waited_for_only_while_it_is_idle(nodes: dict[str, Any], busy: set[str], expected: dict[str, str]) -> None:
    pool = PoolInputs("train", ("train-0", "train-1"), gpus=8, always=1)
    got = faults(pool, nodes, version="1.33.1", busy=busy)
    assert {name: lack for name, lack in got.items() if name == "train-0"} == expected
    fixed = PoolInputs("train", ("train-0",), gpus=8, always=1)
    assert "train-0" in faults(fixed, {"train-0": ready("v1.32.9")}, version="1.33.1", busy={"train-0"})
