"""The network between GPUs: there, missing, not wanted; and the interfaces that carry it."""

from collections import Counter
from typing import Any

import pytest

from blueprints.codes import Code
from tests.blueprints.resolve import asked

SLOW = {"machine": "g6.xlarge", "nodes": 2}


@pytest.mark.parametrize(
    ("target", "pool", "fabric", "codes"),
    [
        ("aws", asked.TRAIN, "efa", set()),
        ("aws", {**asked.TRAIN, "fabric": "required"}, "efa", set()),
        ("aws", {**asked.TRAIN, "fabric": "none"}, None, set()),
        ("aws", {**asked.TRAIN, "nodes": 1}, None, set()),
        ("aws", {**asked.TRAIN, "nodes": {"min": 0, "max": 1}}, None, set()),
        ("gcp", asked.TRAIN, "gcp-tcpxo", set()),
        ("metal", asked.TRAIN, "ib-ndr", set()),
        ("aws", SLOW, None, {("warning", Code.FABRIC_UNAVAILABLE)}),
        ("aws", {**SLOW, "fabric": "required"}, None, {("error", Code.FABRIC_UNAVAILABLE)}),
        ("aws", {**SLOW, "fabric": "none"}, None, set()),
        ("aws", {**SLOW, "nodes": 1, "fabric": "required"}, None, set()),
        ("aws", {"nodes": 4}, None, set()),  # nobody misses it without GPUs
        ("aws", {"nodes": 4, "fabric": "required"}, None, {("error", Code.FABRIC_UNAVAILABLE)}),
        ("local", {**asked.TRAIN, "fabric": "required"}, None, set()),  # a rehearsal says so itself
    ],
)
def test_the_fabric_of_a_pool(target: str, pool: dict[str, Any], fabric: str | None, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": pool}, target=target)
    (node_set,) = attempted.spec.node_sets
    assert (node_set.fabric.name if node_set.fabric else None) == fabric
    assert asked.found(attempted) == codes


@pytest.mark.parametrize(
    ("target", "nics", "gbps_per_gpu"),
    [("aws", 32, 400), ("gcp", 8, 200), ("metal", 8, 400)],
)
def test_what_a_gpu_gets_of_it(target: str, nics: int, gbps_per_gpu: float) -> None:
    fabric = asked.node_set({**asked.TRAIN, "fabric": "required"}, target=target).fabric
    assert fabric is not None
    assert (fabric.nics, fabric.gbps_per_gpu, fabric.required) == (nics, gbps_per_gpu, True)
    assert fabric.log_line
    assert fabric.expected is not None
    assert fabric.expected.nodes == 16
    assert 0 < fabric.expected.floor_gbs <= (fabric.expected.warn_gbs or fabric.expected.floor_gbs)


@pytest.mark.parametrize(
    ("target", "pool", "kinds", "addresses"),
    [
        ("aws", asked.TRAIN, {"ena": 1, "efa-only": 32}, 1),
        ("aws", {**asked.TRAIN, "fabric": "none"}, {"ena": 1}, 1),
        ("aws", {**asked.TRAIN, "nodes": 1}, {"ena": 1}, 1),
        ("aws", {"machine": "p6-b300.48xlarge", "nodes": 2}, {"ena": 1, "efa-only": 16}, 1),
        ("gcp", asked.TRAIN, {"gvnic": 9}, 9),
        ("gcp", {"machine": "a3-ultragpu-8g", "nodes": 2}, {"gvnic": 2, "mrdma": 8}, 10),
        ("metal", asked.TRAIN, {"ethernet": 1, "infiniband": 8}, 1),
        ("local", asked.TRAIN, {}, 0),
    ],
)
def test_the_interfaces_of_a_node(target: str, pool: dict[str, Any], kinds: dict[str, int], addresses: int) -> None:
    nics = asked.node_set(pool, target=target).hosts.machine.nics
    assert Counter(nic.kind for nic in nics) == kinds
    assert sum(nic.addresses for nic in nics) == addresses
    assert len({(nic.card, nic.device) for nic in nics}) == len(nics)


def test_an_expectation_says_on_how_many_nodes_it_was_measured() -> None:
    fabric = asked.node_set(asked.TRAIN).fabric
    assert fabric is not None
    assert fabric.expected is not None
    assert (fabric.expected.nodes, fabric.expected.measured_nodes) == (16, 2)
