"""Labels and names that nodes, queues and jobs have in common."""

import re

POOL = "clusterwright.io/pool"
"""Of a node: the pool that it belongs to."""
ACCOUNT = "clusterwright.io/account"
"""Of a namespace: the account whose jobs run in it."""
RACK, HOST = "clusterwright.io/rack", "kubernetes.io/hostname"
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
MOST_SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"
"""Of a job: after so many seconds Kueue ends it."""
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
GPU = "nvidia.com/gpu"
"""The resource of GPUs, as NVIDIA's device plugin names it; the plugin for simulated ones takes the same name, so that manifests fit both."""
ACCEPTANCE = "clusterwright-acceptance"
"""The namespace of acceptance, which is an account of its own while it runs."""
HEALTHY = "ClusterwrightHealthy"
"""The condition of a node in which it says what it lacks (playbooks/roles/kube_health)."""
LOCAL_QUEUE = "default"
"""Kueue gives a job without a queue to the one of this name in its namespace."""


def flavor_name(pool: str, *, is_elastic: bool) -> str:
    """Name the flavor of a pool. That of an elastic pool is another object: what decides whether a flavor's nodes are counted one by one can't change (Kueue, ResourceFlavor, topologyName)."""
    return f"{object_name(pool)}.elastic" if is_elastic else object_name(pool)


def object_name(text: str) -> str:
    """Turn a name of the blueprint into one that Kubernetes takes (RFC 1123)."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")[:63].rstrip("-")
