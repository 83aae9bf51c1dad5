"""The stack's mark: a random word in its state, and on everything that the stack creates or adopts.

Two checkouts can have a stack of the same name in one account or on the same servers; only the mark differs. The program registers the mark's resource, the *site*, first, so that nothing is created before
the mark is recorded.
"""

import secrets
from typing import ClassVar, Protocol, TypeVar

from .provider.kind import UNKNOWN, Kind, Values, Work


class OfStack(Protocol):
    """Inputs of a resource that a stack has once."""

    @property
    def stack(self) -> str: ...


Inputs = TypeVar("Inputs", bound=OfStack)


class Mark(Kind[Inputs]):
    """Creates nothing but a word. A stack from an earlier version without a mark gets one with its next `up`."""

    fixed: ClassVar[frozenset[str]] = frozenset({"stack"})
    output: ClassVar[str]
    """The output with the mark."""
    size_bytes: ClassVar[int]

    def identity(self, inputs: Inputs) -> str:
        return inputs.stack

    def expected(self, inputs: Inputs) -> Values:
        return {self.output: UNKNOWN}

    def read(self, inputs: Inputs, outputs: Values) -> Values | None:
        """Return the recorded outputs: the mark is the state's, and what carries it only repeats it."""
        return {self.output: outputs.get(self.output, "")}

    def create(self, inputs: Inputs, work: Work) -> Values:
        return self.update(inputs, {}, work)

    def update(self, inputs: Inputs, outputs: Values, work: Work) -> Values:
        return {self.output: outputs.get(self.output) or secrets.token_hex(self.size_bytes)}

    def delete(self, inputs: Inputs, outputs: Values, work: Work) -> None:
        """Do nothing: the mark is deleted with the state."""
