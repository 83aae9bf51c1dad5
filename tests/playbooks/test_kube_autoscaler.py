"""What elastic nodes of Kubernetes are told: the same as finishing gives to others, so that a node is a node however it came."""

import importlib
import json
import pathlib
from typing import Any

import ansible.module_utils
import pytest
import yaml

from components.local import join
from tests.playbooks import templates

ansible.module_utils.__path__.append(str(templates.PLAYBOOKS / "module_utils"))
files = importlib.import_module("files")

ENDPOINT, AUTHORITY = "10.81.0.14:6443", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
CORES = {"sockets": 1, "cores_per_socket": 2, "threads_per_core": 1}
NODE_SET: dict[str, Any] = {
    "pool": "train",
    "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
    "labels": [["tier", "spot"]],
    "minimum": 0,
    "hosts": {"name": "train", "machine": {**CORES, "memory_mib": 2048, "exists": True, "gpus": {"type": "h100", "count": 8, "simulated": True}}},
}
SPEC = {
    "kubernetes": {
        "service_cidr": "10.63.0.0/16", "pod_cidr": "10.224.0.0/11", "pod_network": "flannel", "endpoint": ENDPOINT,
        "control": {"prefix": "kubernetes", "count": 1, "members": ""}, "node_sets": [NODE_SET],
    }
}  # fmt: skip
PROVIDED = {"releases": "/releases", "release": "r1", "rehearsal": True, "fleet": {"node_sets": [{"name": "train"}]}, "expected": {"train": '{"gpus": 8}'}}
IGNORED = templates.value("elastic_join_ignored", role="elastic")


@pytest.fixture(scope="module")
def entry() -> dict[str, Any]:
    secrets = {"cluster": {"public": AUTHORITY, "private": "the key of the cluster"}}
    text = templates.render("autoscaler.yml.j2", role="elastic", spec=SPEC, provided=PROVIDED, secrets=secrets)
    (only,) = yaml.safe_load(text)
    return dict(only)


@pytest.fixture(scope="module")
def told(entry: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(entry["content"]))


def test_only_root_reads_it_and_it_holds_no_key(entry: dict[str, Any]) -> None:
    assert entry["mode"] == "0600"
    assert "the key of the cluster" not in entry["content"]


def test_a_node_is_told_labels_taints_and_what_it_offers(told: dict[str, Any]) -> None:
    assert told["node"] == {
        "labels": {"clusterwright.io/pool": "train", "clusterwright.io/gpu": "h100-simulated", "clusterwright.io/simulated-gpus": "true", "tier": "spot"},
        "taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
        "taint_words": "gpu=yes:NoSchedule",
        "cpus": 2, "memory_mib": 2048, "gpus": 8, "gpu_resource": "nvidia.com/gpu", "shares_machine": True,
    }  # fmt: skip


def test_it_joins_as_nodes_that_finishing_joins(told: dict[str, Any]) -> None:
    given = join.configuration({**told, "token": "abcdef.0123456789abcdef"}, name="train-0", address="10.81.1.0")
    variables = {
        "spec": SPEC, "secrets": {"authority": AUTHORITY}, "inventory_hostname": "train-0", "ansible_host": "10.81.1.0", "kubeadm_node_set": NODE_SET,
        "ansible_play_hosts": ["train-0"], "hostvars": {"train-0": {"kubeadm_node_token": {"stdout": "abcdef.0123456789abcdef"}}},
    }  # fmt: skip
    for name, text in given.items():
        assert json.loads(text) == yaml.safe_load(templates.render(f"{name}.j2", role="kubeadm_node", **variables))


def test_kubeadm_overlooks_for_it_what_it_overlooks_for_containers() -> None:
    role = "kubeadm_node"
    assert templates.value("kubeadm_node_ignored + kubeadm_node_ignored_in_containers", role=role) == IGNORED


def test_its_files_are_those_of_other_nodes(told: dict[str, Any]) -> None:
    files = {one["path"]: one for one in told["files"]}
    assert files["/usr/local/bin/kubelet"]["link"] == "/releases/r1/bin/kubelet"
    services = {"kubelet_services": "10.63.0.0/16", "kubelet_pods": "10.224.0.0/11", "kubelet_pods_leave_by": ["lo", "cni0", "flannel.1"]}
    assert files["/etc/clusterwright/kubernetes/services.nft"]["content"] == templates.render("services.nft.j2", role="kubelet", **services)
    assert 'host."http://kubernetes-0:5000"' in files["/etc/containerd/certs.d/_default/hosts.toml"]["content"]
    patches = yaml.safe_load(files["/etc/clusterwright/kubernetes/patches/kubeletconfiguration+merge.yaml"]["content"])
    assert patches["systemReserved"]["memory"] == "128Mi"
    assert json.loads(files["/etc/clusterwright/expected.json"]["content"]) == {"gpus": 8}
    # Everything that finishing lays out for a node's health, and its timer is started.
    tasks = [templates.PLAYBOOKS / "roles" / role / "tasks" / name for role, name in (("kube_health", "main.yml"), ("guard", "looks.yml"))]
    written = [one["path"] for path in tasks for task in yaml.safe_load(path.read_text()) if "pending" not in str(task.get("when")) for one in entries(task)]
    folders = {"{{ kube_health_folder }}": "/usr/lib/clusterwright", "{{ guard_folder }}": "/usr/lib/clusterwright"}
    assert {path.replace(word, folder) for path in written for word, folder in folders.items() if word in path or "{{" not in path} <= set(files)
    assert told["units"] == ["clusterwright-node-health.timer"]


def entries(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (task.get("files") or {}).get("entries", ()) if "absent" not in one]


def test_pods_get_interfaces_in_the_same_networks_as_on_other_nodes() -> None:
    network = {"name": "storage", "cidr": "10.90.0.0/16", "first": "10.90.1.0", "last": "10.90.1.255"}
    with_network = {"kubernetes": {**SPEC["kubernetes"], "secondary_networks": [network]}}
    secrets = {"cluster": {"public": AUTHORITY, "private": ""}}
    (entry,) = yaml.safe_load(templates.render("autoscaler.yml.j2", role="elastic", spec=with_network, provided=PROVIDED, secrets=secrets))
    [found] = [one["content"] for one in json.loads(entry["content"])["files"] if one["path"] == "/etc/cni/multus/net.d/storage.conf"]
    assert json.loads(found)["master"] == "host0"  # as components/local/machine/host.py names it
    links = [{"ifname": "host0", "addr_info": [{"local": "10.20.0.11"}]}]
    expected = templates.evaluate("{{ networks | multus_files('train-0', '10.20.0.11', links) }}", networks=[network], links=links)
    assert found == next(one["content"] for one in expected if one["path"].endswith("storage.conf"))


def test_it_records_its_files_as_finishing_does(told: dict[str, Any], tmp_path: pathlib.Path) -> None:
    """Else drift would call each of them added."""
    file = tmp_path / "record" / "written.json"
    join.record([("/etc/before", {"kind": "absent"})], file=str(file))
    join.record(map(join.described, told["files"]), file=str(file))
    recorded = json.loads(file.read_text())
    assert recorded.pop("/etc/before") == {"kind": "absent"}
    absent: dict[str, Any] = {"absent": False, "link": None, "folder": False, "owner": None, "group": None, "mode": None}
    assert recorded == {one["path"]: files.recorded_entry({**absent, **one}, secret=True) for one in told["files"]}


def test_files_are_written_whole_with_their_modes_and_links_replaced(tmp_path: pathlib.Path) -> None:
    path, link = tmp_path / "a" / "secret", tmp_path / "program"
    join.write({"path": str(path), "content": "text", "mode": "0600"})
    join.write({"path": str(link), "link": "/releases/r1/bin/kubelet"})
    join.write({"path": str(link), "link": "/releases/r2/bin/kubelet"})
    assert (path.read_text(), path.stat().st_mode & 0o777, str(link.readlink())) == ("text", 0o600, "/releases/r2/bin/kubelet")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "program"]
