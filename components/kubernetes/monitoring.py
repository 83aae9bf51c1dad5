"""What Prometheus scrapes in a cluster, and which alerts it raises. Pure, but for reading the alerts.

Each host of the control plane runs a Prometheus of its own: etcd, the scheduler and the controller-manager serve their metrics on the host's loopback address only (kubeadm's setting).
Everything else is scraped by all of them.

Source: Prometheus 2.53, configuration; Kubernetes, "Metrics For Kubernetes System Components".
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from blueprints import catalog
from blueprints.spec import Monitoring

from . import dashboard, manifests

ALERTS = Path(__file__).with_name("alerts.yaml")
PROMETHEUS, NODE_EXPORTER, KUEUE, JOBSET = "prometheus", "node-exporter", "kueue", "jobset"
QUEUES = "queues"
"""The alerts that mean something with Kueue only."""
ALERTMANAGER = "alertmanager"
ADDRESS, ALERTMANAGER_ADDRESS = "127.0.0.1:9090", "127.0.0.1:9093"
ALERTMANAGER_STATE = "/var/lib/alertmanager"
"""Silences, and what was sent already."""
SENT_AGAIN = "12h"
"""How often an alert is sent that goes on."""
NODE_EXPORTER_PORT = 9100
SCRAPED_EVERY_S = 30
MOST_GB = 20
"""Samples share the control plane's disk with etcd: the oldest go when they need more."""
CONFIGURATION = "/etc/clusterwright"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
HOST_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
"""Of the host's kubelet, which renews it: certificate and key in one file."""
BY_TOKEN = {"credentials_file": f"{SERVICE_ACCOUNT}/token"}
UNVERIFIED = {"insecure_skip_verify": True}
"""These programs sign their serving certificates themselves, in kubeadm's setting, as kubelets do."""
DROPPED = "(apiserver|etcd)_.*(size|sizes|sli_duration_seconds)_bucket|etcd_request_duration_seconds_bucket|workqueue_.*_bucket|rest_client_.*_bucket"
"""Histograms that no alert reads, more than half of what an API server says."""
DROPPED_OF_CONTAINERS = "container_(tasks_state|memory_failures_total|blkio_.*|network_(tcp|udp).*)"


def settings(monitoring: Monitoring, *, addons: Sequence[str]) -> dict[str, Any]:
    """Give what differs from the manifests of the add-on `prometheus` (`manifests.adapt`).

    Args:
        addons: all add-ons of the cluster.
    """
    webhook = monitoring.alert_webhook
    files = {
        "prometheus.yaml": yaml.safe_dump(configuration(addons, sends=bool(webhook))),
        "alerts.yaml": yaml.safe_dump(alerts(addons), sort_keys=False),
        **({"alertmanager.yaml": yaml.safe_dump(notifications(webhook))} if webhook else {}),
    }
    arguments = [
        f"--config.file={CONFIGURATION}/prometheus.yaml",
        f"--web.listen-address={ADDRESS}",
        "--storage.tsdb.path=/var/lib/prometheus",
        f"--storage.tsdb.retention.time={monitoring.retention_days}d",
        f"--storage.tsdb.retention.size={MOST_GB}GB",
        "--enable-feature=expand-external-labels",
    ]
    # A program that runs reads no changed file: its pod is replaced.
    template = {
        "metadata": manifests.restarted_with("\0".join(files.values())),
        "spec": {"containers": [{"name": PROMETHEUS, "args": arguments}, *([_alertmanager()] if webhook else [])]},
    }
    shown = {"data": {"cluster.json": json.dumps(dashboard.cluster(), indent=1)}} if monitoring.dashboards else None
    return {f"ConfigMap/{PROMETHEUS}": {"data": files}, "ConfigMap/dashboards": shown, f"DaemonSet/{PROMETHEUS}": {"spec": {"template": template}}}


def configuration(addons: Sequence[str], *, sends: bool = False) -> dict[str, Any]:
    """Configure Prometheus for a cluster with these add-ons.

    Args:
        sends: an Alertmanager beside it sends the alerts to somebody.
    """
    own = {PROMETHEUS: ADDRESS, **({ALERTMANAGER: ALERTMANAGER_ADDRESS} if sends else {})}
    jobs = [
        _api_servers(),
        _on_loopback("etcd", 2381, scheme="http"),
        _on_loopback("kube-scheduler", 10259),
        _on_loopback("kube-scheduler-resources", 10259, path="/metrics/resources"),
        _on_loopback("kube-controller-manager", 10257),
        _of_nodes("kubelet"),
        _of_nodes("cadvisor", path="/metrics/cadvisor", dropped=DROPPED_OF_CONTAINERS),
        *({"job_name": name, "static_configs": _only(address)} for name, address in own.items()),
        *([_hosts()] if NODE_EXPORTER in addons else []),
        *(_controller(name, f"{name}-system") for name in (KUEUE, JOBSET) if name in addons),
    ]
    return {
        "global": {
            "scrape_interval": f"{SCRAPED_EVERY_S}s",
            "evaluation_interval": f"{SCRAPED_EVERY_S}s",
            "external_labels": {"control_plane": "${NODE_NAME}"},
        },
        "rule_files": [f"{CONFIGURATION}/alerts.yaml"],
        **({"alerting": {"alertmanagers": [{"static_configs": _only(ALERTMANAGER_ADDRESS)}]}} if sends else {}),
        "scrape_configs": jobs,
    }


def alerts(addons: Sequence[str]) -> dict[str, Any]:
    """Give the alerts of a cluster with these add-ons."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    return {"groups": [one for one in groups if one["name"] != QUEUES or KUEUE in addons]}


def notifications(webhook: str) -> dict[str, Any]:
    """Configure Alertmanager: one message for all that raise the same alert, also when it is over.

    Source: Alertmanager 0.28, configuration.
    """
    route = {"receiver": ALERTMANAGER, "group_by": ["alertname"], "group_wait": "30s", "group_interval": "5m", "repeat_interval": SENT_AGAIN}
    return {"route": route, "receivers": [{"name": ALERTMANAGER, "webhook_configs": [{"url": webhook, "send_resolved": True}]}]}


def _alertmanager() -> dict[str, Any]:
    """Give the container that sends alerts, in the pod of Prometheus: only programs of its host reach it, who could silence alerts. The image holds both."""
    (image,) = catalog.addons()[PROMETHEUS].images
    arguments = [
        f"--config.file={CONFIGURATION}/alertmanager.yaml",
        f"--web.listen-address={ALERTMANAGER_ADDRESS}",
        "--cluster.listen-address=",
        f"--storage.path={ALERTMANAGER_STATE}",
    ]
    return {
        "name": ALERTMANAGER,
        "image": image,
        "command": ["/usr/bin/prometheus-alertmanager"],
        "args": arguments,
        "readinessProbe": {"httpGet": {"host": "127.0.0.1", "port": 9093, "path": "/-/ready"}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "configuration", "mountPath": CONFIGURATION, "readOnly": True},
            {"name": "samples", "mountPath": ALERTMANAGER_STATE, "subPath": ALERTMANAGER},
        ],
    }


def _only(address: str) -> list[dict[str, Any]]:
    return [{"targets": [address]}]


def _api_servers() -> dict[str, Any]:
    names = ["__meta_kubernetes_namespace", "__meta_kubernetes_service_name", "__meta_kubernetes_endpoint_port_name"]
    return {
        "job_name": "apiserver",
        "scheme": "https",
        "authorization": BY_TOKEN,
        "tls_config": {"ca_file": f"{SERVICE_ACCOUNT}/ca.crt"},
        "kubernetes_sd_configs": [{"role": "endpoints", "namespaces": {"names": ["default"]}}],
        "relabel_configs": [{"source_labels": names, "regex": "default;kubernetes;https", "action": "keep"}],
        "metric_relabel_configs": _without(DROPPED),
    }


def _on_loopback(job: str, port: int, *, scheme: str = "https", path: str = "/metrics") -> dict[str, Any]:
    by_token = {"authorization": BY_TOKEN, "tls_config": UNVERIFIED} if scheme == "https" else {}
    targets = _only(f"127.0.0.1:{port}")
    return {"job_name": job, "scheme": scheme, "metrics_path": path, **by_token, "static_configs": targets, "metric_relabel_configs": _without(DROPPED)}


def _of_nodes(job: str, *, path: str = "/metrics", dropped: str = DROPPED) -> dict[str, Any]:
    return {
        "job_name": job,
        "scheme": "https",
        "metrics_path": path,
        "authorization": BY_TOKEN,
        "tls_config": UNVERIFIED,
        "kubernetes_sd_configs": [{"role": "node"}],
        "relabel_configs": _real_nodes(),
        "metric_relabel_configs": _without(dropped),
    }


def _hosts() -> dict[str, Any]:
    port = {"source_labels": ["__address__"], "regex": "(.+):[0-9]+", "replacement": f"${{1}}:{NODE_EXPORTER_PORT}", "target_label": "__address__"}
    return {
        "job_name": NODE_EXPORTER,
        "scheme": "https",
        "tls_config": {"cert_file": HOST_CERTIFICATE, "key_file": HOST_CERTIFICATE, **UNVERIFIED},
        "kubernetes_sd_configs": [{"role": "node"}],
        "relabel_configs": [*_real_nodes(), port],
    }


def _real_nodes() -> list[dict[str, Any]]:
    """Leave out the nodes of kwok, where nothing answers, and say of which pool the others are."""
    is_simulated = "__meta_kubernetes_node_annotationpresent_kwok_x_k8s_io_node"
    pool = "__meta_kubernetes_node_label_clusterwright_io_pool"
    return [{"source_labels": [is_simulated], "regex": "true", "action": "drop"}, {"source_labels": [pool], "target_label": "pool"}]


def _controller(job: str, namespace: str) -> dict[str, Any]:
    """Scrape a controller of an add-on: it asks the API server whether the client may read its metrics."""
    ports = ["__meta_kubernetes_pod_container_name", "__meta_kubernetes_pod_container_port_number"]
    return {
        "job_name": job,
        "scheme": "https",
        "authorization": BY_TOKEN,
        "tls_config": UNVERIFIED,
        "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": [namespace]}}],
        "relabel_configs": [{"source_labels": ports, "regex": "manager;8443", "action": "keep"}],
        "metric_relabel_configs": _without(DROPPED),
    }


def _without(names: str) -> list[dict[str, Any]]:
    return [{"source_labels": ["__name__"], "regex": names, "action": "drop"}]
