"""Findings about instances that carry the stack's name: strays, and nodes that differ from their template. Pure: the target's discovery asks."""

from components.discovery import Deviation, Instances, Stray

from .codes import Code
from .report import Drift, Layer, Unchecked, drift

END_IT = "if nobody needs it, end it: it is paid for"


def findings(seen: Instances) -> tuple[list[Drift], list[Unchecked]]:
    """Report strays and deviations, and name the instances that were not compared."""
    found = [*map(_unknown, seen.strays), *map(_differs, seen.deviations)]
    return found, [Unchecked(Layer.CLOUD, f"instance {which}", why) for which, why in seen.skipped]


def _unknown(one: Stray) -> Drift:
    return drift(
        Layer.CLOUD,
        Code.INSTANCE_UNKNOWN,
        f"instance {one.id}",
        f"the instance carries the stack's name, and {one.reason}",
        remedy=f"`clusterwright-elastic status` on the controller names the nodes that are its own; {END_IT}",
        actual=one.description,
    )


def _differs(one: Deviation) -> Drift:
    return drift(
        Layer.CLOUD,
        Code.INSTANCE_CHANGED,
        f"instance {one.id} ({one.node}): {one.attribute}",
        f"the instance has other {one.attribute} than its launch template says",
        remedy=f"put them back, or drain the node: `scontrol update nodename={one.node} state=power_down_asap` has it made anew",
        desired=one.expected or None,
        recorded=one.expected or None,
        actual=one.actual or None,
    )
