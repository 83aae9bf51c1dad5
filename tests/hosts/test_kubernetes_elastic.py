"""An elastic pool of Kubernetes, its whole life: a gang waits, two nodes come, one dies and is replaced, and when nobody wants them there are none."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from components.local.machine import host as hosts
from components.local.machine import sweep
from tests.hosts.deployment import Deployment, deployment, wait_until
from tests.hosts.test_kubernetes import CONTROL, PAUSE_IMAGE, TRY_DEVICES, conditions, found, kubectl, pod, run

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

NODES = {"train-0", "train-1"}
COME_WITHIN_S = 600
"""Seconds on an idle machine; a host that fails is tried again."""
AUTOSCALER = "clusterwright-autoscaler.service"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The small Kubernetes blueprint with a pool of no node to two, up: acceptance had a node come."""
    chosen = {"pools.train.nodes": {"min": 0, "max": 2}}
    with deployment("test-kubernetes-elastic", tmp_path_factory.mktemp("elastic"), blueprint="starter-kubernetes", set=chosen) as one:
        one.up()
        yield one


def gang() -> str:
    """A job that a queue admits as a whole: two pods with all GPUs of a node, which wait until they are ended."""
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "main", "image": PAUSE_IMAGE, "securityContext": closed, "resources": {"limits": {"nvidia.com/gpu": 8}}}
    of_pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65535, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    spec = {"parallelism": 2, "completions": 2, "suspend": True, "template": {"spec": of_pod}}
    labels = {"kueue.x-k8s.io/queue-name": "default"}
    return yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "gang", "namespace": "research", "labels": labels}, "spec": spec})


def nodes(cluster: Deployment) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in found(cluster, "nodes")["items"] if one["metadata"]["name"] != CONTROL}


def gang_runs_on(cluster: Deployment) -> set[str]:
    pods = found(cluster, "pods", "--namespace=research", "--selector=batch.kubernetes.io/job-name=gang")["items"]
    return {one["spec"]["nodeName"] for one in pods if one["status"]["phase"] == "Running" and "deletionTimestamp" not in one["metadata"]}


def findings(cluster: Deployment) -> list[Any]:
    return list(json.loads(cluster.clusterwright("drift", "--layer", "hosts", "--layer", "scheduler", "--json").stdout)["findings"])


def await_none(cluster: Deployment) -> None:
    wait_until(lambda: nodes(cluster) == {}, awaiting="all nodes to go", within_s=COME_WITHIN_S)
    wait_until(lambda: not any(cluster.host(name).state.exists() for name in NODES), awaiting="their hosts to go", within_s=COME_WITHIN_S)


def test_nodes_come_for_a_gang_though_the_autoscaler_is_killed(cluster: Deployment) -> None:
    await_none(cluster)
    kubectl(cluster, "apply", "--filename=-", stdin=gang())
    wait_until(lambda: any(cluster.host(name).state.exists() for name in NODES), awaiting="a host to be started", within_s=COME_WITHIN_S)
    cluster.inside(CONTROL, "systemctl", "kill", "--signal=KILL", AUTOSCALER)
    wait_until(lambda: gang_runs_on(cluster) == NODES, awaiting="the gang to run", within_s=COME_WITHIN_S)
    there = nodes(cluster)
    assert {conditions(one)["Ready"] for one in there.values()} == {"True"}
    assert {one["metadata"]["labels"]["clusterwright.io/simulated-gpus"] for one in there.values()} == {"true"}
    # What they were told is gone, with the token.
    assert [cluster.inside(name, "ls", "/etc/clusterwright/secrets").split() for name in sorted(NODES)] == [[], []]


def test_nodes_that_came_by_themselves_are_no_drift(cluster: Deployment) -> None:
    assert findings(cluster) == []


def test_a_host_that_dies_is_replaced_and_the_gang_runs_again(cluster: Deployment) -> None:
    before = nodes(cluster)["train-1"]["metadata"]["uid"]
    hosts.kill(cluster.host("train-1"))
    wait_until(
        lambda: nodes(cluster).get("train-1", {"metadata": {"uid": before}})["metadata"]["uid"] != before and gang_runs_on(cluster) == NODES,
        awaiting="the gang to run on another node",
        within_s=COME_WITHIN_S,
    )


def test_without_pods_there_are_no_nodes(cluster: Deployment) -> None:
    kubectl(cluster, "delete", "job", "gang", "--namespace=research")
    await_none(cluster)
    assert findings(cluster) == []


def test_a_pod_on_a_node_that_came_opens_its_own_gpus_and_no_others(cluster: Deployment) -> None:
    verdicts = [line.split()[1] for line in run(cluster, "confined", TRY_DEVICES, gpus=2).splitlines()]
    assert sorted(verdicts) == ["own"] * 2 + ["refused"] * 6


def test_down_leaves_nothing_though_a_node_runs(cluster: Deployment) -> None:
    kubectl(cluster, "apply", "--filename=-", stdin=pod("stays", "sleep 100000", gpus=8))
    wait_until(lambda: found(cluster, "pod", "stays")["status"]["phase"] == "Running", awaiting="the pod to run", within_s=COME_WITHIN_S)
    cluster.down()
    assert sweep.left_behind(cluster.names) == ()
