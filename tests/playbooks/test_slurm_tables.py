"""What slurm.conf, gres.conf and topology.conf say of a cluster, as plain values."""

import importlib
from typing import Any

import pytest

from tests.playbooks import clusters

slurm_tables: Any = importlib.import_module("slurm_tables")

ALL = {"share": 1, "system_mib": 0}
VERSION = {"cloud_parameters": ["cloud_reg_addrs"], "cloud_tree_width": 65533, "gpu_autodetect": "nvidia", "blocks": "any"}


def account(name: str, parent: str | None = None) -> dict[str, Any]:
    return {"name": name, "parent": parent, "qos": []}


def tables(spec: dict[str, Any], **provided: Any) -> dict[str, Any]:
    return dict(slurm_tables.slurm_tables(spec, provided, version=VERSION, memory=ALL, fair_share_weight=1000))


@pytest.mark.parametrize(
    ("allowed", "accounts", "found"),
    [
        ([], [account("a")], []),
        (["a"], [account("a"), account("b")], ["a"]),
        (["a"], [account("c", "b"), account("b", "a"), account("a")], ["a", "b", "c"]),
        (["b", "a"], [account("a"), account("b", "a")], ["b", "a"]),
        (["a"], [account("a"), account("b", "a"), account("c", "a"), account("d", "c")], ["a", "b", "c", "d"]),
        (["a"], [account("a", "b"), account("b", "a")], ["a", "b"]),  # a circle ends
    ],
)
def test_who_may_use_a_partition_may_do_so_from_every_account_below(allowed: list[str], accounts: list[dict[str, Any]], found: list[str]) -> None:
    assert slurm_tables.with_descendants(allowed, accounts) == found


@pytest.mark.parametrize(("count", "written"), [(1, "train-0"), (2, "train-[0-1]"), (500, "train-[0-499]")])
def test_hosts_of_a_group_are_one_word(count: int, written: str) -> None:
    assert slurm_tables.hostlist({"prefix": "train", "count": count}) == written


@pytest.mark.parametrize(
    ("qos", "accounts", "weights"),
    [
        ([], 1, {}),
        ([0, 0], 1, {}),
        ([0, 50], 1, {"PriorityWeightQOS": 50}),
        ([], 2, {"PriorityWeightFairshare": 1000}),
        ([10], 2, {"PriorityWeightFairshare": 1000, "PriorityWeightQOS": 10}),
    ],
)
def test_only_what_differs_between_jobs_has_a_weight(qos: list[int], accounts: int, weights: dict[str, int]) -> None:
    assert slurm_tables.priority_weights([{"priority": one} for one in qos], [account("a")] * accounts, 1000) == weights


def test_jobs_get_what_the_smallest_machine_of_a_partition_has_for_a_processor_without_what_the_system_keeps() -> None:
    big = clusters.node_set("big", partition="batch", on=clusters.machine(memory_mib=64_000))
    small = clusters.node_set("small", partition="batch", on=clusters.machine(memory_mib=16_000))
    node_sets = clusters.cluster(big, small)["slurm"]["node_sets"]
    assert "DefMemPerCPU=7472 " in slurm_tables.partition_line(node_sets, {"share": 0.95, "system_mib": 256}, [])


def test_partitions_come_in_the_order_of_their_names_whatever_their_letters() -> None:
    spec = clusters.cluster(*(clusters.node_set(name, default=False) for name in ("b", "A", "c")))
    assert [line.split()[0] for line in tables(spec)["partitions"]] == ["PartitionName=A", "PartitionName=b", "PartitionName=c"]


def test_nodes_that_the_fleet_table_names_come_and_go_but_for_those_that_always_run() -> None:
    spec = clusters.cluster(clusters.node_set("train", nodes=4), clusters.node_set("fixed", default=False))
    fleet = {"node_sets": [{"prefix": "train", "minimum": 2, "boot_timeout_s": 300.0}]}
    found = tables(spec, fleet=fleet)
    assert [line.rpartition("=")[2] for line in found["nodes"]] == ["CLOUD", "UNKNOWN"]
    assert found["always_on"] == ["fixed-[0-1]", "train-[0-1]"]
    assert (found["is_powered"], found["has_fixed_nodes"], found["boot_timeout_s"], found["tree_width"]) == (True, True, 300, 65533)
    without = tables(spec)
    assert (without["is_powered"], without["boot_timeout_s"], without["tree_width"]) == (False, 0, 16)


RACKS = {"train-0": "b", "train-1": "a", "train-2": "b", "train-3": "a"}


@pytest.mark.parametrize(
    ("racks", "sizes", "debug", "lines"),
    [
        # One block for each rack, in the order of their names, and one for the pool beside them: slurmctld refuses jobs that name a node outside of all blocks.
        (
            RACKS,
            "any",
            3,
            ["BlockName=block-1 Nodes=debug-[0-2]", "BlockName=block-2 Nodes=train-[1,3]", "BlockName=block-3 Nodes=train-[0,2]", "BlockSizes=2"],
        ),
        (RACKS, "any", 1, ["BlockName=block-1 Nodes=debug-0", "BlockName=block-2 Nodes=train-[1,3]", "BlockName=block-3 Nodes=train-[0,2]", "BlockSizes=1"]),
        (RACKS, "equal", 2, ["BlockName=block-1 Nodes=debug-[0-1]", "BlockName=block-2 Nodes=train-[1,3]", "BlockName=block-3 Nodes=train-[0,2]"]),
        (RACKS, "equal", 3, []),  # slurmctld of 23.11 would end
        (RACKS, "", 2, []),
        ({}, "any", 2, []),
    ],
)
def test_a_rack_that_nvlink_joins_is_a_block(racks: dict[str, str], sizes: str, debug: int, lines: list[str]) -> None:
    spec = clusters.cluster(clusters.node_set("train", nodes=4), clusters.node_set("debug", nodes=debug, default=False))
    for order in ([*racks], [*reversed(racks)]):
        given = clusters.with_slurm(spec, racks={name: racks[name] for name in order})
        assert slurm_tables.slurm_tables(given, {}, version=VERSION | {"blocks": sizes}, memory=ALL, fair_share_weight=1000)["topology"] == lines


def test_a_database_outside_is_served_by_both_controllers() -> None:
    spec = clusters.cluster()
    spec["slurm"]["control"]["count"] = 2
    addresses = {"control-0": "10.0.0.1", "control-1": "10.0.0.2"}
    assert tables(spec, addresses=addresses)["accounting_hosts"] == ["10.0.0.1"]
    assert tables(spec, addresses=addresses, database="db.example")["accounting_hosts"] == ["10.0.0.1", "10.0.0.2"]
    assert tables(spec, addresses=addresses)["controllers"] == ["control-0(10.0.0.1)", "control-1(10.0.0.2)"]
    assert tables(spec)["controllers"] == ["control-0", "control-1"]
