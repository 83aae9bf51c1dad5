"""Nodes leave service before they are upgraded and return after it: the role's programs against a real API server, scheduler and controllers, with simulated kubelets."""

import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from components.kubernetes.api import Api, Key
from tests import processes
from tests.apiserver import cluster, nodes, release
from tests.playbooks import templates

pytestmark = pytest.mark.engine

NODE, OTHER = "train-0", "train-1"
OURS = "clusterwright.io/upgrade"
NEW = "1.35.4"


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster.running(tmp_path_factory.mktemp("upgrade"), scheduler=True) as found, nodes.running(found.api()) as simulated:
        for name in (NODE, OTHER):
            simulated.add(name, pool="train", gpus=0)
        # A new node has a taint until a controller has seen that it is ready: the service prefers a node, and would run on the other for good.
        processes.wait_until(lambda: not taints(found.api()), awaiting="nodes that take pods", within_s=60)
        yield found


@pytest.fixture
def api(control: cluster.Cluster) -> Iterator[Api]:
    api = control.api()
    yield api
    for kind, group in (("Deployment", "apps/v1"), ("PodDisruptionBudget", "policy/v1"), ("Pod", "v1")):
        api.delete(Key(group, kind, "default", "web"))
    api.merge(Key("v1", "Node", "", NODE), {"metadata": {"annotations": {OURS: None}}, "spec": {"unschedulable": None}})
    processes.wait_until(lambda: not api.list("v1", "Pod", namespace="default"), awaiting="the end of all pods", within_s=60)


def run(control: cluster.Cluster, program: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of the role for the node."""
    known = {"inventory_hostname": NODE, "group_names": ["compute"], "spec": {"kubernetes": {"version": NEW}}, "kube_upgrade_drained_within": "3s"}
    text = templates.render(f"{program}.sh.j2", role="kube_upgrade", **{**known, "kube_upgrade_ready_within_s": 2, **variables})
    environment = {
        "HOME": str(control.folder),
        "KUBECONFIG": str(control.folder / "kubeconfig"),
        "PATH": f"{release.program('kubectl').parent}:{os.environ['PATH']}",
    }
    return subprocess.run(["sh"], input=text, env=environment, capture_output=True, text=True, timeout=120, check=False)


def taints(api: Api) -> list[dict[str, Any]]:
    return [taint for one in api.list("v1", "Node") for taint in one["spec"].get("taints") or []]


def node(api: Api) -> dict[str, Any]:
    found = api.get(Key("v1", "Node", "", NODE))
    assert found is not None
    return found


def is_cordoned(api: Api) -> bool:
    return bool(node(api)["spec"].get("unschedulable"))


def is_ours(api: Api) -> bool:
    return OURS in (node(api)["metadata"].get("annotations") or {})


def container() -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "example.org/pause:1"}], "terminationGracePeriodSeconds": 0}


def serve(api: Api, *, least: int) -> None:
    """Run a service with one pod, on the node that is to be upgraded, of whose pods so many have to stay."""
    marks = {"app": "web"}
    spec = {**container(), "affinity": _prefers(NODE)}
    service = {"replicas": 1, "selector": {"matchLabels": marks}, "template": {"metadata": {"labels": marks}, "spec": spec}}
    meta = {"name": "web", "namespace": "default"}
    api.apply({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": {"minAvailable": least, "selector": {"matchLabels": marks}}})
    api.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": service})
    processes.wait_until(lambda: places(api) == [NODE], awaiting="the service to run", within_s=60)

    def is_counted() -> bool:
        budget = api.get(Key("policy/v1", "PodDisruptionBudget", "default", "web"))
        return budget is not None and (budget.get("status") or {}).get("currentHealthy") == 1

    processes.wait_until(is_counted, awaiting="the budget to count the pod", within_s=60)


def places(api: Api) -> list[str]:
    pods = [one for one in api.list("v1", "Pod", namespace="default") if "deletionTimestamp" not in one["metadata"]]
    return [one["spec"]["nodeName"] for one in pods if one["status"].get("phase") == "Running"]


def _prefers(name: str) -> dict[str, Any]:
    match = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}]}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": match}]}}


def test_a_service_moves_and_the_node_is_kept_out_until_it_has_the_version(control: cluster.Cluster, api: Api) -> None:
    serve(api, least=0)
    assert run(control, "drain").returncode == 0
    processes.wait_until(lambda: places(api) == [OTHER], awaiting="the service to run on the other node", within_s=60)
    assert is_cordoned(api)
    assert is_ours(api)
    late = run(control, "return")
    assert late.returncode == 1
    assert f"{nodes.VERSION} True" in late.stderr
    assert is_cordoned(api)
    back = run(control, "return", spec={"kubernetes": {"version": nodes.VERSION.removeprefix("v")}})
    assert back.returncode == 0, back.stderr
    assert not is_cordoned(api)
    assert not is_ours(api)


def test_pods_that_a_budget_protects_stay_and_their_node_serves(control: cluster.Cluster, api: Api) -> None:
    serve(api, least=1)
    done = run(control, "drain")
    assert done.returncode == 1
    assert "disruption budget" in done.stderr
    assert len(done.stderr.splitlines()) < 5
    assert places(api) == [NODE]
    assert not is_cordoned(api)
    assert not is_ours(api)


def test_a_pod_that_nothing_creates_again_is_named_and_stays(control: cluster.Cluster, api: Api) -> None:
    api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"}, "spec": {**container(), "nodeName": NODE}})
    processes.wait_until(lambda: places(api) == [NODE], awaiting="the pod to run", within_s=60)
    done = run(control, "drain")
    assert done.returncode == 1
    assert "default/web" in done.stderr
    assert places(api) == [NODE]
    assert not is_cordoned(api)


def test_a_node_that_its_administrator_keeps_out_of_service_stays_so(control: cluster.Cluster, api: Api) -> None:
    api.merge(Key("v1", "Node", "", NODE), {"spec": {"unschedulable": True}})
    assert run(control, "drain").returncode == 0
    assert run(control, "return", spec={"kubernetes": {"version": nodes.VERSION.removeprefix("v")}}).returncode == 0
    assert is_cordoned(api)
    assert not is_ours(api)


def test_a_node_that_the_control_plane_does_not_know_has_nothing_to_leave(control: cluster.Cluster) -> None:
    assert run(control, "drain", inventory_hostname="train-9").returncode == 0
