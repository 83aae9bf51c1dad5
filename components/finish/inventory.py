"""Ansible's inventory, from what the targets say of their hosts. Pure."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class FinishedHost:
    """A host as finishing sees it."""

    name: str
    address: str
    incarnation: str
    """New whenever the host's disk is."""
    host_key: str
    """Public SSH key (`ssh-ed25519 AAAA…`), known from the host's making: its first connection is verified too."""


def inventory(groups: Mapping[str, Iterable[FinishedHost]]) -> dict[str, Any]:
    """Give the inventory in the form of Ansible's YAML plugin."""
    return {
        group: {
            "hosts": {host.name: {"ansible_host": host.address, "ansible_user": "root", "incarnation": host.incarnation, "node_group": group} for host in hosts}
        }
        for group, hosts in groups.items()
    }


def known_hosts(hosts: Iterable[FinishedHost]) -> tuple[str, ...]:
    """Lines of known_hosts(5) for addresses and names."""
    return tuple(f"{host.address},{host.name} {host.host_key}" for host in hosts)
