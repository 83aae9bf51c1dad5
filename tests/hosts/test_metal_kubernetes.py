"""Servers that no stack made become a Kubernetes cluster with rails for pods and addresses for services, and are released: one life of a stack on bare metal."""

import ipaddress
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.kubernetes import labels, pod_interfaces, secondary_networks, service_addresses
from tests.hosts import plain, rails
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, NODES = "head-1", ("gpu-001", "gpu-002")
LIFE_WITHIN_S = 3600
RAIL, RAIL_PODS = "rail1", "10.40.1.128/25"
"""A network that nodes have beside the hosts' own, and the part of it that pods get."""
SAYS_WHO_ANSWERS = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=5)
except ConnectionRefusedError:
    print("answers")
"""
"""No pod of the test listens: the kernel of the one that has the address refuses the connection."""


def balanced(servers: PlainHosts) -> str:
    """Give free addresses at the end of the servers' network."""
    return str(list(ipaddress.IPv4Network(servers.cidr).subnets(new_prefix=28))[-2])


def blueprint(servers: PlainHosts) -> dict[str, Any]:
    inventory = servers.inventory()
    for name in NODES:
        inventory["hosts"][name]["interfaces"] = {one.pop("name"): one for one in rails.rails(servers[name])}
    return {
        "name": "lab",
        "description": "servers of a test",
        "scheduler": "kubernetes",
        "software": "debian-13",
        "inventory": inventory,
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "kubernetes": {"secondary_networks": {RAIL: RAIL_PODS}, "load_balancer_cidr": balanced(servers)},
        "pools": {"train": {"hosts": ",".join(NODES)}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-kubernetes", 3, names=(CONTROL, *NODES), interfaces=2, runs_containers=True) as found:
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A stack on all of the servers, up."""
    folder = tmp_path_factory.mktemp("metal")
    (folder / "lab.yaml").write_text(json.dumps(blueprint(servers)))
    with deployment("test-metal-kubernetes", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def kubectl(servers: PlainHosts, *words: str) -> Any:
    """Run kubectl as the cluster's administrator, and read the JSON that it prints."""
    return json.loads(servers.inside(CONTROL, "env", "KUBECONFIG=/etc/kubernetes/admin.conf", "/usr/local/bin/kubectl", *words, "--output=json"))


def railed_pods(servers: PlainHosts) -> dict[str, str]:
    """Start a pod on each node that asks for an interface on the rail, and give the addresses that they got there."""
    for node in NODES:
        queued = {labels.QUEUE: labels.LOCAL_QUEUE}
        metadata = {"name": f"railed-{node}", "namespace": "research", "labels": queued, "annotations": {secondary_networks.ASKED: RAIL}}
        [image] = [one for one in image_names(servers) if one.startswith("registry.k8s.io/pause:")][:1]
        own = {"nodeSelector": {labels.HOST: node}, "containers": [{"name": "waits", "image": image}]}
        pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own})
        servers.inside(CONTROL, "env", "KUBECONFIG=/etc/kubernetes/admin.conf", "/usr/local/bin/kubectl", "apply", "--filename=-", stdin=pod)

    def addresses() -> dict[str, str]:
        found = kubectl(servers, "get", "pods", "--namespace=research")["items"]
        return {one["spec"]["nodeName"]: secondary_networks.given(one).get(RAIL, "") for one in found if one["status"]["phase"] == "Running"}

    wait_until(lambda: all(addresses().get(node) for node in NODES), awaiting="pods with an interface on the rail", within_s=SOON_S)
    return addresses()


def image_names(servers: PlainHosts) -> list[str]:
    nodes = kubectl(servers, "get", "nodes")["items"]
    return list(itertools.chain.from_iterable(image["names"] for node in nodes for image in node["status"]["images"]))


def answers(servers: PlainHosts, node: str, own: str, other: str) -> str:
    """Ask a pod's address from inside of another pod, whose network is found by its own address."""
    find = f"for one in $(ls /run/netns); do ip netns exec $one ip -o -4 address | grep -q ' {own}/' && echo $one; done"
    [space] = servers.inside(node, "sh", "-c", f"{find}; true").split()
    return servers.inside(node, "ip", "netns", "exec", space, "python3", "-c", SAYS_WHO_ANSWERS, other).strip()


def left(servers: PlainHosts, name: str) -> str:
    """Name what Kubernetes left on a server."""
    places = "/etc/kubernetes /etc/containerd /etc/cni /opt/cni /var/lib/kubelet/* /var/lib/etcd/* /var/lib/containerd/* /sys/class/net/cni0 /sys/class/net/flannel.1"
    return servers.inside(
        name,
        "sh",
        "-c",
        f"ls -d {places} 2>/dev/null; pgrep -l 'kube|containerd|etcd|registry' || true; nft list tables; iptables-save | grep -c FLANNEL || true",
    )


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_servers_become_a_kubernetes_cluster_and_are_released(servers: PlainHosts, stack: Deployment) -> None:
    before = "0\n"
    nodes = {one["metadata"]["name"]: one for one in kubectl(servers, "get", "nodes")["items"]}
    assert set(nodes) == {CONTROL, *NODES}
    ready = [one for node in nodes.values() for one in node["status"]["conditions"] if one["type"] == "Ready"]
    assert {one["status"] for one in ready} == {"True"}
    assert {nodes[name]["metadata"]["labels"]["clusterwright.io/pool"] for name in NODES} == {"train"}
    done = stack.up()
    assert "created" not in done
    assert "updated" not in done
    assert stack.preview_changes() == {}

    proven = {check["name"]: check["verdict"] for check in stack.outputs()["acceptance"]}
    assert (proven[pod_interfaces.NAME], proven[service_addresses.NAME]) == ("pass", "pass")
    first, second = (railed_pods(servers)[node] for node in NODES)
    assert {ipaddress.ip_address(one) in ipaddress.ip_network(RAIL_PODS) for one in (first, second)} == {True}
    assert answers(servers, NODES[0], first, second) == "answers"

    servers.power_off(NODES[1])
    servers.power_on(NODES[1])
    wait_until(
        lambda: all(
            one["status"] == "True"
            for one in kubectl(servers, "get", "node", NODES[1])["status"]["conditions"] if one["type"] == "Ready"
        ),
        awaiting="the node to be ready again", within_s=SOON_S,
    )  # fmt: skip
    stack.down()
    assert {name: left(servers, name) for name in servers.servers} == dict.fromkeys(servers.servers, before)
    kept = servers.inside(CONTROL, "find", "/var/lib/clusterwright/kept", "-name", "etcd-*.db").split()
    assert kept, "the last state of the cluster stays on its server"
