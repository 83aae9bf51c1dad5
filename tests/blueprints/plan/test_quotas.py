"""Which quotas a cluster takes from, and how much."""

import dataclasses
import json

import pytest

from blueprints import spec
from blueprints.plan import quotas
from tests.blueprints import hand_made

A3 = dataclasses.replace(hand_made.P5, name="a3-highgpu-8g", sockets=1, cores_per_socket=104)
N2 = dataclasses.replace(hand_made.M7I, name="n2-standard-4", cores_per_socket=2)


def taken(cluster: spec.ClusterSpec) -> dict[str, tuple[int, str]]:
    return {need.code: (need.needed, need.unit) for need in quotas.needed(cluster)}


def test_machines_count_in_the_unit_of_their_quota_with_pools_at_their_largest() -> None:
    assert taken(hand_made.aws()) == {"L-1216C47A": (3 * 2, "vcpus"), "L-417A185B": (16 * 192, "vcpus"), "L-C4BD4855": (8 * 192, "vcpus")}


def test_pools_of_one_quota_are_summed_and_each_is_named() -> None:
    bought = spec.Capacity(spec.CapacityKind.ON_DEMAND)
    twice = hand_made.aws(node_sets=tuple(hand_made.pool(name, 2, machine=hand_made.P5, capacity=bought) for name in ("train", "dev")))
    (need,) = [need for need in quotas.needed(twice) if need.code == "L-417A185B"]
    assert need.needed == 4 * 192
    assert need.why == "for train 2 × p5.48xlarge and dev 2 × p5.48xlarge"
    assert (need.default, need.to_raise) == (0, True)


def test_of_machines_that_replace_each_other_only_the_largest_take_counts() -> None:
    """The pool never has more nodes than one of them alone may."""
    half = dataclasses.replace(hand_made.P5, threads_per_core=1)
    sets = [
        hand_made.pool(name, 4, machine=machine, capacity=spec.Capacity(spec.CapacityKind.ON_DEMAND))
        for name, machine in (("a", half), ("b", hand_made.P5), ("c", half))
    ]
    cluster = hand_made.aws(node_sets=tuple(dataclasses.replace(one, pool="sweep", pool_most=4) for one in sets))
    (need,) = [need for need in quotas.needed(cluster) if need.code == "L-417A185B"]
    assert (need.needed, need.takers) == (4 * 192, ("b 4 × p5.48xlarge",))


@pytest.mark.parametrize(("nodes", "to_raise"), [(5, False), (6, True)], ids=["what a new account has", "one more"])
def test_it_is_said_whether_a_new_account_has_enough(nodes: int, to_raise: bool) -> None:
    """A new account has 5 standard vCPUs, and one of these machines has 1."""
    small = dataclasses.replace(hand_made.M7I, threads_per_core=1)
    nobody = hand_made.hosts("access", 0, "", small, role="access")
    cluster = hand_made.aws(node_sets=(), control=hand_made.hosts("control", nodes, "", small, role="control"), access=nobody)
    assert [(need.code, need.default, need.to_raise) for need in quotas.needed(cluster)] == [("L-1216C47A", 5, to_raise)]


def gcp(**more: object) -> spec.ClusterSpec:
    both = {"control": hand_made.controllers(hand_made.aws()), "access": hand_made.aws().access}
    hosts = {role: dataclasses.replace(group, machine=N2) for role, group in both.items()}
    pool = hand_made.pool("train", 4, machine=A3, capacity=spec.Capacity(spec.CapacityKind.SPOT))
    return hand_made.replaced(hand_made.aws(), target="gcp", node_sets=(pool,), storage=(), **hosts, **more)


def test_google_counts_gpus_and_names_spot_apart() -> None:
    assert taken(gcp()) == {"PREEMPTIBLE_NVIDIA_H100_GPUS": (32, "gpus"), "N2_CPUS": (12, "vcpus")}


def test_what_tells_quotas_of_one_code_apart_is_in_the_name() -> None:
    a3 = [hand_made.pool(name, 1, machine=dataclasses.replace(A3, name=machine), capacity=spec.Capacity(spec.CapacityKind.ON_DEMAND)) for name, machine in (("a", "a3-highgpu-8g"), ("b", "a3-megagpu-8g"))]  # fmt: skip
    found = [need for need in quotas.needed(hand_made.replaced(gcp(), node_sets=tuple(a3))) if need.unit == "gpus"]
    assert [(need.name, need.needed, need.to_raise) for need in found] == [("GPUs per GPU family, NVIDIA_H100", 8, None), ("GPUs per GPU family, NVIDIA_H100_MEGA", 8, None)]  # fmt: skip


def test_storage_takes_from_its_quota_unless_it_exists() -> None:
    disk = spec.FileSystem("data", "block", "/data", protect=True, simulated=False, storage_class="hyperdisk-balanced", size_gib=512.0)
    assert taken(dataclasses.replace(gcp(), storage=(disk,)))["HDB_TOTAL_GB"] == (512, "GiB")
    assert "HDB_TOTAL_GB" not in taken(dataclasses.replace(gcp(), storage=(dataclasses.replace(disk, source="projects/p/disks/d"),)))


def test_a_machine_that_no_quota_counts_is_named_as_unknown() -> None:
    p6 = dataclasses.replace(hand_made.P5, name="p6-b200.48xlarge")
    cluster = hand_made.aws(node_sets=(hand_made.pool("train", 2, machine=p6, capacity=spec.Capacity(spec.CapacityKind.SPOT)),))
    assert quotas.unknown(cluster) == ("p6-b200.48xlarge (spot)",)
    assert quotas.unknown(hand_made.aws()) == ()


@pytest.mark.parametrize("target", ["local", "metal"])
def test_what_is_owned_needs_no_quota(target: str) -> None:
    assert (quotas.needed(hand_made.local(target=target)), quotas.unknown(hand_made.local(target=target))) == ((), ())


def test_the_record_is_json() -> None:
    record = json.loads(json.dumps(quotas.as_record(quotas.needed(hand_made.aws()), quotas.unknown(hand_made.aws()))))
    assert [need["code"] for need in record["needed"]] == ["L-1216C47A", "L-417A185B", "L-C4BD4855"]
    assert record["needed"][1]["takers"] == ["train 16 × p5.48xlarge"]


def test_machines_that_stand_in_for_each_other_take_what_the_largest_of_them_does() -> None:
    several = tuple(
        dataclasses.replace(
            hand_made.pool(f"sweep-{letter}", 16, machine=machine, capacity=spec.Capacity(spec.CapacityKind.SPOT), minimum=0), pool="sweep", pool_most=16
        )
        for letter, machine in (("a", dataclasses.replace(hand_made.P5, name="p4d.24xlarge", cores_per_socket=24)), ("b", hand_made.P5))
    )
    needs = {need.unit: need for need in quotas.needed(hand_made.aws(storage=(), node_sets=several)) if "Spot" in need.name or "spot" in need.name.lower()}
    assert {need.needed for need in needs.values()} == {16 * hand_made.P5.cpus}
    assert [need.takers for need in needs.values()] == [("sweep-b 16 × p5.48xlarge",)]
