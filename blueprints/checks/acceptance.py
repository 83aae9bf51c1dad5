"""What acceptance gates, compared with what the pools can prove."""

from collections.abc import Iterator

from .. import finding, language, message_text, spec
from ..codes import Code
from ..document import Document
from . import lookup

_COLLECTIVES = "collectives"


def check(cluster: spec.ClusterSpec, blueprint: language.Blueprint, source: Document) -> Iterator[finding.Finding]:
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
