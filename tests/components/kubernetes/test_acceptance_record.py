"""How long a result of acceptance on Kubernetes holds."""

import dataclasses
from typing import Any

import pytest

from components.finish import inspection_results
from components.kubernetes.acceptance import Acceptance
from components.kubernetes.acceptance_jobs import AcceptanceInputs
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
