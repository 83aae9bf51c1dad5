"""Settings of elastic Kubernetes nodes, put together from texts and records."""

import hashlib
import importlib
import json
from typing import Any

import pytest

elastic_nodes: Any = importlib.import_module("elastic_nodes")

MACHINE = {"sockets": 2, "cores_per_socket": 4, "threads_per_core": 2, "memory_mib": 4096, "gpus": None}
NODE_SET = {"hosts": {"name": "train", "machine": MACHINE}}
NETWORKS = ({"path": "/etc/cni/multus", "folder": True}, {"path": "/etc/cni/multus/net.d/rail0.conf", "content": "{}\n"})


def settings(**more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "programs": "- {path: /usr/local/bin/kubelet, link: /releases/r1/kubelet}",
        "networks": NETWORKS,
        "manifest": {"metadata": {"labels": {"clusterwright.io/pool": "train"}}},
        "taints": [{"key": "gpu", "effect": "NoSchedule"}],
        "taint_words": ["gpu=:NoSchedule", "more=yes:NoExecute"],
        "join": {"endpoint": "10.81.0.14:6443", "authority": "AAAA"},
        "shares_machine": False,
        **more,
    }
    found: dict[str, Any] = elastic_nodes.elastic_node_settings(NODE_SET, {"/etc/a": "text", "/etc/b.json": {"gpus": 8}}, **given)
    return found


def test_a_node_gets_programs_networks_files_and_its_timer() -> None:
    link = "/etc/systemd/system/timers.target.wants/clusterwright-node-health.timer"
    files = {one["path"]: one for one in settings()["files"]}
    assert [*files] == ["/usr/local/bin/kubelet", "/etc/cni/multus/net.d/rail0.conf", "/etc/a", "/etc/b.json", link]
    assert (files["/etc/a"]["content"], json.loads(files["/etc/b.json"]["content"])) == ("text", {"gpus": 8})


def test_it_joins_under_the_mark_of_the_clusters_authority() -> None:
    assert settings()["join"] == {"endpoint": "10.81.0.14:6443", "authority": "AAAA", "mark": hashlib.sha256(b"AAAA").hexdigest()}


def test_it_offers_what_its_machine_has() -> None:
    node = settings(shares_machine=True)["node"]
    assert (node["cpus"], node["memory_mib"], node["gpus"], node["shares_machine"]) == (16, 4096, 0, True)
    assert node["taint_words"] == "gpu=:NoSchedule more=yes:NoExecute"


def test_only_node_sets_of_the_fleet_are_elastic() -> None:
    others = [NODE_SET, {"hosts": {"name": "static"}}]
    assert elastic_nodes.elastic_node_sets(others, {"node_sets": [{"name": "train"}]}) == [NODE_SET]


def test_networks_of_an_inventory_are_none_of_an_elastic_nodes() -> None:
    assert elastic_nodes.on_only_interface([{"name": "rail0"}, {"name": "rail1", "macs": {"gpu-1": "b8:3f:d2:00:11:22"}}]) == [{"name": "rail0"}]


@pytest.mark.parametrize(("key", "expected"), [("", '{"a": 1, "b": {"d": 2, "c": 3}}'), ("b", '{"d": 2, "c": 3}')])
def test_a_file_of_yaml_becomes_json(key: str, expected: str) -> None:
    found = elastic_nodes.yaml_as_json("b: {d: 2, c: 3}\na: 1", key)
    assert json.loads(found) == json.loads(expected)
    assert found == (expected if key else '{"a": 1, "b": {"c": 3, "d": 2}}')
