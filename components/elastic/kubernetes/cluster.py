"""The API server, through kubectl and kubeadm of a host of the control plane."""

import calendar
import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .model import STARTED_FROM, STOPPING, TAINTS, Kubernetes, Pod, read

KUBECONFIG = "/etc/kubernetes/admin.conf"
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/bin"
ANSWER_WITHIN_S = 30
DRAIN_WITHIN_S = 60
TOKEN_LIVES = "15m"
"""Longer than a host takes to join, and not much."""
NAMESPACE, NAME = "kube-system", "clusterwright-autoscaler"
LEASE_S = 180
"""Longer than a step takes, or a part of one after which it is renewed."""


class Unanswered(Exception):
    """The API server did not do what was asked; the text says why."""


class Cluster:
    def view(self) -> Kubernetes:
        """Give all nodes, and all pods that have not ended."""
        nodes = json.loads(_kubectl("get", "--raw", "/api/v1/nodes"))["items"]
        pods = json.loads(_kubectl("get", "--raw", "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed"))["items"]
        return read(pods, nodes)

    def token(self, why: str) -> str:
        """Make a token that nodes can join with, for minutes."""
        return _run(["kubeadm", "token", "create", f"--kubeconfig={KUBECONFIG}", f"--ttl={TOKEN_LIVES}", f"--description=clusterwright, {why}"]).strip()

    def mark(self, node: str, *, labels: Mapping[str, str], taints: str, told: str) -> None:
        """Give a node the labels of its pool, as finishing gives them to others (playbooks/roles/kubeadm_node), and note what it was told."""
        manifest = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": dict(labels)}}
        _kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=clusterwright", "--filename=-", told=json.dumps(manifest))
        _kubectl("annotate", "--overwrite", "node", node, f"{TAINTS}={taints}", f"{STARTED_FROM}={told}")

    def begin_to_stop(self, node: str, why: str) -> None:
        """Let no pod come to a node, and note that the autoscaler did that: in one write, since a node that is only cordoned is an administrator's."""
        _patch(node, {"metadata": {"annotations": {STOPPING: why}}, "spec": {"unschedulable": True}})

    def keep(self, node: str) -> None:
        """Take back what `begin_to_stop` did."""
        _patch(node, {"metadata": {"annotations": {STOPPING: None}}, "spec": {"unschedulable": None}})

    def drain(self, node: str) -> None:
        _kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={DRAIN_WITHIN_S}s", within_s=DRAIN_WITHIN_S + ANSWER_WITHIN_S)

    def forget(self, node: str) -> None:
        _kubectl("delete", "node", node, "--ignore-not-found")

    def warn(self, pod: Pod, reason: str) -> None:
        """Tell those who look at a pod why no node comes for it (`kubectl describe pod`)."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{pod.name[:200]}.", "namespace": pod.namespace},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
            "type": "Warning",
            "reason": "NodeNotStarted",
            "message": reason[:1000],
            "source": {"component": NAME},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        _kubectl("create", "--filename=-", told=json.dumps(event))

    def publish(self, status: Mapping[str, Any]) -> None:
        """Write what the autoscaler does where administrators look: a ConfigMap."""
        data = {"status": json.dumps(status, indent=1, sort_keys=True)}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data}
        _kubectl("apply", "--server-side", "--force-conflicts", f"--field-manager={NAME}", "--filename=-", told=json.dumps(manifest))

    def leads(self, holder: str, *, now: float) -> bool:
        """Take or keep the lease of the autoscaler, of which one runs on each host of the control plane."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
        known = json.loads(_kubectl("get", "lease", NAME, f"--namespace={NAMESPACE}", "--ignore-not-found", "--output=json") or "{}")
        wanted = {"holderIdentity": holder, "leaseDurationSeconds": LEASE_S, "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(now))}
        manifest = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": wanted}
        if known and not may_lead(known["spec"], holder, now=now):
            return False
        try:
            if known:
                manifest["metadata"] = {**known["metadata"], "managedFields": None}  # its version too: of two that write at once, one is refused
                _kubectl("replace", "--raw", f"{path}/{NAME}", "--filename=-", told=json.dumps(manifest))
            else:
                _kubectl("create", "--raw", path, "--filename=-", told=json.dumps(manifest))
        except Unanswered:
            return False
        return True


def may_lead(spec: Mapping[str, Any], holder: str, *, now: float) -> bool:
    """Say whether a lease is the holder's own, or over. Pure."""
    if spec.get("holderIdentity") in (holder, None, ""):
        return True
    renewed = time.strptime(str(spec.get("renewTime", "1970-01-01T00:00:00"))[:19], "%Y-%m-%dT%H:%M:%S")
    return now - calendar.timegm(renewed) > float(spec.get("leaseDurationSeconds") or 0)


def _patch(node: str, change: Mapping[str, Any]) -> None:
    _kubectl("patch", "node", node, "--type=merge", f"--patch={json.dumps(change)}")


def _kubectl(*words: str, told: str = "", within_s: float = ANSWER_WITHIN_S) -> str:
    return _run(["kubectl", *words], told=told, within_s=within_s)


def _run(argv: Sequence[str], *, told: str = "", within_s: float = ANSWER_WITHIN_S) -> str:
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", "KUBECONFIG": KUBECONFIG, "HOME": "/root"}
    try:
        done = subprocess.run(argv, env=environment, input=told, capture_output=True, text=True, check=False, timeout=within_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unanswered(f"{argv[0]}: {error}") from error
    if done.returncode:
        raise Unanswered(f"{' '.join(argv[:3])}: {done.stderr.strip()}")
    return done.stdout
