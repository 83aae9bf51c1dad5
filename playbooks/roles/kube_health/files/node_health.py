"""Look at this node of Kubernetes as the start guard looks at Slurm's, and write into a condition of its Node what it lacks.

Runs on the node as root, with Python's standard library and kubectl; as the kubelet, which may write the status of its own Node and nothing else. On the control plane, health_taints.py keeps new pods from a
node whose condition says False. Where the pool says `on_failure: reboot`, such a node then asks its services to leave, waits for its jobs, and reboots. With `--start` it runs before the kubelet: a node that lacks something waits until it is tainted, so that no pod comes first. A look that fails says Unknown, and nothing follows.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

LOOKS = "/usr/lib/clusterwright/node_looks.py"
KUBECONFIG = "/etc/kubernetes/kubelet.conf"
"""There when the node has joined."""
REPORTED = "/run/clusterwright/health-reported"
"""The condition as it was written last, and when."""
METRICS = "/var/lib/clusterwright/metrics/health.prom"
"""What was seen, for Prometheus (exposition format 0.0.4): the node exporter reads the folder, where the cluster has one."""
REBOOTS = "/var/lib/clusterwright/health-reboots"
"""When this host rebooted because it lacked something, one time in seconds in a line."""
CONDITION = "ClusterwrightHealthy"
TAINT = "clusterwright.io/unhealthy"
SAID_AGAIN_S = 600
"""A condition that stays the same is written again after this time, so that a node that no longer looks can be told."""
DEVICES_WITHIN_S, DEVICES_AT_START_S = 5, 15
TAINTED_WITHIN_S, ASKED_EVERY_S = 60, 2
ANSWER_WITHIN_S = 20
TRIES = 5
ENDED = ("Succeeded", "Failed")
SERVICES = ("ReplicaSet", "StatefulSet", "ReplicationController")
"""Owners of pods that start again on another node."""
PATH = "/usr/local/bin:/usr/bin:/bin"


def main() -> int:
    parser = argparse.ArgumentParser(prog="node_health", description="Write into the Node of this host what it lacks.")
    parser.add_argument("--hardware", default="/", metavar="FOLDER", help="look for devices below this folder")
    parser.add_argument("--start", action="store_true", help="the kubelet is about to start")
    given = parser.parse_args()
    if not os.path.exists(KUBECONFIG):
        return 0
    if given.start:
        # The Node may be another one than before, without a condition: somebody deleted it, and the kubelet makes it again.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(REPORTED)
    node = socket.gethostname().partition(".")[0]
    status, message = seen(given.hardware, DEVICES_AT_START_S if given.start else DEVICES_WITHIN_S)
    try:
        measure(status, given.hardware)
    except OSError as error:
        print(f"no metrics of this node: {why(error)}", file=sys.stderr)
    try:
        report(node, status, message)
        if given.start and status == "False":
            wait_for_taint(node)
        elif status == "False":
            reboot_if_told(node, message)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        print(f"{CONDITION} {status}: {message}; the API server can't be told: {why(error)}", file=sys.stderr)
        return 1
    return 0


def seen(hardware: str, devices_s: float) -> tuple[str, str]:
    """Give the condition's status and message."""
    try:
        looks = loaded(LOOKS)
        wrong = looks.joined(looks.look(looks.EXPECTED, hardware, devices_s=devices_s, mounts_s=1, mountinfo=looks.MOUNTINFO), hardware)
    except Exception as error:  # a check that fails is not a node that fails
        return "Unknown", f"the check itself failed: {type(error).__name__}: {error}"
    return ("False", wrong) if wrong else ("True", "it has what the blueprint says")


def measure(status: str, hardware: str) -> None:
    """Write what was seen as metrics; of a look that failed, nothing is known.

    Raises:
        OSError: the folder can't be written.
    """
    lines = []
    if status != "Unknown":
        looks = loaded(LOOKS)
        lines.append(f"clusterwright_node_complete {int(status == 'True')}")
        gpus = looks.read(looks.EXPECTED)["gpus"]
        if gpus:
            simulated = f'{{simulated="{str(gpus["simulated"]).lower()}"}}'
            lines += [f"clusterwright_gpus_expected{simulated} {gpus['count']}", f"clusterwright_gpus_found{simulated} {looks.gpus_found(gpus, hardware)}"]
    os.makedirs(os.path.dirname(METRICS), exist_ok=True)
    with open(f"{METRICS}.new", "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    os.replace(f"{METRICS}.new", METRICS)


def loaded(path: str) -> Any:
    """Import a program that lies beside this one: isolated, Python finds no modules there."""
    spec = importlib.util.spec_from_file_location("node_looks", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(node: str, status: str, message: str) -> None:
    """Write the condition unless it stands there already.

    Raises:
        OSError, subprocess.SubprocessError: the API server was not told.
    """
    before = reported()
    is_same = (before.get("status"), before.get("message")) == (status, message)
    if is_same and 0 <= time.time() - before["at"] < SAID_AGAIN_S:
        return
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    since = before["since"] if before.get("status") == status else now
    reason = {"True": "Complete", "False": "Lacking"}.get(status, "CheckFailed")
    condition = {"type": CONDITION, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": now, "lastTransitionTime": since}
    write(node, condition)
    if not is_same:
        print(f"{CONDITION} {status}: {message}", file=sys.stderr)
    os.makedirs(os.path.dirname(REPORTED), exist_ok=True)
    with open(f"{REPORTED}.new", "w") as file:
        json.dump({"status": status, "message": message, "since": since, "at": time.time()}, file)
    os.replace(f"{REPORTED}.new", REPORTED)


def write(node: str, condition: dict[str, str]) -> None:
    """Put the condition into the Node's status. `kubectl patch` reads the status by itself first, which a kubelet may not.

    Raises:
        OSError, subprocess.SubprocessError: the API server was not told.
    """
    for tries_left in reversed(range(TRIES)):
        found = json.loads(kubectl("get", "node", node, "--output=json"))
        others = [one for one in found["status"].get("conditions") or () if one["type"] != CONDITION]
        found["status"]["conditions"] = [*others, condition]
        try:
            kubectl("replace", f"--raw=/api/v1/nodes/{node}/status", "--filename=-", stdin=json.dumps(found))
            return
        except subprocess.CalledProcessError as error:
            # The kubelet or a controller wrote in between.
            if not tries_left or "Conflict" not in error.stderr:
                raise


def reported() -> dict[str, Any]:
    try:
        with open(REPORTED) as file:
            found = json.load(file)
        return found if {"status", "message", "since", "at"} <= set(found) else {}
    except (OSError, ValueError, TypeError):
        return {}


def reboot_if_told(node: str, message: str) -> None:
    """Reboot a tainted node once no pod uses it, where its pool says so. How many nodes can be here at once is limited by who taints them.

    Raises:
        OSError, ValueError, KeyError, subprocess.SubprocessError: the API server can't be asked.
    """
    looks = loaded(LOOKS)
    if looks.read(looks.EXPECTED).get("on_failure") != "reboot" or not is_tainted(node) or not is_emptied(node) or not looks.is_reboot_due(REBOOTS):
        return
    print(f"{CONDITION} False: {message}; rebooting", file=sys.stderr)
    subprocess.run(["systemctl", "reboot"], env={"PATH": PATH}, check=True, timeout=ANSWER_WITHIN_S)


def is_emptied(node: str) -> bool:
    """Say whether no pod uses the node that would miss it. Those of services are asked to leave, as far as their PodDisruptionBudgets allow; jobs end by themselves."""
    found = json.loads(kubectl("get", "pods", "--all-namespaces", f"--field-selector=spec.nodeName={node}", "--output=json"))["items"]
    left = [one for one in found if one["status"].get("phase") not in ENDED and not belongs_to_node(one)]
    for pod in left:
        metadata = pod["metadata"]
        if metadata.get("deletionTimestamp") or not any(owner["kind"] in SERVICES for owner in metadata.get("ownerReferences") or ()):
            continue
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]}}
        place = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction"
        try:
            kubectl("create", f"--raw={place}", "--filename=-", stdin=json.dumps(eviction))
        except subprocess.CalledProcessError as error:
            print(f"{metadata['namespace']}/{metadata['name']} stays: {why(error)}", file=sys.stderr)
    return not left


def belongs_to_node(pod: dict[str, Any]) -> bool:
    """Say whether a pod is of every node, or of this host's own files."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {}) or any(owner["kind"] == "DaemonSet" for owner in owners)


def is_tainted(node: str) -> bool:
    return any(one["key"] == TAINT for one in json.loads(kubectl("get", "node", node, "--output=json"))["spec"].get("taints") or ())


def wait_for_taint(node: str) -> None:
    """Return when the node is tainted. Where too many are (health_taints.py), it never is, and the kubelet starts all the same."""
    deadline = time.monotonic() + TAINTED_WITHIN_S
    while time.monotonic() < deadline:
        if is_tainted(node):
            return
        time.sleep(ASKED_EVERY_S)


def kubectl(*words: str, stdin: str = "") -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "KUBECONFIG": KUBECONFIG, "HOME": "/root"}
    return subprocess.run(["kubectl", *words], env=environment, input=stdin, capture_output=True, text=True, check=True, timeout=ANSWER_WITHIN_S).stdout


def why(error: Exception) -> str:
    said = (getattr(error, "stderr", "") or "").strip()
    return said.splitlines()[-1] if said else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
