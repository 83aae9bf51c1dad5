"""The compute nodes of one node set, as a resource whose only work is to terminate them.

The elastic program on the controller starts and terminates nodes. Google Cloud can't delete what nodes use (subnets, placement policies, service accounts), and as long as the controller runs, it starts
nodes for waiting jobs. So the controller depends on this resource and is deleted before it; it depends on the template and is deleted before that.
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

from .. import errors
from ..provider.kind import Kind, Refused, Values, Work
from . import instances, rest

ENDED_WITHIN_S = 1200
"""Machines with eight GPUs take minutes to shut down."""
LOOK_EVERY_S = 2.0
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


class Nodes(Kind[NodesInputs]):
    """Creation changes nothing; deletion terminates the node set's instances and waits for their end."""

    token = "clusterwright:gcp:Nodes"
    inputs = NodesInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack", "node_set"})
    timeout_s = 1800

    def identity(self, inputs: NodesInputs) -> str:
        return f"{inputs.stack}/{inputs.node_set}"

    def read(self, inputs: NodesInputs, outputs: Values) -> Values | None:
        """The elastic program starts and terminates nodes, so their number is no drift."""
        return {}

    def create(self, inputs: NodesInputs, work: Work) -> Values:
        return {}

    def delete(self, inputs: NodesInputs, outputs: Values, work: Work) -> None:
        compute = rest.Compute(inputs.project)
        asked: set[str] = set()
        try:
            work.wait_until(
                lambda: _are_gone(inputs, compute, asked, work),
                awaiting=f"the nodes of {inputs.node_set} to terminate",
                within_s=ENDED_WITHIN_S,
                every_s=LOOK_EVERY_S,
            )
        except errors.TargetUnanswered as error:
            raise Refused(f"the nodes of {inputs.node_set} can't be terminated: {error}") from error


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
