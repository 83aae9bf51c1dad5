"""Machines of a pool: the named ones, or the best one for its accelerator."""

import dataclasses
import fnmatch
from collections.abc import Sequence

from .. import catalog, language, message_text, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from ..language import values
from . import capacity, fabric, machines
from .context import Context


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    machine: catalog.MachineType
    chosen: str
    """Reason of the choice."""
    path: tuple[str | int, ...]
    """The key that decided."""


def choose(context: Context, name: str, pool: language.Pool, *, bought: spec.Capacity) -> tuple[Choice, ...]:
    """Return the machines of a pool in order of preference; empty if nothing fits, which is a finding, or if the site's hosts report their own hardware."""
    named = machines.named(context, name, pool)
    if named:
        found = [_named(context, name, pool, bought, *one) for one in named]
        return tuple(choice for choice in found if choice)
    if pool.accelerator is None and pool.gpus_per_node is None:
        if context.is_cloud:
            return _with_processors(context, name, pool, bought)
        fabric.check_unknown(context, name, pool)
        return ()
    if not machines.check_gpus(context, name, pool):
        return ()
    return _with_gpus(context, name, pool, bought)


def _named(context: Context, name: str, pool: language.Pool, bought: spec.Capacity, wanted: str, path: tuple[str | int, ...]) -> Choice | None:
    machine = machines.look_up(context, wanted, path, targets=[context.target.name])
    if machine is None:
        return None
    machines.check_agrees(context, name, pool, machine)
    capacity.check_sold(context, machine, bought, *path)
    return Choice(machine, "named in the blueprint", path)


def _with_gpus(context: Context, name: str, pool: language.Pool, bought: spec.Capacity) -> tuple[Choice, ...]:
    path = ("pools", name, "accelerator")
    of_type = [machine for machine in catalog.machines(context.target.name).values() if machine.accelerator == pool.accelerator]
    right = [machine for machine in of_type if machine.gpus == pool.gpus_per_node]
    wanted = f"{pool.gpus_per_node} {pool.accelerator}"
    if not right:
        if not context.is_cloud and machines.is_declared(pool):
            _take_as_declared(context, name, pool)
        else:
            _no_machine(context, name, pool, of_type)
        return ()
    fitting = _available(context, right, bought, wanted=f"machine with {wanted} GPUs", path=path) or right
    best = _best(context, pool, _with_scratch(pool, fitting), bought, wanted=f"{wanted} GPUs", path=path)
    return (dataclasses.replace(best, chosen=only) if (only := _only(right, fitting, bought, wanted=f"{wanted} GPUs")) else best,)


def _only(right: Sequence[catalog.MachineType], fitting: Sequence[catalog.MachineType], bought: spec.Capacity, *, wanted: str) -> str:
    """Say why one machine is left of several; empty if the hardware left no other, or if several are left."""
    if len(right) == 1 or len(fitting) > 1:
        return ""
    is_sold = [machine for machine in right if not machine.capacity or bought.kind in machine.capacity]
    return f"the only machine sold as `{bought.kind}` with {wanted}" if len(is_sold) == 1 else f"the only machine in the region with {wanted}"


def _take_as_declared(context: Context, name: str, pool: language.Pool) -> None:
    """Note machines of the site that are not in the catalogue and are used as the blueprint declares them."""
    what = f"the nodes of {name} are as the blueprint declares them: {pool.gpus_per_node} {pool.accelerator}, {pool.cpus_per_node} processors, {pool.memory}"
    why = f"the catalogue has no machine of {context.target.title} with these GPUs, so their fabric, disks and GPU memory are unknown"
    remedy = "nothing, or name a machine of the catalogue so that acceptance can test its fabric"
    context.note(Code.HOSTS_DECLARED, "pools", name, "accelerator", what=what, why=why, remedy=remedy)
    fabric.check_unknown(context, name, pool)


def _no_machine(context: Context, name: str, pool: language.Pool, of_type: Sequence[catalog.MachineType]) -> None:
    remedy = f"choose another one, under `targets.{context.target.name}.pools.{name}` if other targets keep this one"
    if not context.is_cloud:
        remedy += "; or declare your hosts' hardware there: `cpus_per_node` and `memory`"
    if of_type:
        what = f"no machine of {context.target.title} has {pool.gpus_per_node} {pool.accelerator} GPUs"
        why = f"machines with {message_text.listed(sorted({machine.gpus for machine in of_type}))} of them exist"
        context.error(Code.MACHINE_MISSING, "pools", name, "gpus_per_node", what=what, why=why, remedy=remedy)
        return
    what = f"no machine of {context.target.title} has {pool.accelerator} GPUs"
    known = dict.fromkeys(machine.accelerator for machine in catalog.machines(context.target.name).values() if machine.accelerator)
    why = f"the catalogue has machines with {message_text.listed(known)} there"
    context.error(Code.MACHINE_MISSING, "pools", name, "accelerator", what=what, why=why, remedy=remedy)


def _available(
    context: Context, candidates: Sequence[catalog.MachineType], bought: spec.Capacity, *, wanted: str, path: tuple[str | int, ...]
) -> Sequence[catalog.MachineType]:
    """Keep the machines that are sold with this capacity in the region; report an empty result."""
    sold = [machine for machine in candidates if not machine.capacity or bought.kind in machine.capacity]
    if not sold and bought.kind in context.target.capacity:
        kinds = dict.fromkeys(kind for machine in candidates for kind in machine.capacity)
        what = f"{context.target.title} sells no {wanted} as `{bought.kind}`"
        why = f"{message_text.listed(machine.name for machine in candidates)} {'are' if len(candidates) > 1 else 'is'} sold as {message_text.listed(f'`{kind}`' for kind in kinds)}"
        context.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy="choose one of these capacities, or other GPUs")
    sold = sold or list(candidates)
    offered = [machine for machine in sold if capacity.is_offered(machine, context.region)]
    if not offered:
        places = sorted({region for machine in sold for region in machine.regions})
        what = f"no {wanted} is offered in {context.region}"
        why = f"{message_text.listed(machine.name for machine in sold)} {'are' if len(sold) > 1 else 'is'} available in {message_text.listed(places)}"
        context.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy="choose one of these regions with `network.region`, or other GPUs")
    return offered


def _with_scratch(pool: language.Pool, candidates: Sequence[catalog.MachineType]) -> Sequence[catalog.MachineType]:
    """Prefer the machines with the requested scratch."""
    if pool.scratch is None:
        return candidates
    least_gib = values.size_gib(pool.scratch.size) if pool.scratch.size else 0
    return [machine for machine in candidates if machine.scratch_gib > 0 and machine.scratch_gib >= least_gib] or candidates


def _best(
    context: Context, pool: language.Pool, candidates: Sequence[catalog.MachineType], bought: spec.Capacity, *, wanted: str, path: tuple[str | int, ...]
) -> Choice:
    """Choose by fabric if the pool needs one, then by price or size, then by the catalogue's order."""
    if len(candidates) == 1:
        return Choice(candidates[0], f"the only machine to be had with {wanted}", path)
    reason = []
    fitting = list(candidates)
    if _fabric_decides(pool):
        fastest = max(_fabric_gbps(machine) for machine in fitting)
        faster = [machine for machine in fitting if _fabric_gbps(machine) == fastest]
        if len(faster) < len(fitting):
            reason.append(f"the fastest fabric ({fastest:g} Gb/s a node)")
        fitting = faster
    chosen = fitting[0]
    if len(fitting) > 1 and context.is_cloud:
        chosen, why = _cheapest(context, fitting, bought)
        reason.append(why)
    words = message_text.listed(reason) if reason else "the first place in the catalogue"
    return Choice(chosen, f"of {len(candidates)} machines with {wanted}: {words}", path)


def _cheapest(context: Context, candidates: Sequence[catalog.MachineType], bought: spec.Capacity) -> tuple[catalog.MachineType, str]:
    """Choose by the price of the pool's capacity, by the on-demand price, or by size: the first of these that all candidates have. Return the reason, too.

    If some candidates have no known price, prices are ignored: a machine without one would lose to more expensive machines.
    """
    missing: list[str] = []
    for kind in dict.fromkeys((bought.kind.billed_as, CapacityKind.ON_DEMAND)):
        found = [_usd_per_hour(context, machine, kind) for machine in candidates]
        known = [usd for usd in found if usd is not None]
        if len(known) == len(candidates):
            why = f"the lowest {_named_price(kind)} (USD {min(known):g} an hour)"
            return candidates[found.index(min(known))], _because(why, missing)
        missing.append(f"{_some(len(known), len(candidates))} a known {_named_price(kind)}")
    smallest = min(candidates, key=_size)
    if len({_size(machine) for machine in candidates}) == 1:
        return smallest, _because("the first in the catalogue, as all are of one size", missing)
    return smallest, _because(f"the smallest ({smallest.vcpus} processors, {smallest.memory_gib:g} GiB)", missing)


def _size(machine: catalog.MachineType) -> tuple[int, float]:
    return machine.vcpus, machine.memory_gib


def _because(why: str, missing: Sequence[str]) -> str:
    return f"{why}, since {message_text.listed(missing)}" if missing else why


def _some(count: int, of: int) -> str:
    if not count:
        return "none has"
    return f"only {count} of {of} {'has' if count == 1 else 'have'}"


def _named_price(kind: CapacityKind) -> str:
    return "price on demand" if kind is CapacityKind.ON_DEMAND else f"{kind} price"


def _usd_per_hour(context: Context, machine: catalog.MachineType, kind: CapacityKind) -> float | None:
    """Return a price to compare machines by; None for an implausibly low one."""
    price = catalog.price(context.target.name, machine.name, region=context.region, capacity=kind)
    return None if price is None or price.low else price.usd_per_hour


def _fabric_decides(pool: language.Pool) -> bool:
    """Whether the fastest fabric precedes a low price: if the pool requires one, or for GPUs made for training over several nodes.

    Jobs on GPUs without NVLink exchange little data, and machines with such GPUs and a fabric are far larger hosts for the same GPU: an L4 costs 2.5 times
    as much with EFA of 25 Gb/s as without (AWS' prices on demand, us-east-1, 2026). Pools get such a fabric only on request.
    """
    if pool.fabric == "none" or pool.range.max < 2:
        return False
    known = catalog.accelerators().get(pool.accelerator or "")
    return pool.fabric == "required" or (known is not None and known.nvlink)


def _fabric_gbps(machine: catalog.MachineType) -> float:
    return machine.fabric_nics * machine.fabric_nic_gbps if machine.fabric else 0.0


def _with_processors(context: Context, name: str, pool: language.Pool, bought: spec.Capacity) -> tuple[Choice, ...]:
    """Choose the smallest machine without GPUs that has the requested processors and memory."""
    least_gib = values.memory_mib(pool.memory) / machines.MIB_PER_GIB if pool.memory else 0
    known, patterns = catalog.machines(context.target.name).values(), context.target.cpu_machines.get(context.architecture, ())
    family = [machine for machine in known if any(fnmatch.fnmatchcase(machine.name, pattern) for pattern in patterns)]
    large = [machine for machine in family if machine.vcpus >= (pool.cpus_per_node or 1) and machine.memory_gib >= least_gib]
    if not large:
        biggest = max(family, key=_size)
        what = f"no default machine of {context.target.title} is large enough for the nodes of {name}"
        why = f"the largest machine without GPUs that clusterwright chooses by itself, {biggest.name}, has {biggest.vcpus} processors and {biggest.memory_gib:g} GiB of memory"
        remedy = f"name a machine: `targets.{context.target.name}.pools.{name}.machine`"
        path = ("pools", name, "cpus_per_node" if pool.cpus_per_node else "memory")
        context.error(Code.MACHINE_MISSING, *path, what=what, why=why, remedy=remedy)
        return ()
    fitting = _available(context, large, bought, wanted="machine of this size", path=("pools", name)) or large
    smallest = min(fitting, key=_size)
    if pool.cpus_per_node is None and pool.memory is None:
        _note_small(context, name, smallest)
    return (Choice(smallest, "the smallest of the target's usual machines that has what is asked for", ("pools", name)),)


def _note_small(context: Context, name: str, smallest: catalog.MachineType) -> None:
    what = f"the nodes of {name} are {smallest.name}, with {smallest.vcpus} processors and {smallest.memory_gib:g} GiB of memory"
    why = "the blueprint doesn't set their size, and this is the smallest of the target's default machines"
    remedy = f"write `cpus_per_node` and `memory` for larger nodes, or name a machine: `targets.{context.target.name}.pools.{name}.machine`"
    context.note(Code.MACHINE_SMALLEST, "pools", name, what=what, why=why, remedy=remedy)
