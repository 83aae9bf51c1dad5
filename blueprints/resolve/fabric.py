"""The fabric between GPUs of different nodes, and its expected bandwidth."""

from .. import catalog, language, spec
from ..codes import Code
from .context import Context

_WHOLE = 100
"""Per cent: the floor as it is known."""


def resolve(context: Context, name: str, pool: language.Pool, machine: catalog.MachineType, *, path: tuple[str | int, ...]) -> spec.Fabric | None:
    """Resolve the fabric of a node set; None if the machine has none or the pool doesn't use it.

    Args:
        path: the key that a warning about a missing fabric points to.
    """
    nodes = pool.range.max
    if pool.fabric == "none" or nodes < 2:
        return None
    if machine.fabric is None:
        _blame(context, name, pool, machine, path)
        return None
    known = catalog.fabrics()[machine.fabric]
    return spec.Fabric(
        name=known.name,
        title=known.title,
        required=pool.fabric == "required",
        nics=machine.fabric_nics,
        gbps_per_gpu=machine.fabric_nics * machine.fabric_nic_gbps / max(machine.gpus, 1),
        plugin=known.plugin,
        environment=tuple((key, str(value)) for key, value in known.environment_for(machine.name).items()),
        log_line=known.log_line,
        expected=_expected(context, machine, nodes, pool.busbw_percent),
        bad_log_lines=known.bad_log_lines,
        direct=known.direct,
        environment_script=known.environment_script,
        daemon=known.daemon,
        daemon_arguments=known.daemon_arguments_for(machine.name),
        note=known.note,
    )


def collectives(context: Context, pool: language.Pool, machine: catalog.MachineType, *, uses_fabric: bool) -> tuple[spec.Expectation, ...]:
    """List what is known of collectives inside one node, over two nodes, and over all of them."""
    nodes = pool.range.max
    counts = sorted({1, 2, nodes}) if uses_fabric else [1]
    found = (_expected(context, machine, count, pool.busbw_percent) for count in counts if count <= nodes)
    return tuple(one for one in found if one is not None)


def check_unknown(context: Context, name: str, pool: language.Pool) -> None:
    """Find a required fabric on hosts that are not in the catalogue."""
    if pool.fabric != "required" or pool.range.max < 2:
        return
    what = f"the pool {name} requires a fabric, and its machine type is unknown"
    why = "the machine type determines the fabric, its settings and its expected bandwidth"
    where = f"`targets.{context.target.name}.pools.{name}.machine`"
    remedy = f"name a machine of the catalogue (blueprints/catalog/machines/{context.target.name}.csv), {where}, or write `fabric: none`"
    context.error(Code.FABRIC_UNAVAILABLE, "pools", name, "fabric", what=what, why=why, remedy=remedy)


def interfaces(machine: catalog.MachineType, *, uses_fabric: bool) -> tuple[spec.Nic, ...]:
    """Lay out the network interfaces of one node; without a fabric, only the one with the node's address."""
    nics = catalog.expand(catalog.layout(machine.nic_layout), machine)
    return nics if uses_fabric else nics[:1]


def _blame(context: Context, name: str, pool: language.Pool, machine: catalog.MachineType, path: tuple[str | int, ...]) -> None:
    what = f"the nodes of {name} have no fabric: {machine.name} has no RDMA network between GPUs of different nodes"
    why = "collectives over several nodes use the ordinary network, which is many times slower"
    if pool.fabric == "required":
        remedy = "choose a machine with a fabric, or write `fabric: none` if jobs run on one node"
        context.error(Code.FABRIC_UNAVAILABLE, "pools", name, "fabric", what=what, why=why, remedy=remedy)
    elif machine.gpus:  # pools without GPUs need no fabric
        remedy = "write `fabric: none` if jobs run on one node, or choose a machine with a fabric"
        context.warning(Code.FABRIC_UNAVAILABLE, *path, what=what, why=why, remedy=remedy)


def _expected(context: Context, machine: catalog.MachineType, nodes: int, percent: int) -> spec.Expectation | None:
    found = catalog.expected_busbw(context.target.name, machine.name, nodes)
    if found is None:
        return None
    return spec.Expectation(
        collective=found.collective,
        size_bytes=found.size_bytes,
        nodes=nodes,
        typical_gbs=found.typical_gbs,
        warn_gbs=found.warn_gbs,
        floor_gbs=found.floor_gbs if percent == _WHOLE else round(found.floor_gbs * percent / _WHOLE, 1),
        provisional=found.provisional,
        source=found.source,
        measured_nodes=found.measured_nodes,
        lowered_from_gbs=None if percent == _WHOLE else found.floor_gbs,
    )
