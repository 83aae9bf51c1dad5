"""What a blueprint's accounts, pools and QOS become, judged by the API server with the definitions of Kueue and JobSet."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from blueprints import spec
from components.kubernetes import api as apis
from components.kubernetes import jobs, labels, manifests, queues
from components.kubernetes.api import Api
from components.kubernetes.objects import Objects, ObjectsInputs
from tests import processes
from tests.apiserver import cluster, release, works
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

URGENT, NORMAL = spec.Qos("urgent", 100, "01:00:00", None, None, ("normal",)), spec.Qos("normal", 10, "UNLIMITED", None, None, ())
OPTIONAL = (("trainer.kubeflow.org", "v1alpha1", "TrainJob"), ("kubeflow.org", "v1", "PyTorchJob"), ("kubeflow.org", "v2beta1", "MPIJob"))
"""Kinds that come with controllers which not every cluster has."""
TAINTED = spec.Taint("nvidia.com/gpu", "present", "NoSchedule")


def wanted() -> spec.ClusterSpec:
    research, product = test_queues.TWO
    accounts = (research, dataclasses.replace(product, qos=("normal",)))
    return test_queues.cluster(accounts=accounts, qos=(URGENT, NORMAL), pools=("train", "serve")).with_node_sets(
        lambda one: dataclasses.replace(one, taints=(TAINTED,))
    )


@pytest.fixture(scope="module")
def defined(kubernetes: cluster.Cluster) -> Iterator[cluster.Cluster]:
    """The cluster with all kinds of Kueue and JobSet, and no controller of theirs."""
    found = [one for addon in ("kueue", "jobset") for one in manifests.read(release.folder() / "manifests" / addon) if one["kind"] == manifests.DEFINITION]
    found += [_definition(*one) for one in OPTIONAL]
    inputs, notes = ObjectsInputs("definitions", kubernetes.kubeconfig, tuple(_without_conversion(one) for one in found)), works.Notes()
    made = Objects().create(inputs, notes.work())
    yield kubernetes
    Objects().delete(inputs, made, notes.work())


@pytest.fixture(scope="module")
def queued(defined: cluster.Cluster) -> Iterator[list[str]]:
    kind, notes = Objects(), works.Notes()
    groups = {"queues": queues.shared(wanted()), **{f"account-{name}": found for name, found in queues.by_account(wanted()).items()}}
    inputs = [ObjectsInputs(name, defined.kubeconfig, tuple(found)) for name, found in groups.items()]
    made = [(one, kind.create(one, notes.work())) for one in inputs]
    yield [name for _, outputs in made for name in outputs["objects"]]
    for one, outputs in reversed(made):
        kind.delete(one, outputs, notes.work())


def test_the_server_takes_all_objects_of_a_blueprint_and_changes_none(defined: cluster.Cluster, queued: list[str]) -> None:
    assert {"ClusterQueue", "LocalQueue", "ResourceFlavor", "Topology", "WorkloadPriorityClass", "Namespace"} <= {manifests.parsed(one).kind for one in queued}
    again = ObjectsInputs("account-research", defined.kubeconfig, tuple(queues.by_account(wanted())["research"]))
    outputs = {"objects": Objects().expected(again)["objects"]}
    assert (Objects().read(again, outputs) or {})["changed"] == []


def test_a_job_that_may_run_longer_than_its_qos_is_refused(api: Api, queued: list[str]) -> None:
    job = jobs.Job("long", "example.org/a:1", ("true",), account="research", qos="urgent")

    def refused() -> bool:
        try:
            api.apply(jobs.manifests(job, "job")[0], dry_run=True)
        except apis.ApiError as error:
            return "jobs of QOS urgent run at most 01:00:00" in error.message
        return False  # the server reads new policies some time after they are stored

    processes.wait_until(refused, awaiting="the policy", within_s=60)
    api.apply(jobs.manifests(dataclasses.replace(job, max_seconds=3600), "job")[0], dry_run=True)
    api.apply(jobs.manifests(dataclasses.replace(job, qos="normal"), "job")[0], dry_run=True)


@pytest.mark.parametrize("form", ["job", "jobset"])
def test_a_job_of_a_qos_that_its_account_may_not_use_is_refused(api: Api, queued: list[str], form: str) -> None:
    job = jobs.Job("fast", "example.org/a:1", ("true",), account="product", qos="urgent", max_seconds=60)

    def refused() -> bool:
        try:
            api.apply(jobs.manifests(job, form)[0], dry_run=True)
        except apis.ApiError as error:
            return "jobs of account product may use the QOS normal" in error.message
        return False  # the server reads new policies some time after they are stored

    processes.wait_until(refused, awaiting="the policy", within_s=60)
    for other in (dataclasses.replace(job, qos="normal"), dataclasses.replace(job, qos="", max_seconds=None), dataclasses.replace(job, account="research")):
        api.apply(jobs.manifests(other, form)[0], dry_run=True)


URGENT_LABELS = {labels.PRIORITY: "urgent", labels.MOST_SECONDS: "60"}


def pod(own: dict[str, str], *, owner: str = "") -> dict[str, Any]:
    owners = [{"apiVersion": "batch/v1", "kind": owner, "name": "a", "uid": "a", "controller": True}] if owner else []
    metadata = {"name": "a", "namespace": "product", "labels": own, "ownerReferences": owners}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template({})["spec"]}


def template(own: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"labels": own}, "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.org/a:1"}]}}


def cron_job(own: dict[str, str]) -> dict[str, Any]:
    job = {"metadata": {"labels": own}, "spec": {"template": template({})}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "a", "namespace": "product"},
        "spec": {"schedule": "0 0 1 1 *", "jobTemplate": job},
    }


def train_job(own: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": jobs.TRAINER, "kind": "TrainJob", "metadata": {"name": "a", "namespace": "product"}, "spec": {"labels": own}}


def refusal(api: Api, manifest: dict[str, Any]) -> str:
    """Say why the API server refuses an object; empty: it takes it."""
    try:
        api.apply(manifest, dry_run=True)
    except apis.ApiError as error:
        return error.message
    return ""


@pytest.fixture
def judged(api: Api, queued: list[str]) -> Api:
    """The API, once it has read the policies and pods may be created."""
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "product"}}, force=True)
    unlimited = jobs.manifests(jobs.Job("long", "example.org/a:1", ("true",), account="research", qos="urgent"), "job")[0]
    for words, probe in ((MAY_USE, pod(URGENT_LABELS)), (AT_MOST, unlimited)):
        processes.wait_until(lambda: words in refusal(api, probe), awaiting="the policies", within_s=60)  # noqa: B023
    return api


MAY_USE, AT_MOST = "jobs of account product may use the QOS normal", "jobs of QOS urgent run at most 01:00:00"


@pytest.mark.parametrize("make", [cron_job, train_job, pod, pytest.param(lambda own: pod(own, owner="Job"), id="a pod that names a job as its owner")])
def test_what_becomes_a_job_of_another_qos_is_refused(judged: Api, make: Callable[[dict[str, str]], dict[str, Any]]) -> None:
    assert MAY_USE in refusal(judged, make(URGENT_LABELS))
    assert refusal(judged, make({labels.PRIORITY: "normal"})) == refusal(judged, make({})) == ""


@pytest.mark.parametrize("seconds", ["0", "3601"])
def test_a_limit_that_kueue_would_not_keep_is_refused(judged: Api, seconds: str) -> None:
    job = jobs.manifests(jobs.Job("long", "example.org/a:1", ("true",), account="research", qos="urgent"), "job")[0]
    job["metadata"]["labels"][labels.MOST_SECONDS] = seconds
    assert AT_MOST in refusal(judged, job)


def with_class(part: Any, name: str) -> Any:
    """Name the class of a job's pods."""
    if isinstance(part, list):
        return [with_class(one, name) for one in part]
    if not isinstance(part, dict):
        return part
    own = {"priorityClassName": name} if "containers" in part else {}
    return {**{key: with_class(value, name) for key, value in part.items()}, **own}


def in_form(form: str) -> dict[str, Any]:
    return jobs.manifests(jobs.Job("a", "example.org/a:1", ("true",), account="product"), form)[0]


@pytest.mark.parametrize("form", ["pod", "cronjob", "job", "jobset", "pytorchjob", "mpijob"])
def test_what_names_a_class_of_the_system_is_refused(judged: Api, form: str) -> None:
    manifest = pod({}) if form == "pod" else cron_job({}) if form == "cronjob" else in_form(form)
    ours = "for the cluster's own pods"
    processes.wait_until(lambda: ours in refusal(judged, with_class(manifest, "system-node-critical")), awaiting="the policy", within_s=60)
    assert refusal(judged, manifest) == ""
    if form in ("pytorchjob", "mpijob"):
        scheduling = {"runPolicy": {"schedulingPolicy": {"priorityClass": "system-node-critical"}}}
        assert ours in refusal(judged, {**manifest, "spec": {**manifest["spec"], **scheduling}})


def test_pods_that_a_controller_makes_of_other_kinds_are_judged_and_those_of_jobs_are_not(judged: Api) -> None:
    of_all = {"app": "a", labels.PRIORITY: "urgent"}
    serves = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {**template(of_all), "spec": {**template({})["spec"], "restartPolicy": "Always"}},
    }
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "serves", "namespace": "product"}, "spec": serves}
    # Without labels of its own, a job would get those of its template.
    own = {"name": "trains", "namespace": "product", "labels": {"app": "a"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": {"template": template(of_all)}}
    for manifest in (deployment, job):
        judged.apply(manifest)

    def why() -> str:
        found = judged.get(apis.key_of(deployment)) or {}
        return "".join(one["message"] for one in found.get("status", {}).get("conditions", ()) if one["type"] == "ReplicaFailure")

    def owners() -> set[str]:
        return {owner["kind"] for one in judged.list("v1", "Pod", namespace="product") for owner in one["metadata"]["ownerReferences"]}

    try:
        processes.wait_until(lambda: why() != "" and "Job" in owners(), awaiting="the pods", within_s=60)
        assert MAY_USE in why() or AT_MOST in why(), "the server names the first policy that refuses"
        assert owners() == {"Job"}
    finally:
        for manifest in (deployment, job):
            judged.delete(apis.key_of(manifest))


@pytest.mark.parametrize("form", ["job", "jobset"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_server_takes_jobs_in_the_forms_that_it_knows(api: Api, queued: list[str], form: str, nodes: int) -> None:
    job = jobs.Job(
        "train", "example.org/torch:1", ("torchrun", "a.py"), nodes=nodes, gpus_per_node=8, cpus_per_node=4, memory_per_node="64Gi", account="research", pool="train",
        qos="urgent", max_seconds=60, environment=(("A", "b"),), tolerations=({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"},), one_rack=True,
    )  # fmt: skip
    for manifest in jobs.manifests(job, form):
        api.apply(manifest, dry_run=True)


def test_members_work_in_their_own_account_alone(api: Api, queued: list[str]) -> None:
    def may(user: str, verb: str, resource: str, *, group: str = "", namespace: str = "") -> bool:
        asked = {
            "user": user,
            "groups": ["system:authenticated"],
            "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "namespace": namespace},
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {"name": ""}, "spec": asked}
        return bool(api.create(review)["status"]["allowed"])

    processes.wait_until(lambda: may("ada", "create", "jobsets", group="jobset.x-k8s.io", namespace="research"), awaiting="the rights of members")
    assert may("ada", "create", "jobs", group="batch", namespace="research")
    assert not may("ada", "create", "jobs", group="batch", namespace="product")
    assert not may("ada", "update", "clusterqueues", group="kueue.x-k8s.io")
    assert may("ada", "list", "clusterqueues", group="kueue.x-k8s.io")
    assert may("ada", "list", "nodes")
    assert not may("ada", "list", "secrets", namespace="kube-system")
    assert labels.ACCOUNT in str(queues.by_account(wanted())["research"])


def _definition(group: str, version: str, kind: str) -> dict[str, Any]:
    """Define a kind whose objects may have any fields."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": version, "served": True, "storage": True, "schema": schema}]
    own = {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind}, "versions": versions}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": manifests.DEFINITION, "metadata": {"name": f"{plural}.{group}"}, "spec": own}


def _without_conversion(definition: dict[str, Any]) -> dict[str, Any]:
    """Leave out the webhook that converts between versions, which no controller serves here."""
    return {**definition, "spec": {name: value for name, value in definition["spec"].items() if name != "conversion"}}
