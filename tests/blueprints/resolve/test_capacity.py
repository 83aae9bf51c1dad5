"""Capacity and placement of nodes."""

from typing import Any

import pytest

from blueprints import spec
from blueprints.codes import Code
from tests.blueprints.resolve import asked

RESERVED = {"kind": "reserved", "id": "cr-0123456789abcdef0"}


@pytest.mark.parametrize(
    ("target", "capacity", "bought", "codes"),
    [
        ("aws", "on-demand", spec.Capacity(spec.CapacityKind.ON_DEMAND), set()),
        ("aws", RESERVED, spec.Capacity(spec.CapacityKind.RESERVED, "cr-0123456789abcdef0"), set()),
        ("gcp", {"kind": "flex", "max_run": "1-00:00:00"}, spec.Capacity(spec.CapacityKind.FLEX, None, "1-00:00:00"), set()),
        ("aws", "flex", spec.Capacity(spec.CapacityKind.FLEX), {("error", Code.CAPACITY_NOT_SOLD)}),
        ("metal", "on-demand", spec.Capacity(spec.CapacityKind.OWNED), set()),
        ("metal", "spot", spec.Capacity(spec.CapacityKind.OWNED), {("note", Code.CAPACITY_IGNORED)}),
        ("local", "on-demand", spec.Capacity(spec.CapacityKind.OWNED), set()),
        ("local", RESERVED, spec.Capacity(spec.CapacityKind.OWNED), {("note", Code.CAPACITY_IGNORED)}),
    ],
)
def test_how_nodes_are_bought(target: str, capacity: Any, bought: spec.Capacity, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": {**asked.TRAIN, "capacity": capacity}}, target=target)
    assert attempted.spec.node_sets[0].capacity == bought
    assert asked.found(attempted) == codes


def test_a_finding_points_to_the_kind_in_either_form() -> None:
    for capacity in ("flex", {"kind": "flex"}):
        attempted = asked.attempt({"train": {**asked.TRAIN, "capacity": capacity}})
        assert asked.where(attempted, Code.CAPACITY_NOT_SOLD) == ("flex",)


@pytest.mark.parametrize(
    ("target", "pool", "placement", "codes"),
    [
        ("aws", {}, "packed", set()),
        ("aws", {"capacity": "spot"}, "packed", set()),
        ("aws", {"capacity": RESERVED}, "given", set()),
        ("aws", {"capacity": {"kind": "block", "id": "cr-1"}}, "given", set()),
        ("aws", {"fabric": "none"}, "none", set()),
        ("aws", {"nodes": 1}, "none", set()),
        ("aws", {"placement": "none"}, "none", set()),
        ("aws", {"placement": "spread"}, "spread", set()),
        ("aws", {"placement": "packed", "fabric": "none"}, "packed", set()),
        ("aws", {"placement": "packed", "capacity": RESERVED}, "given", {("error", Code.PLACEMENT_GIVEN)}),
        ("gcp", {}, "packed", set()),
        # Of flex nodes only some machines share a group: what nobody asked for must not keep the others from starting.
        ("gcp", {"capacity": {"kind": "flex", "max_run": "1-00:00:00"}}, "none", set()),
        ("gcp", {"accelerator": "h200", "capacity": {"kind": "flex", "max_run": "1-00:00:00"}}, "packed", set()),
        ("metal", {}, "none", set()),
        ("metal", {"placement": "packed"}, "none", {("note", Code.PLACEMENT_GIVEN)}),
        ("local", {"placement": "auto"}, "none", set()),
    ],
)
def test_how_near_nodes_stand(target: str, pool: dict[str, Any], placement: str, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": {**asked.TRAIN, **pool}}, target=target)
    assert attempted.spec.node_sets[0].placement == placement
    assert asked.found(attempted) == codes
