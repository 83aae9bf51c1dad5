"""Ansible's inventory, from what the targets say of their hosts. Pure."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from blueprints import ssh_places

COMPUTE = "compute"
"""Ansible's group of the hosts of a pool."""


@dataclasses.dataclass(frozen=True, slots=True)
class FinishedHost:
    """A host as finishing sees it."""

    name: str
    address: str
    incarnation: str
    """New whenever the host's disk is."""
    host_key: str
    """Public SSH key (`ssh-ed25519 AAAA…`), known from the host's making: its first connection is verified too."""
    jump: str = ""
    """The host that it is reached through; empty: it is reached directly."""
    jump_key: str = ""
    """Public SSH key that the jump host answers with."""
    jump_command: str = ""
    """What carries the connection to the jump host (ssh_config(5), ProxyCommand); empty: the network."""
    interfaces: tuple[dict[str, Any], ...] | None = None
    """Network interfaces that finishing sets up (`blueprints.spec.SiteInterface`); None: the target has set up all. An empty tuple takes back what was set up earlier."""
    port: int = ssh_places.SSH_PORT
    """Of its SSH server."""


# The way through another host: with this run's own key and known hosts, which `supervise` gives to Ansible in these variables.
_THROUGH = (
    """-o ProxyCommand="ssh {{ lookup('ansible.builtin.env', 'ANSIBLE_SSH_ARGS') }} """
    """-i {{ lookup('ansible.builtin.env', 'ANSIBLE_PRIVATE_KEY_FILE') }} CARRIED-W [%h]:%p root@JUMP\""""
)


def inventory(groups: Mapping[str, Iterable[FinishedHost]], *, pool: str = "") -> dict[str, Any]:
    """Give the inventory in the form of Ansible's YAML plugin.

    Args:
        groups: Ansible's group → its hosts.
        pool: name by which the spec knows the hosts of `compute`, for Ansible's variable `node_group`; empty: its own.
    """
    named = {COMPUTE: pool or COMPUTE}
    return {group: {"hosts": {host.name: _variables(host, named.get(group, group)) for host in hosts}} for group, hosts in groups.items()}


def known_hosts(hosts: Iterable[FinishedHost]) -> tuple[str, ...]:
    """Lines of known_hosts(5) for addresses and names."""
    known = [*hosts]
    own = [f"{','.join(ssh_places.known_place(place, host.port) for place in (host.address, host.name))} {host.host_key}" for host in known]
    return (*own, *dict.fromkeys(f"{host.jump} {host.jump_key}" for host in known if host.jump))


def _variables(host: FinishedHost, group: str) -> dict[str, Any]:
    carried = f"-o {shlex.quote(f'ProxyCommand={host.jump_command}')} " if host.jump_command else ""
    through = {"ansible_ssh_common_args": _THROUGH.replace("JUMP", host.jump).replace("CARRIED", carried)} if host.jump else {}
    own: dict[str, Any] = {} if host.interfaces is None else {"interfaces": [*host.interfaces]}
    if host.port != ssh_places.SSH_PORT:
        own["ansible_port"] = host.port
    return {"ansible_host": host.address, "ansible_user": "root", "incarnation": host.incarnation, "node_group": group, **own, **through}
