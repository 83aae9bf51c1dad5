"""What acceptance demands: floors that a blueprint lowers, and gates, compared with what the pools can prove."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_COLLECTIVES = "collectives"
_WHOLE = 100
"""Per cent: the floor as it is known."""


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find floors that a blueprint lowers, and gates that prove nothing."""
    if blueprint.scheduler == "training":
        return  # a service has no acceptance, and says so itself
    yield from _lowered(cluster, blueprint, source)
    yield from _unproven(cluster, blueprint, source)


def _lowered(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Name the pools whose collectives may be slower than the known floor: that is allowed, and said."""
    for name, pool, node_sets in lookup.pools_of(cluster, blueprint):
        if source.at("pools", name, "busbw_percent") is None:
            continue
        where = source.where("pools", name, "busbw_percent")
        lowered = [one for node_set in node_sets for one in node_set.collectives if one.lowered_from_gbs is not None]
        if lowered:
            what = f"collectives of the pool {name} need only {pool.busbw_percent} % of the known floor"
            why = "; ".join(
                dict.fromkeys(
                    f"{one.collective} over {one.nodes} node{'s' if one.nodes > 1 else ''}: {one.floor_gbs:g} instead of {one.lowered_from_gbs:g} GB/s"
                    for one in lowered
                )
            )
            remedy = "remove `busbw_percent` when the fabric is repaired; every plan and report shows it until then"
            yield finding.Finding(finding.Level.NOTE, Code.FLOOR_LOWERED, where, what, why, remedy)
        elif pool.busbw_percent < _WHOLE and not any(_is_measured(node_set) for node_set in node_sets):
            what = f"`busbw_percent` of the pool {name} lowers nothing"
            why = "no rate is known that collectives of this pool must reach"
            yield finding.Finding(finding.Level.WARNING, Code.FLOOR_LOWERED, where, what, why, "remove `busbw_percent`")


def _is_measured(node_set: spec.NodeSet) -> bool:
    """Say whether a rate is known of the nodes, or none can be: simulated GPUs have none."""
    gpus = node_set.hosts.machine.gpus
    return bool(node_set.collectives) or bool(gpus and gpus.simulated)


def _unproven(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
    """Find collectives that a blueprint gates and that no pool can run, or that run inside single nodes only."""
    if source.at("acceptance", "gate") is None or _COLLECTIVES not in blueprint.acceptance.gate:
        return
    if any(node_set.hosts.machine.gpus and node_set.hosts.machine.gpus.simulated for node_set in cluster.node_sets):
        return  # a program that stands for NCCL runs there whatever the fabric
    where, level = source.where("acceptance", "gate", blueprint.acceptance.gate.index(_COLLECTIVES)), finding.Level.WARNING
    pools = [*lookup.pools_of(cluster, blueprint)]
    sliced = [name for name, pool, _ in pools if pool.mig]
    judged = [name for name, _, node_sets in pools if any(node_set.collectives for node_set in node_sets)]
    between = [name for name, _, node_sets in pools if any(one.nodes > 1 for node_set in node_sets for one in node_set.collectives)]
    for name in sliced:
        what = f"acceptance gates `collectives`, and the pool {name} uses MIG slices: nothing is measured there"
        why = "a collective needs whole GPUs that reach each other over NVLink or the fabric; a MIG slice reaches no other"
        remedy = "remove `mig`, or accept that the gate is for the other pools" if judged else "remove `mig`, or remove `collectives` from `acceptance.gate`"
        yield finding.Finding(level, Code.GATE_UNPROVEN, source.where_key("pools", name, "mig"), what, why, remedy)
    if not judged and not sliced:
        what = "acceptance gates `collectives`, and no pool has an expected rate that could fail"
        why = "no pool has GPUs on a machine whose collectives somebody measured" if pools else "no pool has nodes"
        yield finding.Finding(level, Code.GATE_UNPROVEN, where, what, why, "remove `collectives` from the list, or choose machines of the catalogue with GPUs")
    elif judged and not between:
        what = f"acceptance gates `collectives`, and measures them inside single nodes of {message_text.listed(judged)} only"
        why = "no pool has two nodes or more with a fabric between their GPUs"
        yield finding.Finding(level, Code.GATE_UNPROVEN, where, what, why, "add nodes or a fabric, or remove `collectives` from the list")
