"""Labels and taints of Kubernetes nodes, as templates lay them out."""

from typing import Any

import pytest
import yaml

from tests.playbooks import templates

GPUS = {"type": "h100", "count": 8}
TAINT = {"key": "example.com/gpu", "value": "yes", "effect": "NoSchedule"}
POOL, GPU, SIMULATED = "clusterwright.io/pool", "clusterwright.io/gpu", "clusterwright.io/simulated-gpus"


def node_set(*, gpus: dict[str, Any] | None = None, labels: tuple[tuple[str, str], ...] = (), taints: tuple[dict[str, str | None], ...] = ()) -> dict[str, Any]:
    return {"pool": "train", "hosts": {"name": "train", "machine": {"gpus": gpus}}, "labels": labels, "taints": taints}


def nodes(of: dict[str, Any], **racks: str) -> dict[str, dict[str, str]]:
    """Give the labels of each node as kubectl reads them."""
    spec = {"kubernetes": {"racks": {name.replace("_", "-"): rack for name, rack in racks.items()}} if racks else {}}
    text = templates.render("nodes.yaml.j2", role="kubeadm_node", kubeadm_node_set=of, spec=spec, ansible_play_hosts=["train-0", "train-1"])
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


def test_a_node_is_labelled_with_the_rack_that_the_inventory_names() -> None:
    found = nodes(node_set(), train_1="r1")
    assert {name: labels.get("topology.kubernetes.io/rack") for name, labels in found.items()} == {"train-0": None, "train-1": "r1"}


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


@pytest.mark.parametrize(("pools", "takes_all"), [((), True), (((),), False), (((TAINT,),), True), (((TAINT,), ()), False)])
def test_the_control_plane_takes_pods_where_every_pool_is_tainted(pools: tuple[tuple[dict[str, str | None], ...], ...], takes_all: bool) -> None:
    spec = {"kubernetes": {"node_sets": [node_set(taints=taints) for taints in pools]}}
    known = {"spec": spec, "inventory_hostname": "kubernetes-1", "ansible_host": "10.0.0.3", "kubeadm_control_api_port": 6443}
    text = templates.render("join.yaml.j2", role="kubeadm_control", kubeadm_control_token={"stdout": "token"}, **known)
    assert (yaml.safe_load(text)["nodeRegistration"].get("taints") == []) is takes_all
