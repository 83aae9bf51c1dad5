"""Servers that exist already: 16 plain servers of this machine become a cluster. They compete with the command for its cores, so that processor time says more than the clock."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import cgroup
from tests.hosts.deployment import deployment
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

            def timed(command: str) -> tuple[machine.Measured, float]:
                before_s = machine.group_cpu_s(cgroup.of_stack(servers.names))
                done = machine.measured(["clusterwright", command, "--stack", stack.stack], environment=stack.environment, cwd=project_root())
                return done, machine.group_cpu_s(cgroup.of_stack(servers.names)) - before_s

            up, of_servers_s = timed("up")
            yield bars.bar(
                f"up of {SERVERS} servers", up.wall_s, 240, "s", f"clusterwright up; {up.cpu_s:.0f} CPU-s of the command, {of_servers_s:.0f} of the servers"
            )
            again, of_servers_s = timed("up")
            yield bars.bar(
                f"up of {SERVERS} servers without changes",
                again.wall_s,
                10,
                "s",
                f"clusterwright up; {again.cpu_s:.0f} CPU-s, {of_servers_s:.0f} of the servers",
            )
            exported = json.loads(stack.run("pulumi", "stack", "export", "--stack", stack.stack).stdout)
            yield bars.bar(f"resources of a stack with {SERVERS} servers", len(exported["deployment"]["resources"]), 17, "resources", "pulumi stack export")
            down, of_servers_s = timed("down")
            yield bars.bar(
                f"release of {SERVERS} servers", down.wall_s, 120, "s", f"clusterwright down; {down.cpu_s:.0f} CPU-s, {of_servers_s:.0f} of the servers"
            )


def _blueprint(servers: PlainHosts) -> dict[str, Any]:
    return {
        "name": "bench",
        "software": "debian-13",
        "inventory": servers.inventory(),
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOMES, "source": HOMES}},
        "pools": {"train": {"hosts": ",".join(NODES)}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }
