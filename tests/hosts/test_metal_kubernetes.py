"""Servers that no stack made become a Kubernetes cluster, and are released: one life of a stack on bare metal."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hosts import plain
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, NODES = "head-1", ("gpu-001", "gpu-002")
LIFE_WITHIN_S = 3600


def blueprint(servers: PlainHosts) -> dict[str, Any]:
    return {
        "name": "lab",
        "description": "servers of a test",
        "scheduler": "kubernetes",
        "software": "debian-13",
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "pools": {"train": {"hosts": ",".join(NODES)}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-kubernetes", 3, names=(CONTROL, *NODES), runs_containers=True) as found:
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
