"""Hosts on this very machine: what each declares to the scheduler, and what about them is not the real thing.

Every host sees all of the machine's processors and declares their layout. Of the memory it declares a share: half of the machine's memory divided by the number
of hosts, rounded down to a power of two, so that a node more seldom changes what the others declare; 512 MiB at least. A pool that sets `cpus_per_node` or
`memory` declares that instead; beyond what the machine has it is a rehearsal, and cores and memory are not confined.
"""

import dataclasses

from . import display, spec
from .facts import Facts

LEAST_MEMORY_MIB = 512


def machine(facts: Facts, *, hosts: int) -> spec.Machine:
    """Declare one of so many hosts."""
    share = max(LEAST_MEMORY_MIB, facts.memory_mib // 2 // hosts)
    memory_mib = 2 ** (share.bit_length() - 1)
    return spec.Machine("local", facts.sockets, facts.cores_per_socket, facts.threads_per_core, memory_mib, gpus=None, exists=True)


def declared(base: spec.Machine, facts: Facts, *, cpus: int | None, memory_mib: int | None, gpus: spec.Gpus | None) -> spec.Machine:
    """Declare a compute node: the machine as it is, but for what its pool sets.

    Args:
        cpus: logical processors. A number that the machine doesn't have becomes one socket, with the machine's threads per core where they divide it.
    """
    wanted = dataclasses.replace(base, gpus=gpus, memory_mib=memory_mib or base.memory_mib)
    if cpus is not None and cpus != base.cpus:
        threads = base.threads_per_core if cpus % base.threads_per_core == 0 else 1
        wanted = dataclasses.replace(wanted, sockets=1, cores_per_socket=cpus // threads, threads_per_core=threads)
    exists = wanted.cpus <= facts.cpus and wanted.memory_mib <= max(facts.memory_mib, base.memory_mib)
    return dataclasses.replace(wanted, exists=exists)


def simulated(cluster: spec.ClusterSpec, facts: Facts, *, database: str) -> tuple[str, ...]:
    """Say, one sentence each, what is not the real thing.

    Args:
        database: where the blueprint wants the accounting database.
    """
    sentences = [*_gpus(cluster), *_storage(cluster)]
    if database == "managed":
        sentences.append("The managed accounting database is MariaDB on the controller.")
    sentences.append(f"All hosts share the {facts.cpus} processors and the memory of this machine.")
    if whole := [node_set.pool for node_set in cluster.node_sets if node_set.hosts.machine.cpus == facts.cpus]:
        sentences.append(f"Each node of {display.listed(whole)} declares all of the processors.")
    sentences += [_larger(node_set) for node_set in cluster.node_sets if not node_set.hosts.machine.exists]
    if sum(node_set.hosts.count for node_set in cluster.node_sets) > 1:
        sentences.append("There is no fabric between the GPUs: collectives run over the Ethernet inside this machine, and their speed says nothing of another.")
    return tuple(sentences)


def _gpus(cluster: spec.ClusterSpec) -> list[str]:
    counts: dict[str, int] = {}
    for node_set in cluster.node_sets:
        if gpus := node_set.hosts.machine.gpus:
            counts[gpus.type] = counts.get(gpus.type, 0) + gpus.count * node_set.hosts.count
    if not counts:
        return []
    names = display.listed(f"{count} {name}" for name, count in counts.items())
    return [f"The GPUs ({names}) are device nodes without hardware: Slurm schedules and confines them, and nothing computes on them."]


def _storage(cluster: spec.ClusterSpec) -> list[str]:
    if not cluster.storage:
        return []
    mounts = display.listed(f"{entry.mount} ({entry.kind})" for entry in cluster.storage)
    return [f"Shared storage, {mounts}, is a folder of this machine, whatever its kind."]


def _larger(node_set: spec.NodeSet) -> str:
    machine = node_set.hosts.machine
    size = f"{machine.cpus} processors and {machine.memory_mib} MiB of memory"
    return f"Each node of {node_set.pool} declares {size}, more than this machine has: cores and memory are not confined there."
