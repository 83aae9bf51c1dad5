"""Capacity and placement of nodes."""

import functools

from .. import catalog, language, message_text, spec
from ..capacity_kind import CapacityKind
from ..codes import Code
from .context import Context

OWNED = spec.Capacity(CapacityKind.OWNED)
_PACKED, _SPREAD, _GIVEN, _NONE = "packed", "spread", "given", "none"


def bought(context: Context, name: str, pool: language.Pool) -> spec.Capacity:
    """Return the capacity of a pool; on targets that sell none the nodes are owned."""
    asked = pool.bought
    if context.target.capacity:
        if asked.kind not in context.target.capacity:
            what = f"{context.target.title} doesn't sell `{asked.kind}` capacity"
            why = f"it sells {message_text.listed(f'`{kind}`' for kind in context.target.capacity)}"
            remedy = f"choose one of these, under `targets.{context.target.name}.pools.{name}.capacity` if other targets keep `{asked.kind}`"
            context.error(Code.CAPACITY_NOT_SOLD, *_path(name, pool), what=what, why=why, remedy=remedy)
        return spec.Capacity(asked.kind, asked.id, asked.max_run)
    if asked.kind is not CapacityKind.ON_DEMAND:
        what = f"`{asked.kind}` capacity does not apply to the target `{context.target.name}`"
        why = "the machines there are your own"
        context.note(Code.CAPACITY_IGNORED, *_path(name, pool), what=what, why=why, remedy="keep it; it applies to cloud targets")
    return OWNED


def check_sold(context: Context, machine: catalog.MachineType, capacity: spec.Capacity, *path: str | int) -> None:
    """Find a machine that is not sold with this capacity, or not in the region.

    Args:
        path: the key that named the machine.
    """
    if capacity.kind in context.target.capacity and machine.capacity and capacity.kind not in machine.capacity:
        what = f"{machine.name} is not sold as `{capacity.kind}`"
        why = f"{context.target.title} sells it as {message_text.listed(f'`{kind}`' for kind in machine.capacity)}"
        context.error(Code.MACHINE_NOT_SOLD, *path, what=what, why=why, remedy="choose one of these capacities, or another machine")
    if not is_offered(machine, context.region):
        what = f"{machine.name} is not offered in {context.region}"
        why = f"the catalogue lists it in {message_text.listed(machine.regions)}"
        context.error(
            Code.MACHINE_NOT_SOLD,
            *path,
            what=what,
            why=why,
            remedy=f"choose one of these regions with `network.region`, or another machine{_elsewhere(context)}",
        )


def is_offered(machine: catalog.MachineType, region: str) -> bool:
    """Whether a region offers a machine; True if the catalogue doesn't know."""
    return not machine.regions or region in machine.regions or region not in regions(machine.target)


@functools.cache
def regions(target: str) -> frozenset[str]:
    """Return all regions of a target in the catalogue."""
    named = (region for machine in catalog.machines(target).values() for region in machine.regions)
    return frozenset((*catalog.target(target).regions, *named))


def placement(context: Context, name: str, pool: language.Pool, *, capacity: spec.Capacity, fabric_of: str | None = None) -> str:
    """Return the placement of a pool's nodes.

    Args:
        fabric_of: the machine, where a fabric connects the nodes.
    """
    brings_own = capacity.kind.is_bought_ahead
    if not context.target.capacity:
        if pool.placement in (_PACKED, _SPREAD):
            what = f"the nodes of {name} can't be {pool.placement} on the target `{context.target.name}`"
            why = "the machines there are your own, so clusterwright can't place them"
            context.note(Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="keep it; it applies to cloud targets")
        return _NONE
    if pool.placement == "auto":
        if fabric_of is None or catalog.unpacked_by(context.target.name, fabric_of, capacity.kind):
            return _NONE
        return _GIVEN if brings_own else _PACKED
    if pool.placement == _PACKED and brings_own:
        what = f"the nodes of {name} can't be packed: `{capacity.kind}` capacity has its own placement"
        why = "clouds refuse a placement group for a reservation"
        context.error(Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="remove `placement`")
        return _GIVEN
    if pool.placement == _SPREAD and capacity.kind is CapacityKind.BLOCK:
        what = f"the nodes of {name} can't be spread: the nodes of a `block` run close together"
        why = "clouds refuse a placement group for a block"
        context.error(Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="remove `placement`")
        return _GIVEN
    return pool.placement


def _elsewhere(context: Context) -> str:
    return "" if context.blueprint.network.region else "; the region is the target's default"


def _path(name: str, pool: language.Pool) -> tuple[str, ...]:
    path = ("pools", name, "capacity")
    return (*path, "kind") if isinstance(pool.capacity, language.Capacity) else path
