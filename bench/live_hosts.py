"""`check --live` of 64 plain servers of this machine: their own sshd, sudo and Python compete with the command for its cores."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import cgroup
from tests.hosts.plain import PlainHosts, plain_hosts

from . import bars, machine

SERVERS = 64


def live_hosts(home: Path) -> Iterator[dict[str, Any]]:
    with plain_hosts("bench", SERVERS) as servers:
        file = home / "bench.yaml"
        file.write_text(json.dumps(_blueprint(servers)))
        words = ["clusterwright", "check", str(file), "--target", "metal", "--live", "--json"]
        before_s = machine.group_cpu_s(cgroup.of_stack(servers.names))
        found = machine.measured(words, environment=os.environ, cwd=project_root())
        of_servers_s = machine.group_cpu_s(cgroup.of_stack(servers.names)) - before_s
        answered = json.loads(found.output)["hosts"]
        if answered["unreachable"] or answered["asked"] != answered["answered"]:
            raise RuntimeError(f"not all servers answered: {answered}")
        yield bars.bar(f"check --live of {SERVERS} servers", found.wall_s, 15, "s", "clusterwright check --live; the servers run on the same machine")
        how = "cpu accounting of the groups of the command and of the servers; two cores give 30 s in 15 s"
        yield bars.bar("processor time of that, the servers' included", round(found.cpu_s + of_servers_s, 1), 30, "CPU-s", how)


def _blueprint(servers: PlainHosts) -> dict[str, Any]:
    first, second, *nodes = servers.servers
    return {
        "name": "bench",
        "software": "debian-13",
        "inventory": servers.inventory(),
        "control": {"hosts": first},
        "access": {"hosts": second},
        "storage": {"home": {"kind": "existing", "mount": "/home", "source": "192.0.2.5:/home"}},
        "pools": {"train": {"hosts": nodes, "partition": {"default": True}}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        "targets": {"metal": {"network": {"cidr": servers.cidr}}},
    }
