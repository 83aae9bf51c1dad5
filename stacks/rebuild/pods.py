"""Kubernetes' side of a rebuild, through the API server: which jobs have pods on nodes, and taking nodes out of service and back."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blueprints import hostlist
from components.kubernetes import api
from components.kubernetes.api import Key

from ..engine import kubernetes_access
from ..errors import Problem
from .scheduler import REASON

MARK = "clusterwright.io/rebuild"
"""Annotation of a node that `rebuild` cordoned."""
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod's object: the kubelet runs it without the API server."""
STAYING = ("DaemonSet", "Node")
"""Kinds of owners whose pods leave with their node."""
LEAVES_WITHIN_S, LOOK_EVERY_S = 180.0, 1.0
NOT_FOUND = 404


@dataclasses.dataclass(frozen=True, slots=True)
class PodNode:
    """A node of Kubernetes, as `plan.plan` asks for it."""

    is_drained: bool
    """New pods don't start here."""
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class RunningPods:
    """Pods of a job, or a pod that nothing creates again."""

    namespace: str
    name: str
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    requeues: bool
    """Its controller creates evicted pods again."""

    @property
    def id(self) -> str:
        return f"{self.namespace}/{self.name}"

    def __str__(self) -> str:
        return self.id if self.requeues else f"{self.id} (a pod without a job, which nothing creates again)"


class Pods:
    """Nodes and pods of a cluster, as a rebuild uses them. Raises `Problem` when the API server does not answer or refuses."""

    def __init__(self, connected: api.Api):
        self._api = connected

    def nodes(self) -> Mapping[str, PodNode]:
        """Give all nodes."""
        with _answered():
            return {one["metadata"]["name"]: _node(one) for one in self._api.list("v1", "Node")}

    def jobs(self, nodes: Sequence[str]) -> tuple[RunningPods, ...]:
        """Give what has pods on these nodes and comes to an end: jobs, and pods that belong to nothing."""
        found: dict[tuple[str, str, bool], list[Mapping[str, Any]]] = {}
        for pod in self._pods(nodes):
            owner = _owner(pod)
            if owner is None or owner["kind"] == "Job":
                name = owner["name"] if owner else pod["metadata"]["name"]
                found.setdefault((pod["metadata"]["namespace"], name, owner is not None), []).append(pod)
        return tuple(
            RunningPods(
                namespace, name, tuple(pod["metadata"]["name"] for pod in pods), tuple(dict.fromkeys(pod["spec"]["nodeName"] for pod in pods)), requeues
            )
            for (namespace, name, requeues), pods in found.items()
        )

    def drain(self, nodes: Sequence[str]) -> None:
        """Cordon nodes: no pod starts there any more."""
        with _answered():
            for name in nodes:
                self._api.merge(_key(name), {"metadata": {"annotations": {MARK: REASON}}, "spec": {"unschedulable": True}})

    def keep_out(self, nodes: Sequence[str]) -> None:
        """Cordon nodes that somebody else had cordoned before: they are not returned to service by this command."""
        with _answered():
            for name in nodes:
                self._api.merge(_key(name), {"spec": {"unschedulable": True}})

    def resume(self, nodes: Sequence[str]) -> None:
        """Return nodes to service."""
        with _answered():
            for name in nodes:
                with contextlib.suppress(api.ApiError):  # it is gone
                    self._api.merge(_key(name), {"metadata": {"annotations": {MARK: None}}, "spec": {"unschedulable": None}})

    def requeue(self, jobs: Sequence[RunningPods]) -> list[str]:
        """Evict the pods of jobs, whose controllers create them again elsewhere; give what the API server said of those that it refused."""
        return [f"{one.namespace}/{pod}: {why}" for one in jobs for pod in one.pods if (why := self._evict(one.namespace, pod))]

    def start_now(self, jobs: Sequence[RunningPods]) -> None:
        """Do nothing: the queue starts what was evicted by itself."""

    def leave(self, nodes: Sequence[str]) -> None:
        """Evict what still runs on nodes (services, which run elsewhere then) and wait until it is gone.

        Raises:
            Problem: pods stay, such as those that a PodDisruptionBudget protects.
        """
        deadline = time.monotonic() + LEAVES_WITHIN_S
        while pods := self._pods(nodes):
            refused = [why for one in pods if (why := self._evict(one["metadata"]["namespace"], one["metadata"]["name"]))]
            if time.monotonic() > deadline:
                names = ", ".join(f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in pods[:5])
                raise Problem(
                    f"pods stay on {hostlist.compress(nodes)}: {names}",
                    why="\n".join(refused) or f"they did not end within {LEAVES_WITHIN_S:.0f} s",
                    remedy="delete them or their PodDisruptionBudget, and run the same command again; the nodes stay cordoned meanwhile",
                )
            time.sleep(LOOK_EVERY_S)

    def await_boot(self, nodes: Sequence[str]) -> None:
        """Forget nodes whose hosts are gone: a new host can't join under the name of a node that counts as ready."""
        with _answered():
            for name in nodes:
                self._api.delete(_key(name))

    def _evict(self, namespace: str, pod: str) -> str:
        """Ask for the end of a pod; give why the API server refuses."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        try:
            with _answered():
                self._api.request("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction", body=body)
        except api.ApiError as error:
            return "" if error.status == NOT_FOUND else str(error)
        return ""

    def _pods(self, nodes: Sequence[str]) -> list[dict[str, Any]]:
        """List the pods that a rebuild has to wait for or to evict."""
        wanted = set(nodes)
        with _answered():
            pods = self._api.list("v1", "Pod")
        return [one for one in pods if one["spec"].get("nodeName") in wanted and _is_going(one)]


@contextlib.contextmanager
def answering(stack: str) -> Iterator[Pods]:
    """Give the cluster of a stack.

    Raises:
        Problem: its API server does not answer.
    """
    pods = Pods(api.Api(kubernetes_access.of_stack(stack).administrator))
    pods.nodes()
    yield pods


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except api.Unreachable as error:
        raise Problem(
            "the API server of Kubernetes does not answer, so that the pods on the nodes are unknown",
            why=str(error),
            remedy="run `clusterwright up`, and then the same command again",
        ) from error


def _key(node: str) -> Key:
    return Key("v1", "Node", "", node)


def _node(manifest: Mapping[str, Any]) -> PodNode:
    is_ours = MARK in (manifest["metadata"].get("annotations") or {})
    is_drained = bool(manifest["spec"].get("unschedulable"))
    return PodNode(is_drained, REASON if is_ours else "cordoned" if is_drained else "")


def _owner(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((one for one in pod["metadata"].get("ownerReferences") or () if one.get("controller")), None)


def _is_going(pod: Mapping[str, Any]) -> bool:
    """Say whether a pod runs, or will, and does not belong to its node."""
    owner = _owner(pod)
    is_of_node = MIRROR in (pod["metadata"].get("annotations") or {}) or (owner is not None and owner["kind"] in STAYING)
    return not is_of_node and pod["status"].get("phase") not in ("Succeeded", "Failed")
