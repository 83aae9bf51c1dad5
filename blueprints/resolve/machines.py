"""Machines of the catalogue: those that a pool names, and what a host is that is one."""

from collections.abc import Sequence

from .. import catalog, display, language, spec
from ..codes import Code
from .case import Case

MIB_PER_GIB = 1024


def named(case: Case, name: str, pool: language.Pool) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """Give the names of the machines that a pool asks for, each once, with their places."""
    if pool.machine is not None and pool.machines:
        what = f"pools.{name} has both `machine` and `machines`"
        why = "one of them says which machines the nodes are"
        case.error(Code.MACHINE_CONTRADICTION, "pools", name, "machine", what=what, why=why, remedy="keep `machines`, with this one at its place in the order")
    if pool.machine is not None:
        return ((pool.machine, ("pools", name, "machine")),)
    found: dict[str, tuple[str | int, ...]] = {}
    for number, machine in enumerate(pool.machines):
        path = ("pools", name, "machines", number)
        if machine in found:
            what = f"{display.quoted(machine)} stands in `machines` twice"
            case.error(Code.MACHINE_CONTRADICTION, *path, what=what, why="each machine has one place in the order of preference", remedy="keep the first")
        found.setdefault(machine, path)
    return tuple(found.items())


def look_up(case: Case, wanted: str, path: tuple[str | int, ...], *, targets: Sequence[str]) -> catalog.Machine | None:
    """Find a machine by name on the first of some targets that has it; none of them is a finding, which says where the name belongs."""
    found = next((catalog.machines(target)[wanted] for target in targets if wanted in catalog.machines(target)), None)
    if found is not None:
        return found
    elsewhere = next((target for target in catalog.target_names() if wanted in catalog.machines(target)), None)
    owner = f"{case.target.title} has no machine" if len(targets) == 1 else "no target has a machine"
    what = f"{owner} {display.quoted(wanted)}"
    if elsewhere is not None:
        key = ".".join(str(step) for step in path if isinstance(step, str))
        why = f"it is one of {catalog.target(elsewhere).title}, and a blueprint's machines hold for every target"
        remedy = f"write it as `targets.{elsewhere}.{key}`, and here an accelerator or `targets.{case.target.name}.{key}`"
    else:
        why = "machines are named in the catalogue (blueprints/catalog/machines)"
        names = [name for target in targets for name in catalog.machines(target)]
        meant = display.near(wanted, names)
        remedy = (f"did you mean {display.quoted(meant)}? " if meant else "") + "look it up in the target's table there, or ask for an accelerator instead"
    case.error(Code.MACHINE_UNKNOWN, *path, what=what, why=why, remedy=remedy)
    return None


def check_gpus(case: Case, name: str, pool: language.Pool) -> bool:
    """Say whether accelerator and number are both given and the accelerator is known; what isn't so becomes a finding."""
    if pool.accelerator is None or pool.gpus_per_node is None:
        there, missing = ("gpus_per_node", "accelerator") if pool.accelerator is None else ("accelerator", "gpus_per_node")
        what = f"pools.{name} has `{there}` and no `{missing}`"
        why = "GPUs are asked for by type and number, so that neither changes when a catalogue does"
        case.error(Code.GPU_COUNT_MISSING, "pools", name, there, what=what, why=why, remedy=f"write `{missing}: …`, or leave out both")
        return False
    return is_accelerator(case, name, pool.accelerator)


def is_accelerator(case: Case, name: str, accelerator: str) -> bool:
    """Say whether the catalogue knows an accelerator; an unknown one is a finding."""
    known = catalog.accelerators()
    if accelerator in known:
        return True
    what = f"there is no accelerator {display.quoted(accelerator)}"
    why = "accelerators are named in the catalogue (blueprints/catalog/accelerators.yaml)"
    remedy = display.did_you_mean(accelerator, known, allowed="accelerators")
    case.error(Code.ACCELERATOR_UNKNOWN, "pools", name, "accelerator", what=what, why=why, remedy=remedy)
    return False


def check_agrees(case: Case, name: str, pool: language.Pool, machine: catalog.Machine) -> None:
    """Find an accelerator or number of GPUs that the named machine doesn't have."""
    has = f"it has {machine.gpus} {machine.accelerator}" if machine.gpus else "it has no GPUs"
    remedy = "leave the machine out, or `accelerator` and `gpus_per_node`: either decides"
    if pool.accelerator is not None and pool.accelerator != machine.accelerator and is_accelerator(case, name, pool.accelerator):
        what = f"{machine.name} has no {pool.accelerator} GPUs"
        case.error(Code.MACHINE_CONTRADICTION, "pools", name, "accelerator", what=what, why=has, remedy=remedy)
    elif pool.gpus_per_node is not None and pool.gpus_per_node != machine.gpus:
        what = f"{machine.name} has another number of GPUs than {pool.gpus_per_node}"
        case.error(Code.MACHINE_CONTRADICTION, "pools", name, "gpus_per_node", what=what, why=has, remedy=remedy)


def as_spec(machine: catalog.Machine, *, nics: tuple[spec.Nic, ...], mig: tuple[spec.MigSlices, ...] = ()) -> spec.Machine:
    """Describe a host that is this machine."""
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


def mig(pool: language.Pool) -> tuple[spec.MigSlices, ...]:
    """Give the slices that each GPU of a pool is cut into."""
    return tuple(spec.MigSlices(profile, count) for profile, count in pool.mig.items())
