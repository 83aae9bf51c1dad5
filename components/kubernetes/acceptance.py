"""Acceptance of Kubernetes through its API alone: nodes and their GPUs, and what queues promise, proven with real pods."""

import contextlib
import dataclasses
import datetime as dt
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from blueprints.finding import Level
from blueprints.spec import NodeSet

from ..finish import checks
from ..provider.kind import UNKNOWN, Kind, PartlyMade, Values, Work
from . import addon, apply, group, labels, manifests, queues, readiness
from .api import Api, ApiError, Key, key_of

NAMESPACE = "clusterwright-acceptance"
PAUSE = "registry.k8s.io/pause"
"""The image whose container waits until it is ended; every release has it."""
GANG_NODES = 2
"""Nodes of the gang; one where a pool has no more."""
NODES_WITHIN_S, RUNS_WITHIN_S, DECIDES_WITHIN_S = 120, 120, 60
GONE_WITHIN_S = 120
"""A job's workload holds its quota until the garbage collector deletes it, and the collector learns of new kinds every 30 s only."""
LOW = -1000
"""Priority of acceptance's jobs; those of users have 0 or more."""
PASS, FAIL = "pass", "fail"


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


@dataclasses.dataclass(frozen=True, slots=True)
class AcceptanceInputs:
    cluster: str
    version: str
    """Of Kubernetes."""
    kubeconfig: str
    pools: tuple[PoolInputs, ...]
    release: str
    """The folder of the release, whose registry has `PAUSE`."""
    has_queues: bool
    proves: dict[str, Any]
    """What the result stands for: another value makes the checks run again."""


class Acceptance(Kind[AcceptanceInputs]):
    token = "clusterwright:kubernetes:Acceptance"
    inputs = AcceptanceInputs
    timeout_s = 900

    def identity(self, inputs: AcceptanceInputs) -> str:
        return inputs.cluster

    def expected(self, inputs: AcceptanceInputs) -> Values:
        return {"ok": True, "checks": UNKNOWN, "seconds": UNKNOWN, "began": UNKNOWN}

    def read(self, inputs: AcceptanceInputs, outputs: Values) -> Values | None:
        """Return the recorded results: nodes that fail later are drift."""
        return {name: outputs.get(name, otherwise) for name, otherwise in (("ok", False), ("checks", []), ("seconds", 0), ("began", ""))}

    def create(self, inputs: AcceptanceInputs, work: Work) -> Values:
        began, started = dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), time.monotonic()
        found = run(group.connected(inputs.kubeconfig, work), inputs, work)
        failed = [one for one in map(checks.finding, found) if one.level is Level.ERROR]
        outputs = {"ok": not failed, "checks": found, "seconds": round(time.monotonic() - started, 1), "began": began}
        if failed:
            raise PartlyMade(*map(checks.line, failed), outputs=outputs)
        return outputs

    def delete(self, inputs: AcceptanceInputs, outputs: Values, work: Work) -> None:
        """Do nothing: a check leaves only its record."""


def pools(node_sets: Sequence[NodeSet]) -> tuple[PoolInputs, ...]:
    """Say what acceptance expects of each pool."""
    found: dict[str, PoolInputs] = {}
    for one in node_sets:
        gpus = one.hosts.machine.gpus
        tolerations = tuple({"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect} for taint in one.taints)
        before = found.get(one.pool, PoolInputs(one.pool, (), gpus.count if gpus else 0, 0, tolerations))
        found[one.pool] = dataclasses.replace(before, nodes=(*before.nodes, *one.hosts.hostnames), always=before.always + one.always)
    return tuple(found.values())


def run(api: Api, inputs: AcceptanceInputs, work: Work) -> list[dict[str, Any]]:
    """Run all checks, and give their results in the form of `finish.checks`. What they create is deleted."""
    found = [*_nodes(api, inputs, work)]
    pool = next((one for one in inputs.pools if one.gpus and one.always), None)
    if inputs.has_queues and pool is not None and not any(one["verdict"] == FAIL for one in found):
        _clear(api, work)  # of a run that was killed
        try:
            found += _queueing(api, inputs, pool, work)
        finally:
            _clear(api, work)
    return found


def _nodes(api: Api, inputs: AcceptanceInputs, work: Work) -> Iterator[dict[str, Any]]:
    """Every node is there, ready, of the cluster's version, and offers the GPUs of its pool."""
    for pool in inputs.pools:
        problems: dict[str, str] = {}

        def ready(pool: PoolInputs = pool, problems: dict[str, str] = problems) -> bool:
            nodes = {one["metadata"]["name"]: one for one in api.list("v1", "Node")}
            problems.clear()
            problems.update({name: lack for name in pool.nodes if (lack := node_lacks(nodes.get(name), pool.gpus, inputs.version))})
            present = len(pool.nodes) - sum(one == "is not there" for one in problems.values())
            if pool.always < len(pool.nodes) and present >= pool.always:  # elastic nodes that don't run are no fault
                for name in [name for name, lack in problems.items() if lack == "is not there"]:
                    del problems[name]
            work.say(f"acceptance: {len(pool.nodes) - len(problems)} of {len(pool.nodes)} nodes of pool {pool.name} are as they should be")
            return not problems

        with contextlib.suppress(TimeoutError):
            work.wait_until(ready, awaiting="nodes", within_s=NODES_WITHIN_S, every_s=0.5)
        wanted = f"{len(pool.nodes)} ready{f' with {pool.gpus} GPUs each' if pool.gpus else ''}"
        lacking = "; ".join(f"{name} {lack}" for name, lack in problems.items())
        yield _check(pool.name, "nodes of Kubernetes", wanted, f"{len(pool.nodes) - len(problems)}", lacking, ok=not problems)


def node_lacks(node: Mapping[str, Any] | None, gpus: int, version: str) -> str:
    """Say what a node lacks; empty: nothing. Pure."""
    if node is None:
        return "is not there"
    if readiness.condition(node, "Ready") != "True":
        why = next((one.get("message", "") for one in node["status"].get("conditions", ()) if one["type"] == "Ready"), "its kubelet has said nothing yet")
        return f"is not ready: {why}"
    runs = node["status"]["nodeInfo"]["kubeletVersion"].removeprefix("v")
    if not f"{runs}.".startswith(f"{version.removeprefix('v')}."):
        return f"runs Kubernetes {runs} instead of {version}"
    offers = int(node["status"].get("allocatable", {}).get(labels.GPU, 0))
    return "" if offers == gpus else f"offers {offers} GPUs instead of {gpus}"


def _queueing(api: Api, inputs: AcceptanceInputs, pool: PoolInputs, work: Work) -> Iterator[dict[str, Any]]:
    """A gang within the quota runs at once, one beyond it waits and says why, a more important one takes its place, and the quota that a job leaves is given to the next."""
    nodes = min(GANG_NODES, pool.always)
    gpus = nodes * pool.gpus
    for manifest in _queue(inputs, pool, gpus):
        apply.apply_one(api, manifest, work)
    processes = _Gangs(api, inputs, pool, nodes, work)
    ran = processes.start("first")
    placed = processes.nodes_of("first")
    right = ran and placed <= set(pool.nodes) and len(placed) == nodes
    measured = f"{nodes if ran else 0} pods on {', '.join(sorted(placed)) or 'no node'}"
    yield _check(pool.name, "gang of pods", f"{nodes} pods with {pool.gpus} GPUs on {nodes} nodes", measured, processes.why("first"), ok=right)
    if not right:
        return
    processes.submit("second")
    waits = processes.waits("second")
    yield _check(pool.name, "job over quota", "waits, with a reason", "waits" if waits else "runs", processes.why("second"), ok=bool(waits))
    processes.submit("urgent", priority=True)
    preempted = processes.runs("urgent") and not processes.is_admitted("first")
    yield _check(pool.name, "preemption", "the more important job runs", "it runs" if preempted else "it waits", processes.why("urgent"), ok=preempted)
    processes.delete("urgent")
    processes.delete("first")
    freed = processes.runs("second")
    yield _check(pool.name, "quota that is free again", "the waiting job runs", "it runs" if freed else "it waits", processes.why("second"), ok=freed)


class _Gangs:
    """Jobs of acceptance: one pod on each node, which waits until it is ended."""

    def __init__(self, api: Api, inputs: AcceptanceInputs, pool: PoolInputs, nodes: int, work: Work):
        self._api, self._inputs, self._pool, self._nodes, self._work = api, inputs, pool, nodes, work

    def start(self, name: str) -> bool:
        self.submit(name)
        return self.runs(name)

    def submit(self, name: str, *, priority: bool = False) -> None:
        self._work.say(f"acceptance: submitting gang {name}")
        apply.apply_one(self._api, _gang(name, self._inputs, self._pool, self._nodes, priority=priority), self._work)

    def runs(self, name: str) -> bool:
        return self._within(lambda: len(self._running(name)) == self._nodes, RUNS_WITHIN_S, f"gang {name} to run")

    def waits(self, name: str) -> str:
        """Give the reason for which a job waits; empty: it doesn't."""
        self._within(lambda: bool(self._reason(name)), DECIDES_WITHIN_S, f"the queue's decision about gang {name}")
        return "" if self.is_admitted(name) else self._reason(name)

    def is_admitted(self, name: str) -> bool:
        found = self._workload(name)
        return found is not None and readiness.condition(found, "Admitted") == "True"

    def nodes_of(self, name: str) -> set[str]:
        return {one["spec"]["nodeName"] for one in self._running(name)}

    def why(self, name: str) -> str:
        """Say what queue and scheduler say of a job."""
        return self._reason(name) or readiness.pod_trouble(self._pods(name))

    def delete(self, name: str) -> None:
        key = Key("batch/v1", "Job", NAMESPACE, name)
        self._api.delete(key)
        self._within(lambda: self._api.get(key) is None and not self._pods(name) and self._workload(name) is None, GONE_WITHIN_S, f"gang {name} to be gone")

    def _within(self, done: Callable[[], bool], within_s: float, awaiting: str) -> bool:
        self._work.say(f"acceptance: waiting for {awaiting}")
        try:
            self._work.wait_until(done, awaiting=awaiting, within_s=within_s, every_s=0.2)
        except TimeoutError:
            return False
        return True

    def _pods(self, name: str) -> list[dict[str, Any]]:
        return self._api.list("v1", "Pod", namespace=NAMESPACE, labels=f"batch.kubernetes.io/job-name={name}")

    def _running(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self._pods(name) if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]]

    def _workload(self, name: str) -> dict[str, Any] | None:
        found = self._api.list(queues.KUEUE, "Workload", namespace=NAMESPACE)
        return next((one for one in found if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", ()))), None)

    def _reason(self, name: str) -> str:
        found = self._workload(name) or {}
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((str(one["message"]) for one in conditions if one["type"] == "QuotaReserved" and one["status"] == "False"), "")


def _queue(inputs: AcceptanceInputs, pool: PoolInputs, gpus: int) -> list[dict[str, Any]]:
    """A queue that owns nothing and may borrow what one gang needs, and two priorities."""
    marks = {manifests.PART_OF: NAMESPACE}

    def named(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": marks, **more}}

    resources = [
        {"name": "cpu", "nominalQuota": "0"},
        {"name": "memory", "nominalQuota": "0"},
        {"name": labels.GPU, "nominalQuota": "0", "borrowingLimit": str(gpus)},
    ]
    flavors = [{"name": labels.object_name(pool.name), "resources": resources}]
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
    space = named("v1", "Namespace", NAMESPACE)
    space["metadata"]["labels"] = {**marks, labels.ACCOUNT: NAMESPACE, "pod-security.kubernetes.io/enforce": "restricted"}
    return [
        space,
        {**named(queues.KUEUE, "WorkloadPriorityClass", _priority(is_high=False)), "value": LOW},
        {**named(queues.KUEUE, "WorkloadPriorityClass", _priority(is_high=True)), "value": LOW + 1},
        {**named(queues.KUEUE, "ClusterQueue", NAMESPACE), "spec": queue},
        {**named(queues.KUEUE, "LocalQueue", labels.LOCAL_QUEUE, namespace=NAMESPACE), "spec": {"clusterQueue": NAMESPACE}},
    ]


def _gang(name: str, inputs: AcceptanceInputs, pool: PoolInputs, nodes: int, *, priority: bool) -> dict[str, Any]:
    container = {
        "name": "pause",
        "image": _image(inputs),
        "resources": {"requests": {labels.GPU: str(pool.gpus)}, "limits": {labels.GPU: str(pool.gpus)}},
        "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 65535, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "nodeSelector": {labels.POOL: pool.name},
        "tolerations": [dict(one) for one in pool.tolerations],
        "containers": [container],
    }
    spec = {"parallelism": nodes, "completions": nodes, "completionMode": "Indexed", "backoffLimit": 0, "suspend": True, "template": {"spec": pod}}
    marks = {manifests.PART_OF: NAMESPACE, labels.QUEUE: labels.LOCAL_QUEUE, labels.PRIORITY: _priority(is_high=priority)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": NAMESPACE, "labels": marks}, "spec": spec}


def _image(inputs: AcceptanceInputs) -> str:
    images: dict[str, Any] = json.loads((Path(inputs.release) / addon.IMAGES).read_text())
    name = next(one for one in images if one.startswith(f"{PAUSE}:"))
    return f"{name}@{images[name]['digest']}"


def _priority(*, is_high: bool) -> str:
    return f"{NAMESPACE}-{'high' if is_high else 'low'}"


def _clear(api: Api, work: Work) -> None:
    """Delete what acceptance created: jobs first, while their queue can release them."""
    kinds = (("batch/v1", "Job"), (queues.KUEUE, "LocalQueue"), (queues.KUEUE, "ClusterQueue"), (queues.KUEUE, "WorkloadPriorityClass"), ("v1", "Namespace"))
    for api_version, kind in kinds:
        keys = [key_of(one) for one in api.list(api_version, kind, labels=f"{manifests.PART_OF}={NAMESPACE}")]
        for key in keys:
            api.delete(key, foreground=kind == "Job")
        with contextlib.suppress(TimeoutError, ApiError):
            work.wait_until(lambda keys=keys: all(api.get(key) is None for key in keys), awaiting=kind, within_s=GONE_WITHIN_S, every_s=0.2)  # type: ignore[misc]


def _check(subject: str, name: str, expected: str, measured: str, detail: str, *, ok: bool) -> dict[str, Any]:
    verdict = PASS if ok else FAIL
    return {
        "node": subject,
        "name": name,
        "verdict": verdict,
        "expected": expected,
        "measured": measured,
        "detail": "" if ok else detail,
        "look_at": _LOOK_AT[name],
    }


_LOOK_AT: Mapping[str, str] = {
    "nodes of Kubernetes": "`clusterwright kubectl -- describe nodes`, and the journal of kubelet on the node",
    "gang of pods": "`clusterwright kubectl -- get clusterqueues,workloads --all-namespaces`",
    "job over quota": "the log of kueue-controller-manager in namespace kueue-system",
    "preemption": "the log of kueue-controller-manager in namespace kueue-system",
    "quota that is free again": "the log of kueue-controller-manager in namespace kueue-system",
}
"""Where to look when a check fails."""
