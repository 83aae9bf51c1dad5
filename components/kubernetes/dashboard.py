"""A dashboard of Grafana for a cluster, over the metrics that its Prometheus collects. Pure.

Source: Grafana, "JSON model of a dashboard" (schema version 39, Grafana 10.4 and later).
"""

import dataclasses
from typing import Any

SCHEMA = 39
WIDTH, HEIGHT = 12, 8
"""Of a panel; a row of the grid has 24 columns."""


@dataclasses.dataclass(frozen=True, slots=True)
class Panel:
    title: str
    query: str
    legend: str = ""
    unit: str = "short"
    """As Grafana calls it."""


PANELS = (
    Panel("Alerts", 'sum by (alertname) (ALERTS{alertstate="firing"})', "{{alertname}}"),
    Panel("Targets that don't answer", "sum by (job) (up == bool 0)", "{{job}}"),
    Panel("GPUs that pods asked for", 'sum by (namespace) (kube_pod_resource_request{resource="nvidia.com/gpu"})', "{{namespace}}"),
    Panel("GPUs that nodes lack", "clusterwright_gpus_expected - clusterwright_gpus_found", "{{instance}}, simulated: {{simulated}}"),
    Panel("Workloads that wait", "sum by (cluster_queue, status) (kueue_pending_workloads)", "{{cluster_queue}}, {{status}}"),
    Panel("Workloads that run", "sum by (cluster_queue) (kueue_admitted_active_workloads)", "{{cluster_queue}}"),
    Panel("Quota in use", 'sum by (cluster_queue) (kueue_cluster_queue_resource_usage{resource="nvidia.com/gpu"})', "{{cluster_queue}}"),
    Panel(
        "Time until admission, 95 of 100",
        "histogram_quantile(0.95, sum by (cluster_queue, le) (rate(kueue_admission_wait_time_seconds_bucket[1h])))",
        "{{cluster_queue}}",
        "s",
    ),
    Panel("Processors", '1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))', "{{instance}}", "percentunit"),
    Panel("Memory", "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes", "{{instance}}", "percentunit"),
    Panel("Network", "sum by (instance, device) (rate(node_network_receive_bytes_total[5m]))", "{{instance}} {{device}}", "Bps"),
    Panel("File systems", "1 - min by (instance, device) (node_filesystem_avail_bytes / node_filesystem_size_bytes)", "{{instance}} {{device}}", "percentunit"),
    Panel("Requests to the API server", "sum by (code) (rate(apiserver_request_total[5m]))", "{{code}}", "reqps"),
    Panel(
        "etcd's disk, 99 of 100",
        "histogram_quantile(0.99, sum by (instance, le) (rate(etcd_disk_wal_fsync_duration_seconds_bucket[5m])))",
        "{{instance}}",
        "s",
    ),
    Panel("Certificates end in", "clusterwright_certificate_expires_seconds - time()", "{{instance}} {{certificate}}", "s"),
    Panel("Pods of nodes", "kubelet_running_pods", "{{instance}}"),
)


def cluster() -> dict[str, Any]:
    """Write the dashboard."""
    return {
        "uid": "clusterwright-cluster",
        "title": "Cluster",
        "tags": ["clusterwright", "kubernetes"],
        "schemaVersion": SCHEMA,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}]},
        "panels": [_written(number, one) for number, one in enumerate(PANELS)],
    }


def _written(number: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(number, 2)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "gridPos": {"x": column * WIDTH, "y": row * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [{"refId": "A", "expr": panel.query, "legendFormat": panel.legend}],
    }
