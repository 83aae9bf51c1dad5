"""The compute nodes of one node set, as the engine knows them: not at all, until they have to go.

The elastic program on the controllers starts and ends nodes. What they use (security groups, subnets, placement groups) can't be deleted while they are there, and while controllers are there,
nodes that jobs wait for come again. So this resource stands between: controllers depend on it and are gone before it, it depends on what nodes are started from and is gone before that.
"""

import dataclasses
import threading
from typing import ClassVar

from .. import discovery
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
    """The launch template that nodes are started from."""


class Nodes(Kind[NodesInputs]):
    """Creating it makes nothing; deleting it ends the node set's instances and waits until they are gone."""

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
        """Nodes come and go without the engine: how many there are is no drift."""
        return {}

    def create(self, inputs: NodesInputs, work: Work) -> Values:
        return {}

    def delete(self, inputs: NodesInputs, outputs: Values, work: Work) -> None:
        try:
            ec2 = self._ec2(inputs.region)
            work.wait_until(
                lambda: _are_gone(inputs, ec2, work), awaiting=f"the nodes of {inputs.node_set} to end, which hold what they use", within_s=ENDED_WITHIN_S, every_s=LOOK_EVERY_S
            )  # fmt: skip
        except discovery.Unanswered as error:
            raise Refused(f"the nodes of {inputs.node_set} can't be ended: {error}") from error

    def _ec2(self, region: str) -> instances.Ec2:
        """Give what all node sets of a region share: their resources are deleted at one time."""
        with self._making:
            if region not in self._made:
                self._made[region] = instances.Ec2(region)
            return self._made[region]


def _are_gone(inputs: NodesInputs, ec2: instances.Ec2, work: Work) -> bool:
    """End what is there, and say whether nothing was."""
    found = ec2.look(stack=inputs.stack, node_set=inputs.node_set, states=instances.STATES_BEFORE_THE_END)
    ours = [
        one
        for one in found
        if one.cluster == inputs.cluster and one.part == instances.COMPUTE and instances.is_ours(one, owner=inputs.owner, templates={inputs.template})
    ]
    lasting = [one.id for one in ours if one.state != instances.ENDING]
    if lasting:
        work.say(f"ending {len(lasting)} instances")
        ec2.end(lasting)
    return not ours
