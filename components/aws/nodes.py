"""The compute nodes of one node set, as a resource whose only work is to terminate them.

The elastic program on the controllers starts and terminates nodes. AWS can't delete what nodes use (security groups, subnets, placement groups), and as long as controllers run,
they start nodes for waiting jobs. So controllers depend on this resource and are deleted before it; it depends on the launch template and is deleted before that.
"""

import dataclasses
import threading
from typing import ClassVar

from .. import errors
from ..provider.kind import Kind, Refused, Values, Work
from . import instances

ENDED_WITHIN_S = 1200
"""Machines with eight GPUs take minutes to shut down."""
LOOK_EVERY_S = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class NodesInputs:
    region: str
    stack: str
    cluster: str
    owner: str
    """The stack's mark."""
    node_set: str
    template: str
    """The nodes' launch template."""


class Nodes(Kind[NodesInputs]):
    """Creation changes nothing; deletion terminates the node set's instances and waits for their end."""

    token = "clusterwright:aws:Nodes"
    inputs = NodesInputs
    fixed: ClassVar[frozenset[str]] = frozenset({"stack", "node_set"})
    timeout_s = 1800

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._made: dict[str, instances.Ec2] = {}

    def identity(self, inputs: NodesInputs) -> str:
        return f"{inputs.stack}/{inputs.node_set}"

    def read(self, inputs: NodesInputs, outputs: Values) -> Values | None:
        """The elastic program starts and terminates nodes, so their number is no drift."""
        return {}

    def create(self, inputs: NodesInputs, work: Work) -> Values:
        return {}

    def delete(self, inputs: NodesInputs, outputs: Values, work: Work) -> None:
        try:
            ec2 = self._ec2(inputs.region)
            work.wait_until(
                lambda: _are_gone(inputs, ec2, work), awaiting=f"the nodes of {inputs.node_set} to terminate", within_s=ENDED_WITHIN_S, every_s=LOOK_EVERY_S
            )  # fmt: skip
        except errors.TargetUnanswered as error:
            raise Refused(f"the nodes of {inputs.node_set} can't be terminated: {error}") from error

    def _ec2(self, region: str) -> instances.Ec2:
        """Return the client that all node sets of a region share: their resources are deleted at the same time."""
        with self._making:
            if region not in self._made:
                self._made[region] = instances.Ec2(region)
            return self._made[region]


def _are_gone(inputs: NodesInputs, ec2: instances.Ec2, work: Work) -> bool:
    """Terminate the instances that remain; return whether there were none."""
    found = ec2.look(stack=inputs.stack, node_set=inputs.node_set, states=instances.STATES_BEFORE_THE_END)
    ours = [
        one
        for one in found
        if one.cluster == inputs.cluster and one.part == instances.COMPUTE and instances.is_ours(one, owner=inputs.owner, templates={inputs.template})
    ]
    lasting = [one.id for one in ours if one.state != instances.ENDING]
    if lasting:
        work.say(f"terminating {len(lasting)} instances")
        ec2.end(lasting)
    return not ours
