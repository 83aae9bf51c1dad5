"""How this project sets add-ons up, where that differs from their own manifests. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from blueprints import catalog
from blueprints.spec import METALLB, POLICY_ENFORCER, Monitoring

from . import labels, manifests, monitoring, rdma_devices

IN_ACCOUNTS = {"matchExpressions": [{"key": labels.ACCOUNT, "operator": "Exists"}]}
SMALL = {"requests": {"cpu": "20m", "memory": "64Mi"}}
"""Controllers of a small cluster idle; limits stay as their projects set them."""
PROMPT = {"readinessProbe": {"initialDelaySeconds": 0, "periodSeconds": 1}}
"""A controller takes work as soon as it serves. Its own manifest looks 5 to 10 s after the start, and then every 10 to 15 s."""
KUEUE_NAMES = ("pod", "deployment", "statefulset")
"""Kinds that every part of the cluster uses: Kueue looks at them in accounts' namespaces alone, so that nodes and controllers start without it."""
KUEUE = "kueue"
NOT_MONITORED = Monitoring()


def of_addon(
    name: str, *, services: str = "", monitored: Monitoring = NOT_MONITORED, addons: Sequence[str] = (), fabrics: Collection[str] = ()
) -> dict[str, Any]:
    """Give what differs from an add-on's manifests (`manifests.adapt`).

    Args:
        services: addresses of the cluster's services.
        monitored: what is kept of metrics, and shown.
        addons: all add-ons that are installed beside it.
        fabrics: those of the nodes.
    """
    if name == rdma_devices.ADDON:
        return rdma_devices.settings(fabrics)
    if name == KUEUE and rdma_devices.ADDON in addons:
        return _kueue(without=(catalog.RDMA_PREFIX,))
    if name == monitoring.PROMETHEUS:
        return monitoring.settings(monitored, addons=addons)
    if name == POLICY_ENFORCER:
        return {f"DaemonSet/{name}": _containers({"name": name, "args": [f"--services={services}"]})}
    return dict(_SETTINGS.get(name, {}))


def kueue_configuration(*, without: Sequence[str] = ()) -> dict[str, Any]:
    """Configure Kueue: every job in an account's namespace waits for quota, whether it names a queue or not.

    A job that names none gets the namespace's queue `default` when it is created, and can't lose it (LocalQueueDefaulting). `manageJobsWithoutQueueName` would do more than that: it suspends the jobs
    of every JobSet that has no workload, also in namespaces that the selector leaves out, so that the JobSet and Kueue start and stop them in turn (pkg/controller/jobframework/reconciler.go).

    Args:
        without: how the names of resources begin that have no quota; a job that asks for another resource than queues have is never admitted.

    Source: Kueue v0.12, apis/config/v1beta1.
    """
    return {
        **({"resources": {"excludeResourcePrefixes": [*without]}} if without else {}),
        "apiVersion": "config.kueue.x-k8s.io/v1beta1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": {"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5}},
        "clientConnection": {"qps": 100, "burst": 200},
        "manageJobsWithoutQueueName": False,
        "managedJobsNamespaceSelector": IN_ACCOUNTS,
        "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset", "kubeflow.org/mpijob", "kubeflow.org/pytorchjob", "pod"]},
    }


def _kueue(*, without: Sequence[str] = ()) -> dict[str, Any]:
    def webhooks(prefix: str) -> dict[str, Any]:
        return {"webhooks": [{"name": f"{prefix}{name}.kb.io", "namespaceSelector": IN_ACCOUNTS} for name in KUEUE_NAMES]}

    arguments = ["--config=/controller_manager_config.yaml", "--zap-log-level=2", "--feature-gates=TopologyAwareScheduling=true"]
    configuration = yaml.safe_dump(kueue_configuration(without=without))
    deployment = _containers({"name": "manager", "args": arguments, "imagePullPolicy": "IfNotPresent", "resources": SMALL, **PROMPT})
    if without:
        # Kueue reads its file when it starts. Clusters with the usual configuration have no annotation, so that an update does not restart Kueue there.
        deployment["spec"]["template"]["metadata"] = manifests.restarted_with(configuration)
    return {
        "ConfigMap/kueue-manager-config": {"data": {"controller_manager_config.yaml": configuration}},
        "Deployment/kueue-controller-manager": deployment,
        "MutatingWebhookConfiguration/kueue-mutating-webhook-configuration": webhooks("m"),
        "ValidatingWebhookConfiguration/kueue-validating-webhook-configuration": webhooks("v"),
    }


def _containers(*changed: Mapping[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [*changed]}}}}


def _kwok() -> dict[str, Any]:
    probes = {"startupProbe": {"initialDelaySeconds": 0, "periodSeconds": 1, "failureThreshold": 120}, **PROMPT}
    return {"Deployment/kwok-controller": _containers({"name": "kwok-controller", "resources": SMALL, **probes})}


def _metallb() -> dict[str, Any]:
    # Every node may answer for an address, whatever its taints keep away.
    speaker = {"spec": {"template": {"spec": {"containers": [{"name": "speaker", "resources": SMALL, **PROMPT}], "tolerations": [{"operator": "Exists"}]}}}}
    return {"Deployment/controller": _containers({"name": "controller", "resources": SMALL, **PROMPT}), "DaemonSet/speaker": speaker}


def _on_nodes(container: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a plug-in of the pod network off hosts of the control plane, whatever taints nodes have: hosts of the control plane have no further networks."""
    expression = {"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}
    return {"spec": {"template": {"spec": {"containers": [container], "affinity": affinity, "tolerations": [{"operator": "Exists"}]}}}}


_SETTINGS: dict[str, dict[str, Any]] = {
    KUEUE: _kueue(),
    "jobset": {"Deployment/jobset-controller-manager": _containers({"name": "manager", "imagePullPolicy": "IfNotPresent", "resources": SMALL, **PROMPT})},
    "kwok": _kwok(),
    METALLB: _metallb(),
    "multus": {"DaemonSet/kube-multus-ds": _on_nodes({"name": "kube-multus", "resources": {"requests": {"cpu": "20m"}}})},
    "whereabouts": {"DaemonSet/whereabouts": _on_nodes({"name": "whereabouts", "resources": SMALL})},
    "trainer": {
        "Deployment/kubeflow-trainer-controller-manager": _containers({"name": "manager", "imagePullPolicy": "IfNotPresent", "resources": SMALL, **PROMPT})
    },
}
