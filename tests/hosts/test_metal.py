"""Servers that no stack made become a cluster, and are released: one life of a stack on bare metal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import plain
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.plain import PlainHosts

pytestmark = pytest.mark.hosts

CONTROL, LOGIN, NODES = "head-1", "login-1", ("gpu-001", "gpu-002")
HOME = "/home"


def blueprint(servers: PlainHosts, **others: Any) -> dict[str, Any]:
    """Write a blueprint for servers: a controller, a login node, and a pool of all others."""
    pool = ",".join(name for name in servers.servers if name not in (CONTROL, LOGIN))
    return {
        "name": "lab",
        "description": "servers of a test",
        "software": "debian-13",
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOME, "source": HOME}},
        "pools": {"train": {"hosts": pool}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        **others,
    }


def write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document))


@pytest.fixture(scope="module")
def servers() -> Iterator[PlainHosts]:
    with plain.plain_hosts("path-life", 4, names=(CONTROL, LOGIN, *NODES), shared=HOME) as found:
        yield found


@pytest.fixture(scope="module")
def stack(servers: PlainHosts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A stack on all of the servers, up."""
    folder = tmp_path_factory.mktemp("metal")
    write(folder / "lab.yaml", blueprint(servers))
    with deployment("test-metal", folder, target="metal", blueprint=str(folder / "lab.yaml")) as one:
        one.up()
        yield one


def test_servers_become_a_cluster_and_are_released(servers: PlainHosts, stack: Deployment) -> None:
    assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == [*NODES]
    assert stack.ssh("sinfo --noheader --format='%D %t'").split() == ["2", "idle"]
    assert "13 unchanged" in stack.up()
    owner = json.loads(servers.ssh(CONTROL, "sudo cat /etc/clusterwright/owner.json"))
    assert owner["stack"] == stack.stack
    stack.down()
    for name in servers.servers:
        left = servers.ssh(
            name, "ls /etc/clusterwright /etc/slurm 2>/dev/null; pgrep -l 'slurm|munge|maria' || true; sudo cat /root/.ssh/authorized_keys 2>/dev/null || true"
        )
        assert left == "", (name, left)
