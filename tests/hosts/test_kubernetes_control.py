"""A control plane of three hosts: what goes on when one is lost, how a host comes back with its disk or without, and how the cluster goes back to a snapshot."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.local.machine import command, sweep
from components.local.machine import host as hosts
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(5400)]

CONTROL, NODE = ("kubernetes-0", "kubernetes-1", "kubernetes-2"), "train-0"
PKI = "/etc/kubernetes/pki/etcd"
NEW = "1.35.4"
MOVES_WITHIN_S = 60
"""The address moves within 4 s and a balancer leaves an API server out within 4 s; other tests run beside."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    chosen = {"control.highly_available": True, "pools.train.nodes": 1}
    with deployment("test-three", tmp_path_factory.mktemp("three"), blueprint="starter-kubernetes", set=chosen) as one:
        one.up()
        yield one


def kubectl(cluster: Deployment, *words: str) -> str:
    """Run kubectl as a user does: through the endpoint."""
    done = cluster.clusterwright("kubectl", "--", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answers(cluster: Deployment, *words: str) -> bool:
    return cluster.clusterwright("kubectl", "--", *words).returncode == 0


def etcd(cluster: Deployment, host: str, *words: str) -> str:
    pair = (f"--cacert={PKI}/ca.crt", f"--cert={PKI}/server.crt", f"--key={PKI}/server.key")
    return cluster.inside(host, "/usr/local/bin/etcdctl", "--endpoints=https://127.0.0.1:2379", *pair, *words)


def members(cluster: Deployment, host: str = CONTROL[-1]) -> dict[str, bool]:
    """Name of each member of etcd → whether it has a vote."""
    found: Any = json.loads(etcd(cluster, host, "member", "list", "--write-out=json"))["members"]
    return {one.get("name", ""): not one.get("isLearner", False) for one in found}


def ready_nodes(cluster: Deployment) -> set[str]:
    nodes = json.loads(kubectl(cluster, "get", "nodes", "--output=json"))["items"]
    return {one["metadata"]["name"] for one in nodes if any(each["type"] == "Ready" and each["status"] == "True" for each in one["status"]["conditions"])}


def is_whole(cluster: Deployment) -> bool:
    """Whether three members of etcd are healthy and all nodes are ready."""
    if members(cluster) != dict.fromkeys(CONTROL, True) or ready_nodes(cluster) != {*CONTROL, NODE}:
        return False
    return (
        len([line for line in etcd(cluster, CONTROL[-1], "endpoint", "health", "--cluster", "--write-out=fields").splitlines() if line == '"Health" : true'])
        == 3
    )


def wait_until_whole(cluster: Deployment) -> None:
    wait_until(lambda: is_whole(cluster), awaiting="three members of etcd and all nodes", within_s=SOON_S)


def plant(cluster: Deployment, name: str) -> None:
    kubectl(cluster, "create", "configmap", name, "--from-literal=word=marzipan")


def owner(cluster: Deployment) -> str:
    """Name the host that has the shared address."""
    address = cluster.outputs()["spec"]["kubernetes"]["endpoint"].partition(":")[0]
    return next(host for host in CONTROL if cluster.inside(host, "ip", "-4", "address", "show", "to", address))


def lose_disk(cluster: Deployment, host: str) -> None:
    hosts.kill(cluster.host(host))
    wait_until(lambda: hosts.is_gone(cluster.host(host)), awaiting=f"the end of {host}", within_s=SOON_S)
    hosts.remove(cluster.host(host))


def test_three_hosts_have_a_member_of_etcd_and_an_api_server_each(cluster: Deployment) -> None:
    wait_until_whole(cluster)
    for host in CONTROL:
        assert cluster.inside(host, "/usr/local/bin/kubectl", "--kubeconfig=/etc/kubernetes/admin.conf", "get", "--raw=/readyz") == "ok"
    assert cluster.preview_changes() == {}


def test_without_the_host_that_has_the_address_the_endpoint_answers_and_nothing_is_lost(cluster: Deployment) -> None:
    plant(cluster, "before")
    lost = owner(cluster)
    cluster.cut_power(lost)
    wait_until(lambda: answers(cluster, "get", "configmap", "before"), awaiting="the endpoint to answer from another host", within_s=MOVES_WITHIN_S)
    plant(cluster, "meanwhile")
    cluster.up()
    wait_until_whole(cluster)
    kubectl(cluster, "get", "configmap", "before", "meanwhile")


def test_an_api_server_that_fails_alone_gets_no_requests(cluster: Deployment) -> None:
    host = owner(cluster)
    cluster.inside(host, "mv", "/etc/kubernetes/manifests/kube-apiserver.yaml", "/root/kube-apiserver.yaml")
    try:
        alone = "https://127.0.0.1:6444/readyz"
        ask = ("python3", "-c", f"import ssl, urllib.request as r; r.urlopen('{alone}', context=ssl._create_unverified_context(), timeout=2)")
        wait_until(lambda: not _succeeds(cluster, host, *ask), awaiting="the API server to end", within_s=SOON_S)
        wait_until(lambda: answers(cluster, "get", "nodes"), awaiting="the endpoint to leave it out", within_s=MOVES_WITHIN_S)
        assert all(answers(cluster, "get", "nodes") for _ in range(5))
    finally:
        cluster.inside(host, "mv", "/root/kube-apiserver.yaml", "/etc/kubernetes/manifests/kube-apiserver.yaml")
    wait_until_whole(cluster)


def _succeeds(cluster: Deployment, host: str, *argv: str) -> bool:
    try:
        cluster.inside(host, *argv)
    except command.CommandFailed:
        return False
    return True


def test_the_first_host_with_a_new_disk_joins_the_others(cluster: Deployment) -> None:
    plant(cluster, "kept")
    lose_disk(cluster, CONTROL[0])
    cluster.up()
    wait_until_whole(cluster)
    kubectl(cluster, "get", "configmap", "kept")


@pytest.mark.parametrize("point", ["kubeadm_control: Another host", "kubeadm_control: Join"])
def test_a_host_whose_join_was_killed_joins_with_the_next_up(cluster: Deployment, point: str) -> None:
    lose_disk(cluster, CONTROL[1])
    cluster.up_until(lambda line: point in line)
    cluster.up()
    wait_until_whole(cluster)
    assert cluster.preview_changes() == {}


def test_a_restore_brings_deleted_objects_back_on_all_hosts(cluster: Deployment) -> None:
    plant(cluster, "deleted")
    cluster.inside_all(CONTROL[1], "systemctl", "start", "clusterwright-etcd-snapshot.service")
    listed = cluster.clusterwright("restore")
    assert listed.returncode == 0, listed.stderr
    snapshot = listed.stdout.split()[0]
    assert snapshot.startswith(f"{CONTROL[1]}/etcd-")
    kubectl(cluster, "delete", "configmap", "deleted")
    plant(cluster, "later")
    done = cluster.clusterwright("restore", snapshot, "--yes")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    wait_until_whole(cluster)
    kubectl(cluster, "get", "configmap", "deleted")
    assert not answers(cluster, "get", "configmap", "later")
    cluster.up()
    assert cluster.preview_changes() == {}


def test_the_hosts_are_upgraded_one_after_the_other(cluster: Deployment) -> None:
    plant(cluster, "older")
    cluster.choose("kubernetes.version", NEW)
    cluster.up()
    wait_until_whole(cluster)
    nodes = json.loads(kubectl(cluster, "get", "nodes", "--output=json"))["items"]
    assert {one["status"]["nodeInfo"]["kubeletVersion"] for one in nodes} == {f"v{NEW}"}
    assert not any(one["spec"].get("unschedulable") for one in nodes)
    proxies = json.loads(kubectl(cluster, "--namespace=kube-system", "get", "daemonset", "kube-proxy", "--output=json"))
    assert f":v{NEW}" in proxies["spec"]["template"]["spec"]["containers"][0]["image"]  # kubeadm upgrades it with the last host
    kubectl(cluster, "get", "configmap", "older")
    assert cluster.preview_changes() == {}


def test_down_leaves_nothing(cluster: Deployment) -> None:
    cluster.down()
    assert sweep.left_behind(cluster.names) == ()
