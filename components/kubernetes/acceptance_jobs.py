"""What the checks of acceptance share: their inputs, the namespace, queue and jobs that they use, and the form of their results."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..provider.kind import Work
from . import addon, apply, jobs, labels, manifests, queues
from .api import Api, ApiError, key_of

NAMESPACE = labels.ACCEPTANCE
GANG_NODES = 2
"""Nodes that a check uses; one where a pool has no more."""
GONE_WITHIN_S = 120
"""A job's workload holds its quota until the garbage collector deletes it, and the collector learns of new kinds every 30 s only."""
LOW = -1000
"""Priority of acceptance's jobs; those of users have 0 or more."""
PASS, FAIL, REPORTED = "pass", "fail", "reported"
PAUSE = "registry.k8s.io/pause"
"""The image whose container waits until it is ended; every release has it."""


@dataclasses.dataclass(frozen=True, slots=True)
class PoolInputs:
    name: str
    nodes: tuple[str, ...]
    """Hostnames."""
    gpus: int
    """Of each node."""
    always: int
    """How many of them always run."""
    tolerations: tuple[dict[str, str], ...] = ()

    @property
    def used(self) -> int:
        """How many nodes a check uses."""
        return min(GANG_NODES, max(1, self.always))

    @property
    def is_elastic(self) -> bool:
        return self.always < len(self.nodes)


@dataclasses.dataclass(frozen=True, slots=True)
class AcceptanceInputs:
    cluster: str
    version: str
    """Of Kubernetes."""
    kubeconfig: str
    pools: tuple[PoolInputs, ...]
    release: str
    """The folder of the release, whose registry has the images of the checks."""
    has_queues: bool
    proves: dict[str, Any]
    """What the result stands for: another value makes the checks run again."""
    trains: bool = False
    """The cluster has the Trainer, and a training job proves it."""
    load_balancer_cidr: str = ""
    """Addresses that services of type LoadBalancer get; empty: none."""
    secondary_networks: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    """Pool → network in which its pods can ask for an interface → addresses that they get there."""
    has_racks: bool = False
    """The inventory names the rack of every node, so that jobs can ask for one."""


def check(subject: str, name: str, expected: str, measured: str, detail: str, *, ok: bool) -> dict[str, Any]:
    """Give a result in the form of `finish.checks`."""
    verdict = PASS if ok else FAIL
    return {
        "node": subject,
        "name": name,
        "verdict": verdict,
        "expected": expected,
        "measured": measured,
        "detail": "" if ok else detail,
        "look_at": LOOK_AT[name],
    }


def not_judged(subject: str, name: str, expected: str, why: str) -> dict[str, Any]:
    """Give the result of a check that other jobs leave no room for, which is no fault of the cluster."""
    return {**check(subject, name, expected, "not tried", why, ok=False), "verdict": REPORTED, "look_at": ""}


LOOK_AT: Mapping[str, str] = {
    "nodes of Kubernetes": "`clusterwright kubectl -- describe nodes`, and the journal of kubelet on the node",
    "GPUs of a pod": "the log of the device plugin, and the journals of kubelet and containerd on the node",
    "gang of pods": "`clusterwright kubectl -- get clusterqueues,workloads --all-namespaces`",
    "job over quota": "the log of kueue-controller-manager in namespace kueue-system",
    "gang in one rack": "`clusterwright kubectl -- get nodes --label-columns=clusterwright.io/rack`, and the log of kueue-controller-manager in namespace kueue-system",
    "preemption": "the log of kueue-controller-manager in namespace kueue-system",
    "quota that is free again": "the log of kueue-controller-manager in namespace kueue-system",
    "training job": "the log of kubeflow-trainer-controller-manager in namespace kubeflow-system, and that of jobset-controller-manager in jobset-system",
    "node that comes for a pod": "the journal of clusterwright-autoscaler on the control plane, and that of clusterwright-join on the node",
    "interfaces of a pod": "`clusterwright kubectl -- describe pods`, the logs of kube-multus-ds and whereabouts in namespace kube-system, and the journal of containerd on the node",
    "address of a service": "the log of the Deployment controller in namespace metallb-system",
}
"""Where to look when a check fails."""


def image(inputs: AcceptanceInputs, name: str) -> str:
    """Give an image of the release by its name without tag; empty: the release has none."""
    known: dict[str, Any] = json.loads((Path(inputs.release) / addon.IMAGES).read_text())
    return next((f"{one}@{found['digest']}" for one, found in known.items() if one.startswith(f"{name}:")), "")


def prepare(api: Api, inputs: AcceptanceInputs, pool: PoolInputs, work: Work) -> None:
    """Make the namespace, and where the cluster has queues one that owns nothing and may borrow what one gang needs, with two priorities."""
    for manifest in _objects(inputs, pool):
        apply.apply_one(api, manifest, work)


def job(
    name: str, inputs: AcceptanceInputs, pool: PoolInputs, container: Mapping[str, Any], *, gpus: int, nodes: int = 1, node: str = "", priority: bool = False,
    volumes: tuple[dict[str, Any], ...] = (), one_rack: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Write a job: one pod of one container on each of some nodes.

    Args:
        gpus: of each pod.
        node: the only node that it may run on.
        priority: it may take the place of acceptance's other jobs.
        one_rack: start only where all nodes are in one rack.
    """
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "nodeSelector": {labels.POOL: pool.name, **({labels.HOST: node} if node else {})},
        "tolerations": [dict(one) for one in pool.tolerations],
        "containers": [{**container, "resources": {"requests": {labels.GPU: str(gpus)}, "limits": {labels.GPU: str(gpus)}}} if gpus else dict(container)],
        **({"volumes": [*volumes]} if volumes else {}),
    }
    spec = {
        "parallelism": nodes,
        "completions": nodes,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "suspend": inputs.has_queues,
        "template": {**({"metadata": {"annotations": {labels.REQUIRED_TOPOLOGY: labels.RACK}}} if one_rack else {}), "spec": pod},
    }
    queued = {labels.QUEUE: labels.LOCAL_QUEUE, labels.PRIORITY: priority_class(is_high=priority)} if inputs.has_queues else {}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {manifests.PART_OF: NAMESPACE, **queued}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def pods(api: Api, job_name: str) -> list[dict[str, Any]]:
    """List the pods of a job."""
    return api.list("v1", "Pod", namespace=NAMESPACE, labels=f"batch.kubernetes.io/job-name={job_name}")


def ended(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Give how the container of a pod ended, the last time that it did; empty: it has not. Pure."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return dict((statuses[0].get("state") or {}).get("terminated") or (statuses[0].get("lastState") or {}).get("terminated") or {})


def within(work: Work, done: Callable[[], bool], *, within_s: float, awaiting: str) -> bool:
    """Wait for a condition; say whether it came in time."""
    work.say(f"acceptance: waiting for {awaiting}")
    try:
        work.wait_until(done, awaiting=awaiting, within_s=within_s, every_s=0.2)
    except TimeoutError:
        return False
    return True


def clear(api: Api, work: Work) -> None:
    """Delete what acceptance created: jobs first, while their queue can release them."""
    kinds = (
        (jobs.TRAINER, "TrainJob"),
        ("batch/v1", "Job"),
        (queues.KUEUE, "LocalQueue"),
        (queues.KUEUE, "ClusterQueue"),
        (queues.KUEUE, "WorkloadPriorityClass"),
        ("v1", "Namespace"),
    )
    for api_version, kind in kinds:
        keys = [key_of(one) for one in api.list(api_version, kind, labels=f"{manifests.PART_OF}={NAMESPACE}")]
        for key in keys:
            api.delete(key, foreground=kind in ("Job", "TrainJob"))
        with contextlib.suppress(TimeoutError, ApiError):
            work.wait_until(lambda keys=keys: all(api.get(key) is None for key in keys), awaiting=kind, within_s=GONE_WITHIN_S, every_s=0.2)  # type: ignore[misc]


def priority_class(*, is_high: bool) -> str:
    return f"{NAMESPACE}-{'high' if is_high else 'low'}"


def _objects(inputs: AcceptanceInputs, pool: PoolInputs) -> list[dict[str, Any]]:
    marks = {manifests.PART_OF: NAMESPACE}

    def named(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": marks, **more}}

    space = named("v1", "Namespace", NAMESPACE)
    # A check looks at the device files of a node.
    space["metadata"]["labels"] = {**marks, labels.ACCOUNT: NAMESPACE, "pod-security.kubernetes.io/enforce": "privileged"}
    if not inputs.has_queues:
        return [space]
    resources = [
        {"name": "cpu", "nominalQuota": "0"},
        {"name": "memory", "nominalQuota": "0"},
        {"name": labels.GPU, "nominalQuota": "0", "borrowingLimit": str(pool.used * pool.gpus)},
    ]
    flavors = [{"name": labels.flavor_name(pool.name, is_elastic=pool.is_elastic), "resources": resources}]
    queue = {
        "cohort": labels.object_name(inputs.cluster),
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        "resourceGroups": [{"coveredResources": [one["name"] for one in resources], "flavors": flavors}],
        # It borrows all that it has, so it preempts while it borrows: of jobs that matter as little as its own, which users' do not.
        "preemption": {
            "withinClusterQueue": "LowerPriority",
            "reclaimWithinCohort": "LowerPriority",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": LOW},
        },
    }
    return [
        space,
        {**named(queues.KUEUE, "WorkloadPriorityClass", priority_class(is_high=False)), "value": LOW},
        {**named(queues.KUEUE, "WorkloadPriorityClass", priority_class(is_high=True)), "value": LOW + 1},
        {**named(queues.KUEUE, "ClusterQueue", NAMESPACE), "spec": queue},
        {**named(queues.KUEUE, "LocalQueue", labels.LOCAL_QUEUE, namespace=NAMESPACE), "spec": {"clusterQueue": NAMESPACE}},
    ]
