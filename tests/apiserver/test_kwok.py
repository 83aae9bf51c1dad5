"""Nodes that exist in the API alone: the add-on's own manifests and configuration, and the nodes of a blueprint."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import spec
from components.kubernetes import kwok_nodes, labels, manifests, queues, readiness
from components.kubernetes.api import Api, Key
from components.kubernetes.objects import Objects, ObjectsInputs
from tests import processes
from tests.apiserver import cluster, release, works
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

NODES = 3
SOON_S = 300
"""Beside other tests; alone all of it takes seconds."""


@pytest.fixture(scope="module")
def simulating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    """A cluster with a scheduler, and kwok as a process of this machine instead of a pod."""
    found = manifests.read(release.folder("kwok") / "manifests" / "kwok")
    folder = tmp_path_factory.mktemp("kwok")
    with cluster.running(folder, scheduler=True) as kubernetes:
        applied = [one for one in found if one["kind"] not in manifests.WORKLOADS]
        Objects().create(ObjectsInputs("kwok", kubernetes.kubeconfig, tuple(applied)), works.Notes().work())
        configured = next(one for one in found if one["kind"] == "ConfigMap")["data"]["kwok.yaml"]
        (folder / "kwok.yaml").write_text(re.sub(r"nodePort: \d+", f"nodePort: {cluster.free_port()}", configured))
        kubernetes.commands["kwok"] = [
            str(release.folder("kwok") / "bin" / "kwok"), f"--config={folder / 'kwok.yaml'}", f"--kubeconfig={folder / 'kubeconfig'}", "--node-ip=127.0.0.1",
        ]  # fmt: skip
        kubernetes.start("kwok")
        yield kubernetes


def pod(name: str, *, gpus: int, **more: Any) -> dict[str, Any]:
    limits = {"limits": {labels.GPU: str(gpus)}}
    spec = {"containers": [{"name": "a", "image": "example.org/a:1", "resources": limits}], **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def simulated(kubernetes: cluster.Cluster, count: int) -> kwok_nodes.KwokNodesInputs:
    """Describe nodes like those of a pool with eight GPUs each."""
    wanted = queues.kubernetes_of(test_queues.cluster())
    return kwok_nodes.KwokNodesInputs(**kwok_nodes.inputs_of(wanted, spec.KwokNodes("train", count)), kubeconfig=kubernetes.kubeconfig)


def test_simulated_nodes_come_and_go_with_their_number(kubernetes_cluster: cluster.Cluster, api: Api) -> None:
    kind, notes = kwok_nodes.Nodes(), works.Notes()
    inputs = simulated(kubernetes_cluster, 3)
    made = kind.create(inputs, notes.work())
    found = api.list("v1", "Node", labels=f"{labels.POOL}=train-kwok")
    assert [one["metadata"]["name"] for one in found] == ["train-kwok-0", "train-kwok-1", "train-kwok-2"]
    assert {one["status"]["allocatable"][labels.GPU] for one in found} == {"8"}
    fewer = dataclasses.replace(inputs, count=1)
    made = kind.update(fewer, made, notes.work())
    assert [one["metadata"]["name"] for one in api.list("v1", "Node", labels=f"{labels.POOL}=train-kwok")] == ["train-kwok-0"]
    kind.delete(fewer, made, notes.work())
    assert api.list("v1", "Node", labels=f"{labels.POOL}=train-kwok") == []


def test_simulated_nodes_are_ready_with_their_gpus_and_take_only_pods_that_tolerate_them(simulating: cluster.Cluster) -> None:
    api, kind, inputs = simulating.api(), kwok_nodes.Nodes(), simulated(simulating, NODES)
    made = kind.create(inputs, works.Notes().work())
    processes.wait_until(lambda: _ready(api) == NODES, awaiting=f"simulated nodes: {simulating.log('kwok')}", within_s=SOON_S)
    assert [one["status"]["allocatable"][labels.GPU] for one in api.list("v1", "Node")] == ["8"] * NODES
    processes.wait_until(lambda: (kind.read(inputs, made) or {}).get("changed") == [], awaiting="nodes as they were applied", within_s=60)
    tolerating = {"tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}]}
    for number in range(NODES):
        api.create(pod(f"fits-{number}", gpus=8, **tolerating))
    processes.wait_until(lambda: _phases(api, "fits-") == ["Running"] * NODES, awaiting="pods on simulated nodes", within_s=SOON_S)
    assert len({one["spec"]["nodeName"] for one in api.list("v1", "Pod", namespace="default")}) == NODES
    api.create(pod("foreign", gpus=0))
    key = Key("v1", "Pod", "default", "foreign")
    processes.wait_until(lambda: "untolerated taint" in readiness.pod_trouble([api.get(key) or {}]), awaiting="the scheduler's refusal", within_s=60)


def _ready(api: Api) -> int:
    return sum(readiness.condition(one, "Ready") == "True" for one in api.list("v1", "Node"))


def _phases(api: Api, prefix: str) -> list[str]:
    return [one["status"]["phase"] for one in api.list("v1", "Pod", namespace="default") if one["metadata"]["name"].startswith(prefix)]
