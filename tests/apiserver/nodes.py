"""Nodes without kubelets: pods that the scheduler binds to them are said to run. Everything else of the cluster is real."""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

from components.kubernetes import api as apis
from components.kubernetes import labels
from components.kubernetes.api import Api, Key, key_of

RUNTIME = "simulated://0"
LOOK_EVERY_S = 0.05
VERSION = "v1.34.4"


@dataclasses.dataclass(slots=True)
class Nodes:
    """The simulated nodes of a cluster."""

    api: Api
    names: list[str] = dataclasses.field(default_factory=list)
    confines: bool = True
    """Pods open the GPUs that they were given, and no others."""

    def add(self, name: str, *, pool: str, gpus: int) -> None:
        marks = {labels.POOL: pool, labels.HOST: name}
        self.api.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": marks}})
        self.set(name, gpus=gpus)
        self.names.append(name)

    def set(self, name: str, *, gpus: int, ready: bool = True) -> None:
        """Say what a kubelet would say of a node."""
        has = {"cpu": "64", "memory": "256Gi", "pods": "110", labels.GPU: str(gpus)}
        condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "Simulated", "message": "simulated"}
        info = dict.fromkeys(("architecture", "bootID", "kernelVersion", "kubeProxyVersion", "machineID", "operatingSystem", "osImage", "systemUUID"), "")
        status = {
            "capacity": has,
            "allocatable": has,
            "conditions": [condition],
            "nodeInfo": {**info, "containerRuntimeVersion": RUNTIME, "kubeletVersion": VERSION},
        }
        self.api.merge(Key("v1", "Node", "", name), {"status": status}, subresource="status")


@contextlib.contextmanager
def running(api: Api) -> Iterator[Nodes]:
    """Let bound pods run, and pods that are deleted end, until the block ends."""
    nodes, ended = Nodes(api), threading.Event()
    thread = threading.Thread(target=_serve, args=(nodes, ended), daemon=True)
    thread.start()
    try:
        yield nodes
    finally:
        ended.set()
        thread.join()
        for name in nodes.names:
            api.delete(Key("v1", "Node", "", name))


def _serve(nodes: Nodes, ended: threading.Event) -> None:
    while not ended.wait(LOOK_EVERY_S):
        with contextlib.suppress(apis.ApiError, apis.Unreachable):
            for pod in nodes.api.list("v1", "Pod"):
                if pod["spec"].get("nodeName") in nodes.names:
                    _go_on(nodes, pod)


def _go_on(nodes: Nodes, pod: dict[str, Any]) -> None:
    key, api = key_of(pod), nodes.api
    if "deletionTimestamp" in pod["metadata"]:
        path = f"/api/v1/namespaces/{key.namespace}/pods/{key.name}"
        with contextlib.suppress(apis.ApiError):
            api.request("DELETE", path, body={"gracePeriodSeconds": 0})
    elif pod["status"].get("phase") == "Pending":
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized")]
        status = _cat(nodes, pod) or {"phase": "Running", "conditions": conditions}
        with contextlib.suppress(apis.ApiError):
            api.merge(key, {"status": status}, subresource="status")


def _cat(nodes: Nodes, pod: dict[str, Any]) -> dict[str, Any]:
    """Say how a pod ends that writes out device files (coreutils 9.7); empty: it does something else."""
    container = pod["spec"]["containers"][0]
    program, *files = container.get("command") or [""]
    if not program.endswith("/cat"):
        return {}
    given = int(container.get("resources", {}).get("limits", {}).get(labels.GPU, 0))
    opened = given if nodes.confines else len(files)
    whys = ["No such device or address" if number < opened else "Operation not permitted" for number in range(len(files))]
    message = "".join(f"cat: {file}: {why}\n" for file, why in zip(files, whys, strict=True))
    ended = {"exitCode": 1, "reason": "Error", "message": message}
    status = {"name": container["name"], "image": container["image"], "imageID": "", "ready": False, "restartCount": 0, "state": {"terminated": ended}}
    return {"phase": "Failed", "containerStatuses": [status]}
