"""Every alert is raised by a state that is broken, and not by the same one in order. Prometheus' own promtool judges, from the image that clusters run."""

import contextlib
import functools
import http.server
import json
import re
import shlex
import subprocess
import sys
import tarfile
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from blueprints import spec
from blueprints.project import project_root
from components.kubernetes import dashboard, monitoring
from tests import processes
from tests.apiserver import cluster, release

pytestmark = pytest.mark.slow

Series = Mapping[str, str]
ADDONS = ["prometheus", "node-exporter", "kueue", "jobset"]
DAYS = 86400
GPU = 'simulated="true",instance="train-0"'
FSYNC = 'etcd_disk_wal_fsync_duration_seconds_bucket{job="etcd",instance="a",le="%s"}'
QUEUE = 'cluster_queue="research"'


def steady(series: str, *, broken: int, fine: int) -> tuple[Series, Series]:
    """Give a series with one value in the broken state and another in order."""
    return {series: f"{broken}x600"}, {series: f"{fine}x600"}


def disk(place: str, *, available: int, read_only: int) -> Series:
    """Give the series of one disk where it is mounted; its size is 100."""
    labels = f'{{instance="train-0",device="/dev/sda",mountpoint="{place}",fstype="ext4"}}'
    values = {"avail_bytes": available, "size_bytes": 100, "readonly": read_only}
    return {f"node_filesystem_{name}{labels}": f"{value}x600" for name, value in values.items()}


CASES: Mapping[str, tuple[str, Series, Series]] = {
    "TargetDown": ("10m", *steady('up{job="etcd",instance="a"}', broken=0, fine=1)),
    "EtcdHasNoLeader": ("5m", *steady("etcd_server_has_leader", broken=0, fine=1)),
    "EtcdDiskSlow": (
        "30m",
        {FSYNC % "0.512": "0+1x600", FSYNC % "1.024": "0+60x600", FSYNC % "+Inf": "0+60x600"},
        {FSYNC % "0.008": "0+60x600", FSYNC % "1.024": "0+60x600", FSYNC % "+Inf": "0+60x600"},
    ),
    "EtcdNearlyFull": (
        "30m",
        {"etcd_mvcc_db_total_size_in_bytes": "9x600", "etcd_server_quota_backend_bytes": "10x600"},
        {"etcd_mvcc_db_total_size_in_bytes": "1x600", "etcd_server_quota_backend_bytes": "10x600"},
    ),
    "ApiServerFails": (
        "30m",
        {'apiserver_request_total{code="200"}': "0+90x600", 'apiserver_request_total{code="503"}': "0+10x600"},
        {'apiserver_request_total{code="404"}': "0+90x600", 'apiserver_request_total{code="503"}': "0+1x600"},
    ),
    "CertificateExpires": (
        "2h",
        *steady('clusterwright_certificate_expires_seconds{certificate="pki/apiserver.crt"}', broken=20 * DAYS, fine=180 * DAYS),
    ),
    "KubeletCertificateExpires": (
        "2h",
        *steady('kubelet_certificate_manager_client_ttl_seconds{instance="train-0"}', broken=20 * DAYS, fine=180 * DAYS),
    ),
    "NodesNotReady": ("5m", *steady('node_collector_unhealthy_nodes_in_zone{zone=""}', broken=1, fine=0)),
    "KubeletDown": ("5m", *steady('up{job="kubelet",instance="train-0"}', broken=0, fine=1)),
    "NodeLacksSomething": ("10m", *steady('clusterwright_node_complete{instance="train-0"}', broken=0, fine=1)),
    "GpusMissing": (
        "10m",
        {f"clusterwright_gpus_expected{{{GPU}}}": "8x600", f"clusterwright_gpus_found{{{GPU}}}": "7x600"},
        {f"clusterwright_gpus_expected{{{GPU}}}": "8x600", f"clusterwright_gpus_found{{{GPU}}}": "8x600"},
    ),
    "HostCheckStopped": (
        "1h",
        {'node_textfile_mtime_seconds{file="/host/metrics/health.prom"}': "0x600"},
        # Of certificates, which are looked at once a day.
        {
            'node_textfile_mtime_seconds{file="/host/metrics/health.prom"}': "0+60x600",
            'node_textfile_mtime_seconds{file="/host/metrics/certificates.prom"}': "0x600",
        },
    ),
    "FileSystemNearlyFull": (  # one disk at two places
        "30m",
        {**disk("/", available=5, read_only=0), **disk("/var/lib/etcd", available=5, read_only=0)},
        {**disk("/", available=9, read_only=0), **disk("/media/image", available=0, read_only=1)},
    ),
    "ProcessesKilledForMemory": ("15m", {"node_vmstat_oom_kill": "0x10 1x600"}, {"node_vmstat_oom_kill": "7x600"}),
    "NetworkErrors": (
        "30m",
        {'node_network_transmit_errs_total{device="ib0"}': "0+5x600", 'node_network_transmit_packets_total{device="ib0"}': "0+100x600"},
        {'node_network_transmit_errs_total{device="ib0"}': "0+5x600", 'node_network_transmit_packets_total{device="ib0"}': "0+10000x600"},
    ),
    "KueueAway": ("10m", *steady('up{job="kueue"}', broken=0, fine=1)),
    "QueueStandsStill": (
        "3h",
        {f'kueue_pending_workloads{{{QUEUE},status="active"}}': "3x600", f"kueue_admitted_workloads_total{{{QUEUE}}}": "5x600"},
        {f'kueue_pending_workloads{{{QUEUE},status="active"}}': "3x600", f"kueue_admitted_workloads_total{{{QUEUE}}}": "0+1x600"},
    ),
    "WorkloadsInadmissible": (
        "8h",
        {f'kueue_pending_workloads{{{QUEUE},status="inadmissible"}}': "2x600"},
        {f'kueue_pending_workloads{{{QUEUE},status="inadmissible"}}': "2x60 0x600"},
    ),
}


@functools.cache
def image(folder: Path) -> Path:
    """Unpack the image that clusters run."""
    release.folder()  # without a release, nothing is built here
    made = subprocess.run([sys.executable, str(release.INSTALL), "--with", "prometheus"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    found = Path(made.stdout.strip())

    def blob(digest: str) -> Path:
        name = digest.removeprefix("sha256:")
        return found / "registry/docker/registry/v2/blobs/sha256" / name[:2] / name / "data"

    (known,) = (entry for name, entry in json.loads((found / "images.json").read_text()).items() if "/prometheus:" in name)
    (layer,) = json.loads(blob(known["digest"]).read_text())["layers"]
    with tarfile.open(blob(layer["digest"])) as packed:
        packed.extractall(folder / "image", filter="tar")
    return folder / "image"


def written(folder: Path, name: str, content: Mapping[str, Any]) -> str:
    (folder / name).write_text(yaml.safe_dump(content, sort_keys=False))
    return name


def judged(folder: Path, *words: str) -> None:
    done = subprocess.run([str(image(folder) / "usr/bin/promtool"), *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("prometheus")
    written(found, "alerts.yaml", monitoring.alerts(ADDONS))
    return found


def case(name: str, at: str, series: Series, *, raised: bool) -> dict[str, Any]:
    """One of promtool's tests: whether a state raises an alert."""
    firing = {
        "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
        "eval_time": at,
        "exp_samples": [{"labels": "{}", "value": 1}] if raised else [],
    }
    inputs = [{"series": one, "values": values} for one, values in series.items()]
    return {"name": f"{name} {'broken' if raised else 'in order'}", "interval": "1m", "input_series": inputs, "promql_expr_test": [firing]}


def test_there_is_a_broken_state_for_every_alert() -> None:
    assert {rule["alert"] for group in monitoring.alerts(ADDONS)["groups"] for rule in group["rules"]} == CASES.keys()


def test_alerts_are_raised_by_broken_states_and_by_no_state_in_order(folder: Path) -> None:
    cases = [case(name, at, series, raised=is_broken) for name, (at, *both) in CASES.items() for series, is_broken in zip(both, (True, False), strict=True)]
    judged(folder, "test", "rules", written(folder, "cases.yaml", {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": cases}))


def test_prometheus_takes_the_alerts_and_what_it_scrapes(folder: Path) -> None:
    configured = {**monitoring.configuration(ADDONS), "rule_files": ["alerts.yaml"]}
    judged(folder, "check", "config", "--syntax-only", written(folder, "prometheus.yaml", configured))
    judged(folder, "check", "rules", "--lint-fatal", "alerts.yaml")


def test_prometheus_reads_the_queries_of_the_dashboard(folder: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": one["targets"][0]["expr"]} for number, one in enumerate(dashboard.cluster()["panels"])]
    judged(folder, "check", "rules", written(folder, "panels.yaml", {"groups": [{"name": "panels", "rules": rules}]}))


class _Received(http.server.BaseHTTPRequestHandler):
    """What somebody who waits for alerts runs."""

    def do_POST(self) -> None:
        self.server.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        return


@pytest.fixture
def receiver() -> Iterator[http.server.HTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Received) as server:
        server.received = []  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_an_alert_reaches_the_webhook_of_the_blueprint(folder: Path, receiver: http.server.HTTPServer) -> None:
    configured = monitoring.notifications(f"http://127.0.0.1:{receiver.server_port}/gpu-clusters")
    configured["route"]["group_wait"] = "0s"
    container = next(one for one in containers(monitored(alert_webhook="http://127.0.0.1:1/")) if one["name"] == monitoring.ALERTMANAGER)
    address = f"127.0.0.1:{cluster.free_port()}"
    root = image(folder)
    (root / monitoring.CONFIGURATION[1:]).mkdir(exist_ok=True)
    written(root / monitoring.CONFIGURATION[1:], "alertmanager.yaml", configured)
    arguments = [word.replace(monitoring.ALERTMANAGER_ADDRESS, address) for word in container["args"]]
    words = ["unshare", "--map-root-user", f"--root={root}", *container["command"], *arguments]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        alert = [{"labels": {"alertname": "EtcdHasNoLeader", "severity": "critical"}, "annotations": {"summary": "no leader"}}]
        asked = urllib.request.Request(f"http://{address}/api/v2/alerts", json.dumps(alert).encode(), {"Content-Type": "application/json"})

        def sent() -> bool:
            with contextlib.suppress(OSError), urllib.request.urlopen(asked, timeout=5):
                return True
            return False

        processes.wait_until(sent, awaiting="Alertmanager", within_s=60)
        processes.wait_until(lambda: bool(receiver.received), awaiting="the alert", within_s=60)  # type: ignore[attr-defined]
        [told, *_] = receiver.received  # type: ignore[attr-defined]
        assert [(one["labels"]["alertname"], one["status"]) for one in told["alerts"]] == [("EtcdHasNoLeader", "firing")]
    finally:
        running.kill()
        running.wait()


def monitored(*, alert_webhook: str) -> dict[str, Any]:
    return monitoring.settings(spec.Monitoring(metrics=True, alert_webhook=alert_webhook), addons=ADDONS)


def containers(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = settings["DaemonSet/prometheus"]["spec"]["template"]["spec"]["containers"]
    return found


def test_prometheus_sends_alerts_where_the_blueprint_says_to_whom_and_nowhere_else(folder: Path) -> None:
    silent, telling = monitored(alert_webhook=""), monitored(alert_webhook="https://alerts.example.org/gpu-clusters")
    assert [one["name"] for one in containers(silent)] == ["prometheus"]
    assert [one["name"] for one in containers(telling)] == ["prometheus", "alertmanager"]
    assert "alertmanager.yaml" not in silent["ConfigMap/prometheus"]["data"]
    assert "alerting" not in yaml.safe_load(silent["ConfigMap/prometheus"]["data"]["prometheus.yaml"])
    configured = yaml.safe_load(telling["ConfigMap/prometheus"]["data"]["prometheus.yaml"])
    judged(folder, "check", "config", "--syntax-only", written(folder, "telling.yaml", configured))
    assert configured["alerting"] == {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]}
    assert "alertmanager" in {one["job_name"] for one in configured["scrape_configs"]}, "TargetDown says when nobody is told"


def test_dashboards_can_be_left_out() -> None:
    shown, left_out = (monitoring.settings(spec.Monitoring(metrics=True, dashboards=one), addons=ADDONS)["ConfigMap/dashboards"] for one in (True, False))
    assert json.loads(shown["data"]["cluster.json"])["panels"]
    assert left_out is None


def test_a_cluster_without_kueue_has_no_alerts_of_queues() -> None:
    assert {one["name"] for one in monitoring.alerts(["prometheus"])["groups"]} == {"control-plane", "nodes"}
    assert {one["job_name"] for one in monitoring.configuration(["prometheus"])["scrape_configs"]}.isdisjoint({"kueue", "jobset", "node-exporter"})


COMMANDS = [
    command
    for group in monitoring.alerts(ADDONS)["groups"]
    for rule in group["rules"]
    for command in re.findall(r"`((?:clusterwright|systemctl|journalctl|crictl) [^`]+)`", rule["annotations"]["description"])
]
NAMESPACED = {"events", "pods", "workloads", "logs", "exec"}
ROLES = project_root() / "playbooks" / "roles"


def unusable(command: str) -> str:
    """Say why a command can't be typed as an alert prints it; empty: it can."""
    program, *words = shlex.split(command)
    if program == "crictl":
        return "hosts have no such program"
    if program in ("systemctl", "journalctl"):
        units = [one.removesuffix(".timer") for one in words if one.startswith(("clusterwright-", "kubelet"))]
        return " ".join(f"no role has {one}" for one in units if not [*ROLES.glob(f"*/*/{one}.service*")])
    if NAMESPACED & set(words) and not {"--namespace", "--all-namespaces"} & set(words):
        return "kubectl looks into the namespace default, where nothing of it is"
    return ""


def test_commands_of_alerts_can_be_typed() -> None:
    assert {command: why for command in COMMANDS if (why := unusable(command))} == {}
    broken = ("crictl rmi --prune", "systemctl status clusterwright-certificates", "clusterwright kubectl -- describe workloads")
    assert all(map(unusable, broken))
