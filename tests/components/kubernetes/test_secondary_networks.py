"""Networks in which pods ask for a further interface: their objects, whose pods can use them, and what Multus says that a pod got."""

import dataclasses
import json
from typing import Any

import pytest

from blueprints import spec
from components.kubernetes import queues, secondary_networks, settings
from tests.components.kubernetes.test_queues import cluster

RAILS = (spec.SecondaryNetwork("rail0", "10.40.0.0/24", "10.40.0.128/25"), spec.SecondaryNetwork("rail1", "10.40.1.0/24", "10.40.1.128/25"))


def railed(*networks: spec.SecondaryNetwork) -> spec.ClusterSpec:
    plain = cluster()
    return dataclasses.replace(plain, kubernetes=dataclasses.replace(queues.kubernetes_of(plain), secondary_networks=networks))


def test_pods_of_every_account_can_name_every_network() -> None:
    for account, found in queues.by_account(railed(*RAILS)).items():
        named = [one["metadata"] for one in found if one["kind"] == secondary_networks.KIND]
        assert [(one["namespace"], one["name"]) for one in named] == [(account, "rail0"), (account, "rail1")]


def test_users_read_the_networks_that_they_can_name_and_change_none() -> None:
    [role] = [one for one in queues.shared(railed(*RAILS)) if one["metadata"]["name"] == "clusterwright-jobs"]
    [rule] = [one for one in role["rules"] if "k8s.cni.cncf.io" in one["apiGroups"]]
    assert set(rule["verbs"]) == {"get", "list", "watch"}


def test_without_networks_objects_are_what_they_were() -> None:
    assert not any("k8s.cni.cncf.io" in json.dumps(one) for one in queues.shared(railed()))


def test_only_pools_whose_nodes_all_have_an_interface_are_tried() -> None:
    node_sets = queues.kubernetes_of(cluster(nodes=2)).node_sets
    names = node_sets[0].hosts.hostnames
    hosts = {name: [spec.SiteInterface("rail0"), *([spec.SiteInterface("rail1")] if name == names[0] else [])] for name in names}
    site = spec.Site("root", 22, tuple(spec.SiteHost(name, "", "", interfaces=tuple(found)) for name, found in hosts.items()))
    assert secondary_networks.of_pools(node_sets, RAILS, site) == {"train": {"rail0": "10.40.0.128/25"}}
    everybody = {"train": {"rail0": "10.40.0.128/25", "rail1": "10.40.1.128/25"}}
    assert secondary_networks.of_pools(node_sets, RAILS, None) == everybody, "hosts of this machine have one interface for all networks"


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], {}),
        ([{"name": "cbr0", "interface": "eth0", "ips": ["10.224.1.7"]}, {"name": "ml/rail0", "interface": "net1", "ips": ["10.40.0.128"]}], {"rail0": "10.40.0.128"}),
        ([{"name": "ml/rail0", "interface": "net1", "ips": []}], {}),
    ],
)  # fmt: skip
def test_what_a_pod_got_is_what_multus_wrote(entries: list[dict[str, Any]], expected: dict[str, str]) -> None:
    pod = {"metadata": {"annotations": {secondary_networks.STATUS: json.dumps(entries)}}}
    assert {name: address for name, address in secondary_networks.given(pod).items() if name != "cbr0"} == expected


def test_plug_ins_are_on_nodes_with_taints_and_on_no_host_of_the_control_plane() -> None:
    """Roles of nodes take the file of Multus away with the last network; those of the control plane do not."""
    for addon, workload in (("multus", "DaemonSet/kube-multus-ds"), ("whereabouts", "DaemonSet/whereabouts")):
        pod = settings.of_addon(addon)[workload]["spec"]["template"]["spec"]
        [term] = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}]
        assert pod["tolerations"] == [{"operator": "Exists"}]
