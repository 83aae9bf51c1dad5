"""Slurm powers nodes down: decide which instances to terminate."""

import dataclasses
from collections.abc import Sequence

from ..memory import Memory
from ..model import Cloud, Slurm
from ..table import Table
from .steps import Decision, Terminate, decision


def suspend(nodes: Sequence[str], *, table: Table, slurm: Slurm, cloud: Cloud, memory: Memory, now: float, spares_kept: bool = True) -> Decision:
    """Decide which instances to terminate. A node that Slurm has not powered down keeps its instance.

    Args:
        spares_kept: Slurm switches off what a person keeps only when a person says so. Otherwise it does so when the node was idle for a while, and its instance stays.
    """
    owners = table.owners()
    ending = set()
    for name in nodes:
        node = slurm.nodes.get(name)
        if node is not None and (node.is_kept or (name in owners and owners[name].keeps(node))) and not spares_kept:
            continue
        if name in owners and (node is None or node.is_off or node.is_stopping or (node.is_down and not node.has_jobs)):
            ending.add(name)
    seen = {instance.id for instance in cloud.instances if instance.node in ending}
    # What was just launched may not be seen yet.
    unseen = {instance for launch in memory.launches for node, instance in launch.instances.items() if node in ending}
    instances = tuple(sorted(seen | unseen))
    memory = memory.without(frozenset(ending))
    memory = dataclasses.replace(memory, terminated={**memory.terminated, **dict.fromkeys(instances, now)})
    return decision([Terminate(instances, "switched off by Slurm")] if instances else [], memory)
