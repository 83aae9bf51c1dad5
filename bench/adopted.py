"""Servers that exist already: 16 plain servers of this machine become a cluster. They compete with the command for its cores, so that processor time says more than the clock.

Their package cache (apt-cacher-ng on the control host) begins with what an adoption of three such servers left in it: a site adopts its first servers once.
"""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from blueprints.project import project_root
from components.local.machine import cgroup, command
from tests.hosts.deployment import Deployment, deployment
from tests.hosts.plain import HOMES, PlainHosts, plain_hosts

from . import bars, machine

SERVERS = 16
CONTROL, LOGIN = "head-1", "login-1"
NODES = tuple(f"gpu-{number:03}" for number in range(1, SERVERS - 1))
NAME = "bench-adopted"
PACKAGES = "/var/cache/apt-cacher-ng"


def adopted(home: Path) -> Iterator[dict[str, Any]]:
    """Adopt 16 servers, change nothing, release them."""
    packages = _packages(home)
    with plain_hosts(NAME, SERVERS, names=(CONTROL, LOGIN, *NODES), shared=HOMES) as servers:
        command.run("tar", "--extract", f"--file={packages}", f"--directory={servers[CONTROL].names.root}")
        with deployment(NAME, home, target="metal", blueprint=_written(servers, NODES, home)) as stack:
            yield from _timed(servers, stack, "up", f"up of {SERVERS} servers", within_s=240)
            yield from _timed(servers, stack, "up", f"up of {SERVERS} servers without changes", within_s=10)
            exported = json.loads(stack.run("pulumi", "stack", "export", "--stack", stack.stack).stdout)
            yield bars.bar(f"resources of a stack with {SERVERS} servers", len(exported["deployment"]["resources"]), 17, "resources", "pulumi stack export")
            yield from _timed(servers, stack, "down", f"release of {SERVERS} servers", within_s=120)


def _packages(home: Path) -> Path:
    """Give an archive of the package cache as an adoption of one server of each kind leaves it."""
    archive, nodes = home / "packages.tar", NODES[:1]
    with (
        plain_hosts(NAME, 2 + len(nodes), names=(CONTROL, LOGIN, *nodes), shared=HOMES) as servers,
        deployment(NAME, home / "first", target="metal", blueprint=_written(servers, nodes, home)) as stack,
    ):
        stack.up()
        # Whatever number the program's user gets on another server, it may write there.
        command.run("tar", "--create", "--mode=a+rwX", f"--file={archive}", f"--directory={servers[CONTROL].names.root}", PACKAGES.removeprefix("/"))
    return archive


def _written(servers: PlainHosts, nodes: Sequence[str], home: Path) -> str:
    file = home / "lab.yaml"
    file.write_text(json.dumps(_blueprint(servers, nodes)))
    return str(file)


def _timed(servers: PlainHosts, stack: Deployment, verb: str, what: str, *, within_s: float) -> Iterator[dict[str, Any]]:
    """Measure a command by the clock, and by the processor time that it and the servers take: the clock also counts what else the machine does."""
    before_s = machine.group_cpu_s(cgroup.of_stack(servers.names))
    load = os.getloadavg()[0]
    done = machine.measured(["clusterwright", verb, "--stack", stack.stack], environment=stack.environment, cwd=project_root())
    of_servers_s = machine.group_cpu_s(cgroup.of_stack(servers.names)) - before_s
    yield bars.bar(what, done.wall_s, within_s, "s", f"clusterwright {verb}, at a load of {load:.0f} before it")
    how = f"cpu accounting: {done.cpu_s:.1f} of the command, {of_servers_s:.1f} of the servers; two cores give {2 * within_s:.0f} s in {within_s:.0f} s"
    yield bars.bar("processor time of that, the servers' included", round(done.cpu_s + of_servers_s, 1), 2 * within_s, "CPU-s", how)


def _blueprint(servers: PlainHosts, nodes: Sequence[str]) -> dict[str, Any]:
    return {
        "name": "bench",
        "software": "debian-13",
        "inventory": {**servers.inventory(), "package_cache": True},
        "network": {"cidr": servers.cidr},
        "control": {"hosts": CONTROL},
        "access": {"hosts": LOGIN},
        "storage": {"home": {"kind": "existing", "mount": HOMES, "source": HOMES}},
        "pools": {"train": {"hosts": ",".join(nodes)}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
    }
