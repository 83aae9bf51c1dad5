"""Acceptance of rails: what nodes say of them is judged by the inventory, and a fault names node and rail."""

import dataclasses
import importlib
import json
import subprocess
import sys
from typing import Any

import pytest

from blueprints import spec
from blueprints.project import project_root
from components.finish import checks as findings
from tests.playbooks import clusters

expectation = importlib.import_module("acceptance.expectation")
allocation = importlib.import_module("acceptance.allocation")
judge_rails = importlib.import_module("acceptance.judge_rails")
probe = importlib.import_module("acceptance.rails")

NODES = ("train-0", "train-1")


def interface(number: int, node: int, **changes: Any) -> spec.SiteInterface:
    return spec.SiteInterface(f"rail{number}", mac=f"02:00:00:00:0{node}:0{number}", address=f"10.40.{number}.{11 + node}/24", mtu=9000, **changes)


def resolved(machine: spec.Machine | None = None) -> spec.ClusterSpec:
    """A cluster of two nodes with two rails each."""
    hosts = tuple(spec.SiteHost(name, f"10.20.0.{11 + node}", "", interfaces=(interface(0, node), interface(1, node))) for node, name in enumerate(NODES))
    cluster = clusters.resolved(clusters.node_set(on=machine))
    return dataclasses.replace(cluster, site=spec.Site("root", 22, hosts))


def node_set(machine: spec.Machine | None = None) -> Any:
    view = json.loads(json.dumps(spec.acceptance_view(resolved(machine))))
    return expectation.expect(view).node_sets[0]


def rail(node: int, number: int, **changes: Any) -> dict[str, Any]:
    """Give what a node says of a rail that is as it should be."""
    if changes == {"interface": ""}:
        return changes
    other = NODES[1 - node]
    fine = {"interface": f"eth{number}", "mtu": 9000, "up": True, "addresses": [f"10.40.{number}.{11 + node}/24"], "gbps": 0.0}
    return {**fine, "neighbour": other, "leaves_by": f"eth{number}", "size": 9000, "whole": "", "smaller": "", **changes}


def outcome(**changes: dict[str, Any]) -> dict[str, Any]:
    """Give the step's outcome; `train_1_rail0={...}` changes what one node says of one rail."""
    lines = []
    for node, name in enumerate(NODES):
        rails = {f"rail{number}": rail(node, number, **changes.get(f"{name.replace('-', '_')}_rail{number}", {})) for number in range(2)}
        lines.append({"node": name, "rails": rails})
    return {"lines": lines, "error": ""}


def rows(checks: Any) -> list[tuple[str, str, str, str]]:
    return [(check.name, check.node, check.measured, check.verdict.value) for check in checks]


def test_rails_that_are_as_the_inventory_has_them_pass_on_all_nodes_at_once() -> None:
    assert rows(judge_rails.rails(node_set(), NODES, outcome())) == [
        ("rails", "train-[0-1]", "2 rails set up", "pass"),
        ("rail routes", "train-[0-1]", "2 rails leave by their own rail", "pass"),
        ("rail packets", "train-[0-1]", "2 rails arrive whole", "pass"),
    ]


@pytest.mark.parametrize(
    ("seen", "check", "measured"),
    [
        ({"mtu": 1500}, "rails", "rail1 (eth1) has the MTU 1500, not 9000"),
        ({"up": False}, "rails", "rail1 (eth1) is down"),
        ({"addresses": ["10.40.9.9/24"]}, "rails", "rail1 (eth1) has 10.40.9.9/24, not 10.40.1.12/24"),
        ({"interface": ""}, "rails", "rail1: no interface has 02:00:00:00:01:01"),
        ({"leaves_by": "eth0"}, "rail routes", "packets of eth1 leave by eth0"),
        ({"whole": "no answer"}, "rail packets", "rail1: 9000 bytes don't reach train-0 (no answer), 1500 do"),
        ({"whole": "no answer", "smaller": "no answer"}, "rail packets", "rail1: nothing reaches train-0 (no answer)"),
    ],
)
def test_a_fault_of_one_rail_names_its_node(seen: dict[str, Any], check: str, measured: str) -> None:
    failed = [row for row in rows(judge_rails.rails(node_set(), NODES, outcome(train_1_rail1=seen))) if row[3] == "fail"]
    assert failed == [(check, "train-1", measured, "fail")]


def test_a_node_that_says_nothing_fails() -> None:
    said = {"lines": outcome()["lines"][:1], "error": "srun: error: train-1: task 1: Killed"}
    assert ("rails", "train-1", "none: srun: error: train-1: task 1: Killed", "fail") in rows(judge_rails.rails(node_set(), NODES, said))


def test_a_link_is_compared_with_the_speed_of_the_machine_in_the_catalogue() -> None:
    nics = (spec.Nic(0, 0, "ethernet", 1), spec.Nic(1, 0, "infiniband", 0), spec.Nic(2, 0, "infiniband", 0))
    fast = node_set(dataclasses.replace(clusters.machine(), network_gbps=400.0, nics=nics))
    slow = outcome(train_0_rail0={"gbps": 100.0}, train_0_rail1={"gbps": 200.0}, train_1_rail0={"gbps": 200.0})
    speed = [row for row in rows(judge_rails.rails(fast, NODES, slow)) if row[0] == "rail speed"]
    assert speed == [("rail speed", "train-0", "rail0 (eth0) has 100 Gb/s, not 200", "fail"), ("rail speed", "train-1", "2 rails as in the catalogue", "pass")]


def test_a_rail_in_a_partition_is_the_interface_below_that_of_its_port() -> None:
    address = ":fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:aa:bb:cc"
    links = [{"ifname": "ib0.8001", "address": f"80:00:00:48{address}", "link": "ib0"}, {"ifname": "ib0", "address": f"00:00:11:04{address}"}]
    wanted = {"name": "rail0", "mac": "00:00:10:28" + address, "partition_key": "0x8001"}
    assert probe.interface(wanted, links) == links[0]
    assert probe.interface({**wanted, "mac": "", "name": "ib0"}, links) == links[0]
    assert probe.interface(wanted, links[1:]) is None
    assert probe.interface({**wanted, "partition_key": ""}, links) == links[1], (
        "the kernel gave the port another queue pair than when its address was written down"
    )


def test_the_view_names_partitions_only_where_there_are_some() -> None:
    hosts = (spec.SiteHost("train-0", "10.20.0.11", "", interfaces=(interface(0, 0, partition_key="0x8001"), interface(1, 0))),)
    view = spec.acceptance_view(dataclasses.replace(resolved(), site=spec.Site("root", 22, hosts)))
    assert [rail.get("partition_key") for rail in view["rails"]["train-0"]] == ["0x8001", None]


def test_nodes_without_rails_are_not_asked() -> None:
    plain = expectation.expect(clusters.cluster()).node_sets[0]
    assert judge_rails.rails(plain, NODES, {"lines": [], "error": ""}) == []
    assert allocation.rails_of(plain, NODES) == {}


def test_each_rail_sends_to_the_next_node_of_those_that_are_tested() -> None:
    assert {name: one["next"] for name, one in allocation.rails_of(node_set(), NODES).items()} == {"train-0": "train-1", "train-1": "train-0"}
    assert [one["next"] for one in allocation.rails_of(node_set(), NODES[:1]).values()] == [""]


def test_every_check_of_rails_has_a_code() -> None:
    faults = outcome(train_0_rail0={"mtu": 1500, "leaves_by": "", "whole": "no answer"})
    assert {findings.finding(dataclasses.asdict(check) | {"verdict": check.verdict.value}).code for check in judge_rails.rails(node_set(), NODES, faults)} == {
        findings.Code.RAILS,
        findings.Code.RAIL_ROUTES,
        findings.Code.RAIL_PACKETS,
    }


def test_a_packet_of_the_wanted_size_comes_back_and_a_larger_one_than_the_interface_takes_does_not() -> None:
    program = f"""
import subprocess, sys
sys.path.insert(0, {str(project_root() / "playbooks/roles/acceptance/files")!r})
from acceptance import rails
subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "4000"], check=True)
print(repr([rails.echo("127.0.0.1", "127.0.0.2", 4000), rails.echo("127.0.0.1", "127.0.0.2", 4001)]))
"""
    ended = subprocess.run(["unshare", "--net", sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if "Operation not permitted" in ended.stderr:
        pytest.skip("a network of its own takes root")
    assert ended.stdout.strip() == "['', 'Message too long']", ended.stderr
