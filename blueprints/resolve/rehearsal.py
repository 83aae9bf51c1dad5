"""Hosts on this machine: what each declares to the scheduler, and what is simulated.

Every host sees all of the machine's processors and declares their layout. It declares a share of the memory: an eighth of the machine's memory, rounded down to a
power of two, at least 512 MiB, whatever the number of hosts, so that one more node changes nothing of the others. A pool that names a machine of any target
declares the hardware of that machine; a pool that sets `cpus_per_node` or `memory` declares these. Cores and memory that exceed this machine
are not confined by cgroups.
"""

import dataclasses

from .. import catalog, language, message_text, spec
from ..codes import Code
from ..facts import Facts
from ..language import values
from . import counts, machines
from .context import Context

LEAST_MEMORY_MIB = 512
SHARES = 8
"""Into so many shares the memory of the machine is divided; hosts beyond share with the others, as they do the processors."""
_DATABASE = "The managed accounting database is MariaDB on the controller."
_DATABASE_OF_TWO = (
    "The managed accounting database is MariaDB on the first controller: while that is lost, records of jobs wait, and accounts can't be asked for or changed."
)
_SCHEDULED = {
    (counts.SLURM,): "Slurm schedules and confines them",
    (counts.KUBERNETES,): "Kubernetes schedules and confines them",
    (counts.SLURM, counts.KUBERNETES): "Slurm and Kubernetes schedule them",
}


def machine(context: Context) -> spec.Machine:
    """Describe one of the cluster's own hosts."""
    facts = context.facts
    share = max(LEAST_MEMORY_MIB, facts.memory_mib // 2 // max(1, counts.hosts(context)) if facts.declares_by_count else facts.memory_mib // SHARES)
    memory_mib = 2 ** (share.bit_length() - 1)
    return spec.Machine(context.target.name, facts.sockets, facts.cores_per_socket, facts.threads_per_core, memory_mib, gpus=None, exists=True)


def nodes(context: Context, name: str, pool: language.Pool) -> tuple[tuple[spec.Machine, str], ...]:
    """Describe the nodes of a pool for each machine that it names, with the reason of the choice."""
    named = machines.named(context, name, pool)
    if not named:
        return ((declared(context, pool, gpus=_gpus(context, name, pool)), "this machine"),)
    base = machine(context)
    known = [machines.look_up(context, wanted, path, targets=catalog.target_names()) for wanted, path in named]
    found = []
    for one in known:
        if one is None:
            found.append((declared(context, pool, gpus=None, base=base), "this machine"))
            continue
        machines.check_agrees(context, name, pool, one)
        declares = declared(context, pool, gpus=_simulated_gpus(one, pool), known=one, base=base)
        found.append((declares, f"declares what {one.name} has, as the blueprint names it"))
    return tuple(found)


def declared(
    context: Context, pool: language.Pool, *, gpus: spec.Gpus | None, known: catalog.MachineType | None = None, base: spec.Machine | None = None
) -> spec.Machine:
    """Describe a compute node: this machine or a known one, with the values that its pool sets.

    A number of processors that the machine doesn't have becomes one socket, with the machine's threads per core where they divide it.
    """
    base = base or machine(context)
    wanted = dataclasses.replace(base, gpus=gpus)
    if known is not None:
        wanted = _like(wanted, known)
    if pool.memory:
        wanted = dataclasses.replace(wanted, memory_mib=values.memory_mib(pool.memory))
    cpus = pool.cpus_per_node
    if cpus is not None and cpus != wanted.cpus:
        threads = wanted.threads_per_core if cpus % wanted.threads_per_core == 0 else 1
        wanted = dataclasses.replace(wanted, sockets=1, cores_per_socket=cpus // threads, threads_per_core=threads)
    exists = wanted.cpus <= context.facts.cpus and wanted.memory_mib <= max(context.facts.memory_mib, base.memory_mib)
    return dataclasses.replace(wanted, exists=exists)


def check_memory(context: Context) -> None:
    """Find more hosts than fit into this machine's memory."""
    if not context.is_rehearsal:
        return
    numbers = {role: number for role, number in counts.by_role(context).items() if number}
    sizes = {role: context.target.host_memory_mib[role] for role in numbers}
    needed = sum(number * sizes[role] for role, number in numbers.items())
    if needed <= context.facts.memory_mib:
        return
    what = f"{counts.hosts(context)} hosts don't fit into the memory of {context.target.title}"
    each = message_text.listed(f"{size} MiB for each {role.replace('_', ' ')} host" for role, size in sizes.items())
    why = f"they need {needed} MiB of memory ({each}), and it has {context.facts.memory_mib} MiB"
    context.error(
        Code.REHEARSAL_TOO_LARGE, "pools", what=what, why=why, remedy="write fewer nodes under `targets.local.pools`, or rehearse on a larger machine"
    )


def _like(wanted: spec.Machine, known: catalog.MachineType) -> spec.Machine:
    """Copy the processors and the memory of a machine, if known."""
    if known.vcpus:
        wanted = dataclasses.replace(wanted, sockets=known.sockets, cores_per_socket=known.cores_per_socket, threads_per_core=known.threads_per_core)
    return dataclasses.replace(wanted, memory_mib=int(known.memory_gib * machines.MIB_PER_GIB) or wanted.memory_mib)


def _simulated_gpus(known: catalog.MachineType, pool: language.Pool) -> spec.Gpus | None:
    real = machines.as_spec(known, nics=(), mig=machines.mig(pool)).gpus
    return dataclasses.replace(real, simulated=True) if real else None


def _gpus(context: Context, name: str, pool: language.Pool) -> spec.Gpus | None:
    if pool.accelerator is None and pool.gpus_per_node is None:
        return None
    is_known = machines.check_gpus(context, name, pool)
    if pool.accelerator is None or pool.gpus_per_node is None:
        return None
    if is_known:
        _check_count(context, name, pool, catalog.accelerators()[pool.accelerator])
    return spec.Gpus(pool.accelerator, pool.gpus_per_node, simulated=True, mig=machines.mig(pool))


def _check_count(context: Context, name: str, pool: language.Pool, entry: catalog.Accelerator) -> None:
    if pool.gpus_per_node in entry.per_node:
        return
    what = f"no known machine has {pool.gpus_per_node} {entry.name} GPUs"
    why = f"known machines have {message_text.listed(entry.per_node)}; the target `local` accepts any number because it simulates GPUs"
    remedy = "choose one of these numbers for a blueprint that runs on real machines"
    context.warning(Code.GPU_COUNT_UNKNOWN, "pools", name, "gpus_per_node", what=what, why=why, remedy=remedy)


def simulated(cluster: spec.ClusterSpec, facts: Facts, blueprint: language.Blueprint) -> tuple[str, ...]:
    """List what is simulated, one sentence each. Stacks record these sentences: changing one changes their inputs."""
    sentences = [*_simulated_gpu_sentences(cluster), *_storage(cluster)]
    if any(group.members for group in cluster.host_groups):
        sentences.append("The hosts of the inventory are containers of this machine: they have its names, and addresses of the stack's own network.")
    if cluster.kubernetes and any(one.name == "kwok" for one in cluster.kubernetes.addons):
        known = [f"{one.count} nodes of {one.name}" for one in cluster.kubernetes.kwok_nodes]
        which = f"The {message_text.listed(known)}, and nodes that you add with kwok," if known else "Nodes that you add with kwok"
        sentences.append(f"{which} are simulated: they exist in the API alone, and nothing runs in their pods.")
    if cluster.kubernetes and cluster.kubernetes.secondary_networks:
        names = message_text.listed(one.name for one in cluster.kubernetes.secondary_networks)
        sentences.append(f"The hosts have no interfaces of their own for {names}: pods get theirs on the hosts' only one.")
    if cluster.controllers and blueprint.accounting.database == "managed":
        sentences.append(_DATABASE if cluster.controllers == 1 else _DATABASE_OF_TWO)
    if cluster.controllers and catalog.asks_for_service(blueprint.control.managed, counts.SLURM):
        sentences.append("The managed scheduler is Slurm on a controller of this machine.")
    if cluster.controllers > 1:
        sentences.append("Both controllers run on this machine, and their shared state is a folder of it: neither survives the machine.")
    sentences.append(f"All hosts share the {facts.cpus} processors and the memory of this machine.")
    if whole := list(dict.fromkeys(node_set.pool for node_set in cluster.node_sets if node_set.hosts.machine.cpus == facts.cpus)):
        sentences.append(f"Each node of {message_text.listed(whole)} declares all of the processors.")
    sentences += [_larger(node_set) for node_set in cluster.node_sets if not node_set.hosts.machine.exists]
    if sum(node_set.hosts.count for node_set in cluster.node_sets) > 1:
        sentences.append("There is no fabric between the GPUs: collectives run over the Ethernet inside this machine, and their speed says nothing of another.")
    return tuple(sentences)


def _simulated_gpu_sentences(cluster: spec.ClusterSpec) -> list[str]:
    counts: dict[str, int] = {}
    for node_set in cluster.node_sets:
        if gpus := node_set.hosts.machine.gpus:
            counts[gpus.type] = counts.get(gpus.type, 0) + gpus.count * node_set.hosts.count
    if not counts:
        return []
    names = message_text.listed(f"{count} {name}" for name, count in counts.items())
    return [f"The GPUs ({names}) are device nodes without hardware: {_SCHEDULED[cluster.schedulers]}, and nothing computes on them."]


def _storage(cluster: spec.ClusterSpec) -> list[str]:
    if not cluster.storage:
        return []
    mounts = message_text.listed(f"{entry.mount} ({entry.kind})" for entry in cluster.storage)
    return [f"Shared storage, {mounts}, is a folder of this machine, whatever its kind."]


def _larger(node_set: spec.NodeSet) -> str:
    machine = node_set.hosts.machine
    size = f"{machine.cpus} processors and {machine.memory_mib} MiB of memory"
    return f"Each node of {node_set.hosts.name} declares {size}, more than this machine has: cores and memory are not confined there."
