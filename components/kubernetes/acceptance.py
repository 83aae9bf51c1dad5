"""Acceptance of Kubernetes through its API alone: nodes and their GPUs, and what queues promise, proven with real pods."""

import contextlib
import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blueprints.finding import Level
from blueprints.spec import NodeSet

from ..elastic.kubernetes import model as elastic
from ..finish import checks, inspection_results
from ..provider.kind import UNKNOWN, Kind, PartlyMade, Values, Work
from . import acceptance_jobs, apply, confinement, free_gpus, group, labels, pod_interfaces, queues, racks, readiness, service_addresses, training
from .acceptance_jobs import AcceptanceInputs, PoolInputs
from .api import Api, Key

NODES_WITHIN_S, RUNS_WITHIN_S, DECIDES_WITHIN_S = 120, 120, 60
COMES_WITHIN_S = 600
"""From a waiting pod to one that runs on a node that was started for it, with a second try where a first host fails."""


class Acceptance(Kind[AcceptanceInputs]):
    token = "clusterwright:kubernetes:Acceptance"
    inputs = AcceptanceInputs
    timeout_s = 1800

    def identity(self, inputs: AcceptanceInputs) -> str:
        return inputs.cluster

    def expected(self, inputs: AcceptanceInputs) -> Values:
        return {"ok": True, "outdated": "", "checks": UNKNOWN, "seconds": UNKNOWN, "began": UNKNOWN}

    def upgrade(self, recorded: Values) -> Values:
        """Read a result of a version that did not say whether it is out of date as one that still holds."""
        return recorded if "outdated" in recorded or "ok" not in recorded else {**recorded, "outdated": ""}

    def read(self, inputs: AcceptanceInputs, outputs: Values) -> Values | None:
        """Return the recorded results, and why they no longer hold: hosts that were repaired since. Nodes that fail later are drift."""
        found = {name: outputs.get(name, otherwise) for name, otherwise in (("ok", False), ("checks", []), ("seconds", 0), ("began", ""))}
        return {**found, "outdated": inspection_results.repaired_after(str(found["began"]), inspection_results.received() or {})}

    def create(self, inputs: AcceptanceInputs, work: Work) -> Values:
        began, started = dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), time.monotonic()
        found = run(group.connected(inputs.kubeconfig, work), inputs, work)
        failed = [one for one in map(checks.finding, found) if one.level is Level.ERROR]
        outputs = {"ok": not failed, "checks": found, "seconds": round(time.monotonic() - started, 1), "began": began, "outdated": ""}
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
    if inputs.load_balancer_cidr:
        found += service_addresses.checks(api, inputs.load_balancer_cidr, work)
    if not _has_failed(found):
        for one in inputs.pools:
            if one.name in inputs.secondary_networks and one.always:
                found += pod_interfaces.checks(api, inputs, one, work)
    pool = next((one for one in inputs.pools if one.gpus and one.always), None)
    if _has_failed(found):
        return found
    if pool is None:
        return [*found, *_coming(api, inputs, work)]
    acceptance_jobs.clear(api, work)  # of a run that was killed
    try:
        acceptance_jobs.prepare(api, inputs, pool, work)
        if inputs.has_queues:
            found += _queueing(api, inputs, pool, work)
        if not _has_failed(found):
            found += confinement.checks(api, inputs, pool, work)
        if inputs.trains and not _has_failed(found):
            found += training.checks(api, inputs, pool, work)
    finally:
        acceptance_jobs.clear(api, work)
    return found


def _coming(api: Api, inputs: AcceptanceInputs, work: Work) -> Iterator[dict[str, Any]]:
    """A node of an elastic pool comes for a pod. It goes again by itself when it has been idle for a while."""
    pool = next((one for one in inputs.pools if one.gpus and one.is_elastic), None)
    if pool is None:
        return
    acceptance_jobs.clear(api, work)  # of a run that was killed
    try:
        acceptance_jobs.prepare(api, inputs, pool, work)
        processes = _Gangs(api, inputs, pool, work)
        processes.submit("first")
        ran = processes.runs("first", within_s=COMES_WITHIN_S)
        measured = f"it runs on {', '.join(sorted(processes.nodes_of('first')))}" if ran else "it waits"
        yield acceptance_jobs.check(pool.name, "node that comes for a pod", f"a pod with {pool.gpus} GPUs runs", measured, processes.why("first"), ok=ran)
    finally:
        acceptance_jobs.clear(api, work)


def _has_failed(found: Sequence[Mapping[str, Any]]) -> bool:
    return any(one["verdict"] == acceptance_jobs.FAIL for one in found)


def _nodes(api: Api, inputs: AcceptanceInputs, work: Work) -> Iterator[dict[str, Any]]:
    """Every node is there, ready, of the cluster's version, and offers the GPUs of its pool."""
    for pool in inputs.pools:
        problems: dict[str, str] = {}
        there: set[str] = set()

        def ready(pool: PoolInputs = pool, problems: dict[str, str] = problems, there: set[str] = there) -> bool:
            nodes = {one["metadata"]["name"]: one for one in api.list("v1", "Node")}
            there.clear()
            there.update(nodes)
            problems.clear()
            has_older = pool.is_elastic and any(is_older(nodes[name], inputs.version) for name in pool.nodes if name in nodes)
            busy = {one.node for one in elastic.read(api.list("v1", "Pod"), ()).pods if not one.is_of_node} if has_older else set()
            problems.update(faults(pool, nodes, version=inputs.version, busy=busy))
            work.say(f"acceptance: {len(pool.nodes) - len(problems)} of {len(pool.nodes)} nodes of pool {pool.name} are as they should be")
            return not problems

        with contextlib.suppress(TimeoutError):
            work.wait_until(ready, awaiting="nodes", within_s=COMES_WITHIN_S if pool.is_elastic else NODES_WITHIN_S, every_s=0.5)
        wanted = f"{f'{pool.always}–' if pool.is_elastic else ''}{len(pool.nodes)} ready{f' with {pool.gpus} GPUs each' if pool.gpus else ''}"
        lacking = "; ".join(f"{name} {lack}" for name, lack in problems.items())
        measured = f"{sum(name in there for name in pool.nodes) - len(problems)}" if pool.is_elastic else f"{len(pool.nodes) - len(problems)}"
        yield acceptance_jobs.check(pool.name, "nodes of Kubernetes", wanted, measured, lacking, ok=not problems)


def faults(pool: PoolInputs, nodes: Mapping[str, Mapping[str, Any]], *, version: str, busy: set[str]) -> dict[str, str]:
    """Say what nodes of a pool lack and should not. Pure.

    Args:
        busy: nodes that run pods; the autoscaler replaces one that is older than the cluster when it is idle.
    """
    lacks = {name: lack for name in pool.nodes if (lack := node_lacks(nodes.get(name), pool.gpus, version))}
    if not pool.is_elastic:
        return lacks
    lacks |= {name: "is being stopped" for name in pool.nodes if elastic.STOPPING in (nodes.get(name, {}).get("metadata", {}).get("annotations") or {})}
    older = {name for name in busy & {*lacks} & {*nodes} if is_older(nodes[name], version)}
    # Elastic nodes that don't run are no fault, nor are those that come or go while it looks.
    beyond = {*pool.nodes[pool.always :]} if len({*pool.nodes} & {*nodes}) >= pool.always else set()
    return {name: lack for name, lack in lacks.items() if name not in older | beyond}


def is_older(node: Mapping[str, Any], version: str) -> bool:
    """Say whether a node runs another version than the cluster's. Pure."""
    return not f"{_runs(node)}.".startswith(f"{version.removeprefix('v')}.")


def _runs(node: Mapping[str, Any]) -> str:
    return str(node["status"]["nodeInfo"]["kubeletVersion"]).removeprefix("v")


def node_lacks(node: Mapping[str, Any] | None, gpus: int, version: str) -> str:
    """Say what a node lacks; empty: nothing. Pure."""
    if node is None:
        return "is not there"
    if readiness.condition(node, "Ready") != "True":
        why = next((one.get("message", "") for one in node["status"].get("conditions", ()) if one["type"] == "Ready"), "its kubelet has said nothing yet")
        return f"is not ready: {why}"
    if readiness.condition(node, labels.HEALTHY) == "False":
        return f"lacks something: {readiness.message(node, labels.HEALTHY)}"
    if is_older(node, version):
        return f"runs Kubernetes {_runs(node)} instead of {version}"
    offers = int(node["status"].get("allocatable", {}).get(labels.GPU, 0))
    return "" if offers == gpus else f"offers {offers} GPUs instead of {gpus}"


def _queueing(api: Api, inputs: AcceptanceInputs, pool: PoolInputs, work: Work) -> Iterator[dict[str, Any]]:
    """A gang within the quota runs at once, one beyond it waits and says why, a more important one takes its place, and the quota that a job leaves is given to the next."""
    nodes = pool.used
    wanted = f"{nodes} pods with {pool.gpus} GPUs on {nodes} nodes"
    if no_room := free_gpus.no_room(api, pool):
        yield acceptance_jobs.not_judged(pool.name, "gang of pods", wanted, f"{no_room}; nor were quota, preemption and racks tried")
        return
    processes = _Gangs(api, inputs, pool, work)
    ran = processes.start("first")
    placed = processes.nodes_of("first")
    right = ran and placed <= set(pool.nodes) and len(placed) == nodes
    measured = f"{nodes if ran else 0} pods on {', '.join(sorted(placed)) or 'no node'}"
    yield _judged(api, pool, acceptance_jobs.check(pool.name, "gang of pods", wanted, measured, processes.why("first"), ok=right))
    if not right:
        return
    processes.submit("second")
    waits = processes.waits("second")
    yield acceptance_jobs.check(pool.name, "job over quota", "waits, with a reason", "waits" if waits else "runs", processes.why("second"), ok=bool(waits))
    processes.submit("urgent", priority=True)
    preempted = processes.runs("urgent") and not processes.is_admitted("first")
    measured = "it runs" if preempted else "it waits"
    yield _judged(api, pool, acceptance_jobs.check(pool.name, "preemption", "the more important job runs", measured, processes.why("urgent"), ok=preempted))
    processes.delete("urgent")
    processes.delete("first")
    freed = processes.runs("second")
    measured = "it runs" if freed else "it waits"
    yield _judged(api, pool, acceptance_jobs.check(pool.name, "quota that is free again", "the waiting job runs", measured, processes.why("second"), ok=freed))
    processes.delete("second")
    if inputs.has_racks and not pool.is_elastic:
        yield _one_rack(api, pool, processes)


def _judged(api: Api, pool: PoolInputs, found: dict[str, Any]) -> dict[str, Any]:
    """Give a result, unless it is bad and other jobs took the room meanwhile."""
    no_room = free_gpus.no_room(api, pool) if found["verdict"] == acceptance_jobs.FAIL else ""
    return acceptance_jobs.not_judged(pool.name, found["name"], found["expected"], no_room) if no_room else found


def _one_rack(api: Api, pool: PoolInputs, processes: "_Gangs") -> dict[str, Any]:
    """A gang that asks for one rack runs in one; where none has room for it, it waits and says why."""
    known = racks.of_nodes(api.list("v1", "Node"), pool.nodes)
    in_one = f"{pool.used} pods in one rack"
    if unnamed := [name for name in pool.nodes if not known.get(name)]:
        return acceptance_jobs.check(
            pool.name, "gang in one rack", in_one, "nodes without a rack", f"{', '.join(unnamed)} lack the label {labels.RACK}", ok=False
        )
    processes.submit("one-rack", one_rack=True)
    look = racks.Look(pool.used)

    def is_decided() -> bool:
        nonlocal look
        reason, places = processes.reason("one-rack"), processes.nodes_of("one-rack")
        idle = racks.most_idle(known, api.list("v1", "Pod"), racks.usable(api.list("v1", "Node"), pool.tolerations)) if reason else 0
        look = racks.Look(pool.used, tuple(known.get(name, name) for name in places), reason, idle)
        return look.is_final

    processes.within(is_decided, RUNS_WITHIN_S, "gang one-rack to run, or to wait while no rack has room")
    wanted = in_one if look.runs or look.has_room or not look.reason else "waits, as no rack has room, with a reason"
    measured = f"{pool.used} pods in {', '.join(sorted({*look.racks}))}" if look.runs else "waits"
    found = acceptance_jobs.check(pool.name, "gang in one rack", wanted, measured, processes.why("one-rack") or measured, ok=look.is_right)
    processes.delete("one-rack")
    return found


class _Gangs:
    """Jobs of acceptance: one pod on each node, which waits until it is ended."""

    def __init__(self, api: Api, inputs: AcceptanceInputs, pool: PoolInputs, work: Work):
        self._api, self._inputs, self._pool, self._nodes, self._work = api, inputs, pool, pool.used, work

    def start(self, name: str) -> bool:
        self.submit(name)
        return self.runs(name)

    def submit(self, name: str, *, priority: bool = False, one_rack: bool = False) -> None:
        self._work.say(f"acceptance: submitting gang {name}")
        apply.apply_one(self._api, _gang(name, self._inputs, self._pool, priority=priority, one_rack=one_rack), self._work)

    def runs(self, name: str, *, within_s: float | None = None) -> bool:
        return self.within(lambda: len(self._running(name)) == self._nodes, within_s or RUNS_WITHIN_S, f"gang {name} to run")

    def waits(self, name: str) -> str:
        """Give the reason for which a job waits; empty: it doesn't."""
        self.within(lambda: bool(self.reason(name)), DECIDES_WITHIN_S, f"the queue's decision about gang {name}")
        return "" if self.is_admitted(name) else self.reason(name)

    def is_admitted(self, name: str) -> bool:
        found = self._workload(name)
        return found is not None and readiness.condition(found, "Admitted") == "True"

    def nodes_of(self, name: str) -> set[str]:
        return {one["spec"]["nodeName"] for one in self._running(name)}

    def why(self, name: str) -> str:
        """Say what queue and scheduler say of a job."""
        return self.reason(name) or readiness.pod_trouble(self._pods(name))

    def delete(self, name: str) -> None:
        key = Key("batch/v1", "Job", acceptance_jobs.NAMESPACE, name)
        self._api.delete(key)
        self.within(
            lambda: self._api.get(key) is None and not self._pods(name) and self._workload(name) is None,
            acceptance_jobs.GONE_WITHIN_S,
            f"gang {name} to be gone",
        )

    def within(self, done: Callable[[], bool], within_s: float, awaiting: str) -> bool:
        return acceptance_jobs.within(self._work, done, within_s=within_s, awaiting=awaiting)

    def _pods(self, name: str) -> list[dict[str, Any]]:
        return acceptance_jobs.pods(self._api, name)

    def _running(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self._pods(name) if one["status"].get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]]

    def _workload(self, name: str) -> dict[str, Any] | None:
        found = self._api.list(queues.KUEUE, "Workload", namespace=acceptance_jobs.NAMESPACE)
        return next((one for one in found if any(owner["name"] == name for owner in one["metadata"].get("ownerReferences", ()))), None)

    def reason(self, name: str) -> str:
        """Say why Kueue lets a job wait; empty: it doesn't."""
        found = self._workload(name) or {}
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((str(one["message"]) for one in conditions if one["type"] == "QuotaReserved" and one["status"] == "False"), "")


def _gang(name: str, inputs: AcceptanceInputs, pool: PoolInputs, *, priority: bool, one_rack: bool) -> dict[str, Any]:
    container = {
        "name": "pause",
        "image": acceptance_jobs.image(inputs, acceptance_jobs.PAUSE),
        "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True, "runAsUser": 65535, "seccompProfile": {"type": "RuntimeDefault"},
        },
    }  # fmt: skip
    return acceptance_jobs.job(name, inputs, pool, container, gpus=pool.gpus, nodes=pool.used, priority=priority, one_rack=one_rack)
