"""Termination of a node set's instances on Google Cloud, which can't delete what nodes use: subnets, placement policies, service accounts."""

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .. import node_termination
from ..provider.kind import Work
from . import instances, rest

AT_A_TIME = 16


@dataclasses.dataclass(frozen=True, slots=True)
class NodesInputs:
    project: str
    zone: str
    stack: str
    cluster: str
    owner: str
    """The stack's mark."""
    node_set: str


class Nodes(node_termination.Nodes[NodesInputs]):
    """The instances of one node set."""

    token = "clusterwright:gcp:Nodes"
    inputs = NodesInputs

    def termination(self, inputs: NodesInputs, work: Work) -> Callable[[], bool]:
        compute = rest.Compute(inputs.project)
        asked: set[str] = set()
        return lambda: _are_gone(inputs, compute, asked, work)


def _are_gone(inputs: NodesInputs, compute: rest.Compute, asked: set[str], work: Work) -> bool:
    """Delete the instances that remain; return whether there were none.

    Args:
        asked: ids of those that are being deleted.
    """
    try:
        found = instances.look(compute, stack=inputs.stack, zone=inputs.zone, node_set=inputs.node_set)
    except rest.Silent as silent:
        work.say(f"instances terminate; {silent}")
        return False
    ours = [one for one in found if one.owner == inputs.owner and one.part == instances.COMPUTE]
    lasting = [one for one in ours if one.id not in asked]
    if lasting:
        work.say(f"terminating {len(lasting)} instances")
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            [*pool.map(lambda one: _delete(compute, inputs.zone, one.name), lasting)]
        asked.update(one.id for one in lasting)
    return not ours


def _delete(compute: rest.Compute, zone: str, name: str) -> None:
    with rest.missing():
        compute.start("DELETE", f"zones/{zone}/instances/{name}")
