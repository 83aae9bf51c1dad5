"""Machines of the catalogue that a pool names, and their description in the spec."""

import re
from collections.abc import Sequence

from .. import catalog, language, message_text, spec
from ..codes import Code
from .context import Context

MIB_PER_GIB = 1024
_DIGITS = re.compile("[0-9]+")
_SLIP_LETTERS = 2
SITE_HOST = "site-host"
"""A host of the site that is not in the catalogue."""


def named(context: Context, name: str, pool: language.Pool) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """List the distinct machines that a pool names, with their paths."""
    if pool.machine is not None and pool.machines:
        what = f"pools.{name} has both `machine` and `machines`"
        why = "only one of the two can name the machines of the nodes"
        context.error(Code.MACHINE_CONTRADICTION, "pools", name, "machine", what=what, why=why, remedy="keep `machines`, and add this machine to it")
    if pool.machine is not None:
        return ((pool.machine, ("pools", name, "machine")),)
    found: dict[str, tuple[str | int, ...]] = {}
    for number, machine in enumerate(pool.machines):
        path = ("pools", name, "machines", number)
        if machine in found:
            what = f"{message_text.quoted(machine)} is in `machines` twice"
            context.error(
                Code.MACHINE_CONTRADICTION,
                *path,
                what=what,
                why="the list is an order of preference, so each machine appears one time",
                remedy="keep the first",
            )
        found.setdefault(machine, path)
    return tuple(found.items())


def look_up(context: Context, wanted: str, path: tuple[str | int, ...], *, targets: Sequence[str]) -> catalog.MachineType | None:
    """Return a machine by name from the first target that has it; report an unknown name."""
    found = next((catalog.machines(target)[wanted] for target in targets if wanted in catalog.machines(target)), None)
    if found is not None:
        return found
    elsewhere = next((target for target in catalog.target_names() if wanted in catalog.machines(target)), None)
    what = f"the catalogue has no machine {message_text.quoted(wanted)} on {context.target.title if len(targets) == 1 else 'any target'}"
    if elsewhere is not None:
        key = ".".join(str(step) for step in path if isinstance(step, str))
        why = f"it is a machine of {catalog.target(elsewhere).title}, and a blueprint's machines apply to every target"
        remedy = f"write it as `targets.{elsewhere}.{key}`, and an accelerator or `targets.{context.target.name}.{key}` for this target"
    else:
        why = "the catalogue lists all machines (blueprints/catalog/machines)"
        names = [name for target in targets for name in catalog.machines(target)]
        meant = message_text.near(wanted, [name for name in names if _may_be_slip(wanted, name)])
        listing = "clusterwright catalog machines" + (f" --target {targets[0]}" if len(targets) == 1 else "")
        remedy = (f"did you mean {message_text.quoted(meant)}? " if meant else "") + f"choose one that `{listing}` lists, or name an accelerator instead"
    context.error(Code.MACHINE_UNKNOWN, *path, what=what, why=why, remedy=remedy)
    return None


def _may_be_slip(wanted: str, name: str) -> bool:
    """Whether a name may be a typo of another; with other digits or several more letters it is another machine."""
    return _DIGITS.findall(wanted) == _DIGITS.findall(name) and abs(len(wanted) - len(name)) <= _SLIP_LETTERS


def check_gpus(context: Context, name: str, pool: language.Pool) -> bool:
    """Whether a pool has both accelerator and number, and the catalogue has the accelerator; report the opposite."""
    if pool.accelerator is None or pool.gpus_per_node is None:
        there, missing = ("gpus_per_node", "accelerator") if pool.accelerator is None else ("accelerator", "gpus_per_node")
        what = f"pools.{name} has `{there}` and no `{missing}`"
        why = "both are required, so that a change of the catalogue changes neither"
        context.error(Code.GPU_COUNT_MISSING, "pools", name, there, what=what, why=why, remedy=f"write `{missing}: …`, or remove both")
        return False
    return is_accelerator(context, name, pool.accelerator)


def is_accelerator(context: Context, name: str, accelerator: str) -> bool:
    """Whether the catalogue has an accelerator; report an unknown one."""
    known = catalog.accelerators()
    if accelerator in known:
        return True
    what = f"the catalogue has no accelerator {message_text.quoted(accelerator)}"
    why = "the catalogue lists all accelerators (blueprints/catalog/accelerators.yaml)"
    remedy = message_text.did_you_mean(accelerator, known, allowed="accelerators")
    if catalog.is_other_gpu(accelerator):
        why = "such GPUs exist, but no machine of the catalogue has them"
        remedy = f"choose one of the catalogue: {', '.join(sorted(known))}"
    context.error(Code.ACCELERATOR_UNKNOWN, "pools", name, "accelerator", what=what, why=why, remedy=remedy)
    return False


def check_agrees(context: Context, name: str, pool: language.Pool, machine: catalog.MachineType) -> None:
    """Find an accelerator or number of GPUs that the named machine doesn't have."""
    has = f"it has {machine.gpus} {machine.accelerator}" if machine.gpus else "it has no GPUs"
    remedy = "remove either the machine, or `accelerator` and `gpus_per_node`"
    if pool.accelerator is not None and pool.accelerator != machine.accelerator and is_accelerator(context, name, pool.accelerator):
        what = f"{machine.name} has no {pool.accelerator} GPUs"
        context.error(Code.MACHINE_CONTRADICTION, "pools", name, "accelerator", what=what, why=has, remedy=remedy)
    elif pool.gpus_per_node is not None and pool.gpus_per_node != machine.gpus:
        what = f"{machine.name} does not have {pool.gpus_per_node} GPUs"
        context.error(Code.MACHINE_CONTRADICTION, "pools", name, "gpus_per_node", what=what, why=has, remedy=remedy)


def as_spec(machine: catalog.MachineType, *, nics: tuple[spec.Nic, ...], mig: tuple[spec.MigSlices, ...] = ()) -> spec.Machine:
    """Describe a host of this machine type."""
    gpus = None
    if machine.accelerator is not None and machine.gpus:
        gpus = spec.Gpus(machine.accelerator, machine.gpus, simulated=False, memory_gib=machine.gpu_memory_gib, mig=mig)
    return spec.Machine(
        name=machine.name,
        sockets=machine.sockets,
        cores_per_socket=machine.cores_per_socket,
        threads_per_core=machine.threads_per_core,
        memory_mib=int(machine.memory_gib * MIB_PER_GIB),
        gpus=gpus,
        exists=True,
        arch=machine.arch,
        network_gbps=machine.network_gbps,
        nics=nics,
        scratch_gib=machine.scratch_gib,
        domain_nodes=machine.domain_nodes,
    )


def site_host(context: Context, *, cpus: int = 0, memory_mib: int = 0, gpus: spec.Gpus | None = None) -> spec.Machine:
    """Describe a host that is not in the catalogue; 0 processors or memory: the host reports its own.

    Its architecture is the cluster's, whose software it runs.
    """
    return spec.Machine(SITE_HOST, 1, cpus, 1, memory_mib, gpus, exists=True, arch=context.architecture)


def is_declared(pool: language.Pool) -> bool:
    """Whether a pool declares what a scheduler must know about its nodes."""
    return pool.cpus_per_node is not None and pool.memory is not None


def mig(pool: language.Pool) -> tuple[spec.MigSlices, ...]:
    """Return the MIG slices of each GPU of a pool."""
    return tuple(spec.MigSlices(profile, count) for profile, count in pool.mig.items())
