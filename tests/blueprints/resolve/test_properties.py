"""Resolving never fails, gives the same every time, and costs the same however many nodes there are."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprints import catalog, language, resolve, spec
from blueprints.facts import Facts

TARGETS = ("aws", "gcp", "metal", "local")
MACHINES = sorted(name for target in TARGETS for name in catalog.machines(target))
SIZES = st.sampled_from(["1 GiB", "1200 GiB", "14.4 TiB", "900 TiB", "900000 TiB"])
COUNTS = st.sampled_from([1, 2, 3, 18, 250, 7500, 50_000])
LABELS = st.dictionaries(st.sampled_from(["team", "example.org/part"]), st.sampled_from(["", "a"]), max_size=2)


def some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keys)


def ranges() -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({"min": st.sampled_from([0, 1, 10_000]), "max": COUNTS})


POOLS = some(
    accelerator=st.sampled_from([*catalog.accelerators(), "h10"]),
    gpus_per_node=st.sampled_from([1, 3, 4, 8, 16]),
    machine=st.sampled_from([*MACHINES, "p5"]),
    machines=st.lists(st.sampled_from([*MACHINES, "p5"]), max_size=3).map(tuple),
    capacity=st.sampled_from(["on-demand", "spot", "reserved", "block", "flex", {"kind": "reserved", "id": "cr-1"}]),
    fabric=st.sampled_from(["required", "preferred", "none"]),
    placement=st.sampled_from(["auto", "packed", "spread", "none"]),
    scratch=st.sampled_from([{}, {"size": "5 TiB"}, {"size": "900 TiB"}]),
    scheduler=st.sampled_from(["slurm", "kubernetes"]),
    mig=st.sampled_from([{}, {"1g.10gb": 7}]),
    labels=LABELS,
    image=st.just("ami-1"),
    cpus_per_node=st.sampled_from([1, 5, 4096]),
    memory=SIZES.filter(lambda text: text != "900000 TiB" and text != "900 TiB"),
)
STORAGE = st.fixed_dictionaries(
    {"kind": st.sampled_from(["lustre", "nfs", "block", "object", "existing"]), "mount": st.just("/data")},
    optional={
        "size": SIZES,
        "throughput": st.sampled_from(["125 MB/s/TiB", "1 MB/s/TiB", "500 MB/s/TiB"]),
        "durability": st.sampled_from(["persistent", "scratch"]),
        "encrypted": st.booleans(),
    },
)
NETWORKS = some(
    cidr=st.sampled_from(["10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/24", "10.0.0.0/32", "8.0.0.0/8", "0.0.0.0/0", "255.255.255.255/32"]),
    region=st.sampled_from(["us-east-1", "us-central1", "nowhere"]),
    zones=st.lists(st.sampled_from(["us-east-1a", "us-central1-a", "nowhere"]), max_size=2).map(tuple),
    existing=st.just("vpc-1"),
    subnets=st.lists(st.sampled_from(["subnet-1", "subnet-2"]), max_size=5).map(tuple),
    egress=st.sampled_from(["nat", "none"]),
)
BLUEPRINTS = st.fixed_dictionaries(
    {
        "name": st.just("tiny"),
        "pools": st.dictionaries(st.sampled_from("abc"), st.tuples(POOLS, COUNTS | ranges()), min_size=1),
    },
    optional={
        "scheduler": st.sampled_from(["slurm", "kubernetes", "both"]),
        "software": st.sampled_from([*catalog.profile_names(), "nothing"]),
        "control": some(
            size=st.sampled_from(["auto", "small", "large"]),
            machine=st.sampled_from([*MACHINES, "p5"]),
            highly_available=st.booleans(),
            managed=st.sampled_from([False, True, "pcs", "hyperpod", "cluster_director", "eks", "gke"]),
        ),
        "access": some(login_nodes=st.sampled_from([0, 1, 32]), machine=st.sampled_from([*MACHINES, "p5"]), load_balancer=st.booleans()),
        "accounting": some(database=st.sampled_from(["embedded", "managed"])),
        "network": NETWORKS,
        "storage": st.dictionaries(st.sampled_from("xy"), STORAGE),
    },
)


def parsed(given: dict[str, Any]) -> language.Blueprint:
    pools = {name: {**pool, "nodes": nodes} for name, (pool, nodes) in given["pools"].items()}
    return language.Blueprint.model_validate({**given, "pools": pools})


def resolved(blueprint: language.Blueprint, target: str, facts: Facts) -> str:
    attempted = resolve.attempt(blueprint, target=target, stack="test", facts=facts, where=lambda *_: None)
    for one in attempted.findings:
        assert one.what
        assert one.why
        assert one.remedy
        assert not {one.what[-1], one.why[-1], one.remedy[-1]} & set(". \n")
    return json.dumps([spec.as_record(attempted.spec), [str(one) for one in attempted.findings]], allow_nan=False)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(BLUEPRINTS, st.sampled_from([*TARGETS, "nowhere"]), st.sampled_from([1, 500, 24_000, 8 * 1024 * 1024]))
def test_whatever_parses_resolves_to_a_spec_and_twice_to_the_same(given: dict[str, Any], target: str, memory_mib: int) -> None:
    blueprint, facts = parsed(given), Facts(sockets=2, cores_per_socket=3, threads_per_core=2, memory_mib=memory_mib)
    assert resolved(blueprint, target, facts) == resolved(blueprint, target, facts)


def large(nodes: int) -> language.Blueprint:
    pools = {f"p{number}": {"accelerator": "h100", "gpus_per_node": 8, "nodes": nodes} for number in range(16)}
    return language.Blueprint.model_validate({"name": "large", "pools": pools})


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_grows_with_the_number_of_nodes(target: str) -> None:
    facts = Facts(sockets=1, cores_per_socket=2, threads_per_core=1, memory_mib=512 * 1024)
    sizes, memory = [], []
    for nodes in (2, 470, 470, 2):
        blueprint = large(nodes)
        tracemalloc.start()
        text = resolved(blueprint, target, facts)
        memory.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        sizes.append(len(text))
    assert sizes[1] < 1.02 * sizes[0]
    assert memory[2] < 1.1 * memory[3] + 20_000  # the first two filled the catalogue's caches
