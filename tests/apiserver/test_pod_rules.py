"""File systems in pods, and what pods of accounts may not do, judged by the API server."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import spec
from components.kubernetes import api as apis
from components.kubernetes import jobs, queues
from components.kubernetes.api import Api
from components.kubernetes.objects import Objects, ObjectsInputs
from components.provider.kind import PartlyMade
from stacks.cli import submit
from stacks.errors import Problem
from tests import processes
from tests.apiserver import cluster, works
from tests.blueprints import hand_made
from tests.components.kubernetes import test_queues

pytestmark = pytest.mark.engine

ADA, BOB = 2001, 2002
HOME = spec.FileSystem("home", "nfs", "/home", protect=False, simulated=False)
SAFE = {"allowPrivilegeEscalation": False}


def wanted(*, has_fabric: bool) -> spec.ClusterSpec:
    users = (spec.User("ada", ADA, "research", ()), spec.User("bob", BOB, "product", ()))
    found = dataclasses.replace(test_queues.cluster(), users=users, storage=(HOME,))
    return found.with_node_sets(lambda one: dataclasses.replace(one, fabric=hand_made.EFA)) if has_fabric else found


@pytest.fixture(scope="module", params=[False, True], ids=["without a fabric", "with a fabric"])
def account(request: pytest.FixtureRequest, kubernetes: cluster.Cluster) -> Iterator[ObjectsInputs]:
    kind, notes, spec = Objects(), works.Notes(), wanted(has_fabric=request.param)
    shared = ObjectsInputs("queues", kubernetes.kubeconfig, tuple(queues.shared(spec, has_queues=False)))
    rules = kind.create(shared, notes.work())
    inputs = ObjectsInputs("account-research", kubernetes.kubeconfig, tuple(queues.by_account(spec, has_queues=False, file_systems=[HOME])["research"]))
    made = kind.create(inputs, notes.work())
    api = Api(kubernetes.kubeconfig)
    api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "research"}}, force=True)
    member, manifests = kubernetes.member(), {one["kind"]: one for one in inputs.manifests}
    probes = [
        (api, pod(volumes=SERVED), ""),
        (api, pod(volumes=files()), ""),
        (api, pod(hostPID=True), ""),
        (member, named(manifests["PersistentVolumeClaim"], "files-later"), "belong to the cluster"),
        (member, named(manifests["NetworkPolicy"], "more"), "ask its administrators"),
    ]
    # The server begins with each policy at a time of its own.
    for asked, manifest, words in probes:
        processes.wait_until(lambda: words in refusal(asked, manifest) != "", awaiting=f"a refusal of {manifest}", within_s=120)  # noqa: B023
    yield inputs
    kind.delete(inputs, made, notes.work())
    kind.delete(shared, rules, notes.work())


SERVED = [{"name": "home", "nfs": {"server": "10.0.0.1", "path": "/home"}}]


def named(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return {**manifest, "metadata": {"name": name, "namespace": "research"}}


def files() -> list[dict[str, Any]]:
    return [{"name": "home", "persistentVolumeClaim": {"claimName": "files-home"}}]


def pod(*, container: dict[str, Any] | None = None, **wanted: Any) -> dict[str, Any]:
    runs = {"name": "main", "image": "example.org/a:1", "securityContext": container or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "research"}, "spec": {"containers": [runs], **wanted}}


def as_ada(**context: Any) -> dict[str, Any]:
    return {"volumes": files(), "securityContext": {"runAsUser": ADA, "runAsGroup": ADA, **context}}


def mounting(**mount: str) -> dict[str, Any]:
    found = pod(container=SAFE, **as_ada())
    found["spec"]["containers"][0]["volumeMounts"] = [{"name": "home", "mountPath": "/home", **mount}]
    return found


def refusal(api: Api, manifest: dict[str, Any]) -> str:
    """Say why the API server refuses a pod; empty: it takes it."""
    try:
        api.apply(manifest, dry_run=True)
    except apis.ApiError as error:
        return error.message
    return ""


def test_applying_the_objects_again_changes_none(account: ObjectsInputs) -> None:
    outputs = {"objects": Objects().expected(account)["objects"]}
    assert (Objects().read(account, outputs) or {})["changed"] == []


@pytest.mark.parametrize("form", ["job", "jobset", "pytorchjob"])
def test_a_job_that_is_submitted_with_storage_runs_as_its_user(account: ObjectsInputs, api: Api, form: str) -> None:
    job = jobs.Job("a", "example.org/a:1", ("true",), account="research", mounts=(jobs.Mount("files-home", "/home"),), uid=ADA)
    [template] = pods(jobs.manifests(job, form))
    assert refusal(api, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "research"}, "spec": template}) == ""


def pods(found: Any) -> list[dict[str, Any]]:
    if isinstance(found, dict) and "containers" in found:
        return [found]
    return [one for part in (found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()) for one in pods(part)]


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        pytest.param(pod(container=SAFE, volumes=files()), "runAsUser is one of its users", id="nobody is named"),
        pytest.param(pod(container=SAFE, **as_ada(runAsUser=0)), "runAsUser is one of its users", id="root"),
        pytest.param(pod(container=SAFE, **as_ada(runAsUser=BOB)), "runAsUser is one of its users", id="a user of another account"),
        pytest.param(pod(container={**SAFE, "runAsUser": 0}, **as_ada()), "runAsUser is one of its users", id="root in one container"),
        pytest.param(pod(container=SAFE, **as_ada(runAsGroup=0)), "runAsGroup is the group", id="the group of root"),
        pytest.param(pod(container=SAFE, **as_ada(supplementalGroups=[BOB])), "further groups", id="a further group"),
        pytest.param(pod(container=SAFE, **as_ada(fsGroup=0)), "further groups", id="the group of files"),
        pytest.param(pod(**as_ada()), "allowPrivilegeEscalation is false", id="programs that change the user"),
        pytest.param(pod(container={**SAFE, "capabilities": {"add": ["DAC_OVERRIDE"]}}, **as_ada()), "no capabilities", id="a capability"),
        pytest.param(
            pod(container=SAFE, **as_ada(), initContainers=[{"name": "first", "image": "a", "securityContext": {**SAFE, "runAsUser": 0}}]),
            "runAsUser is one of its users", id="root in an init container",
        ),
        pytest.param(mounting(subPath="bob/project"), "no subPath", id="a folder below another's home"),
        pytest.param(mounting(subPathExpr="$(HOME)"), "no subPath", id="a folder below, by a variable"),
        pytest.param(pod(volumes=[{"name": "later", "persistentVolumeClaim": {"claimName": "files-later"}}]), "runAsUser", id="a claim that will be there later"),
    ],
)  # fmt: skip
def test_a_pod_with_files_that_is_no_user_of_its_account_is_refused(account: ObjectsInputs, api: Api, manifest: dict[str, Any], why: str) -> None:
    assert why in refusal(api, manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(container=SAFE, **as_ada()), id="as a user"),
        pytest.param(pod(container={**SAFE, "runAsUser": ADA, "runAsGroup": ADA}, volumes=files()), id="as a user, said by the container"),
        pytest.param(mounting(), id="at its place"),
        pytest.param(pod(container={"runAsUser": 0}), id="root without files"),
        pytest.param(pod(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "b"}}]), id="other volumes"),
        pytest.param(pod(volumes=[{"name": "own", "persistentVolumeClaim": {"claimName": "own"}}]), id="root with files of its own"),
    ],
)
def test_other_pods_are_taken(account: ObjectsInputs, api: Api, manifest: dict[str, Any]) -> None:
    assert refusal(api, manifest) == ""


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(volumes=SERVED), id="a file server"),
        pytest.param(pod(volumes=[{"name": "home", "csi": {"driver": "nfs.csi.k8s.io"}}]), id="a driver"),
        pytest.param(pod(hostPID=True), id="processes of the host"),
        pytest.param(pod(hostIPC=True), id="IPC of the host"),
        pytest.param(pod(volumes=[{"name": "home", "hostPath": {"path": "/home"}}]), id="folders of the host"),
        pytest.param(pod(container={"privileged": True}), id="privileged"),
        pytest.param(pod(container={"capabilities": {"add": ["SYS_ADMIN"]}}), id="a capability"),
        pytest.param(pod(container={"procMount": "Unmasked"}, hostUsers=False), id="all of /proc"),
        pytest.param(pod(container={"seccompProfile": {"type": "Unconfined"}}), id="no seccomp in a container"),
        pytest.param(pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), id="no seccomp"),
        pytest.param(pod(container={"appArmorProfile": {"type": "Unconfined"}}), id="no AppArmor"),
        pytest.param(pod(container={"seLinuxOptions": {"type": "spc_t"}}), id="a type of SELinux"),
        pytest.param(pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}), id="a setting of the kernel"),
    ],
)
def test_no_pod_of_an_account_gets_rights_over_its_node(account: ObjectsInputs, api: Api, manifest: dict[str, Any]) -> None:
    assert refusal(api, manifest) != ""


def test_locked_memory_and_the_hosts_network_are_for_accounts_with_a_fabric(account: ObjectsInputs, api: Api) -> None:
    [namespace] = [one for one in account.manifests if one["kind"] == "Namespace"]
    has_fabric = namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    for manifest in (pod(container={"capabilities": {"add": ["IPC_LOCK"]}}), pod(hostNetwork=True)):
        assert (refusal(api, manifest) == "") is has_fabric


def test_members_leave_the_claims_of_the_cluster_alone(account: ObjectsInputs, api: Api, kubernetes: cluster.Cluster) -> None:
    member = kubernetes.member()
    ours = apis.Key("v1", "PersistentVolumeClaim", "research", "files-home")
    [claim] = [one for one in account.manifests if one["kind"] == "PersistentVolumeClaim"]
    with pytest.raises(apis.ApiError, match="belong to the cluster"):
        member.delete(ours)
    with pytest.raises(apis.ApiError, match="belong to the cluster"):
        member.apply({**claim, "metadata": {"name": "files-later", "namespace": "research"}}, dry_run=True)
    member.apply({**claim, "metadata": {"name": "own", "namespace": "research"}}, dry_run=True)
    api.apply({**claim, "metadata": {"name": "files-later", "namespace": "research"}}, dry_run=True)


def test_members_leave_the_network_policies_of_their_account_to_administrators(account: ObjectsInputs, api: Api, kubernetes: cluster.Cluster) -> None:
    """Policies add up: one more could open what the account's own closes."""
    member = kubernetes.member()
    [policy] = [one for one in account.manifests if one["kind"] == "NetworkPolicy"]
    more = {**policy, "metadata": {"name": "more", "namespace": "research"}, "spec": {"podSelector": {}, "policyTypes": ["Egress"], "egress": [{}]}}
    with pytest.raises(apis.ApiError, match="ask its administrators"):
        member.delete(apis.key_of(policy))
    with pytest.raises(apis.ApiError, match="ask its administrators"):
        member.apply({**policy, "spec": more["spec"]}, dry_run=True, force=True)
    with pytest.raises(apis.ApiError, match="ask its administrators"):
        member.apply(more, dry_run=True)
    api.apply(more, dry_run=True)


def test_a_job_with_storage_that_is_not_mounted_is_refused_before_it_waits_for_ever(account: ObjectsInputs, api: Api) -> None:
    def job(claim: str) -> list[dict[str, Any]]:
        return jobs.manifests(jobs.Job("a", "a", ("true",), account="research", mounts=(jobs.Mount(claim, "/home"),), uid=ADA), "job")

    submit._require_claims(api, [*job("files-home"), *job("own")])
    with pytest.raises(Problem, match="files-scratch is not there"):
        submit._require_claims(api, job("files-scratch"))


def test_a_file_system_at_another_place_needs_its_claim_and_volume_deleted_first(account: ObjectsInputs, api: Api) -> None:
    """What docs/kubernetes.md says of a changed mount."""
    kind, notes = Objects(), works.Notes()
    text = json.dumps(account.manifests).replace('"path": "/home"', '"path": "/homes"')
    moved = dataclasses.replace(account, manifests=tuple(json.loads(text)))
    with pytest.raises(PartlyMade, match="immutable"):
        kind.update(moved, {}, notes.work())
    volume = apis.Key("v1", "PersistentVolume", "", "research.files-home")
    for key in (apis.Key("v1", "PersistentVolumeClaim", "research", "files-home"), volume):
        api.delete(key)
        processes.wait_until(lambda key=key: api.get(key) is None, awaiting=f"{key} to be gone", within_s=30)  # type: ignore[misc]
    kind.update(moved, {}, notes.work())
    assert (api.get(volume) or {})["spec"]["hostPath"]["path"] == "/homes"
