"""Pools to node sets: several machines, minimum, partition, scheduler, features."""

from typing import Any

import pytest

from blueprints import language, spec
from blueprints.codes import Code
from blueprints.resolve import default_partition
from tests.blueprints.resolve import asked

TWO = ["p5en.48xlarge", "p5.48xlarge"]


def test_each_of_several_machines_is_a_node_set_of_its_own() -> None:
    first, second = asked.node_sets({"machines": TWO, "nodes": {"min": 2, "max": 16}, "capacity": "spot"})
    assert [node_set.hosts.machine.name for node_set in (first, second)] == TWO
    assert [(node_set.hosts.name, node_set.hosts.prefix) for node_set in (first, second)] == [("train-a", "train-a"), ("train-b", "train-b")]
    assert [node_set.hosts.count for node_set in (first, second)] == [16, 16]
    assert [(node_set.minimum, node_set.always) for node_set in (first, second)] == [(2, 2), (0, 0)]
    assert [node_set.weight for node_set in (first, second)] == [1, 2]
    assert first.partition == second.partition == spec.Partition("train", default=True, max_time="UNLIMITED")
    assert first.features == ("h200", "p5en.48xlarge")


def test_one_machine_keeps_the_name_of_the_pool() -> None:
    for pool in ({"machine": TWO[0]}, {"machines": TWO[:1]}):
        node_set = asked.node_set({**pool, "nodes": {"min": 0, "max": 4}, "capacity": "spot"})
        assert (node_set.hosts.name, node_set.hosts.prefix, node_set.weight, node_set.minimum) == ("train", "train", 1, 0)


@pytest.mark.parametrize(
    ("nodes", "codes"),
    [({"min": 0, "max": 4}, set()), (4, {("error", Code.MACHINES_NEED_RANGE)}), ({"min": 4, "max": 4}, {("error", Code.MACHINES_NEED_RANGE)})],
)
def test_several_machines_need_a_range(nodes: Any, codes: set[tuple[str, str]]) -> None:
    assert asked.found(asked.attempt({"train": {"machines": TWO, "nodes": nodes, "capacity": "spot"}})) == codes


def test_a_machine_named_twice_counts_once() -> None:
    attempted = asked.attempt({"train": {"machines": [TWO[0], TWO[1], TWO[0]], "nodes": {"min": 0, "max": 4}, "capacity": "spot"}})
    assert asked.found(attempted) == {("error", Code.MACHINE_CONTRADICTION)}
    assert len(attempted.spec.node_sets) == 2


@pytest.mark.parametrize(
    ("nodes", "target", "minimum", "is_elastic"),
    [(4, "aws", None, False), ({"min": 1, "max": 4}, "aws", 1, True), ({"min": 4, "max": 4}, "aws", None, False), ({"min": 0, "max": 4}, "metal", None, False)],
)
def test_the_nodes_that_always_stand(nodes: Any, target: str, minimum: int | None, is_elastic: bool) -> None:
    node_set = asked.node_set({**asked.TRAIN, "nodes": nodes}, target=target)
    assert (node_set.hosts.count, node_set.minimum, node_set.is_elastic) == (4, minimum, is_elastic)


def test_pools_that_can_not_grow_are_noted_once() -> None:
    pools = {name: {**asked.TRAIN, "nodes": {"min": 0, "max": 4}} for name in ("a", "b")}
    attempted = asked.attempt(pools, target="metal")
    assert [one.what for one in attempted.findings if one.code == Code.ELASTIC_IGNORED] == ["all nodes of a and b always run"]
    assert asked.found(asked.attempt(pools)) == set()


@pytest.mark.parametrize(
    ("scheduler", "asked_for", "owner", "codes"),
    [
        ("slurm", None, "slurm", set()),
        ("slurm", "slurm", "slurm", set()),
        ("slurm", "kubernetes", "slurm", {("error", Code.POOL_SCHEDULER)}),
        ("kubernetes", None, "kubernetes", set()),
        ("kubernetes", "slurm", "kubernetes", {("error", Code.POOL_SCHEDULER)}),
        ("both", None, "slurm", set()),
        ("both", "slurm", "slurm", set()),
        ("both", "kubernetes", "kubernetes", set()),
    ],
)
def test_who_has_the_nodes(scheduler: str, asked_for: str | None, owner: str, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": {"nodes": 1, **({"scheduler": asked_for} if asked_for else {})}}, scheduler=scheduler)
    (node_set,) = attempted.spec.node_sets
    assert node_set.scheduler == owner
    assert (node_set.partition is None) is (owner == "kubernetes")
    assert asked.found(attempted) == codes


def test_the_default_partition_is_one_of_slurm() -> None:
    text = {"name": "tiny", "scheduler": "both", "pools": {"serve": {"nodes": 1, "scheduler": "kubernetes"}, "train": {"nodes": 1}}}
    assert default_partition(language.Blueprint.model_validate(text)) == "train"


@pytest.mark.parametrize(
    ("target", "nodes", "said", "wanted"),
    [
        ("aws", 2, None, "drain"),
        ("aws", 2, "drain", "keep"),
        ("gcp", 2, "report", "report"),
        ("aws", 2, "replace", "replace"),
        ("local", 2, "drain", "drain"),
        ("local", {"min": 0, "max": 2}, "drain", "keep"),
        ("local", {"min": 0, "max": 2}, None, "drain"),
    ],
)
def test_a_node_that_is_otherwise_replaced_is_kept_where_somebody_says_drain(target: str, nodes: Any, said: str | None, wanted: str) -> None:
    node_set = asked.node_set({"nodes": nodes, "health": {"on_failure": said} if said else {}}, target=target)
    assert node_set.on_failure == wanted


def test_what_a_pool_says_is_in_its_node_set() -> None:
    node_set = asked.node_set(
        {
            **asked.TRAIN,
            "scratch": {"mount": "/fast", "size": "5 TiB"},
            "partition": {"max_time": "1-00:00:00", "priority": 7, "exclusive": True, "accounts": ["a"], "qos": ["high"]},
            "health": {"check": "full", "on_failure": "replace"},
            "labels": {"team": "vision", "example.org/fast": ""},
            "taints": [{"key": "gpu", "value": "yes", "effect": "NoExecute"}],
            "image": "ami-0123456789abcdef0",
        }
    )
    assert node_set.partition == spec.Partition("train", default=True, max_time="1-00:00:00", priority=7, exclusive=True, accounts=("a",), qos=("high",))
    assert (node_set.scratch_mount, node_set.health_check, node_set.on_failure) == ("/fast", "full", "replace")
    assert node_set.labels == (("team", "vision"), ("example.org/fast", ""))
    assert node_set.features == ("h100", "p5.48xlarge", "team=vision", "example.org/fast")
    assert node_set.taints == (spec.Taint("gpu", "yes", "NoExecute"),)
    assert node_set.image == "ami-0123456789abcdef0"


def test_an_image_that_nobody_names_is_built_later_where_hosts_are_made() -> None:
    images = {target: asked.node_set({"nodes": 1}, target=target).image for target in ("aws", "gcp", "metal", "local")}
    assert isinstance(images["aws"], spec.Late)
    assert isinstance(images["gcp"], spec.Late)
    assert images["metal"] is images["local"] is None


@pytest.mark.parametrize(
    ("target", "pool", "codes"),
    [
        ("aws", {"machine": "p5.48xlarge", "scratch": {}}, set()),
        ("aws", {"machine": "p5.48xlarge", "scratch": {"size": "27 TiB"}}, set()),
        ("aws", {"machine": "p5.48xlarge", "scratch": {"size": "28 TiB"}}, {("error", Code.SCRATCH_UNAVAILABLE)}),
        ("aws", {"machine": "m7i.large", "scratch": {}}, {("error", Code.SCRATCH_UNAVAILABLE)}),
        ("aws", {"machine": "m7i.large"}, set()),
        ("metal", {"machine": "hgx-h200", "scratch": {}}, set()),  # the site's disks are not known
    ],
)
def test_scratch_comes_with_the_machine(target: str, pool: dict[str, Any], codes: set[tuple[str, str]]) -> None:
    assert asked.found(asked.attempt({"train": {"nodes": 1, **pool}}, target=target)) == codes
