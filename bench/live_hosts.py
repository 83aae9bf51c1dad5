"""`check --live` of 64 hosts. They are the addresses of eight plain servers of this machine, whose sshd, sudo and Python compete with the command for its cores."""

import ipaddress
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from blueprints.codes import Code
from blueprints.project import project_root
from components.local.machine import cgroup
from tests.hosts.plain import PlainHosts, plain_hosts

from . import bars, machine

HOSTS, SERVERS = 64, 8
FIRST_ADDRESS = 100
"""In the servers' network."""
EXIT_INVALID = 2
"""One machine under several names is an error, and here it is meant."""


def live_hosts(home: Path) -> Iterator[dict[str, Any]]:
    with plain_hosts("bench", SERVERS) as servers:
        file = home / "bench.yaml"
        file.write_text(json.dumps(_blueprint(servers)))
        words = ["clusterwright", "check", str(file), "--target", "metal", "--live", "--json"]
        before_s = machine.group_cpu_s(cgroup.of_stack(servers.names))
        found = machine.measured(words, environment=os.environ, cwd=project_root(), statuses=(EXIT_INVALID,))
        of_servers_s = machine.group_cpu_s(cgroup.of_stack(servers.names)) - before_s
        said = json.loads(found.output)
        if said["hosts"]["asked"] != said["hosts"]["answered"] or {one["code"] for one in said["findings"] if one["level"] == "error"} != {Code.MACHINE_TWICE}:
            raise RuntimeError(f"not all hosts answered as they should: {found.output}")
        yield bars.bar(
            f"check --live of {HOSTS} hosts", found.wall_s, 15, "s", f"clusterwright check --live; {SERVERS} servers of this machine have their addresses"
        )
        how = "cpu accounting of the groups of the command and of the servers; two cores give 30 s in 15 s"
        yield bars.bar("processor time of that, the servers' included", round(found.cpu_s + of_servers_s, 1), 30, "CPU-s", how)


def _blueprint(servers: PlainHosts) -> dict[str, Any]:
    """Name each server several times, with an address for each name."""
    network, own = ipaddress.ip_network(servers.cidr), [*servers.servers.values()]
    inventory = servers.inventory()
    inventory["hosts"] = {}
    for number in range(HOSTS):
        server, address = own[number % SERVERS], str(network[FIRST_ADDRESS + number])
        servers.inside(server.name, "ip", "address", "add", f"{address}/{network.prefixlen}", "dev", "host0")
        inventory["hosts"][f"host-{number + 1:03}"] = {"address": address, "host_key": server.host_key}
    return {
        "name": "bench",
        "software": "debian-13",
        "inventory": inventory,
        "control": {"hosts": "host-001"},
        "access": {"hosts": "host-002"},
        "storage": {"home": {"kind": "existing", "mount": "/home", "source": "192.0.2.5:/home"}},
        "pools": {"train": {"hosts": f"host-[003-{HOSTS:03}]", "partition": {"default": True}}},
        "accounts": {"research": {}},
        "users": {"ada": {"uid": 2001, "account": "research"}},
        "targets": {"metal": {"network": {"cidr": servers.cidr}}},
    }
