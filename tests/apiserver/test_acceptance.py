"""Acceptance through the API alone, with Kueue's own controller: what passes on a good cluster, and what a broken one fails by."""

from collections.abc import Iterator
from typing import Any

import pytest

from components.kubernetes import acceptance, labels, queues
from components.kubernetes.api import Key
from components.kubernetes.objects import Objects, ObjectsInputs
from components.provider.kind import PartlyMade
from tests.apiserver import cluster, kueue, nodes, release, works
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

NODES = tuple(f"train-{number}" for number in range(4))


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cluster.Cluster, nodes.Nodes]]:
    """A cluster with a scheduler, Kueue, the queues of a blueprint, and four nodes with eight GPUs."""
    with cluster.running(tmp_path_factory.mktemp("scheduled"), scheduler=True) as found, kueue.running(found), nodes.running(found.api()) as simulated:
        for name in NODES:
            simulated.add(name, pool="train", gpus=8)
        wanted = test_queues.cluster()
        for group, manifests in {"queues": queues.shared(wanted), **queues.by_account(wanted)}.items():
            Objects().create(ObjectsInputs(group, found.kubeconfig, tuple(manifests)), works.Notes().work())
        yield found, simulated


def inputs(kubernetes: cluster.Cluster, **changes: Any) -> acceptance.AcceptanceInputs:
    pool = acceptance.PoolInputs("train", NODES, gpus=8, always=4)
    known = {"cluster": "starter", "version": "1.34.4", "kubeconfig": kubernetes.kubeconfig, "pools": (pool,), "release": str(release.folder())}
    return acceptance.AcceptanceInputs(**{**known, "has_queues": True, "proves": {}, **changes})


def verdicts(checks: list[dict[str, Any]]) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in checks}


def test_a_good_cluster_passes_and_nothing_of_the_checks_stays(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    kubernetes, _ = scheduled
    outputs = acceptance.Acceptance().create(inputs(kubernetes), works.Notes().work())
    assert verdicts(outputs["checks"]) == dict.fromkeys(
        ("nodes of Kubernetes", "gang of pods", "job over quota", "preemption", "quota that is free again"), "pass"
    )
    api = kubernetes.api()
    assert api.get(Key(queues.KUEUE, "ClusterQueue", "", acceptance.NAMESPACE)) is None
    assert api.list("batch/v1", "Job", namespace=acceptance.NAMESPACE) == []


def test_a_node_that_lacks_gpus_fails_by_name(scheduled: tuple[cluster.Cluster, nodes.Nodes], monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes, simulated = scheduled
    monkeypatch.setattr(acceptance, "NODES_WITHIN_S", 1)
    simulated.set("train-2", gpus=7)
    try:
        with pytest.raises(PartlyMade) as raised:
            acceptance.Acceptance().create(inputs(kubernetes), works.Notes().work())
    finally:
        simulated.set("train-2", gpus=8)
    [found] = raised.value.outputs["checks"]
    assert (found["verdict"], found["detail"]) == ("fail", "train-2 offers 7 GPUs instead of 8")


def test_queues_without_quota_fail_the_gang_with_the_queues_reason(scheduled: tuple[cluster.Cluster, nodes.Nodes], monkeypatch: pytest.MonkeyPatch) -> None:
    kubernetes, _ = scheduled
    monkeypatch.setattr(acceptance, "RUNS_WITHIN_S", 3)
    wrong = inputs(kubernetes, cluster="another-cohort")
    with pytest.raises(PartlyMade) as raised:
        acceptance.Acceptance().create(wrong, works.Notes().work())
    failed = next(one for one in raised.value.outputs["checks"] if one["name"] == "gang of pods")
    assert failed["verdict"] == "fail"
    assert labels.GPU in failed["detail"]
