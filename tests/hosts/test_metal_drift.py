"""Drift of servers that exist already: all that was planted is found, `drift fix` repairs it, and what the owner had before is neither found nor touched."""

import json
from pathlib import Path

import pytest

from tests.hosts import plain, planted, rails, test_metal
from tests.hosts.deployment import Deployment, deployment

pytestmark = [pytest.mark.hosts, pytest.mark.soak]

ROUTES = [{"to": "10.40.0.0/16", "via": "10.40.1.1"}]
OWN = r"""
set -eu
mkdir -p -m 700 /root/.ssh
ssh-keygen -q -t ed25519 -N '' -C owner -f /root/key
cat /root/key.pub >/root/.ssh/authorized_keys
echo 'alias ll="ls -l"' >>/root/.bashrc
printf '[Service]\nExecStart=/bin/true\n' >/usr/lib/systemd/system/vendor-agent.service
cp /bin/true /usr/bin/vendor-helper
chmod 4755 /usr/bin/vendor-helper
"""
"""What an owner has that no package brought, and that a check would report on a host of a cloud."""


def findings(stack: Deployment) -> list[str]:
    done = stack.clusterwright("drift", "--json", "--history", str(stack.home / "history"))
    assert done.returncode in (0, 7), done.stdout[-3000:] + done.stderr[-3000:]
    return [f"{one['layer']} {one['code']} {one['where']}" for one in json.loads(done.stdout)["findings"]]


@pytest.mark.timeout(test_metal.LIFE_WITHIN_S)
def test_what_was_planted_on_servers_is_found_and_repaired(tmp_path: Path) -> None:
    names = (test_metal.CONTROL, test_metal.LOGIN, *test_metal.NODES)
    with plain.plain_hosts("path-drift", 4, names=names, interfaces=2, shared=test_metal.HOME) as servers:
        servers.inside_all("gpu-001", "sh", "-c", OWN)
        document = test_metal.blueprint(servers)
        for name in test_metal.NODES:
            document["inventory"]["hosts"][name]["interfaces"] = {one.pop("name"): one for one in rails.rails(servers[name], routes=ROUTES)}
        test_metal.write(tmp_path / "lab.yaml", document)
        with deployment("test-metal-drift", tmp_path, target="metal", blueprint=str(tmp_path / "lab.yaml")) as stack:
            stack.up()
            assert findings(stack) == []
            keys = servers.inside("gpu-001", "cat", "/root/.ssh/authorized_keys")
            for plant in planted.ADOPTED:
                servers.inside_all(plant.host, "sh", "-c", plant.command)
            assert planted.mismatch(findings(stack), planted.expected([], planted.ADOPTED)) == ([], [])
            done = stack.clusterwright("drift", "fix", "--yes")
            assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
            assert findings(stack) == []
            assert servers.inside("gpu-001", "cat", "/root/.ssh/authorized_keys") == keys
            assert servers.inside("gpu-001", "cat", "/root/key.pub") in keys
            assert sorted(stack.ssh("srun --nodes=2 hostname").split()) == [*test_metal.NODES]
