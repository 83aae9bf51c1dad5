"""Every rate that a plan, a report or a page names is judged by acceptance, or is a fact that nobody calls a floor."""

import dataclasses
import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from blueprints import spec
from tests.blueprints import hand_made

expectation = importlib.import_module("acceptance.expectation")
judge_collectives = importlib.import_module("acceptance.judge_collectives")
judge_storage = importlib.import_module("acceptance.judge_storage")
judge_rails = importlib.import_module("acceptance.judge_rails")
nccl_tests = importlib.import_module("acceptance.nccl_tests")

UNITS = ("_gbs", "_mbs", "_gbps", "_mbs_per_tib", "gbps_per_gpu")
FACTS = {
    "Hardware.network_gbps": "what the machine is sold with; a catalogue column",
    "Fabric.gbps_per_gpu": "what the interfaces add up to; beside it the plan shows the floor of the collective",
    "FileSystem.throughput_mbs_per_tib": "what is ordered; throughput_mbs is what follows of it, and is judged",
}
"""Rates that no text calls a floor → what they are."""
SPECS = Path(__file__).parents[1] / "blueprints/specs"


def rates() -> set[str]:
    classes = [one for one in vars(spec).values() if inspect.isclass(one) and dataclasses.is_dataclass(one)]
    return {f"{one.__name__}.{field.name}" for one in classes for field in dataclasses.fields(one) if field.name.endswith(UNITS)}


def with_pool(**changed: Any) -> dict[str, Any]:
    """Give what acceptance gets of a cluster with a pool of two p5, one figure, a file system and rails."""
    figure = spec.Expectation("all_reduce", 1 << 30, 2, typical_gbs=200, warn_gbs=150, floor_gbs=100, provisional=False, source="x")
    figure = dataclasses.replace(figure, **{name: value for name, value in changed.items() if hasattr(figure, name)})
    base = hand_made.aws()
    pools = tuple(dataclasses.replace(one, collectives=(figure,), hosts=dataclasses.replace(one.hosts, count=2)) for one in base.node_sets[:1])
    data = spec.FileSystem("data", "lustre", "/data", protect=False, simulated=False, throughput_mbs=changed.get("throughput_mbs", 400.0))
    cluster = dataclasses.replace(hand_made.replaced(base, node_sets=pools), storage=(data,))
    return dict(json.loads(json.dumps(spec.acceptance_view(cluster))))


def busbw(measured_gbs: float, **changed: Any) -> tuple[str, str]:
    """Give the verdict on a measured rate, and all that the check says."""
    one = expectation.expect(with_pool(**changed)).node_sets[0]
    wanted = judge_collectives.wanted(one, 2)
    output = nccl_tests.Output((), (nccl_tests.Row(1 << 30, measured_gbs, 0),), 0, {}, False)
    (check,) = [found for found in judge_collectives.judge(one, judge_collectives.Run(one.nodes, wanted, output, "")) if found.name == "collective busbw"]
    return check.verdict.value, f"{check.expected}; {check.detail}"


def storage_read(measured_mbs: float, **changed: Any) -> str:
    expected = expectation.expect(with_pool(**changed))
    each = {"bytes": int(measured_mbs * 5e5), "seconds": 1.0, "files": 1, "files_seconds": 1.0, "wrong": 0, "of": "x"}
    outcome = {"lines": [{"node": node, "places": {"/data": each}} for node in ("a", "b")], "error": ""}
    (check,) = [one for one in judge_storage.storage(["a", "b"], outcome, outcome, expected.storage) if one.name == "storage read"]
    return str(check.verdict.value)


def rail_speed(seen_gbps: float, wanted_gbps: float) -> list[str]:
    rail = expectation.Rail("rail0", "", "10.0.0.1/24", 0, wanted_gbps)
    one = dataclasses.replace(expectation.expect(with_pool()).node_sets[0], rails={"train-0": (rail,)})
    seen = {"interface": "rail0", "mtu": 1500, "up": True, "addresses": ["10.0.0.1/24"], "gbps": seen_gbps}
    checks = judge_rails.rails(one, ["train-0"], {"lines": [{"node": "train-0", "rails": {"rail0": seen}}], "error": ""})
    return [check.verdict.value for check in checks if check.name == "rail speed"]


JUDGED: Mapping[str, Callable[[], tuple[object, object]]] = {
    # field → the same measurement, judged by two figures
    "Expectation.floor_gbs": lambda: (busbw(90, floor_gbs=80)[0], busbw(90, floor_gbs=100)[0]),
    "Expectation.warn_gbs": lambda: (busbw(120, warn_gbs=110)[0], busbw(120, warn_gbs=150)[0]),
    "Expectation.lowered_from_gbs": lambda: (busbw(90, lowered_from_gbs=120)[1], busbw(90, lowered_from_gbs=None)[1]),
    "Expectation.measured_nodes": lambda: (busbw(90, measured_nodes=1)[1], busbw(90, measured_nodes=2)[1]),
    "Expectation.typical_gbs": lambda: (busbw(90, typical_gbs=200)[1], busbw(90, typical_gbs=900)[1]),
    "FileSystem.throughput_mbs": lambda: (storage_read(60, throughput_mbs=100.0), storage_read(60, throughput_mbs=400.0)),
    "Machine.network_gbps": lambda: (rail_speed(100, 100), rail_speed(100, 400)),
}


def test_every_rate_of_the_spec_is_judged_or_is_no_floor() -> None:
    assert rates() | {"Expectation.measured_nodes"} == {*JUDGED, *FACTS}


@pytest.mark.parametrize("field", JUDGED)
def test_another_figure_is_another_verdict(field: str) -> None:
    one, other = JUDGED[field]()
    assert one
    assert one != other


@pytest.mark.parametrize("measured_gbs", [90, 120, 180])
def test_a_verdict_says_that_its_figure_is_extrapolated(measured_gbs: float) -> None:
    assert "the figure for 2 nodes is extrapolated from 1" in busbw(measured_gbs, measured_nodes=1)[1]
    for as_measured in (2, 4, None):
        assert "extrapolated" not in busbw(measured_gbs, measured_nodes=as_measured)[1]
        (figure,) = with_pool(measured_nodes=as_measured)["fabrics"]["train"]["collectives"]
        assert "measured_nodes" not in figure, "what stacks recorded before stays the same"


def test_the_floors_that_plans_show_are_those_that_acceptance_judges() -> None:
    shown = 0
    for path in sorted(SPECS.glob("*.json")):
        cluster = spec.from_record(json.loads(path.read_text()))
        if cluster.slurm is None:
            continue
        judged = spec.acceptance_view(cluster).get("fabrics", {})
        for node_set in cluster.slurm.node_sets:
            if node_set.fabric and (figure := node_set.fabric.expected):
                of_pool = judged[node_set.hosts.name]["collectives"]
                wanted = {name: getattr(figure, name) for name in ("collective", "size_bytes", "nodes", "floor_gbs", "warn_gbs")}
                assert any(wanted.items() <= one.items() for one in of_pool), (path.name, node_set.hosts.name)
                shown += 1
    assert shown > 5
