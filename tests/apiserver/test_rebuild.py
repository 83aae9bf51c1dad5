"""Nodes of Kubernetes are emptied before they are rebuilt: against a real API server, scheduler and controllers, with simulated kubelets."""

from collections.abc import Iterator
from typing import Any

import pytest

from components.kubernetes.api import Api, Key
from stacks.errors import Problem
from stacks.rebuild import pods
from stacks.rebuild.scheduler import REASON
from tests import processes
from tests.apiserver import cluster, nodes

pytestmark = pytest.mark.engine

NODES = ("train-0", "train-1")
SOON_S = 120


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with cluster.running(tmp_path_factory.mktemp("rebuild"), scheduler=True) as found, nodes.running(found.api()) as simulated:
        for name in NODES:
            simulated.add(name, pool="train", gpus=8)
        yield found.api()


def pod(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "example.org/pause:1"}], "terminationGracePeriodSeconds": 0, **more}


def running(api: Api, selector: str = "") -> dict[str, str]:
    """Give the pods that run: name → node."""
    found = api.list("v1", "Pod", namespace="default", labels=selector)
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in found
        if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
    }


def wait(done: Any, awaiting: str) -> None:
    processes.wait_until(done, awaiting=awaiting, within_s=SOON_S)


def test_jobs_are_named_and_evicted_services_move_and_the_node_is_forgotten(api: Api) -> None:
    job = {"template": {"spec": pod(restartPolicy="Never", nodeSelector={}, tolerations=[])}, "parallelism": 2, "completions": 2}
    marks = {"app": "web"}
    service = {"selector": {"matchLabels": marks}, "replicas": 2, "template": {"metadata": {"labels": marks}, "spec": pod()}}
    agent = {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}}, "spec": pod()}}
    meta = {"namespace": "default"}
    api.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {**meta, "name": "train"}, "spec": job})
    api.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**meta, "name": "web"}, "spec": service})
    api.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {**meta, "name": "agent"}, "spec": agent})
    api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": "alone"}, "spec": pod(nodeName="train-0")})
    wait(lambda: len(running(api)) == 7, "all pods to run")
    found = pods.Pods(api)

    there = {one.id: one for one in found.jobs(NODES)}
    assert {name: one.requeues for name, one in there.items()} == {"default/train": True, "default/alone": False}
    assert len(there["default/train"].pods) == 2
    assert "nothing creates again" in str(there["default/alone"])

    found.drain(["train-0"])
    assert (found.nodes()["train-0"].is_drained, found.nodes()["train-0"].reason) == (True, REASON)
    assert not found.nodes()["train-1"].is_drained
    assert found.requeue([there["default/train"]]) == []
    wait(lambda: sorted(running(api, "batch.kubernetes.io/job-name=train").values()) == ["train-1", "train-1"], "the job's pods to run on the other node")

    found.leave(["train-0"])
    assert {name for name, node in running(api).items() if node == "train-0"} == {name for name in running(api, "app=agent") if running(api)[name] == "train-0"}
    wait(lambda: [*running(api, "app=web").values()] == ["train-1", "train-1"], "the service's pods to run on the other node")

    found.resume(["train-0", "unknown"])
    assert not found.nodes()["train-0"].is_drained
    found.keep_out(["train-0"])
    assert found.nodes()["train-0"].reason == "cordoned"
    found.await_boot(["train-0"])
    assert "train-0" not in found.nodes()


def test_pods_that_a_budget_protects_stop_the_rebuild_by_name(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pods, "LEAVES_WITHIN_S", 0.0)
    marks, meta = {"app": "kept"}, {"namespace": "default", "name": "kept"}
    service = {"selector": {"matchLabels": marks}, "replicas": 1, "template": {"metadata": {"labels": marks}, "spec": pod()}}
    api.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": service})
    api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": {"minAvailable": 1, "selector": {"matchLabels": marks}}})
    wait(lambda: len(running(api, "app=kept")) == 1, "the pod to run")
    wait(lambda: "status" in (api.get(Key("policy/v1", "PodDisruptionBudget", "default", "kept")) or {}), "the budget to be counted")
    [node] = running(api, "app=kept").values()
    with pytest.raises(Problem, match="default/kept-") as stays:
        pods.Pods(api).leave([node])
    assert "disruption budget" in stays.value.why
