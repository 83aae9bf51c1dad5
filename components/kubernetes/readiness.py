"""Whether objects do their work, in the few words that fit on a resource's row. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from .api import Object, key_of


def waiting_for(found: Object | None) -> str:
    """Say what an object still lacks; empty: it is ready."""
    if found is None:
        return "is not there"
    kind = found.get("kind")
    status, spec = found.get("status") or {}, found.get("spec") or {}
    if kind in ("Deployment", "StatefulSet", "DaemonSet") and status.get("observedGeneration", 0) < found["metadata"].get("generation", 0):
        return "its controller has not seen it"
    match kind:
        case "Deployment" | "StatefulSet":
            wanted = spec.get("replicas", 1)
            ready = min(status.get("updatedReplicas", 0), status.get("readyReplicas", 0))
            return "" if ready >= wanted else f"{ready} of {wanted} pods"
        case "DaemonSet":
            wanted = status.get("desiredNumberScheduled", 0)
            ready = min(status.get("updatedNumberScheduled", 0), status.get("numberReady", 0))
            return "" if ready >= wanted else f"{ready} of {wanted} pods"
        case "Job":
            return "" if condition(found, "Complete") == "True" else "has not ended"
        case "CustomResourceDefinition":
            return "" if condition(found, "Established") == "True" else "is not established"
        case "APIService":
            return "" if condition(found, "Available") == "True" else f"is not available: {message(found, 'Available')}"
        case "Namespace":
            return "" if status.get("phase", "Active") == "Active" else "is being deleted"
    return ""


def condition(found: Object, kind: str) -> str:
    """Give the status of one of an object's conditions; empty: it has no such condition."""
    return str(next((one["status"] for one in (found.get("status") or {}).get("conditions") or () if one["type"] == kind), ""))


def pod_trouble(pods: Iterable[Mapping[str, Any]]) -> str:
    """Say why pods do not become ready, as the kubelet and the scheduler tell it: the first reason found."""
    for pod in pods:
        status = pod.get("status") or {}
        for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
            waiting = (one.get("state") or {}).get("waiting") or {}
            ended = (one.get("lastState") or {}).get("terminated") or {}
            if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
                before = f"; it ended with exit status {ended['exitCode']}" if "exitCode" in ended else ""
                return f"{key_of({'kind': 'Pod', **pod})}: {waiting['reason']}: {waiting.get('message', '')}{before}"
        if condition(pod, "PodScheduled") == "False":
            return f"{key_of({'kind': 'Pod', **pod})}: {message(pod, 'PodScheduled')}"
    return ""


def message(found: Object, kind: str) -> str:
    return str(next((one.get("message", "") for one in (found.get("status") or {}).get("conditions") or () if one["type"] == kind), ""))
