"""A running cluster of Kubernetes gets the next minor version: killed, stopped by a pod that may not leave, and carried to its end by `up`."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from components.local.machine import sweep
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.soak, pytest.mark.timeout(7200)]

OLD, NEW = "1.34.4", "1.35.4"
CONTROL, NODES = "kubernetes-0", ("train-0", "train-1")
PAUSE_IMAGE = "registry.k8s.io/pause:3.10.1"
SYSTEM = "--namespace=kube-system"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployment("test-upgrade", tmp_path_factory.mktemp("upgrade"), blueprint="starter-kubernetes", set={"kubernetes.version": OLD}) as one:
        one.up()
        kubectl(one, "create", "configmap", "planted", "--from-literal=word=marzipan")
        kubectl(one, "apply", "--filename=-", stdin=guarded())
        wait_until(lambda: ready_replicas(one) == len(NODES), awaiting="a guarded pod on each node", within_s=SOON_S)
        yield one


def kubectl(cluster: Deployment, *words: str, stdin: str = "") -> str:
    return cluster.inside(CONTROL, "env", "KUBECONFIG=/etc/kubernetes/admin.conf", "/usr/local/bin/kubectl", *words, stdin=stdin)


def found(cluster: Deployment, *words: str) -> Any:
    return json.loads(kubectl(cluster, "get", *words, "--output=json"))


def kubelets(cluster: Deployment) -> dict[str, str]:
    return {one["metadata"]["name"]: one["status"]["nodeInfo"]["kubeletVersion"].removeprefix("v") for one in found(cluster, "nodes")["items"]}


def images(cluster: Deployment) -> set[str]:
    """Versions of what the control plane and kube-proxy run."""
    pods = [one["spec"]["containers"][0]["image"] for one in found(cluster, SYSTEM, "pods")["items"]]
    return {one.partition("@")[0].rpartition(":v")[2] for one in pods if "/kube-" in one}


def cordoned(cluster: Deployment) -> set[str]:
    return {one["metadata"]["name"] for one in found(cluster, "nodes")["items"] if one["spec"].get("unschedulable")}


def guarded() -> str:
    """A service with a pod on each node, of which one may be away at a time."""
    marks = {"app": "guarded"}
    apart = [{"labelSelector": {"matchLabels": marks}, "topologyKey": "kubernetes.io/hostname"}]
    spec = {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}, "nodeSelector": {"clusterwright.io/pool": "train"},
        "containers": [{"name": "waits", "image": PAUSE_IMAGE}],
    }  # fmt: skip
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    template = {"metadata": {"labels": marks}, "spec": spec}
    service = {"replicas": len(NODES), "selector": {"matchLabels": marks}, "strategy": strategy, "template": template}
    budget = {"minAvailable": 1, "selector": {"matchLabels": marks}}
    return yaml.safe_dump_all(
        [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "guarded"}, "spec": service},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"}, "spec": budget},
        ]
    )


def ready_replicas(cluster: Deployment) -> int:
    return int(found(cluster, "deployment", "guarded")["status"].get("readyReplicas", 0))


def available_since(cluster: Deployment) -> str:
    """Since when a pod of the guarded service was ready at every moment."""
    conditions = {one["type"]: one for one in found(cluster, "deployment", "guarded")["status"]["conditions"]}
    assert conditions["Available"]["status"] == "True"
    return str(conditions["Available"]["lastTransitionTime"])


def pod(name: str, *, node: str) -> str:
    """A pod that no controller creates again."""
    spec = {"nodeName": node, "containers": [{"name": "waits", "image": PAUSE_IMAGE}]}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def test_the_plan_says_what_the_upgrade_does(cluster: Deployment) -> None:
    done = cluster.clusterwright("plan", "--diff", "--set", f"kubernetes.version={NEW}")
    assert done.returncode == 0, done.stderr
    assert f"upgrade of Kubernetes from {OLD} to {NEW}" in done.stdout
    assert cluster.clusterwright("up", "--set", "kubernetes.version=1.36.3").returncode != 0
    assert set(kubelets(cluster).values()) == {OLD}


def test_an_upgrade_goes_on_after_a_kill_and_stops_before_a_pod_that_would_be_lost(cluster: Deployment) -> None:
    since = available_since(cluster)
    cluster.choose("kubernetes.version", NEW)
    cluster.up_until(lambda line: "kube_upgrade: Upgrade the control plane" in line)
    kubectl(cluster, "apply", "--filename=-", stdin=pod("alone", node=NODES[1]))
    done = cluster.clusterwright("up")
    assert done.returncode != 0
    assert f"{NODES[1]} was not upgraded to Kubernetes {NEW}" in done.stdout
    assert "default/alone" in done.stdout
    assert kubelets(cluster) == {CONTROL: NEW, NODES[0]: NEW, NODES[1]: OLD}
    assert cordoned(cluster) == set()
    assert "alone" in kubectl(cluster, "get", "pod", "alone", "--output=name")
    assert available_since(cluster) == since


def test_the_next_up_carries_it_to_its_end_and_loses_nothing(cluster: Deployment) -> None:
    since = available_since(cluster)
    kubectl(cluster, "delete", "pod", "alone", "--now")
    cluster.up()
    assert set(kubelets(cluster).values()) == {NEW}
    assert images(cluster) == {NEW}
    assert cordoned(cluster) == set()
    assert found(cluster, "configmap", "planted")["data"] == {"word": "marzipan"}
    assert available_since(cluster) == since
    assert any(line.split()[0].startswith(f"{CONTROL}/etcd-") for line in cluster.clusterwright("restore").stdout.splitlines())


def test_a_second_up_changes_nothing_and_none_goes_back(cluster: Deployment) -> None:
    assert cluster.preview_changes() == {}
    cluster.up()
    cluster.choose("kubernetes.version", OLD)
    done = cluster.clusterwright("up")
    assert done.returncode != 0
    assert "can't go back" in done.stdout + done.stderr
    cluster.choose("kubernetes.version", NEW)
    assert set(kubelets(cluster).values()) == {NEW}


def test_down_leaves_nothing(cluster: Deployment) -> None:
    cluster.down()
    assert sweep.left_behind(cluster.names) == ()
