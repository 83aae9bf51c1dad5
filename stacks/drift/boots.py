"""Reboot nodes through Slurm, which lets their jobs end first, and wait until they serve again."""

import time
from collections.abc import Callable, Sequence

from blueprints import hostlist
from components.elastic.model import OURS, Node
from components.inspection.recorded_cluster import Known

from ..errors import Problem
from ..rebuild import scheduler

REASON = f"{OURS}drift fix"
LOOK_EVERY_S = 2.0
SERVE_WITHIN_S = 1800.0
"""Machines with eight GPUs take minutes to boot."""


def carry_out(known: Known, nodes: Sequence[str], *, say: Callable[[str], None]) -> dict[str, str]:
    """Reboot nodes; give why some don't serve again: node → text.

    A node that was drained before is drained afterwards.
    """
    try:
        with scheduler.answering(scheduler.controllers(known), private_key=known.private_key, reason=REASON) as slurm:
            return reboot(slurm, nodes, say=say)
    except Problem as silent:
        return dict.fromkeys(nodes, silent.why)


def reboot(slurm: scheduler.Scheduler, nodes: Sequence[str], *, say: Callable[[str], None]) -> dict[str, str]:
    """Reboot nodes and wait for them; give why some don't serve again.

    A node that was drained keeps its reason: Slurm replaces it by the one of the reboot, and leaves ` : reboot issued` behind it.
    """
    states = slurm.nodes()
    failed = {name: "Slurm has no such node" for name in nodes if name not in states}
    say(f"Slurm reboots {hostlist.compress(nodes)}")
    for name in nodes:
        if name in states and (complaints := slurm.reboot([name], resumes=not states[name].is_drained, reason=_kept(states[name]))):
            failed[name] = "\n".join(complaints)
    asked = set(nodes) - failed.keys()
    deadline = time.monotonic() + SERVE_WITHIN_S
    while waiting := [name for name, node in slurm.nodes().items() if name in asked and (node.is_rebooting or not node.is_answering)]:
        if time.monotonic() > deadline:
            return failed | dict.fromkeys(waiting, f"it did not come back within {SERVE_WITHIN_S / 60:.0f} minutes")
        time.sleep(LOOK_EVERY_S)
    for name in sorted(asked):
        if (reason := _kept(states[name])) and (complaints := slurm.explain(name, reason)):
            failed[name] = "\n".join(complaints)
    return failed


def _kept(node: Node) -> str:
    return node.reason if node.is_drained else ""
