"""Termination of a node set's instances on AWS, which can't delete what nodes use: security groups, subnets, placement groups."""

import dataclasses
import threading
from collections.abc import Callable

from ..cloud import node_termination
from ..provider.kind import Work
from . import instances


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


class Nodes(node_termination.Nodes[NodesInputs]):
    """The instances of one node set."""

    token = "clusterwright:aws:Nodes"
    inputs = NodesInputs

    def __init__(self) -> None:
        self._making = threading.Lock()
        self._made: dict[str, instances.Ec2] = {}

    def termination(self, inputs: NodesInputs, work: Work) -> Callable[[], bool]:
        ec2 = self._ec2(inputs.region)
        return lambda: _are_gone(inputs, ec2, work)

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
