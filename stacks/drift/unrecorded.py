"""Findings about instances that carry the stack's name: strays, and nodes that differ from their template. Pure: the target's discovery asks."""

from blueprints.finding import Finding
from blueprints.finding.subject import Instance
from components.discovery import Deviation, Instances, Stray
from components.inspection.codes import Code
from components.inspection.finding import Unchecked, drift
from components.inspection.layer import Layer

TERMINATE = "if nobody needs it, terminate it: you pay for it"


def findings(seen: Instances) -> tuple[list[Finding], list[Unchecked]]:
    """Report strays and deviations, and name the instances that were not compared."""
    found = [*map(_unknown, seen.strays), *map(_differs, seen.deviations)]
    return found, [Unchecked(Layer.CLOUD, f"instance {which}", why) for which, why in seen.skipped]


def _unknown(one: Stray) -> Finding:
    return drift(
        Code.INSTANCE_UNKNOWN,
        Instance(one.id),
        f"the instance carries the stack's name, and {one.reason}",
        remedy=f"`clusterwright-elastic status` on the controller names the nodes that are its own; {TERMINATE}",
        actual=one.description,
    )


def _differs(one: Deviation) -> Finding:
    return drift(
        Code.INSTANCE_CHANGED,
        Instance(one.id, one.node, one.attribute),
        f"the instance has other {one.attribute} than its launch template",
        remedy=f"restore them, or drain the node: `scontrol update nodename={one.node} state=power_down_asap` replaces it",
        desired=one.expected or None,
        recorded=one.expected or None,
        actual=one.actual or None,
    )
