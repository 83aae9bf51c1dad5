"""Labels and taints of Kubernetes nodes, and what kubeadm is told, as templates lay them out."""

import base64
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import tomllib
from typing import Any

import pytest
import yaml

from blueprints import spec
from components.kubernetes import queues
from tests.components.kubernetes import test_queues
from tests.playbooks import templates

kubernetes_tables: Any = importlib.import_module("kubernetes_tables")
GPUS = {"type": "h100", "count": 8}
TAINT = {"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}
POOL, GPU, SIMULATED = "clusterwright.io/pool", "clusterwright.io/gpu", "clusterwright.io/simulated-gpus"
RACK = "clusterwright.io/rack"


def node_set(*, gpus: dict[str, Any] | None = None, labels: tuple[tuple[str, str], ...] = (), taints: tuple[dict[str, str | None], ...] = ()) -> dict[str, Any]:
    return {"pool": "train", "hosts": {"name": "train", "machine": {"gpus": gpus}}, "labels": labels, "taints": taints}


def nodes(of: dict[str, Any], **racks: str) -> dict[str, dict[str, str]]:
    """Give the labels of each node as kubectl reads them."""
    view = {"kubernetes": {"racks": {name.replace("_", "-"): rack for name, rack in racks.items()}} if racks else {}}
    text = templates.render("nodes.yaml.j2", role="kubeadm_node", kubeadm_node_set=of, spec=view, ansible_play_hosts=["train-0", "train-1"])
    found = list(yaml.safe_load_all(text))
    assert {(one["apiVersion"], one["kind"]) for one in found} == {("v1", "Node")}
    return {one["metadata"]["name"]: one["metadata"]["labels"] for one in found}


@pytest.mark.parametrize(
    ("gpus", "labels"),
    [
        (None, {}),
        ({**GPUS, "simulated": False}, {GPU: "h100"}),
        ({**GPUS, "simulated": True}, {GPU: "h100-simulated", SIMULATED: "true"}),
    ],
)
def test_a_node_is_labelled_with_its_pool_and_gpus(gpus: dict[str, Any] | None, labels: dict[str, str]) -> None:
    assert nodes(node_set(gpus=gpus)) == {name: {POOL: "train", **labels} for name in ("train-0", "train-1")}


def test_labels_of_the_blueprint_are_there_and_the_stacks_own_win() -> None:
    assert nodes(node_set(labels=(("team", "nlp"), (POOL, "other"))))["train-0"] == {"team": "nlp", POOL: "train"}


def test_nodes_have_the_labels_by_which_queues_know_their_racks() -> None:
    """Kueue gives no job to a node that lacks the label of a level."""
    hosts = tuple(spec.SiteHost(f"train-{number}", "", "", rack=rack) for number, rack in enumerate(("r1", "Room 2 / row 7")))
    cluster = dataclasses.replace(test_queues.cluster(nodes=2), site=spec.Site("root", 22, hosts))
    racks = spec.kubernetes_view(cluster)["kubernetes"]["racks"]
    found = nodes(node_set(), **{name.replace("-", "_"): rack for name, rack in racks.items()})
    rack, host = [one["nodeLabel"] for one in queues.topology(cluster)["spec"]["levels"]]
    assert {name: labels[rack] for name, labels in found.items()} == {"train-0": "r1", "train-1": "Room-2-row-7"}
    assert host == "kubernetes.io/hostname", "kubelets set it themselves"


def test_a_node_whose_rack_nobody_named_has_no_label_for_it() -> None:
    found = nodes(node_set(), train_1="r1")
    assert {name: RACK in labels for name, labels in found.items()} == {"train-0": False, "train-1": True}


@pytest.mark.parametrize("unnamed", ["", " / "])
def test_racks_are_a_level_of_queues_where_every_node_has_one(unnamed: str) -> None:
    hosts = (spec.SiteHost("train-0", "", "", rack="r1"), spec.SiteHost("train-1", "", "", rack=unnamed))
    cluster = dataclasses.replace(test_queues.cluster(nodes=2), site=spec.Site("root", 22, hosts))
    assert [one["nodeLabel"] for one in queues.topology(cluster)["spec"]["levels"]] == ["kubernetes.io/hostname"]


@pytest.mark.parametrize(
    ("taints", "registers", "wanted"),
    [
        ((), [], ""),
        ((TAINT,), [TAINT], "example.com/gpu=yes:NoSchedule "),
        (({**TAINT, "value": None},), [{"key": "example.com/gpu", "effect": "NoSchedule"}], "example.com/gpu=:NoSchedule "),
    ],
)
def test_nodes_register_with_their_pools_taints_and_keep_them(taints: tuple[dict[str, str | None], ...], registers: list[dict[str, str]], wanted: str) -> None:
    known = {
        "kubeadm_node_set": node_set(taints=taints),
        "inventory_hostname": "train-0",
        "ansible_host": "10.0.0.2",
        "ansible_play_hosts": ["train-0"],
        "hostvars": {"train-0": {"kubeadm_node_token": {"stdout": "token"}}},
    }
    assert yaml.safe_load(templates.render("join.yaml.j2", role="kubeadm_node", **known))["nodeRegistration"]["taints"] == registers
    assert f"wanted='{wanted}'\n" in templates.render("taints.sh.j2", role="kubeadm_node", **known)


@pytest.mark.parametrize("has_devices", [True, False])
def test_the_container_runtime_reads_descriptions_of_devices_where_the_profile_has_the_toolkit(has_devices: bool) -> None:
    text = templates.render("config.toml.j2", role="container_runtime", container_runtime_has_devices=has_devices, container_runtime_in_container=False)
    found = tomllib.loads(text)["plugins"]["io.containerd.grpc.v1.cri"]
    assert found.get("enable_cdi", False) is has_devices


@pytest.mark.parametrize("scheduler", ["slurm", "kubernetes"])
@pytest.mark.parametrize(("gpus", "parts"), [({**GPUS, "simulated": False}, {"driver", "kernel"}), (None, {"kernel"})])
def test_nodes_with_gpus_get_the_driver_under_either_scheduler(scheduler: str, gpus: Any, parts: set[str]) -> None:
    view = {"slurm": None, "kubernetes": None, scheduler: {"node_sets": [node_set(gpus=gpus)]}}
    software = {"origins": [], "versions": [["kernel", "6.8"], ["driver", "580.1"]]}
    known = {"spec": {**view, "software": software}, "node_group": "train", "software": software}
    assert set(templates.value("kernel_and_drivers_versions", role="kernel_and_drivers", **known)) == parts


def test_the_control_plane_takes_pods_where_untainted_nodes_may_all_be_away() -> None:
    """Else an add-on would keep one of them there for good."""
    assert templates.evaluate("{{ pools | has_untainted }}", pools=[{**node_set(), "minimum": 0}]) is False
    assert templates.evaluate("{{ pools | has_untainted }}", pools=[{**node_set(), "minimum": 1}]) is True


@pytest.mark.parametrize(
    ("gpus", "exists", "is_rehearsal", "pins", "reserved"),
    [(GPUS, True, False, True, "500m"), (None, True, False, False, "500m"), (GPUS, False, True, False, "50m")],
)
def test_pods_of_gpus_have_cores_near_them_and_the_host_keeps_its_own(gpus: Any, exists: bool, is_rehearsal: bool, pins: bool, reserved: str) -> None:
    of = node_set(gpus=gpus)
    of["hosts"]["machine"]["exists"] = exists
    found = yaml.safe_load(templates.render("kubelet.yaml.j2", role="kubeadm_node", kubeadm_node_set=of, provided={"rehearsal": is_rehearsal}))
    assert (found.get("cpuManagerPolicy"), found.get("topologyManagerPolicy")) == (("static", "best-effort") if pins else (None, None))
    assert (found["systemReserved"]["cpu"], found["kubeReserved"]["cpu"]) == (reserved, reserved)


@pytest.mark.parametrize(("pools", "takes_all"), [((), True), (((),), False), (((TAINT,),), True), (((TAINT,), ()), False)])
def test_the_control_plane_takes_pods_where_every_pool_is_tainted(pools: tuple[tuple[dict[str, str | None], ...], ...], takes_all: bool) -> None:
    view = {"kubernetes": {"node_sets": [node_set(taints=taints) for taints in pools]}}
    known = {"spec": view, "inventory_hostname": "kubernetes-1", "ansible_host": "10.0.0.3", "kubeadm_control_api_port": 6443}
    text = templates.render("join.yaml.j2", role="kubeadm_control", kubeadm_control_token={"stdout": "token"}, **known)
    assert (yaml.safe_load(text)["nodeRegistration"].get("taints") == []) is takes_all


def test_kubeadm_is_told_the_names_of_the_api_server_and_the_images_of_the_release() -> None:
    control = {"name": "kubernetes", "role": "kubernetes", "prefix": "kubernetes", "count": 2}
    kubernetes = {
        "version": "1.35.1",
        "endpoint": "10.0.0.9:6443",
        "pod_cidr": "10.96.0.0/16",
        "service_cidr": "10.97.0.0/16",
        "node_sets": [],
        "control": control,
    }
    images: dict[str, dict[str, str]] = {
        "registry.example.org:5000/etcd:1": {},
        "registry.k8s.io/coredns/coredns:v1.13.1": {},
        "registry.k8s.io/etcd:3.6.6-0": {},
    }
    known = {
        "spec": {"name": "tiny", "kubernetes": kubernetes},
        "provided": {},
        "inventory_hostname": "kubernetes-0",
        "ansible_host": "10.0.0.2",
        "kubeadm_control_images": {"content": base64.b64encode(json.dumps(images).encode()).decode()},
        "kubeadm_control_in_container": False,
    }
    (settings,) = [
        one for one in yaml.safe_load_all(templates.render("kubeadm.yaml.j2", role="kubeadm_control", **known)) if one["kind"] == "ClusterConfiguration"
    ]
    assert settings["apiServer"]["certSANs"] == ["10.0.0.9", "127.0.0.1", "localhost", "kubernetes-0", "kubernetes-1"]
    assert (settings["dns"]["imageTag"], settings["etcd"]["local"]["imageTag"]) == ("v1.13.1", "3.6.6-0")
    # More than the 20 and 50 of their own: a gang of hundreds of pods would wait for them.
    rates = [{one["name"]: one["value"] for one in settings[program]["extraArgs"]} for program in ("controllerManager", "scheduler")]
    assert [(int(one["kube-api-qps"]), int(one["kube-api-burst"])) for one in rates] == [(300, 600)] * 2


def test_the_name_of_a_control_host_is_in_its_certificate_once() -> None:
    assert kubernetes_tables.certificate_names("kubernetes-0:6443", ["kubernetes-0"]) == ["kubernetes-0", "127.0.0.1", "localhost"]


KEY = "node-role.kubernetes.io/control-plane"
TAINTED = f"{KEY}=:NoSchedule"
KUBECTL = """\
case "$*" in
"get node head "*annotations*) cat {0}/noted ;;
"get node head --output=jsonpath={{.spec.taints[*].key}}") cat {0}/taints ;;
"taint node head node-role.kubernetes.io/control-plane-") : >{0}/taints; echo untainted ;;
"taint node head node-role.kubernetes.io/control-plane=:NoSchedule") echo foreign/key node-role.kubernetes.io/control-plane >{0}/taints; echo tainted ;;
"annotate --overwrite node head clusterwright.io/taints="*) echo "${{5#*=}}" >{0}/noted; echo annotated ;;
*) echo "unknown: $*" >&2; exit 2 ;;
esac
"""


@pytest.mark.parametrize(
    ("minimum", "noted", "taints", "after"),
    [
        (0, "", KEY, ("none", "")),  # it was begun when nodes without taints always ran
        (0, TAINTED, f"foreign/key {KEY}", ("none", "")),
        (1, "none", "foreign/key", (TAINTED, f"foreign/key {KEY}")),
        (1, "", KEY, (TAINTED, KEY)),
        (1, TAINTED, "", (TAINTED, "")),  # its administrator wants it so
        (0, "none", KEY, ("none", KEY)),
    ],
)
def test_a_control_plane_that_runs_takes_pods_when_its_pools_become_elastic_and_no_longer_when_they_end_to_be(
    minimum: int, noted: str, taints: str, after: tuple[str, str], tmp_path: pathlib.Path
) -> None:
    for name, text in (("noted", noted), ("taints", taints), ("kubectl", f"#!/bin/sh\n{KUBECTL.format(tmp_path)}")):
        (tmp_path / name).write_text(text)
    (tmp_path / "kubectl").chmod(0o755)
    known = {"spec": {"kubernetes": {"node_sets": [{**node_set(), "minimum": minimum}]}}, "inventory_hostname": "head"}
    script = templates.render("taint.sh.j2", role="kubeadm_control", **known)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for run in range(2):
        done = subprocess.run(["sh"], input=script, env=environment, capture_output=True, text=True, check=True)
        assert not (run and done.stdout), "the second run changes something"
        assert ((tmp_path / "noted").read_text().strip(), (tmp_path / "taints").read_text().strip()) == after


def test_images_come_from_the_sites_registry_or_from_each_host_of_the_control_plane() -> None:
    assert kubernetes_tables.image_mirrors({"registry": "registry.example.org:5000"}, ["a"]) == ["registry.example.org:5000"]
    assert kubernetes_tables.image_mirrors({"registry": ""}, ["a", "b"]) == ["a:5000", "b:5000"]


def test_packets_to_pods_leave_by_interfaces_of_the_network_plugin() -> None:
    assert kubernetes_tables.pod_interfaces({"pod_network": "flannel"}) == ["lo", "cni0", "flannel.1"]
    assert kubernetes_tables.pod_interfaces({"pod_network": "another"}) == []


def test_a_host_has_the_networks_that_name_its_hardware_address() -> None:
    everywhere, here, there = {"name": "a"}, {"name": "b", "macs": {"gpu-1": "x"}}, {"name": "c", "macs": {"gpu-2": "y"}}
    assert kubernetes_tables.networks_of([here, there, everywhere], "gpu-1") == [everywhere, here]


def test_files_of_networks_go_with_them_and_those_of_multus_with_the_last() -> None:
    before = ["/etc/cni/multus/net.d/a.conf", "/etc/cni/multus/net.d/b.conf", "/etc/cni/net.d/00-multus.conf"]
    assert kubernetes_tables.multus_files_gone(before, [{"name": "a"}]) == ["/etc/cni/multus/net.d/b.conf"]
    assert kubernetes_tables.multus_files_gone(before, []) == before
