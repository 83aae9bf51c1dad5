"""The compute nodes of one node set in a cloud, as a resource whose only work is to terminate them.

The elastic program on the controllers starts and terminates nodes. No cloud deletes what nodes use, and as long as controllers run, they start nodes for waiting jobs. So controllers depend on this resource
and are deleted before it; it depends on the nodes' template and is deleted before that.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar

from .. import errors
from ..provider.kind import Kind, Refused, Values, Work

ENDED_WITHIN_S = 1200
"""Machines with eight GPUs take minutes to shut down."""
LOOK_EVERY_S = 2.0


class NodeSet(Protocol):
    """What a target's inputs have in any case."""

    @property
    def stack(self) -> str: ...
    @property
    def node_set(self) -> str: ...


Inputs = TypeVar("Inputs", bound=NodeSet)


class Nodes(Kind[Inputs]):
    """Creation changes nothing; deletion terminates the node set's instances and waits for their end."""

    fixed: ClassVar[frozenset[str]] = frozenset({"stack", "node_set"})
    timeout_s = 1800

    @abstractmethod
    def termination(self, inputs: Inputs, work: Work) -> Callable[[], bool]:
        """Give what terminates the instances that remain, and returns whether there were none."""

    def identity(self, inputs: Inputs) -> str:
        return f"{inputs.stack}/{inputs.node_set}"

    def read(self, inputs: Inputs, outputs: Values) -> Values | None:
        """The elastic program starts and terminates nodes, so their number is no drift."""
        return {}

    def create(self, inputs: Inputs, work: Work) -> Values:
        return {}

    def delete(self, inputs: Inputs, outputs: Values, work: Work) -> None:
        try:
            work.wait_until(
                self.termination(inputs, work), awaiting=f"the nodes of {inputs.node_set} to terminate", within_s=ENDED_WITHIN_S, every_s=LOOK_EVERY_S
            )
        except errors.TargetUnanswered as error:
            raise Refused(f"the nodes of {inputs.node_set} can't be terminated: {error}") from error
