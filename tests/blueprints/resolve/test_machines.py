"""Which machine a pool gets, and what is said when there is none."""

from typing import Any

import pytest

from blueprints.codes import Code
from tests.blueprints.resolve import asked

ERROR = "error"


@pytest.mark.parametrize(
    ("target", "pool", "machine"),
    [
        # The fastest fabric, then the lowest price, then the catalogue's order.
        ("aws", {"accelerator": "h100", "gpus_per_node": 8, "nodes": 2}, "p5.48xlarge"),
        ("aws", {"accelerator": "h200", "gpus_per_node": 8, "nodes": 2}, "p5en.48xlarge"),
        ("aws", {"accelerator": "a100", "gpus_per_node": 8, "nodes": 2}, "p4d.24xlarge"),
        ("gcp", {"accelerator": "h100", "gpus_per_node": 8, "nodes": 2}, "a3-megagpu-8g"),
        ("metal", {"accelerator": "h100", "gpus_per_node": 8, "nodes": 2}, "dgx-h100"),
        # Nothing for a fabric: the price decides.
        ("gcp", {"accelerator": "h100", "gpus_per_node": 8, "nodes": 2, "fabric": "none"}, "a3-highgpu-8g"),
        ("gcp", {"accelerator": "h100", "gpus_per_node": 8, "nodes": 1}, "a3-highgpu-8g"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 1}, "g6.xlarge"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 4, "fabric": "none"}, "g6.xlarge"),
        # Only what is sold so: the machines of one GPU are spot or flex there.
        ("gcp", {"accelerator": "h100", "gpus_per_node": 1, "nodes": 1, "capacity": "spot"}, "a3-highgpu-1g"),
        # No price is known for a reservation: the one on demand compares them.
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 1, "capacity": {"kind": "reserved", "id": "cr-1"}}, "g6.xlarge"),
        # Scratch that comes with the machine, where it is asked for.
        ("gcp", {"accelerator": "a100", "gpus_per_node": 1, "nodes": 1, "scratch": {}}, "a2-ultragpu-1g"),
        # Without GPUs: the smallest usual one that is large enough.
        ("aws", {"nodes": 1}, "m7i.large"),
        ("aws", {"nodes": 1, "cpus_per_node": 4}, "m7i.xlarge"),
        ("aws", {"nodes": 1, "cpus_per_node": 5}, "m7i.2xlarge"),
        ("aws", {"nodes": 1, "memory": "33 GiB"}, "m7i.4xlarge"),
        ("gcp", {"nodes": 1, "cpus_per_node": 16}, "n2-standard-16"),
        # Named.
        ("aws", {"machine": "p5en.48xlarge", "nodes": 2}, "p5en.48xlarge"),
        ("aws", {"machine": "g5.48xlarge", "accelerator": "a10g", "gpus_per_node": 8, "nodes": 2}, "g5.48xlarge"),
        ("metal", {"machine": "dgx-h200", "nodes": 2}, "dgx-h200"),
        # Nobody knows the site's own hosts.
        ("metal", {"nodes": 1}, "site-host"),
    ],
)
def test_the_machine_of_a_pool(target: str, pool: dict[str, Any], machine: str) -> None:
    attempted = asked.attempt({"train": pool}, target=target)
    (node_set,) = attempted.spec.node_sets
    assert node_set.hosts.machine.name == machine
    assert node_set.chosen
    assert not [code for level, code in asked.found(attempted) if level == ERROR]


def test_the_reason_is_given_in_words() -> None:
    assert asked.node_set(asked.TRAIN, target="aws").chosen == "the only machine to be had with 8 h100 GPUs"
    assert asked.node_set(asked.TRAIN, target="gcp").chosen == "of 3 machines with 8 h100 GPUs: the fastest fabric (1600 Gb/s a node)"
    assert asked.node_set({**asked.TRAIN, "nodes": 1}, target="gcp").chosen.startswith("of 3 machines with 8 h100 GPUs: the lowest known price (USD ")
    assert asked.node_set({"machine": "p5.48xlarge", "nodes": 1}).chosen == "named in the blueprint"


def test_a_node_is_what_the_catalogue_says() -> None:
    machine = asked.node_set(asked.TRAIN).hosts.machine
    assert (machine.sockets, machine.cores_per_socket, machine.threads_per_core, machine.cpus) == (2, 48, 2, 192)
    assert (machine.memory_mib, machine.arch, machine.network_gbps, machine.exists) == (2048 * 1024, "x86_64", 3200, True)
    assert machine.gpus is not None
    assert (machine.gpus.type, machine.gpus.count, machine.gpus.memory_gib, machine.gpus.simulated) == ("h100", 8, 80, False)
    assert machine.scratch_gib > 28_000
    assert asked.node_set({"machine": "p6e-gb200.36xlarge", "nodes": 18, "capacity": "block"}).hosts.machine.domain_nodes == 18


def test_slices_are_of_each_gpu() -> None:
    gpus = asked.node_set({**asked.TRAIN, "mig": {"1g.10gb": 7}}).hosts.machine.gpus
    assert gpus is not None
    assert [(one.profile, one.per_gpu) for one in gpus.mig] == [("1g.10gb", 7)]


@pytest.mark.parametrize(
    ("target", "pool", "code", "place", "words"),
    [
        ("aws", {"accelerator": "gb300", "gpus_per_node": 4, "nodes": 1}, Code.MACHINE_MISSING, "gb300", "no machine of AWS has gb300 GPUs"),
        ("aws", {"accelerator": "h100", "gpus_per_node": 4, "nodes": 1}, Code.MACHINE_MISSING, "4", "there are machines with 1 and 8 of them"),
        (
            *("gcp", {"accelerator": "h100", "gpus_per_node": 1, "nodes": 1}, Code.MACHINE_MISSING, "h100"),
            "no machine with 1 h100 GPUs is sold as `on-demand` by Google Cloud",
        ),
        ("aws", {"accelerator": "h10", "gpus_per_node": 8, "nodes": 1}, Code.ACCELERATOR_UNKNOWN, "h10", "did you mean `h100`?"),
        ("aws", {"accelerator": "h100", "nodes": 1}, Code.GPU_COUNT_MISSING, "h100", "`gpus_per_node: …`"),
        ("aws", {"gpus_per_node": 8, "nodes": 1}, Code.GPU_COUNT_MISSING, "8", "`accelerator: …`"),
        ("aws", {"nodes": 1, "cpus_per_node": 4096}, Code.MACHINE_MISSING, "4096", "m7i.8xlarge, has 32 processors and 128 GiB"),
        ("aws", {"nodes": 1, "memory": "4 TiB"}, Code.MACHINE_MISSING, "4 TiB", "`targets.aws.pools.train.machine`"),
        ("aws", {"machine": "p5.48xlarg", "nodes": 1}, Code.MACHINE_UNKNOWN, "p5.48xlarg", "did you mean `p5.48xlarge`?"),
        (
            *("gcp", {"machine": "p5.48xlarge", "nodes": 1}, Code.MACHINE_UNKNOWN, "p5.48xlarge"),
            "write it as `targets.aws.pools.train.machine`, and here an accelerator or `targets.gcp.pools.train.machine`",
        ),
        ("metal", {"machine": "a3-megagpu-8g", "nodes": 1}, Code.MACHINE_UNKNOWN, "a3-megagpu-8g", "`targets.gcp.pools.train.machine`"),
        ("aws", {"machine": "p5.48xlarge", "accelerator": "h200", "nodes": 1}, Code.MACHINE_CONTRADICTION, "h200", "it has 8 h100"),
        ("aws", {"machine": "p5.48xlarge", "gpus_per_node": 4, "nodes": 1}, Code.MACHINE_CONTRADICTION, "4", "it has 8 h100"),
        ("aws", {"machine": "m7i.large", "gpus_per_node": 1, "nodes": 1}, Code.MACHINE_CONTRADICTION, "1", "it has no GPUs"),
        ("gcp", {"machine": "a4x-highgpu-4g", "nodes": 1}, Code.MACHINE_NOT_SOLD, "a4x-highgpu-4g", "Google Cloud sells it as `reserved`"),
    ],
)
def test_what_can_not_be_had_is_an_error_that_says_why(target: str, pool: dict[str, Any], code: Code, place: str, words: str) -> None:
    attempted = asked.attempt({"train": pool}, target=target)
    assert asked.found(attempted) - {("error", Code.ARCHITECTURES_MIXED)} == {(ERROR, code)}
    assert asked.where(attempted, code) == (place,)
    assert any(words in f"{one.what}. {one.why}. {one.remedy}" for one in attempted.findings if one.code == code)


def test_machine_and_machines_contradict_each_other() -> None:
    attempted = asked.attempt({"train": {"machine": "p5.48xlarge", "machines": ["p5.48xlarge"], "nodes": 1}})
    assert asked.found(attempted) == {(ERROR, Code.MACHINE_CONTRADICTION)}


@pytest.mark.parametrize(
    ("region", "pool", "codes"),
    [
        ("eu-north-1", {**asked.TRAIN}, set()),
        ("eu-west-1", {**asked.TRAIN}, {(ERROR, Code.MACHINE_MISSING)}),
        ("eu-north-1", {"machine": "p5.48xlarge", "nodes": 1}, set()),
        ("eu-west-1", {"machine": "p5.48xlarge", "nodes": 1}, {(ERROR, Code.MACHINE_NOT_SOLD)}),
        # Where it is offered is not known, so it counts as offered.
        ("eu-west-1", {"machine": "p6e-gb200.36xlarge", "nodes": 18, "capacity": "block"}, set()),
        # Nobody knows the region: everything counts as offered there.
        ("xx-west-1", {**asked.TRAIN}, {("warning", Code.REGION_UNKNOWN)}),
    ],
)
def test_a_machine_is_to_be_had_in_the_region(region: str, pool: dict[str, Any], codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": pool}, network={"region": region}, access={"login_nodes": 0}, control={"managed": True})
    found = asked.found(attempted)
    machines = {one for one in found if one[1] in (Code.MACHINE_MISSING, Code.MACHINE_NOT_SOLD, Code.REGION_UNKNOWN)}
    assert machines == codes


def test_a_region_without_the_machine_is_answered_with_those_that_have_it() -> None:
    attempted = asked.attempt({"train": asked.TRAIN}, network={"region": "eu-west-1"})
    (only,) = [one for one in attempted.findings if one.code == Code.MACHINE_MISSING]
    assert only.what == "no machine with 8 h100 GPUs is offered in eu-west-1"
    assert "eu-north-1" in only.why
    assert attempted.spec.node_sets[0].hosts.machine.name == "p5.48xlarge"  # the rest is checked with it


def test_own_hosts_are_to_be_had_in_the_region_too() -> None:
    attempted = asked.attempt(network={"region": "us-west-2"}, control={"machine": "p5e.48xlarge"})
    assert asked.found(attempted) == set()
    attempted = asked.attempt(network={"region": "us-west-1"}, control={"machine": "p5e.48xlarge"})
    assert (ERROR, Code.MACHINE_NOT_SOLD) in asked.found(attempted)
