"""A Kubernetes cluster on hosts of this machine, its whole life: nodes, simulated GPUs, names, packets between pods, a lost node, and nothing left."""

import base64
import contextlib
import ipaddress
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from blueprints import addresses
from components.local.machine import sweep
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until

pytestmark = pytest.mark.hosts

CONTROL, NODES = "kubernetes-0", ("train-0", "train-1")
GPUS = 8
STACK = "test-kubernetes"
*_, FOR_SERVICES, _LAST = addresses.default_network(STACK, addresses.DEFAULT_PREFIX).subnets(new_prefix=27)
"""Addresses of the hosts' network without hosts; in the last part is its broadcast address."""
SHELL_IMAGE = "ghcr.io/flannel-io/flannel:v0.28.4"
"""An image of the release. The programs of its node are mounted over it: a shell, Python."""
PAUSE_IMAGE = "registry.k8s.io/pause:3.10.1"
TRY_DEVICES = """
for number in 0 1 2 3 4 5 6 7; do
    [ -e /dev/nvidia$number ] || mknod /dev/nvidia$number c 60 $number
    if (: < /dev/nvidia$number) 2> /tmp/said; then echo $number opened
    elif grep -q 'No such device' /tmp/said; then echo $number own
    elif grep -q 'not permitted' /tmp/said; then echo $number refused
    else echo $number $(cat /tmp/said); fi
done
"""
"""Opening a device file of no driver fails with ENXIO where the pod may, and with EPERM where it may not."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The small Kubernetes blueprint with metrics and addresses for services, up."""
    chosen = {"monitoring.metrics": True, "kubernetes.load_balancer_cidr": str(FOR_SERVICES)}
    with deployment(STACK, tmp_path_factory.mktemp("kubernetes"), blueprint="starter-kubernetes", set=chosen) as one:
        one.up()
        yield one


def kubectl(cluster: Deployment, *words: str, stdin: str = "") -> str:
    """Run kubectl on the control plane's host as its administrator."""
    return cluster.inside(CONTROL, "env", "KUBECONFIG=/etc/kubernetes/admin.conf", "/usr/local/bin/kubectl", *words, stdin=stdin)


def found(cluster: Deployment, *words: str) -> Any:
    return json.loads(kubectl(cluster, "get", *words, "--output=json"))


def conditions(node: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in node["status"]["conditions"]}


def pod(name: str, command: str, *, node: str = "", gpus: int = 0) -> str:
    container: dict[str, Any] = {
        "name": "main", "image": SHELL_IMAGE, "command": ["/usr/bin/sh", "-c", command],
        "volumeMounts": [{"name": "programs", "mountPath": "/usr", "readOnly": True}, {"name": "scratch", "mountPath": "/tmp"}],
    }  # fmt: skip
    volumes = [{"name": "programs", "hostPath": {"path": "/usr"}}, {"name": "scratch", "emptyDir": {}}]
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    spec = {
        "containers": [container],
        "volumes": volumes,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"operator": "Exists"}],
    }
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**spec, **({"nodeName": node} if node else {})}})


def run(cluster: Deployment, name: str, command: str, *, node: str = "", gpus: int = 0, namespace: str = "default") -> str:
    """Run a pod to its end and give what it printed."""
    where = f"--namespace={namespace}"
    kubectl(cluster, "apply", where, "--filename=-", stdin=pod(name, command, node=node, gpus=gpus))

    def phase() -> str:
        return str(found(cluster, "pod", name, where)["status"]["phase"])

    try:
        wait_until(lambda: phase() in ("Succeeded", "Failed"), awaiting=f"pod {name} to end", within_s=SOON_S)
        printed = kubectl(cluster, "logs", where, name)
        assert phase() == "Succeeded", printed
        return printed
    finally:
        kubectl(cluster, "delete", "pod", where, name, "--now")


def test_all_nodes_are_ready_with_the_gpus_of_the_blueprint(cluster: Deployment) -> None:
    nodes = {one["metadata"]["name"]: one for one in found(cluster, "nodes")["items"]}
    assert set(nodes) == {CONTROL, *NODES}
    assert {conditions(one)["Ready"] for one in nodes.values()} == {"True"}
    wait_until(
        lambda: all(found(cluster, "node", name)["status"]["allocatable"].get("nvidia.com/gpu") == str(GPUS) for name in NODES),
        awaiting="the device plug-in to offer GPUs", within_s=SOON_S,
    )  # fmt: skip
    for name in NODES:
        labels = nodes[name]["metadata"]["labels"]
        assert labels["clusterwright.io/pool"] == "train"
        assert labels["clusterwright.io/simulated-gpus"] == "true"
    assert "nvidia.com/gpu" not in nodes[CONTROL]["status"]["allocatable"]


def test_a_pod_opens_its_own_gpus_and_no_others(cluster: Deployment) -> None:
    verdicts = [line.split()[1] for line in run(cluster, "confined", TRY_DEVICES, gpus=2).splitlines()]
    assert sorted(verdicts) == ["own"] * 2 + ["refused"] * 6


def test_pods_reach_each_other_across_nodes_and_find_names(cluster: Deployment) -> None:
    address = found(cluster, "service", "kubernetes")["spec"]["clusterIP"]
    assert address in run(cluster, "names", "getent hosts kubernetes.default.svc.cluster.local", node=NODES[0])
    kubectl(cluster, "apply", "--filename=-", stdin=pod("server", "cd /tmp && echo hello > greeting && exec python3 -m http.server 8080", node=NODES[0]))
    try:
        wait_until(lambda: found(cluster, "pod", "server")["status"]["phase"] == "Running", awaiting="the server to run", within_s=SOON_S)
        url = f"http://{found(cluster, 'pod', 'server')['status']['podIP']}:8080/greeting"
        ask = f"import urllib.request as r; print(r.urlopen('{url}', timeout=30).read().decode())"
        assert "hello" in run(cluster, "client", f'for try in 1 2 3; do python3 -c "{ask}" && exit; sleep 1; done; exit 1', node=NODES[1])
    finally:
        kubectl(cluster, "delete", "pod", "server", "--now", "--wait=false")


def test_pods_under_the_policy_of_an_account_are_closed_to_pods_of_others(cluster: Deployment) -> None:
    """In namespaces beside the accounts', which may mount the shell of their node."""
    [policy, *_] = [one for one in found(cluster, "networkpolicies", "--all-namespaces")["items"] if one["metadata"]["name"] == "same-namespace"]
    for name in ("policed", "other"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
        copied = {**policy, "metadata": {"name": "copied", "namespace": name}}
        kubectl(cluster, "apply", "--filename=-", stdin=yaml.safe_dump_all([namespace, copied]))
    try:
        serve = "cd /tmp && echo hello > greeting && exec python3 -m http.server 8080"
        kubectl(cluster, "apply", "--namespace=policed", "--filename=-", stdin=pod("server", serve, node=NODES[0]))
        wait_until(lambda: found(cluster, "pod", "server", "--namespace=policed")["status"]["phase"] == "Running", awaiting="the server", within_s=SOON_S)
        address = found(cluster, "pod", "server", "--namespace=policed")["status"]["podIP"]
        ask = f"import socket; socket.create_connection(('{address}', 8080), timeout=3)"
        patient = f'getent hosts kubernetes.default.svc.cluster.local && for try in 1 2 3 4 5; do python3 -c "{ask}" && exit; sleep 1; done; exit 1'
        for node in NODES:
            run(cluster, "friend", patient, node=node, namespace="policed")
            # Rules for a new pod are there some moments after it.
            tries = f'for try in 1 2 3 4 5; do python3 -c "{ask}" || exit 0; sleep 1; done; echo it stays open; exit 1'
            run(cluster, "stranger", tries, node=node, namespace="other")
    finally:
        kubectl(cluster, "delete", "namespaces", "policed", "other", "--wait=false")


def test_a_service_of_an_account_answers_clients_outside_at_an_address_of_the_blueprint(cluster: Deployment) -> None:
    """In a namespace with an account's policy, which may mount the shell of its node; the client is this machine, in the hosts' network."""
    policy = next(one for one in found(cluster, "networkpolicies", "--all-namespaces")["items"] if one["metadata"]["name"] == "same-namespace")
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "served", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "selector": {"app": "server"}, "ports": [{"port": 80, "targetPort": 8080}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "server", "namespace": "served"}, "spec": spec}
    copied = {**policy, "metadata": {"name": "copied", "namespace": "served"}}
    serve = yaml.safe_load(pod("server", "cd /tmp && echo hello > greeting && exec python3 -m http.server 8080", node=NODES[1]))
    labelled = {**serve, "metadata": {"name": "server", "namespace": "served", "labels": {"app": "server"}}}
    kubectl(cluster, "apply", "--filename=-", stdin=yaml.safe_dump_all([namespace, copied, service, labelled]))

    def given() -> list[str]:
        return [one["ip"] for one in found(cluster, "service", "server", "--namespace=served")["status"]["loadBalancer"].get("ingress", ())]

    def answers() -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{given()[0]}/greeting", timeout=3) as answer:
            return bool(answer.read() == b"hello\n")
        return False

    try:
        wait_until(lambda: bool(given()), awaiting="an address for the service", within_s=SOON_S)
        assert ipaddress.IPv4Address(given()[0]) in FOR_SERVICES
        wait_until(answers, awaiting="the service to answer", within_s=SOON_S)
    finally:
        kubectl(cluster, "delete", "namespace", "served", "--wait=false")


def test_prometheus_reaches_all_that_it_scrapes_and_answers_on_loopback_only(cluster: Deployment) -> None:
    def answer(path: str) -> Any:
        program = f"import urllib.request as asked; print(asked.urlopen('http://127.0.0.1:9090{path}').read().decode())"
        return json.loads(cluster.inside(CONTROL, "python3", "-c", program))["data"]

    def health() -> dict[tuple[str, str], str]:
        return {(one["labels"]["job"], one["labels"]["instance"]): one["health"] for one in answer("/api/v1/targets")["activeTargets"]}

    wait_until(lambda: set(health().values()) == {"up"}, awaiting="all targets of Prometheus", within_s=SOON_S)
    of_hosts = {(job, host) for job in ("kubelet", "cadvisor", "node-exporter") for host in (CONTROL, *NODES)}
    assert of_hosts <= health().keys()
    assert {job for job, _ in health().keys() - of_hosts} == {
        *("apiserver", "etcd", "kube-scheduler", "kube-scheduler-resources", "kube-controller-manager", "prometheus", "kueue", "jobset")
    }
    found_gpus = {one["metric"]["instance"]: one for one in answer("/api/v1/query?query=clusterwright_gpus_found")["result"]}
    assert {host: (one["metric"]["simulated"], one["value"][1]) for host, one in found_gpus.items()} == dict.fromkeys(NODES, ("true", str(GPUS)))
    sockets = cluster.inside(CONTROL, "ss", "--no-header", "--listening", "--tcp", "--numeric", "sport = :9090")
    assert [line.split()[3] for line in sockets.splitlines()] == ["127.0.0.1:9090"]
    address = cluster.inside(CONTROL, "hostname", "--ip-address").split()[0]
    stranger = f"import ssl, urllib.request as asked; asked.urlopen('https://{address}:9100', context=ssl._create_unverified_context())"
    refused = cluster.inside(CONTROL, "sh", "-c", 'python3 -c "$1" 2>&1; true', "sh", stranger)
    assert "certificate required" in refused.splitlines()[-1], "the node exporter takes clients of the cluster only"


def test_a_node_that_lost_a_gpu_gets_no_pods_until_it_has_it_again(cluster: Deployment) -> None:
    name, lost, taint = NODES[1], "/dev/nvidia7", "clusterwright.io/unhealthy"

    def is_tainted() -> bool:
        return taint in [one["key"] for one in found(cluster, "node", name)["spec"].get("taints", ())]

    assert conditions(found(cluster, "node", name))["ClusterwrightHealthy"] == "True"
    assert cluster.inside(name, "systemctl", "is-active", "clusterwright-node-health.timer").strip() == "active"
    kind = cluster.inside(name, "stat", "--format=%t %T", lost).split()
    cluster.inside(name, "rm", lost)
    try:
        # Before it starts, the kubelet waits for the taint: the control plane's timer sets it.
        cluster.inside(name, "systemctl", "restart", "kubelet.service")
        assert is_tainted()
        assert conditions(found(cluster, "node", name))["ClusterwrightHealthy"] == "False"
        assert not any(
            one["metadata"]["name"] != name and one["spec"].get("taints") for one in found(cluster, "nodes", "--selector=clusterwright.io/pool")["items"]
        )
        kubectl(cluster, "wait", f"node/{name}", "--for=condition=Ready", f"--timeout={SOON_S}s")
        assert "7 of 8 simulated GPUs" in kubectl(cluster, "describe", "node", name)
        drift = cluster.clusterwright("drift", "--layer", "scheduler", "--settle", "0", "--json")
        assert [one["where"] for one in json.loads(drift.stdout)["findings"] if one["code"] == "CW980"] == [f"Node {name}"]
    finally:
        cluster.inside(name, "mknod", "-m", "0666", lost, "c", *(str(int(one, 16)) for one in kind))
    cluster.inside(name, "systemctl", "start", "clusterwright-node-health.service")
    wait_until(lambda: not is_tainted(), awaiting="the node to take pods again", within_s=SOON_S)


def test_secrets_are_encrypted_at_rest_and_changes_are_audited(cluster: Deployment) -> None:
    kubectl(cluster, "create", "secret", "generic", "planted", "--from-literal=word=marzipan")
    try:
        pki = "/etc/kubernetes/pki/etcd"
        stored = kubectl(
            cluster, "--namespace=kube-system", "exec", f"etcd-{CONTROL}", "--", "etcdctl", f"--cacert={pki}/ca.crt", f"--cert={pki}/server.crt",
            f"--key={pki}/server.key", "get", "/registry/secrets/default/planted", "--write-out=json",
        )  # fmt: skip
        value = base64.b64decode(json.loads(stored)["kvs"][0]["value"])
        assert value.startswith(b"k8s:enc:secretbox:v1:first:")
        assert b"marzipan" not in value
        audited = cluster.inside(CONTROL, "cat", "/var/log/kubernetes/audit.log")
        assert '"name":"planted"' in audited
        assert "marzipan" not in audited
    finally:
        kubectl(cluster, "delete", "secret", "planted")


def test_a_second_up_changes_nothing(cluster: Deployment) -> None:
    assert cluster.preview_changes() == {}
    joined = cluster.inside(NODES[0], "stat", "--format=%Y", "/var/lib/kubelet/config.yaml")
    cluster.up()
    assert cluster.inside(NODES[0], "stat", "--format=%Y", "/var/lib/kubelet/config.yaml") == joined


def test_a_cluster_in_order_has_no_drift(cluster: Deployment) -> None:
    """Pods listen on hosts, and every node has rules and routes of its own for them."""
    assert json.loads(cluster.clusterwright("drift", "--layer", "hosts", "--layer", "scheduler", "--json").stdout)["findings"] == []


def service(name: str, *, preferred: str) -> str:
    """A Deployment of one pod that waits, on one node rather than on others; it leaves a lost node at once."""
    weighed = [{"weight": 100, "preference": {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [preferred]}]}}]
    lost = [{"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1} for why in ("unreachable", "not-ready")]
    spec = {
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighed}},
        "nodeSelector": {"clusterwright.io/pool": "train"}, "tolerations": lost, "containers": [{"name": "waits", "image": PAUSE_IMAGE}],
    }  # fmt: skip
    marks = {"app": name}
    deployment = {"replicas": 1, "selector": {"matchLabels": marks}, "template": {"metadata": {"labels": marks}, "spec": spec}}
    return yaml.safe_dump({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": deployment})


def test_pods_of_a_node_without_power_move_and_the_next_up_brings_it_back(cluster: Deployment) -> None:
    def runs_on(node: str) -> bool:
        pods = [one for one in found(cluster, "pods", "--selector=app=moving")["items"] if "deletionTimestamp" not in one["metadata"]]
        return [(one["spec"].get("nodeName"), one["status"]["phase"]) for one in pods] == [(node, "Running")]

    kubectl(cluster, "apply", "--filename=-", stdin=service("moving", preferred=NODES[1]))
    wait_until(lambda: runs_on(NODES[1]), awaiting="the service to run", within_s=SOON_S)
    cluster.cut_power(NODES[1])
    wait_until(lambda: conditions(found(cluster, "node", NODES[1]))["Ready"] != "True", awaiting="the control plane to miss the node", within_s=SOON_S)
    wait_until(lambda: runs_on(NODES[0]), awaiting="the service to run on the other node", within_s=SOON_S)
    cluster.up()
    wait_until(lambda: conditions(found(cluster, "node", NODES[1]))["Ready"] == "True", awaiting="the node to be ready", within_s=SOON_S)
    kubectl(cluster, "delete", "deployment", "moving")


@pytest.mark.soak
def test_a_node_that_is_rebuilt_is_emptied_and_joins_again(cluster: Deployment) -> None:
    before = found(cluster, "node", NODES[1])["metadata"]["uid"]
    done = cluster.clusterwright("rebuild", NODES[1], "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    node = found(cluster, "node", NODES[1])
    assert node["metadata"]["uid"] != before
    assert conditions(node)["Ready"] == "True"
    assert "unschedulable" not in node["spec"]
    assert cluster.preview_changes() == {}


def test_down_leaves_nothing(cluster: Deployment) -> None:
    cluster.down()
    assert sweep.left_behind(cluster.names) == ()
