"""This machine as the rehearsal of every other target."""

import dataclasses
from typing import Any

import pytest

from blueprints import spec
from blueprints.codes import Code
from tests.blueprints.resolve import asked


@pytest.mark.parametrize(
    ("pool", "layout", "memory_mib", "gpus"),
    [
        ({"machine": "p5.48xlarge"}, (2, 48, 2), 2048 * 1024, ("h100", 8)),
        ({"machine": "a3-ultragpu-8g"}, (2, 56, 2), 2952 * 1024, ("h200", 8)),
        ({"machine": "dgx-h100"}, (2, 56, 2), 2048 * 1024, ("h100", 8)),
        ({"machine": "m7i.large"}, (1, 1, 2), 8192, None),
        ({"machine": "p5.48xlarge", "cpus_per_node": 4, "memory": "1 GiB"}, (1, 2, 2), 1024, ("h100", 8)),
        ({"machine": "hgx-h100"}, (1, 4, 2), 2048 * 1024, ("h100", 8)),  # its processors are not known: those of this machine
        ({"accelerator": "h100", "gpus_per_node": 8}, (1, 4, 2), 4096, ("h100", 8)),
    ],
)
def test_a_machine_of_any_target_is_declared(pool: dict[str, Any], layout: tuple[int, int, int], memory_mib: int, gpus: tuple[str, int] | None) -> None:
    attempted = asked.attempt({"train": {"nodes": 1, **pool}}, target="local")
    assert asked.found(attempted) == set()
    machine = attempted.spec.node_sets[0].hosts.machine
    assert machine.name == "local"
    assert (machine.sockets, machine.cores_per_socket, machine.threads_per_core) == layout
    assert machine.memory_mib == memory_mib
    assert (machine.gpus and (machine.gpus.type, machine.gpus.count)) == gpus
    assert machine.gpus is None or machine.gpus.simulated
    assert machine.exists is (machine.cpus <= 8 and memory_mib <= 64_000)
    assert any("are not confined" in sentence for sentence in attempted.spec.simulated) is not machine.exists


def test_a_machine_of_no_target_is_an_error() -> None:
    attempted = asked.attempt({"train": {"nodes": 1, "machine": "p5.48xlarg"}}, target="local")
    assert asked.found(attempted) == {("error", Code.MACHINE_UNKNOWN)}
    assert attempted.findings[-1].what == "the catalogue has no machine `p5.48xlarg` on any target"


def test_a_machine_with_other_gpus_is_an_error_here_too() -> None:
    attempted = asked.attempt({"train": {"nodes": 1, "machine": "p5.48xlarge", "accelerator": "h200"}}, target="local")
    assert asked.found(attempted) == {("error", Code.MACHINE_CONTRADICTION)}


def test_node_sets_stand_node_for_node_with_their_names_and_addresses() -> None:
    pool = {"machines": ["p5en.48xlarge", "p5e.48xlarge"], "nodes": {"min": 0, "max": 4}}
    cluster = asked.cluster({"train": pool, "cpu": {"nodes": 1}}, target="local", network={"cidr": "10.80.0.0/20"})
    assert [group.hostlist for group in cluster.host_groups] == ["control-0", "login-0", "train-a-[0-3]", "train-b-[0-3]", "cpu-0"]
    assert [group.first_address for group in cluster.host_groups] == ["10.80.0.10", "10.80.0.20", "10.80.1.0", "10.80.1.4", "10.80.1.8"]
    assert [node_set.weight for node_set in cluster.node_sets] == [1, 2, 1]
    assert [(node_set.minimum, node_set.is_elastic) for node_set in cluster.node_sets] == [(0, True), (0, True), (None, False)]
    assert not any("always run" in sentence for sentence in cluster.simulated)


def test_nodes_of_kubernetes_come_and_go_too() -> None:
    cluster = asked.cluster({"train": {"nodes": {"min": 0, "max": 4}}}, target="local", scheduler="kubernetes")
    assert [(node_set.minimum, node_set.is_elastic) for node_set in cluster.node_sets] == [(0, True)]


def test_kubernetes_hosts_have_addresses_of_their_own() -> None:
    cluster = asked.cluster(target="local", scheduler="both", control={"highly_available": True}, network={"cidr": "10.80.0.0/24"}, access={"login_nodes": 32})
    addresses = [(group.first_address, group.count) for group in cluster.host_groups]
    assert addresses == [("10.80.0.10", 2), ("10.80.0.20", 32), ("10.80.0.14", 3), ("10.80.0.64", 1)]


@pytest.mark.parametrize(
    ("cidr", "slurm", "kubernetes", "first_addresses"),
    [
        ("10.80.0.0/20", 3, 5, ("10.80.1.0", "10.80.8.0")),
        ("10.80.0.0/20", 1792, 2047, ("10.80.1.0", "10.80.8.0")),
        ("10.80.0.0/20", 1793, 5, ("10.80.1.0", "10.80.8.1")),
        ("10.80.0.0/20", 3, 2048, ("10.80.1.0", "10.80.1.3")),
        ("10.80.0.0/24", 64, 127, ("10.80.0.64", "10.80.0.128")),
        ("10.80.0.0/24", 65, 5, ("10.80.0.64", "10.80.0.129")),
    ],
)
def test_each_scheduler_has_half_of_the_network_while_that_is_enough(cidr: str, slurm: int, kubernetes: int, first_addresses: tuple[str, str]) -> None:
    pools = {"train": {"scheduler": "slurm", "nodes": slurm}, "serve": {"scheduler": "kubernetes", "nodes": kubernetes}}
    cluster = asked.cluster(pools, target="local", scheduler="both", network={"cidr": cidr})
    assert tuple(one.hosts.first_address for one in cluster.node_sets) == first_addresses


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"control": {"managed": True}}, "The managed scheduler is Slurm on a controller of this machine."),
        (
            {"control": {"highly_available": True}},
            "Both controllers run on this machine, and their shared state is a folder of it: neither survives the machine.",
        ),
        ({"accounting": {"database": "managed"}}, "The managed accounting database is MariaDB on the controller."),
        (
            {"accounting": {"database": "managed"}, "control": {"highly_available": True}},
            "The managed accounting database is MariaDB on the first controller: while that is lost, records of jobs wait, and accounts can't be asked for or changed.",
        ),
    ],
)
def test_what_has_no_place_here_is_said(more: dict[str, Any], sentence: str) -> None:
    assert sentence in asked.cluster(target="local", **more).simulated
    assert sentence not in asked.cluster(target="local").simulated


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("slurm", "Slurm schedules and confines them"),
        ("kubernetes", "Kubernetes schedules and confines them"),
        ("both", "Slurm and Kubernetes schedule them"),
    ],
)
def test_what_schedules_simulated_gpus_is_said(scheduler: str, words: str) -> None:
    pools = {"train": {**asked.TRAIN, "nodes": 1}}
    sentences = asked.cluster(pools, target="local", scheduler=scheduler).simulated
    assert sentences[0] == f"The GPUs (8 h100) are device nodes without hardware: {words}, and nothing computes on them."


def test_without_slurm_no_sentence_speaks_of_it() -> None:
    more = {"accounting": {"database": "managed"}, "control": {"managed": True, "highly_available": True}}
    sentences = " ".join(asked.cluster({"train": {**asked.TRAIN, "nodes": 1}}, target="local", scheduler="kubernetes", **more).simulated)
    assert "Slurm" not in sentences
    assert "controller" not in sentences


@pytest.mark.parametrize(("memory_mib", "codes"), [(312 + 36 + 10 * 45, set()), (312 + 36 + 10 * 45 - 1, {("error", Code.REHEARSAL_TOO_LARGE)})])
def test_more_hosts_than_the_memory_holds(memory_mib: int, codes: set[tuple[str, str]]) -> None:
    attempted = asked.attempt({"cpu": {"nodes": 10}}, target="local", facts=dataclasses.replace(asked.FACTS, memory_mib=memory_mib))
    assert asked.found(attempted) == codes


def test_the_numbers_are_in_the_message() -> None:
    attempted = asked.attempt({f"p{number}": {"nodes": 470} for number in range(16)}, target="local")
    (only,) = attempted.findings
    assert only.what == "7522 hosts don't fit into the memory of this machine"
    assert f"they need {312 + 36 + 7520 * 45} MiB" in only.why
    assert "it has 64000 MiB" in only.why


def test_the_hosts_share_one_ethernet() -> None:
    network = asked.cluster(target="local", network={"cidr": "10.80.0.0/20"}).network
    assert network == spec.Network("10.80.0.0/20", "10.80.0.1", "10.80.0.2", "tiny.internal")


@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_more_nodes_change_nothing_of_what_a_node_declares(nodes: int) -> None:
    facts = dataclasses.replace(asked.FACTS, memory_mib=24_105)
    grown = asked.attempt({"cpu": {"nodes": nodes}}, target="local", facts=facts).spec
    assert {node_set.hosts.machine.memory_mib for node_set in grown.node_sets} == {2048}


@pytest.mark.parametrize(("nodes", "memory_mib"), [(2, 2048), (9, 1024)])
def test_a_stack_of_an_earlier_version_keeps_what_its_number_of_hosts_decided(nodes: int, memory_mib: int) -> None:
    facts = dataclasses.replace(asked.FACTS, memory_mib=24_105, declares_by_count=True)
    kept = asked.attempt({"cpu": {"nodes": nodes}}, target="local", facts=facts).spec
    assert {node_set.hosts.machine.memory_mib for node_set in kept.node_sets} == {memory_mib}


def test_nodes_that_kwok_simulates_are_named_where_the_blueprint_has_it() -> None:
    def sentences(**addons: bool) -> list[str]:
        cluster = asked.cluster(target="local", scheduler="kubernetes", kubernetes={"addons": addons})
        return [one for one in cluster.simulated if "kwok" in one]

    assert sentences() == []
    assert sentences(kwok=True) == ["Nodes that you add with kwok are simulated: they exist in the API alone, and nothing runs in their pods."]
