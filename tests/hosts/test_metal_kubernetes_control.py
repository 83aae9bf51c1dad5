"""Three servers that no stack made become a control plane: one is lost and installed again, another one is exchanged, and all are released."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from components.local.machine import command
from tests.hosts import plain
from tests.hosts.deployment import SOON_S, Deployment, deployment, wait_until
from tests.hosts.plain import PlainHosts
from tests.hosts.test_metal_kubernetes import left

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

CONTROL, SPARE, NODE = ("head-1", "head-2", "head-3"), "head-4", "gpu-001"
SHARED = 200
"""Which address of the network moves between the servers."""
PKI = "/etc/kubernetes/pki/etcd"
MOVES_WITHIN_S = 60
LIFE_WITHIN_S = 5400


def address(servers: PlainHosts) -> str:
    return servers.gateway.rpartition(".")[0] + f".{SHARED}"


def blueprint(servers: PlainHosts, control: tuple[str, ...] = CONTROL) -> str:
    found: dict[str, Any] = {
        "name": "lab",
        "description": "servers of a test",
        "scheduler": "kubernetes",
        "software": "debian-13",
        "inventory": servers.inventory(*control, NODE),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": ",".join(control), "highly_available": True, "address": address(servers)},
        # Apart from the name servers that machines have: servers send nothing to addresses of pods by their default route.
        "kubernetes": {"pod_cidr": "10.128.0.0/16"},
        "pools": {"train": {"hosts": NODE}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }
    return json.dumps(found)


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-three", 4, names=(*CONTROL, NODE), runs_containers=True) as found:
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A stack on all of the servers, up."""
    folder = tmp_path_factory.mktemp("metal")
    (folder / "lab.yaml").write_text(blueprint(servers))
    with deployment("test-metal-three", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def answers(stack: Deployment, *words: str) -> bool:
    """Whether the API server answers a user, at the shared address."""
    return stack.clusterwright("kubectl", "--", *words).returncode == 0


def owner(servers: PlainHosts, control: tuple[str, ...] = CONTROL) -> str:
    """Name the server that has the shared address."""
    return next(name for name in control if servers.inside(name, "ip", "-4", "address", "show", "to", address(servers)))


def is_whole(servers: PlainHosts, stack: Deployment, control: tuple[str, ...] = CONTROL) -> bool:
    """Whether etcd has exactly these members, all healthy and with a vote, and all nodes are ready."""
    keys = (f"--cacert={PKI}/ca.crt", f"--cert={PKI}/server.crt", f"--key={PKI}/server.key", "--endpoints=https://127.0.0.1:2379")
    etcdctl = ("/usr/local/bin/etcdctl", *keys, "--write-out=json")
    try:
        members: Any = json.loads(servers.inside(control[0], *etcdctl, "member", "list"))["members"]
        health: Any = json.loads(servers.inside(control[0], *etcdctl, "endpoint", "health", "--cluster"))
    except command.CommandFailed:
        return False
    shown = stack.clusterwright("kubectl", "--", "get", "nodes", "--output=json")
    if shown.returncode != 0 or {one.get("name"): one.get("isLearner", False) for one in members} != dict.fromkeys(control, False):
        return False
    ready = {
        node["metadata"]["name"]
        for node in json.loads(shown.stdout)["items"]
        if any(one["type"] == "Ready" and one["status"] == "True" for one in node["status"]["conditions"])
    }
    return all(one["health"] for one in health) and ready == {*control, NODE}


def wait_until_whole(servers: PlainHosts, stack: Deployment, control: tuple[str, ...] = CONTROL) -> None:
    wait_until(lambda: is_whole(servers, stack, control), awaiting="three members of etcd and all nodes", within_s=SOON_S)


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_a_lost_server_is_installed_again_and_joins(servers: PlainHosts, stack: Deployment) -> None:
    wait_until_whole(servers, stack)
    assert stack.preview_changes() == {}
    assert answers(stack, "create", "configmap", "before", "--from-literal=word=marzipan")
    lost = owner(servers)
    servers.power_off(lost)
    wait_until(lambda: answers(stack, "get", "configmap", "before"), awaiting="the address to answer from another server", within_s=MOVES_WITHIN_S)
    servers.reinstall(lost)
    (stack.home / "lab.yaml").write_text(blueprint(servers))
    stack.up()
    wait_until_whole(servers, stack)
    assert answers(stack, "get", "configmap", "before")
    assert stack.preview_changes() == {}


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_another_server_takes_the_place_of_a_lost_one(servers: PlainHosts, stack: Deployment) -> None:
    lost, now = CONTROL[0], (*CONTROL[1:], SPARE)
    servers.power_off(lost)
    servers.add(SPARE)
    (stack.home / "lab.yaml").write_text(blueprint(servers, now))
    done = stack.clusterwright("up", "--abandon", lost)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    wait_until_whole(servers, stack, now)
    assert answers(stack, "get", "configmap", "before")
    assert stack.preview_changes() == {}


@pytest.mark.timeout(LIFE_WITHIN_S)
def test_down_releases_the_servers(servers: PlainHosts, stack: Deployment) -> None:
    stack.down()
    released = (*CONTROL[1:], SPARE, NODE)
    assert {name: left(servers, name) for name in released} == dict.fromkeys(released, "0\n")
    assert not any(servers.inside(name, "ip", "-4", "address", "show", "to", address(servers)) for name in released)
