"""Servers that exist already: 16 plain servers of this machine become a cluster. They compete with the command for its cores, so that processor time says more than the clock."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import cgroup
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.plain import HOMES, PlainHosts, plain_hosts

from . import bars, machine

SERVERS = 16
CONTROL, LOGIN = "head-1", "login-1"
NODES = tuple(f"gpu-{number:03}" for number in range(1, SERVERS - 1))


def adopted(home: Path) -> Iterator[dict[str, Any]]:
    """Adopt 16 servers, change nothing, release them."""
    with plain_hosts("bench-adopted", SERVERS, names=(CONTROL, LOGIN, *NODES), shared=HOMES) as servers:
        file = home / "lab.yaml"
        file.write_text(json.dumps(_blueprint(servers)))
        with deployment("bench-adopted", home, target="metal", blueprint=str(file)) as stack:
            yield from _timed(servers, stack, "up", f"up of {SERVERS} servers", within_s=240)
            yield from _timed(servers, stack, "up", f"up of {SERVERS} servers without changes", within_s=10)
            exported = json.loads(stack.run("pulumi", "stack", "export", "--stack", stack.stack).stdout)
            yield bars.bar(f"resources of a stack with {SERVERS} servers", len(exported["deployment"]["resources"]), 17, "resources", "pulumi stack export")
            yield from _timed(servers, stack, "down", f"release of {SERVERS} servers", within_s=120)


def _timed(servers: PlainHosts, stack: Deployment, command: str, what: str, *, within_s: float) -> Iterator[dict[str, Any]]:
    """Measure a command by the clock, and by the processor time that it and the servers take: the clock also counts what else the machine does."""
    before_s = machine.group_cpu_s(cgroup.of_stack(servers.names))
    load = os.getloadavg()[0]
    done = machine.measured(["clusterwright", command, "--stack", stack.stack], environment=stack.environment, cwd=project_root())
    of_servers_s = machine.group_cpu_s(cgroup.of_stack(servers.names)) - before_s
    yield bars.bar(what, done.wall_s, within_s, "s", f"clusterwright {command}, at a load of {load:.0f} before it")
    how = f"cpu accounting: {done.cpu_s:.1f} of the command, {of_servers_s:.1f} of the servers; two cores give {2 * within_s:.0f} s in {within_s:.0f} s"
    yield bars.bar("processor time of that, the servers' included", round(done.cpu_s + of_servers_s, 1), 2 * within_s, "CPU-s", how)


def _blueprint(servers: PlainHosts) -> dict[str, Any]:
    return {
        "name": "bench",
        "software": "debian-13",
        "inventory": {**servers.inventory(), "package_cache": True},
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOMES, "source": HOMES}},
        "pools": {"train": {"hosts": ",".join(NODES)}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }
