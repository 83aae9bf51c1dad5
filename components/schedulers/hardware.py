"""What hosts that exist already say: their hardware, for node sets that the blueprint does not describe, and which of them are there. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints import hostlist
from blueprints.spec import ClusterSpec, NodeSet

Hardware = Mapping[str, int]
"""`sockets`, `cores_per_socket`, `threads_per_core`, `memory_mib`: slurm.conf(5) means the same."""

SHARE, SYSTEM_MIB = 0.95, 256
"""Of a host's memory, what jobs get at most: the kernel shows a little more or less after each boot, and the system needs some. As on the instances of clouds (role slurm_config)."""


def described(spec: ClusterSpec, known: Mapping[str, Hardware]) -> ClusterSpec:
    """Give the cluster with the hardware of node sets that the blueprint leaves to their hosts: what each host of the set has.

    Args:
        known: hostname → what the host says.
    """
    return spec.with_node_sets(lambda one: _described(one, [known[name] for name in one.hosts.hostnames if known.get(name)]))


def present(spec: ClusterSpec, known: Mapping[str, Sequence[str]]) -> ClusterSpec:
    """Give the cluster without nodes that do not answer, of node sets that may lack some.

    Args:
        known: group → its hosts that answer.
    """
    return spec.with_node_sets(lambda one: _present(one, [*known.get(one.hosts.name, ())]))


def _present(node_set: NodeSet, names: Sequence[str]) -> NodeSet:
    if len(names) >= node_set.hosts.count:
        return node_set
    return dataclasses.replace(node_set, hosts=dataclasses.replace(node_set.hosts, count=len(names), members=hostlist.compress(names)))


def _described(node_set: NodeSet, of_hosts: Sequence[Hardware]) -> NodeSet:
    machine = node_set.hosts.machine
    own: dict[str, Any] = {}
    if not machine.cores_per_socket:
        cores = least(of_hosts)  # the engine keeps all numbers as floating-point ones
        own |= {name: int(cores[name]) for name in ("sockets", "cores_per_socket", "threads_per_core")}
    if not machine.memory_mib:
        own["memory_mib"] = max(1, int(min((one["memory_mib"] for one in of_hosts), default=1) * SHARE) - SYSTEM_MIB)
    if not own:
        return node_set
    return dataclasses.replace(node_set, hosts=dataclasses.replace(node_set.hosts, machine=dataclasses.replace(machine, **own)))


def least(of_hosts: Sequence[Hardware]) -> Hardware:
    """Give the processors of the host with the fewest; one processor where no host is known."""
    found = sorted(of_hosts, key=lambda one: one["sockets"] * one["cores_per_socket"] * one["threads_per_core"])
    return found[0] if found else {"sockets": 1, "cores_per_socket": 1, "threads_per_core": 1, "memory_mib": 1}
