"""What a blueprint's accounts, pools and QOS become, judged by the API server with the definitions of Kueue and JobSet."""

import dataclasses
from collections.abc import Iterator
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


def _without_conversion(definition: dict[str, Any]) -> dict[str, Any]:
    """Leave out the webhook that converts between versions, which no controller serves here."""
    return {**definition, "spec": {name: value for name, value in definition["spec"].items() if name != "conversion"}}
