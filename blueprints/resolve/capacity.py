"""How nodes are bought, and how near to each other they stand."""

import functools

from .. import catalog, language, message_text, spec
from ..codes import Code
from .context import Context

OWNED = spec.Capacity("owned")
ON_DEMAND = "on-demand"
_BRINGS_PLACEMENT = ("reserved", "block")
_PACKED, _SPREAD, _GIVEN, _NONE = "packed", "spread", "given", "none"


def bought(context: Context, name: str, pool: language.Pool) -> spec.Capacity:
    """Say how a pool's nodes are bought; where nothing is, they are owned."""
    asked = pool.bought
    if context.target.capacity:
        if asked.kind not in context.target.capacity:
            what = f"{context.target.title} doesn't sell `{asked.kind}` capacity"
            why = f"it sells {message_text.listed(f'`{kind}`' for kind in context.target.capacity)}"
            remedy = f"choose one of these, under `targets.{context.target.name}.pools.{name}.capacity` if other targets shall keep `{asked.kind}`"
            context.error(Code.CAPACITY_NOT_SOLD, *_path(name, pool), what=what, why=why, remedy=remedy)
        return spec.Capacity(asked.kind, asked.id, asked.max_run)
    if asked.kind != ON_DEMAND:
        what = f"`{asked.kind}` capacity means nothing on the target `{context.target.name}`"
        why = "the machines there are owned: nothing is bought, and nobody takes it back"
        context.note(Code.CAPACITY_IGNORED, *_path(name, pool), what=what, why=why, remedy="leave it; it counts where the blueprint lands on a cloud")
    return OWNED


def check_sold(context: Context, machine: catalog.Machine, capacity: spec.Capacity, *path: str | int) -> None:
    """Find a machine that is not sold this way, or not in the region.

    Args:
        path: what named the machine.
    """
    if capacity.kind in context.target.capacity and machine.capacity and capacity.kind not in machine.capacity:
        what = f"{machine.name} is not sold as `{capacity.kind}`"
        why = f"{context.target.title} sells it as {message_text.listed(f'`{kind}`' for kind in machine.capacity)}"
        context.error(Code.MACHINE_NOT_SOLD, *path, what=what, why=why, remedy="choose one of these capacities, or another machine")
    if not is_offered(machine, context.region):
        what = f"{machine.name} is not offered in {context.region}"
        why = f"it is known in {message_text.listed(machine.regions)}"
        context.error(
            Code.MACHINE_NOT_SOLD,
            *path,
            what=what,
            why=why,
            remedy=f"choose one of these regions with `network.region`, or another machine{_elsewhere(context)}",
        )


def is_offered(machine: catalog.Machine, region: str) -> bool:
    """Say whether a machine is to be had in a region; where nobody knows, it counts as offered."""
    return not machine.regions or region in machine.regions or region not in regions(machine.target)


@functools.cache
def regions(target: str) -> frozenset[str]:
    """Give every region that the catalogue knows of a target."""
    named = (region for machine in catalog.machines(target).values() for region in machine.regions)
    return frozenset((*catalog.target(target).regions, *named))


def placement(context: Context, name: str, pool: language.Pool, *, capacity: spec.Capacity, uses_fabric: bool) -> str:
    """Say how near to each other a pool's nodes are put."""
    brings_own = capacity.kind in _BRINGS_PLACEMENT
    if not context.target.capacity:
        if pool.placement in (_PACKED, _SPREAD):
            what = f"the nodes of {name} can't be {pool.placement} on the target `{context.target.name}`"
            why = "the machines there are owned, and nothing places them"
            context.note(
                Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="leave it; it counts where the blueprint lands on a cloud"
            )
        return _NONE
    if pool.placement == "auto":
        return (_GIVEN if brings_own else _PACKED) if uses_fabric else _NONE
    if pool.placement == _PACKED and brings_own:
        what = f"the nodes of {name} can't be packed: `{capacity.kind}` capacity has its place since it was bought"
        why = "a reservation brings its own placement, and clouds refuse a second one"
        context.error(Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="leave `placement` out")
        return _GIVEN
    if pool.placement == _SPREAD and capacity.kind == "block":
        what = f"the nodes of {name} can't be far apart: `block` capacity runs close together"
        why = "a block brings its own placement, and clouds refuse a second one"
        context.error(Code.PLACEMENT_GIVEN, "pools", name, "placement", what=what, why=why, remedy="leave `placement` out")
        return _GIVEN
    return pool.placement


def _elsewhere(context: Context) -> str:
    return "" if context.blueprint.network.region else "; the region is the target's usual one"


def _path(name: str, pool: language.Pool) -> tuple[str, ...]:
    path = ("pools", name, "capacity")
    return (*path, "kind") if isinstance(pool.capacity, language.Capacity) else path
