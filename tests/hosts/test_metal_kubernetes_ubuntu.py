"""Ubuntu servers become a Kubernetes cluster with the kernel and the GPU profile of bare metal, and are released. No GPU is there: what needs one is not installed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints import catalog
from tests.hosts import plain, test_metal_kubernetes
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.plain import PlainHosts

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, NODE = "head-1", "cpu-001"
LIFE_WITHIN_S = 3600
PROFILE = "ubuntu-24.04-metal"


def blueprint(servers: PlainHosts) -> dict[str, Any]:
    return {
        "name": "lab",
        "description": "servers of a test",
        "scheduler": "kubernetes",
        "software": PROFILE,
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "pools": {"batch": {"hosts": NODE}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-kubernetes-ubuntu", 2, suites=("noble",), names=(CONTROL, NODE), runs_containers=True) as found:
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("metal")
    (folder / "lab.yaml").write_text(json.dumps(blueprint(servers)))
    with deployment("test-metal-kubernetes-ubuntu", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_ubuntu_servers_become_a_kubernetes_cluster_and_are_released(servers: PlainHosts, stack: Deployment) -> None:
    nodes = {one["metadata"]["name"]: one for one in test_metal_kubernetes.kubectl(servers, "get", "nodes")["items"]}
    assert set(nodes) == {CONTROL, NODE}
    ready = [one for node in nodes.values() for one in node["status"]["conditions"] if one["type"] == "Ready"]
    assert {one["status"] for one in ready} == {"True"}
    runtimes = {node["status"]["nodeInfo"]["containerRuntimeVersion"] for node in nodes.values()}
    assert runtimes == {f"containerd://{catalog.containerd('ubuntu-24.04')}"}
    assert {check["verdict"] for check in stack.outputs()["acceptance"]} == {"pass"}
    kernel = dict(catalog.software(PROFILE).versions)["kernel"]
    assert {name for name in servers.servers if f"linux-image-{kernel}" in servers.inside(name, "apt-mark", "showhold").split()} == {CONTROL, NODE}
    done = stack.up()
    assert "created" not in done
    assert "updated" not in done
    assert stack.preview_changes() == {}
    stack.down()
    assert {name: test_metal_kubernetes.left(servers, name) for name in servers.servers} == dict.fromkeys(servers.servers, "0\n")
