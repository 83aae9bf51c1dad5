"""Acceptance through the API alone, with Kueue's own controller: what passes on a good cluster, and what a broken one fails by."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from components.finish import checks
from components.kubernetes import acceptance, acceptance_jobs, jobs, labels, manifests, queues
from components.kubernetes.api import Api, ApiError, Key, key_of
from components.kubernetes.objects import Objects, ObjectsInputs
from components.provider.kind import PartlyMade
from tests import processes
from tests.apiserver import cluster, kueue, nodes, release, works
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

NODES = tuple(f"train-{number}" for number in range(4))


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[cluster.Cluster, nodes.Nodes]]:
    """A cluster with a scheduler, Kueue, the queues of a blueprint, and four nodes with eight GPUs."""
    with cluster.running(tmp_path_factory.mktemp("scheduled"), scheduler=True) as found, contextlib.ExitStack() as beside:
        definitions = [one for one in manifests.read(release.folder() / "manifests" / "jobset") if one["kind"] == manifests.DEFINITION]
        Objects().create(ObjectsInputs("definitions", found.kubeconfig, tuple(definitions)), works.Notes().work())
        beside.enter_context(kueue.running(found))
        simulated = beside.enter_context(nodes.running(found.api()))
        for name in NODES:
            simulated.add(name, pool="train", gpus=8)
        wanted = test_queues.cluster()
        for group, objects in {"queues": queues.shared(wanted), **queues.by_account(wanted)}.items():
            Objects().create(ObjectsInputs(group, found.kubeconfig, tuple(objects)), works.Notes().work())
        yield found, simulated


def inputs(kubernetes: cluster.Cluster, **changes: Any) -> acceptance_jobs.AcceptanceInputs:
    pool = acceptance_jobs.PoolInputs("train", NODES, gpus=8, always=4)
    known = {"cluster": "starter", "version": "1.34.4", "kubeconfig": kubernetes.kubeconfig, "pools": (pool,), "release": str(release.folder())}
    return acceptance_jobs.AcceptanceInputs(**{**known, "has_queues": True, "proves": {}, **changes})


def verdicts(checks: list[dict[str, Any]]) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in checks}


def test_a_good_cluster_passes_and_nothing_of_the_checks_stays(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    kubernetes, _ = scheduled
    outputs = acceptance.Acceptance().create(inputs(kubernetes), works.Notes().work())
    assert verdicts(outputs["checks"]) == dict.fromkeys(
        ("nodes of Kubernetes", "GPUs of a pod", "gang of pods", "job over quota", "preemption", "quota that is free again"), "pass"
    )
    api = kubernetes.api()
    assert api.get(Key(queues.KUEUE, "ClusterQueue", "", acceptance_jobs.NAMESPACE)) is None
    assert api.list("batch/v1", "Job", namespace=acceptance_jobs.NAMESPACE) == []


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


def test_a_pod_for_which_no_node_comes_fails_the_elastic_pool(scheduled: tuple[cluster.Cluster, nodes.Nodes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes that are there pass; the queues of this cluster have no quota of an elastic pool."""
    kubernetes, _ = scheduled
    monkeypatch.setattr(acceptance, "COMES_WITHIN_S", 3)
    elastic = acceptance_jobs.PoolInputs("train", (*NODES, "train-4"), gpus=8, always=0)
    with pytest.raises(PartlyMade) as raised:
        acceptance.Acceptance().create(inputs(kubernetes, pools=(elastic,)), works.Notes().work())
    first, second = raised.value.outputs["checks"]
    assert (first["verdict"], first["expected"], first["measured"]) == ("pass", "0–5 ready with 8 GPUs each", "4")
    assert (second["verdict"], second["measured"], checks.finding(second).code) == ("fail", "it waits", "CW938")
    assert "inactive" in second["detail"]  # it names a flavor that is not there


def test_a_pod_that_opens_all_gpus_of_a_node_fails_with_what_it_said(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    kubernetes, simulated = scheduled
    simulated.confines = False
    try:
        with pytest.raises(PartlyMade) as raised:
            acceptance.Acceptance().create(inputs(kubernetes), works.Notes().work())
    finally:
        simulated.confines = True
    failed = [one for one in raised.value.outputs["checks"] if one["verdict"] == "fail"]
    assert [(one["node"], one["name"], one["expected"], one["measured"]) for one in failed] == [
        (name, "GPUs of a pod", "2 of 8 open, 6 refused", "8 of 8 open, 0 refused") for name in NODES[:2]
    ]
    assert "CW936" in {checks.finding(one).code for one in failed}
    assert "nvidia7: No such device or address" in failed[0]["detail"]


def test_without_queues_nodes_and_the_gpus_of_pods_are_checked(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    kubernetes, _ = scheduled
    outputs = acceptance.Acceptance().create(inputs(kubernetes, has_queues=False), works.Notes().work())
    assert verdicts(outputs["checks"]) == {"nodes of Kubernetes": "pass", "GPUs of a pod": "pass"}


@contextlib.contextmanager
def held(api: Api, gpus: dict[str, int]) -> Iterator[list[Key]]:
    """Let pods of somebody else hold GPUs of nodes."""
    made: list[Key] = []
    try:
        for name, count in gpus.items():
            container = {"name": "a", "image": "a", "resources": {"limits": {labels.GPU: str(count)}}}
            spec = {"nodeName": name, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
            made.append(key_of(api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"held-{name}", "namespace": "default"}, "spec": spec})))
        yield made
    finally:
        for key in made:
            api.delete(key)
        processes.wait_until(lambda: not any(api.get(key) for key in made), awaiting="the pods of somebody else to go")


def test_gpus_of_pods_are_tried_on_nodes_whose_gpus_are_free(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    """Jobs hold the pool's first nodes, as they do on most days."""
    api = scheduled[0].api()
    with held(api, {"train-0": 8, "train-1": 7}) as pods_of_others:
        outputs = acceptance.Acceptance().create(inputs(scheduled[0]), works.Notes().work())
        assert [one["node"] for one in outputs["checks"] if one["name"] == "GPUs of a pod"] == ["train-2", "train-3"]
        assert {one["verdict"] for one in outputs["checks"]} == {"pass"}
        assert all(api.get(key) for key in pods_of_others)


def test_what_busy_nodes_leave_no_room_for_is_not_judged(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    api = scheduled[0].api()
    with held(api, {"train-0": 8, "train-1": 7, "train-2": 8, "train-3": 6}) as pods_of_others:
        outputs = acceptance.Acceptance().create(inputs(scheduled[0]), works.Notes().work())
        assert all(api.get(key) for key in pods_of_others)
    found = [(one["node"], one["name"], one["verdict"]) for one in outputs["checks"]]
    assert found[1:] == [("train", "gang of pods", "reported"), ("train", "GPUs of a pod", "reported"), ("train-3", "GPUs of a pod", "pass")]
    assert {one["measured"] for one in outputs["checks"] if one["verdict"] == "reported"} == {"not tried"}


def test_jobs_of_a_jobset_in_a_namespace_without_accounts_are_left_alone(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    api = scheduled[0].api()
    jobset = {
        "apiVersion": jobs.JOBSET, "kind": "JobSet", "metadata": {"name": "free", "namespace": "default"},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}}}]},
    }  # fmt: skip
    owner = {"apiVersion": jobs.JOBSET, "kind": "JobSet", "name": "free", "uid": api.apply(jobset)["metadata"]["uid"], "controller": True}
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}

    def job(name: str, namespace: str, **metadata: Any) -> dict[str, Any]:
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace, **metadata}, "spec": {"template": {"spec": pod}}}

    free, managed = job("free", "default", ownerReferences=[owner]), job("managed", "research")
    try:
        api.apply(free)
        processes.wait_until(lambda: bool(pods(api, "default")), awaiting="the pod of the free job")
        assert api.apply(managed)["spec"]["suspend"] is True
        assert labels.QUEUE in (api.get(key_of(managed)) or {})["metadata"]["labels"]
        processes.wait_until(lambda: bool(api.list(queues.KUEUE, "Workload", namespace="research")), awaiting="Kueue's decision about the managed job")
        assert (api.get(key_of(free)) or {})["spec"]["suspend"] is False
        with pytest.raises(ApiError, match="queue-name must not be empty"):
            api.merge(key_of(managed), {"metadata": {"labels": {labels.QUEUE: None}}})
    finally:
        for one in (free, managed, jobset):
            api.delete(key_of(one))


def pods(api: Api, namespace: str) -> list[dict[str, Any]]:
    return api.list("v1", "Pod", namespace=namespace)


def test_the_examples_that_kueue_ships_run_unchanged(scheduled: tuple[cluster.Cluster, nodes.Nodes]) -> None:
    """Its flavors, queues, priorities and jobs, from the module that the release is built from, in an account's namespace."""
    kubernetes, _ = scheduled
    api = kubernetes.api()
    created: list[Key] = []
    examples = manifests.read(release.module("kueue", "sigs.k8s.io/kueue") / "cmd/kueueviz/examples")
    found = [{**one, "metadata": {**one["metadata"], **({"namespace": "research"} if one["kind"] in ("LocalQueue", "Job") else {})}} for one in examples]
    wanted = sum(one["spec"]["parallelism"] for one in found if one["kind"] == "Job")
    assert wanted == 9
    try:
        created.extend(key_of(api.create(manifest)) for manifest in sorted(found, key=lambda one: one["kind"] == "Job"))

        def running() -> int:
            return sum(one["status"].get("phase") == "Running" for one in api.list("v1", "Pod", namespace="research"))

        processes.wait_until(lambda: running() == wanted, awaiting=f"pods of all jobs, of which {running()} run", within_s=60)
        admitted = api.list(queues.KUEUE, "Workload", namespace="research")
        assert {one["spec"]["queueName"] for one in admitted} == {"agi-model-queue", "llm-model-queue", "emergency-queue"}
        assert all(any(condition["type"] == "Admitted" and condition["status"] == "True" for condition in one["status"]["conditions"]) for one in admitted)
    finally:
        for key in reversed(created):
            api.delete(key)
