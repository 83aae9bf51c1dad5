"""Resolving: addresses, processors, memory, partitions, and what is said to be simulated."""

import dataclasses
import ipaddress
import itertools
from typing import Any

import pytest
import yaml

from blueprints import addresses, catalog, finding, load, read, spec
from blueprints.codes import Code
from blueprints.facts import Facts
from tests.blueprints import hand_made

FACTS = Facts(sockets=1, cores_per_socket=4, threads_per_core=2, memory_mib=64_000)
LARGE = dataclasses.replace(FACTS, memory_mib=4 * 1024 * 1024)


def examine(pools: dict[str, Any], *, stack: str = "test", facts: Facts = FACTS, **more: Any) -> load.Loaded:
    text = yaml.safe_dump({"name": "tiny", "pools": pools, **more}, sort_keys=False)
    return load.from_document(read.from_bytes(text.encode(), file="tiny.yaml"), target="local", stack=stack, facts=facts)


def resolve(pools: dict[str, Any], *, stack: str = "test", facts: Facts = FACTS, **more: Any) -> spec.ClusterSpec:
    return examine(pools, stack=stack, facts=facts, **more).spec


def addresses_of(cluster: spec.ClusterSpec) -> list[ipaddress.IPv4Address]:
    firsts = [(ipaddress.IPv4Address(group.first_address), group.count) for group in cluster.host_groups]
    hosts = [first + number for first, count in firsts for number in range(count)]
    return [ipaddress.IPv4Address(cluster.network.gateway), ipaddress.IPv4Address(cluster.network.balancer_address), *hosts]


def test_the_address_plan_of_a_20() -> None:
    cluster = resolve({"a": {"nodes": 300}, "b": {"nodes": 5}}, network={"cidr": "10.80.16.0/20"}, access={"login_nodes": 2})
    assert cluster.network == spec.Network("10.80.16.0/20", "10.80.16.1", "10.80.16.2", "tiny.internal")
    assert [group.first_address for group in cluster.host_groups] == ["10.80.16.10", "10.80.16.20", "10.80.17.0", "10.80.18.44"]


@pytest.mark.parametrize(("prefix", "most"), [(24, 191), (23, 255), (22, 767), (20, 3839), (16, 65279)])
def test_every_network_holds_its_number_of_nodes_and_not_one_more(prefix: int, most: int) -> None:
    assert addresses.room_for_nodes(prefix) == most
    pools = {f"p{number}": {"nodes": count} for number, count in enumerate([min(most, 50_000), most - 50_000]) if count > 0}
    cidr = f"10.64.0.0/{prefix}"
    cluster = resolve(pools, network={"cidr": cidr}, access={"login_nodes": 32}, facts=LARGE)
    taken = addresses_of(cluster)
    assert len(set(taken)) == len(taken)
    network = ipaddress.IPv4Network(cidr)
    assert set(taken) <= set(network) - {network.network_address, network.broadcast_address}
    if prefix < 24:
        assert addresses.prefix_for(most + 1, longest=24) == (prefix - 1 if prefix > 16 else None)


def test_a_network_too_small_is_answered_with_the_size_needed() -> None:
    with pytest.raises(finding.Invalid) as invalid:
        resolve({"a": {"nodes": 1000}}, network={"cidr": "10.80.0.0/22"})
    (only,) = invalid.value.findings
    assert only.code == Code.CIDR_TOO_SMALL
    assert "has room for 767" in only.why
    assert only.remedy.startswith("these nodes need a /21: ")


def test_the_default_network_comes_from_the_stacks_name_and_fits_the_nodes() -> None:
    one, again, other = (resolve({"a": {"nodes": 2}}, stack=stack).network for stack in ("one", "one", "other"))
    assert one == again
    assert one != other
    for nodes, prefix in ((2, 20), (3839, 20), (3840, 19), (30_000, 17), (50_000, 16)):
        network = ipaddress.IPv4Network(resolve({"a": {"nodes": nodes}}, facts=LARGE).network.cidr)
        assert network.prefixlen == prefix
        assert network.subnet_of(ipaddress.IPv4Network("10.64.0.0/10"))


def test_default_networks_of_many_stacks_are_spread() -> None:
    chosen = {addresses.default_network(f"stack-{number}", 20) for number in range(400)}
    assert len(chosen) > 300  # of 1,024, by the birthday rule about 331


def test_work_grows_with_pools_and_not_with_nodes() -> None:
    few, many = (resolve({f"p{pool}": {"nodes": nodes} for pool in range(16)}, facts=LARGE) for nodes in (1, 470))
    assert len(str(spec.as_record(many))) < 1.1 * len(str(spec.as_record(few)))


@pytest.mark.parametrize(
    ("memory_mib", "nodes", "share_mib"),
    [(24_000, 2, 2048), (24_000, 3, 2048), (24_000, 64, 2048), (64_000, 1, 4096), (1024 * 1024, 2, 131_072), (500, 2, 512)],
)
def test_each_host_declares_a_share_of_the_memory_whatever_the_number_of_nodes(memory_mib: int, nodes: int, share_mib: int) -> None:
    facts = dataclasses.replace(FACTS, memory_mib=memory_mib)
    cluster = resolve({"a": {"nodes": nodes}}, facts=facts)
    for group in cluster.host_groups:
        assert group.machine == spec.Machine("local", 1, 4, 2, share_mib, gpus=None, exists=True)


@pytest.mark.parametrize(
    ("pool", "layout", "memory_mib", "exists"),
    [
        ({}, (1, 4, 2), 4096, True),
        ({"cpus_per_node": 8}, (1, 4, 2), 4096, True),
        ({"cpus_per_node": 4}, (1, 2, 2), 4096, True),
        ({"cpus_per_node": 3}, (1, 3, 1), 4096, True),
        ({"cpus_per_node": 192, "memory": "2 TiB"}, (1, 96, 2), 2 * 1024 * 1024, False),
        ({"cpus_per_node": 9}, (1, 9, 1), 4096, False),
        ({"memory": "1.5 GiB"}, (1, 4, 2), 1536, True),
        ({"memory": "64000 MiB"}, (1, 4, 2), 64_000, True),
        ({"memory": "64001 MiB"}, (1, 4, 2), 64_001, False),
    ],
)
def test_a_pool_can_declare_other_nodes_than_the_machine(pool: dict[str, Any], layout: tuple[int, int, int], memory_mib: int, exists: bool) -> None:
    cluster = resolve({"a": {"nodes": 1, **pool}})
    machine = cluster.node_sets[0].hosts.machine
    assert (machine.sockets, machine.cores_per_socket, machine.threads_per_core) == layout
    assert (machine.memory_mib, machine.exists) == (memory_mib, exists)
    assert any("are not confined" in sentence for sentence in cluster.simulated) is not exists
    assert hand_made.controllers(cluster).machine.exists


@pytest.mark.parametrize(
    ("asked", "defaults"),
    [((None, None), ["a"]), ((False, None), ["b"]), ((None, True), ["b"]), ((True, None), ["a"]), ((False, False), []), ((True, False), ["a"])],
)
def test_one_partition_at_most_is_the_default(asked: tuple[bool | None, bool | None], defaults: list[str]) -> None:
    pools = {name: {"nodes": 1, "partition": {} if value is None else {"default": value}} for name, value in zip("ab", asked, strict=True)}
    assert [partition.name for _, partition in resolve(pools).slurm_node_sets if partition.default] == defaults


def test_gpus_are_typed_counted_and_simulated() -> None:
    cluster = resolve({"a": {"nodes": 2, "accelerator": "h200", "gpus_per_node": 8}, "cpu": {"nodes": 1}})
    gpu, cpu = cluster.node_sets
    assert gpu.hosts.machine.gpus == spec.Gpus("h200", 8, simulated=True)
    assert gpu.features == ("h200",)
    assert cpu.hosts.machine.gpus is None
    assert cpu.features == ()
    assert cluster.simulated[0].startswith("The GPUs (16 h200) are device nodes without hardware")


def test_a_count_of_gpus_that_no_machine_has_is_a_warning_only() -> None:
    loaded = examine({"a": {"nodes": 1, "accelerator": "h100", "gpus_per_node": 3}})
    assert [(str(one.level), one.code) for one in loaded.findings] == [("warning", Code.GPU_COUNT_UNKNOWN)]
    gpus = loaded.spec.node_sets[0].hosts.machine.gpus
    assert gpus is not None
    assert gpus.count == 3


def test_what_is_not_the_real_thing_is_said_and_nothing_else() -> None:
    plain = resolve({"a": {"nodes": 1}}).simulated
    assert len(plain) == 2
    assert "8 processors" in plain[0]
    assert "all of the processors" in plain[1]
    small = resolve({"a": {"nodes": 1, "cpus_per_node": 1}}).simulated
    assert not any("all of the processors" in sentence for sentence in small)
    more = resolve({"a": {"nodes": 2}}, accounting={"database": "managed"}, storage={"home": {"kind": "lustre", "mount": "/home"}}).simulated
    assert [any(word in sentence for sentence in more) for word in ("/home (lustre)", "MariaDB on the controller", "no fabric")] == [True] * 3


def test_accounts_list_their_users() -> None:
    more: dict[str, Any] = {
        "storage": {"home": {"kind": "nfs", "mount": "/home"}},
        "accounts": {"a": None, "b": {"description": "B"}},
        "users": {name: {"uid": uid, "account": account} for name, uid, account in (("u1", 1000, "a"), ("u2", 59999, "b"), ("u3", 2000, "a"))},
    }
    cluster = resolve({"a": {"nodes": 1}}, **more)
    assert cluster.accounts == (spec.Account("a", "", ("u1", "u3")), spec.Account("b", "B", ("u2",)))
    assert [user.ssh_keys for user in cluster.users] == [()] * 3


def test_host_names_and_lists() -> None:
    cluster = resolve({"a": {"nodes": 3}})
    assert list(itertools.chain.from_iterable(group.hostnames for group in cluster.host_groups)) == ["control-0", "login-0", "a-0", "a-1", "a-2"]
    assert [group.hostlist for group in cluster.host_groups] == ["control-0", "login-0", "a-[0-2]"]


def test_every_entry_of_the_catalogue_has_source_and_date() -> None:
    for accelerator in catalog.accelerators().values():
        assert accelerator.source
        assert len(accelerator.date) == len("2026-01-01")
        assert accelerator.per_node == tuple(sorted(set(accelerator.per_node)))
    for name in catalog.software_names(catalog.machine_target()):
        software = catalog.software(name)
        assert software.profile == name
        assert software.tested_on == "simulated"
    assert {catalog.software(name).slurm for name in ("debian-12", "debian-13")} == {"22.05", "24.11"}
