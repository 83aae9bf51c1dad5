"""The machines of a pool: those that it names, or the one that fits its accelerator best."""

import dataclasses
import fnmatch
from collections.abc import Iterable, Sequence

from .. import catalog, display, language, spec
from ..codes import Code
from ..language import values
from . import capacity, machines
from .case import Case

_UNKNOWN_USD = float("inf")


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    machine: catalog.Machine
    chosen: str
    """Why it is this one."""
    path: tuple[str | int, ...]
    """What in the blueprint decided."""


def choose(case: Case, name: str, pool: language.Pool, *, bought: spec.Capacity) -> tuple[Choice, ...]:
    """Give the machines of a pool in their order of preference. None: nothing fits, which is a finding, or the site tells what its hosts have."""
    named = machines.named(case, name, pool)
    if named:
        found = [_named(case, name, pool, bought, *one) for one in named]
        return tuple(choice for choice in found if choice)
    if pool.accelerator is None and pool.gpus_per_node is None:
        return _with_processors(case, name, pool, bought) if case.is_cloud else ()
    if not machines.check_gpus(case, name, pool):
        return ()
    return _with_gpus(case, name, pool, bought)


def _named(case: Case, name: str, pool: language.Pool, bought: spec.Capacity, wanted: str, path: tuple[str | int, ...]) -> Choice | None:
    machine = machines.look_up(case, wanted, path, targets=[case.target.name])
    if machine is None:
        return None
    machines.check_agrees(case, name, pool, machine)
    capacity.check_sold(case, machine, bought, *path)
    return Choice(machine, "named in the blueprint", path)


def _with_gpus(case: Case, name: str, pool: language.Pool, bought: spec.Capacity) -> tuple[Choice, ...]:
    path = ("pools", name, "accelerator")
    of_type = [machine for machine in catalog.machines(case.target.name).values() if machine.accelerator == pool.accelerator]
    right = [machine for machine in of_type if machine.gpus == pool.gpus_per_node]
    wanted = f"{pool.gpus_per_node} {pool.accelerator}"
    if not right:
        _no_machine(case, name, pool, of_type)
        return ()
    fitting = _to_be_had(case, right, bought, wanted=f"machine with {wanted} GPUs", path=path) or right
    return (_best(case, pool, _with_scratch(pool, fitting), bought, wanted=f"{wanted} GPUs", path=path),)


def _no_machine(case: Case, name: str, pool: language.Pool, of_type: Sequence[catalog.Machine]) -> None:
    remedy = f"choose another, under `targets.{case.target.name}.pools.{name}` if other targets shall keep this one"
    if of_type:
        what = f"no machine of {case.target.title} has {pool.gpus_per_node} {pool.accelerator} GPUs"
        why = f"there are machines with {display.listed(sorted({machine.gpus for machine in of_type}))} of them"
        case.error(Code.MACHINE_MISSING, "pools", name, "gpus_per_node", what=what, why=why, remedy=remedy)
        return
    what = f"no machine of {case.target.title} has {pool.accelerator} GPUs"
    known = dict.fromkeys(machine.accelerator for machine in catalog.machines(case.target.name).values() if machine.accelerator)
    why = f"the catalogue knows machines with {display.listed(known)} there"
    case.error(Code.MACHINE_MISSING, "pools", name, "accelerator", what=what, why=why, remedy=remedy)


def _to_be_had(
    case: Case, candidates: Sequence[catalog.Machine], bought: spec.Capacity, *, wanted: str, path: tuple[str | int, ...]
) -> Sequence[catalog.Machine]:
    """Keep the machines that are sold this way in the region; none is a finding."""
    sold = [machine for machine in candidates if not machine.capacity or bought.kind in machine.capacity]
    if not sold and bought.kind in case.target.capacity:
        kinds = dict.fromkeys(kind for machine in candidates for kind in machine.capacity)
        what = f"no {wanted} is sold as `{bought.kind}` by {case.target.title}"
        why = f"{display.listed(machine.name for machine in candidates)} can be had as {display.listed(f'`{kind}`' for kind in kinds)}"
        case.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy="choose one of these capacities, or other GPUs")
    sold = sold or list(candidates)
    offered = [machine for machine in sold if capacity.is_offered(machine, case.region)]
    if not offered:
        places = sorted({region for machine in sold for region in machine.regions})
        what = f"no {wanted} is offered in {case.region}"
        why = f"{display.listed(machine.name for machine in sold)} can be had in {display.listed(places)}"
        case.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy="choose one of these regions with `network.region`, or other GPUs")
    return offered


def _with_scratch(pool: language.Pool, candidates: Sequence[catalog.Machine]) -> Sequence[catalog.Machine]:
    """Prefer the machines that have the scratch asked for."""
    if pool.scratch is None:
        return candidates
    least_gib = values.size_gib(pool.scratch.size) if pool.scratch.size else 0
    return [machine for machine in candidates if machine.scratch_gib > 0 and machine.scratch_gib >= least_gib] or candidates


def _best(case: Case, pool: language.Pool, candidates: Sequence[catalog.Machine], bought: spec.Capacity, *, wanted: str, path: tuple[str | int, ...]) -> Choice:
    """Choose by fabric where one is used, then by price, then by the catalogue's order."""
    if len(candidates) == 1:
        return Choice(candidates[0], f"the only machine to be had with {wanted}", path)
    reason = []
    fitting = list(candidates)
    if pool.fabric != "none" and pool.range.max > 1:
        fastest = max(_fabric_gbps(machine) for machine in fitting)
        faster = [machine for machine in fitting if _fabric_gbps(machine) == fastest]
        if len(faster) < len(fitting):
            reason.append(f"the fastest fabric ({fastest:g} Gb/s a node)")
        fitting = faster
    if len(fitting) > 1:
        usd = _prices(case, fitting, bought)
        cheapest = min(usd)
        if cheapest < _UNKNOWN_USD:
            reason.append(f"the lowest known price (USD {cheapest:g} an hour)")
        fitting = [fitting[usd.index(cheapest)]]
    words = display.listed(reason) if reason else "the first place in the catalogue"
    return Choice(fitting[0], f"of {len(candidates)} machines with {wanted}: {words}", path)


def _fabric_gbps(machine: catalog.Machine) -> float:
    return machine.fabric_nics * machine.fabric_nic_gbps if machine.fabric else 0.0


def _prices(case: Case, candidates: Iterable[catalog.Machine], bought: spec.Capacity) -> list[float]:
    """Give prices to compare machines by: as they are bought, or on demand where nobody knows those. Doubtful ones don't count."""
    usd: list[float] = []
    for kind in (bought.kind, capacity.ON_DEMAND):
        found = [catalog.price(case.target.name, machine.name, region=case.region, capacity=kind) for machine in candidates]
        usd = [price.usd_per_hour if price and not price.low else _UNKNOWN_USD for price in found]
        if min(usd) < _UNKNOWN_USD:
            break
    return usd


def _with_processors(case: Case, name: str, pool: language.Pool, bought: spec.Capacity) -> tuple[Choice, ...]:
    """Choose the smallest machine without GPUs that has the processors and the memory asked for."""
    least_gib = values.memory_mib(pool.memory) / machines.MIB_PER_GIB if pool.memory else 0
    known = catalog.machines(case.target.name).values()
    family = [machine for machine in known if any(fnmatch.fnmatchcase(machine.name, pattern) for pattern in case.target.cpu_machines)]
    large = [machine for machine in family if machine.vcpus >= (pool.cpus_per_node or 1) and machine.memory_gib >= least_gib]
    if not large:
        biggest = max(family, key=lambda machine: (machine.vcpus, machine.memory_gib))
        what = f"no usual machine of {case.target.title} is as large as the nodes of {name}"
        why = f"the largest without GPUs that is chosen by itself, {biggest.name}, has {biggest.vcpus} processors and {biggest.memory_gib:g} GiB of memory"
        remedy = f"name one: `targets.{case.target.name}.pools.{name}.machine`"
        path = ("pools", name, "cpus_per_node" if pool.cpus_per_node else "memory")
        case.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy=remedy)
        return ()
    fitting = _to_be_had(case, large, bought, wanted="machine of this size", path=("pools", name)) or large
    smallest = min(fitting, key=lambda machine: (machine.vcpus, machine.memory_gib))
    return (Choice(smallest, "the smallest of the target's usual machines that has what is asked for", ("pools", name)),)
