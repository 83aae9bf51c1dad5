"""Which machine a pool gets, and what is said when there is none."""

from typing import Any

import pytest

from blueprints import spec
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
        # A fabric that is only preferred decides for GPUs with NVLink; others get the lowest price, unless it is required.
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 4}, "g6.xlarge"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 4, "nodes": 4}, "g6.12xlarge"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 4, "fabric": "required"}, "g6.8xlarge"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 4, "nodes": 4, "fabric": "required"}, "g6.24xlarge"),
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 1, "fabric": "required"}, "g6.xlarge"),
        # Only what is sold so: the machines of one GPU are spot or flex there.
        ("gcp", {"accelerator": "h100", "gpus_per_node": 1, "nodes": 1, "capacity": "spot"}, "a3-highgpu-1g"),
        # A spot price of one of seven decides nothing: the machine is the same as on demand, in every region where there are such machines.
        ("aws", {"accelerator": "l4", "gpus_per_node": 1, "nodes": 1, "capacity": "spot"}, "g6.xlarge"),
        # A reservation is billed as on demand, and so compared.
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
        # Nobody knows the site's own hosts, and the blueprint can declare those that the catalogue doesn't have.
        ("metal", {"nodes": 1}, "site-host"),
        ("metal", {"accelerator": "l4", "gpus_per_node": 2, "nodes": 3, "cpus_per_node": 32, "memory": "256 GiB"}, "site-host"),
        ("metal", {**asked.TRAIN, "cpus_per_node": 32, "memory": "256 GiB"}, "dgx-h100"),
    ],
)
def test_the_machine_of_a_pool(target: str, pool: dict[str, Any], machine: str) -> None:
    attempted = asked.attempt({"train": pool}, target=target)
    (node_set,) = attempted.spec.node_sets
    assert node_set.hosts.machine.name == machine
    assert node_set.chosen
    assert not [code for level, code in asked.found(attempted) if level == ERROR]


def test_hosts_that_the_catalogue_does_not_know_are_as_declared() -> None:
    pool = {"accelerator": "l4", "gpus_per_node": 2, "nodes": 3, "cpus_per_node": 32, "memory": "256 GiB"}
    attempted = asked.attempt({"train": pool}, target="metal")
    assert asked.found(attempted) == {("note", Code.HOSTS_DECLARED)}
    (node_set,) = attempted.spec.node_sets
    machine = node_set.hosts.machine
    assert (machine.name, machine.cpus, machine.memory_mib) == ("site-host", 32, 256 * 1024)
    assert machine.gpus == spec.Gpus("l4", 2, simulated=False)
    assert (node_set.fabric, node_set.chosen, node_set.features) == (None, "as the blueprint declares them", ("l4",))


@pytest.mark.parametrize("missing", ["cpus_per_node", "memory"])
def test_hosts_that_are_half_declared_are_not_taken(missing: str) -> None:
    pool = {"accelerator": "l4", "gpus_per_node": 2, "nodes": 3, "cpus_per_node": 32, "memory": "256 GiB"}
    attempted = asked.attempt({"train": {key: value for key, value in pool.items() if key != missing}}, target="metal")
    (only,) = [one for one in attempted.findings if one.code == Code.MACHINE_MISSING]
    assert "`cpus_per_node` and `memory`" in only.remedy
    (cloud,) = [one for one in asked.attempt({"train": {**pool, "gpus_per_node": 3}}).findings if one.code == Code.MACHINE_MISSING]
    assert "cpus_per_node" not in cloud.remedy


@pytest.mark.parametrize(
    ("pool", "codes"),
    [
        ({"nodes": 3, "fabric": "required"}, {(ERROR, Code.FABRIC_UNAVAILABLE)}),
        ({"nodes": 1, "fabric": "required"}, set()),
        ({"nodes": 3}, set()),
    ],
)
def test_a_fabric_can_not_be_required_of_hosts_that_nobody_knows(pool: dict[str, Any], codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"train": pool}, target="metal")
    assert asked.found(attempted) == codes
    declared = {**pool, "accelerator": "l4", "gpus_per_node": 2, "cpus_per_node": 32, "memory": "256 GiB"}
    assert asked.found(asked.attempt({"train": declared}, target="metal")) == {*codes, ("note", Code.HOSTS_DECLARED)}
    assert all("blueprints/catalog/machines/metal.csv" in one.remedy for one in attempted.findings if one.code == Code.FABRIC_UNAVAILABLE)


def test_the_reason_is_given_in_words() -> None:
    assert asked.node_set(asked.TRAIN, target="aws").chosen == "the only machine to be had with 8 h100 GPUs"
    assert asked.node_set(asked.TRAIN, target="gcp").chosen == "of 3 machines with 8 h100 GPUs: the fastest fabric (1600 Gb/s a node)"
    assert asked.node_set({"machine": "p5.48xlarge", "nodes": 1}).chosen == "named in the blueprint"


L4 = {"accelerator": "l4", "gpus_per_node": 1, "nodes": 1}


@pytest.mark.parametrize(
    ("target", "pool", "region", "words"),
    [
        ("aws", L4, "us-east-1", "of 7 machines with 1 l4 GPUs: the lowest price on demand (USD 0.8048 an hour)"),
        ("gcp", {**L4, "capacity": "spot"}, "us-central1", "of 5 machines with 1 l4 GPUs: the lowest spot price (USD 0.397336 an hour)"),
        (
            *("aws", {**L4, "capacity": "spot"}, "us-east-1"),
            "of 7 machines with 1 l4 GPUs: the lowest price on demand (USD 0.8048 an hour), since only 1 of 7 has a known spot price",
        ),
        (
            *("aws", {**L4, "capacity": "spot"}, "eu-central-1"),
            "of 7 machines with 1 l4 GPUs: the smallest (4 processors, 16 GiB), "
            "since only 1 of 7 has a known spot price and only 2 of 7 have a known price on demand",
        ),
        ("aws", L4, "sa-east-1", "of 7 machines with 1 l4 GPUs: the smallest (4 processors, 16 GiB), since none has a known price on demand"),
        (
            *("gcp", {**asked.TRAIN, "nodes": 1}, "us-central1"),
            "of 3 machines with 8 h100 GPUs: the first in the catalogue, as all are of one size, since only 2 of 3 have a known price on demand",
        ),
        ("metal", {**asked.TRAIN, "nodes": 1}, None, "of 3 machines with 8 h100 GPUs: the first place in the catalogue"),
    ],
)
def test_only_prices_that_are_known_of_all_candidates_decide(target: str, pool: dict[str, Any], region: str | None, words: str) -> None:
    assert asked.node_set(pool, target=target, network={"region": region} if region else {}).chosen == words


@pytest.mark.parametrize("region", ["us-east-1", "us-east-2", "us-west-2", "eu-central-1", "ap-northeast-1"])
@pytest.mark.parametrize("gpus", [1, 4])
def test_the_machine_is_the_same_on_demand_spot_and_reserved_where_prices_are_missing(region: str, gpus: int) -> None:
    pool = {"accelerator": "l4", "gpus_per_node": gpus, "nodes": 1}
    bought: list[Any] = ["on-demand", "spot", {"kind": "reserved", "id": "cr-1"}]
    assert len({asked.node_set({**pool, "capacity": kind}, network={"region": region}).hosts.machine.name for kind in bought}) == 1


@pytest.mark.parametrize(
    ("pool", "noted"),
    [
        ({"nodes": 4}, True),
        ({"nodes": 4, "cpus_per_node": 2}, False),
        ({"nodes": 4, "memory": "8 GiB"}, False),
        ({"nodes": 4, "machine": "m7i.large"}, False),
        ({**L4, "nodes": 4}, False),
    ],
)
def test_a_small_machine_that_nobody_asked_for_is_noted(pool: dict[str, Any], noted: bool) -> None:
    found = [one for one in asked.attempt({"work": pool}).findings if one.code == Code.MACHINE_SMALLEST]
    assert [(one.what, one.level) for one in found] == [("the nodes of work are m7i.large, with 2 processors and 8 GiB of memory", "note")] * noted
    assert all("`cpus_per_node` and `memory`" in one.remedy and "`targets.aws.pools.work.machine`" in one.remedy for one in found)
    assert not [one for one in asked.attempt({"work": {"nodes": 4}}, target="metal").findings if one.code == Code.MACHINE_SMALLEST]


@pytest.mark.parametrize("name", ["v100", "t4", "nvidia-tesla-v100", "V100_32GB", "mi300x"])
def test_a_gpu_that_exists_is_not_taken_for_another(name: str) -> None:
    (found,) = [one for one in asked.attempt({"train": {"accelerator": name, "gpus_per_node": 1, "nodes": 1}}).findings if one.code == Code.ACCELERATOR_UNKNOWN]
    assert found.what == f"the catalogue has no accelerator `{name}`"
    assert "such GPUs exist" in found.why
    assert "did you mean" not in found.remedy
    assert "h100" in found.remedy


@pytest.mark.parametrize(("name", "meant"), [("c6i.32xlarge", ""), ("p5.48xlarg", "did you mean `p5.48xlarge`?"), ("m7i.lareg", "did you mean `m7i.large`?")])
def test_a_machine_of_another_number_may_well_exist(name: str, meant: str) -> None:
    (found,) = [one for one in asked.attempt({"train": {"machine": name, "nodes": 1}}).findings if one.code == Code.MACHINE_UNKNOWN]
    assert found.what == f"the catalogue has no machine `{name}` on AWS"
    choose = "choose one that `clusterwright catalog machines --target aws` lists, or name an accelerator instead"
    assert found.remedy == f"{meant} {choose}".strip()


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
        ("aws", {"accelerator": "h100", "gpus_per_node": 4, "nodes": 1}, Code.MACHINE_MISSING, "4", "machines with 1 and 8 of them exist"),
        (
            *("gcp", {"accelerator": "h100", "gpus_per_node": 1, "nodes": 1}, Code.MACHINE_MISSING, "h100"),
            "Google Cloud sells no machine with 1 h100 GPUs as `on-demand`",
        ),
        ("aws", {"accelerator": "h10", "gpus_per_node": 8, "nodes": 1}, Code.ACCELERATOR_UNKNOWN, "h10", "did you mean `h100`?"),
        ("aws", {"accelerator": "h100", "nodes": 1}, Code.GPU_COUNT_MISSING, "h100", "`gpus_per_node: …`"),
        ("aws", {"gpus_per_node": 8, "nodes": 1}, Code.GPU_COUNT_MISSING, "8", "`accelerator: …`"),
        ("aws", {"nodes": 1, "cpus_per_node": 4096}, Code.MACHINE_MISSING, "4096", "m7i.8xlarge, has 32 processors and 128 GiB"),
        ("aws", {"nodes": 1, "memory": "4 TiB"}, Code.MACHINE_MISSING, "4 TiB", "`targets.aws.pools.train.machine`"),
        ("aws", {"machine": "p5.48xlarg", "nodes": 1}, Code.MACHINE_UNKNOWN, "p5.48xlarg", "did you mean `p5.48xlarge`?"),
        (
            *("gcp", {"machine": "p5.48xlarge", "nodes": 1}, Code.MACHINE_UNKNOWN, "p5.48xlarge"),
            "write it as `targets.aws.pools.train.machine`, and an accelerator or `targets.gcp.pools.train.machine` for this target",
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
        ("eu-west-9", {**asked.TRAIN}, {("warning", Code.REGION_UNKNOWN)}),
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
