"""What a resource kind of this provider is, seen from the kind: plain values in, plain values out, and no word of the engine's protocol.

A kind observes and changes one sort of thing in the world. Names of what it makes are deterministic, so that `create` adopts what an interrupted run left half-made,
and every method may be called again after any interruption.
"""

import dataclasses
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, TypeVar

import pydantic

from .unknown import UNKNOWN

Inputs = TypeVar("Inputs")
Values = Mapping[str, Any]


class Stopped(Exception):
    """The engine asked to stop, or the operation's time is over."""


class Refused(Exception):
    """The operation cannot or must not be done; the text is the whole page that the user reads."""


class Unobserved(Exception):
    """What a resource is in could not be asked: its record stays as it is, and the text is shown as a warning."""


class PartlyMade(Exception):
    """Something exists now, but not as it should: it is recorded, so that the next `up` goes on and `destroy` cleans up.

    Args:
        reasons: one page each, the first is the headline.
        outputs: what exists, as the outputs of the kind.
    """

    def __init__(self, *reasons: str, outputs: Values):
        super().__init__(reasons[0])
        self.reasons, self.outputs = reasons, outputs


class Work:
    """One operation in progress: how it speaks to the user, and how it learns that it must stop.

    Args:
        show: shows a line on the resource's row; the second argument says whether the line is kept after the run.
        stopping: set when the engine asks every operation to end.
        timeout_s: the operation's time; 0 for none.
        stack: the stack that it works for; empty for none.
        purpose: what it does (`finish-control`).
    """

    def __init__(self, *, show: Callable[[str, bool], None], stopping: threading.Event, timeout_s: float, stack: str = "", purpose: str = ""):
        self._show, self._stopping = show, stopping
        self.stack, self.purpose = stack, purpose
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s if timeout_s else None

    @property
    def title(self) -> str:
        """What lists of processes show (`local finish-control`)."""
        return f"{self.stack} {self.purpose}".strip()

    def say(self, text: str) -> None:
        """Show progress on the resource's row; it is not kept."""
        self._show(text, False)

    def tell(self, text: str) -> None:
        """Show a line that stays in the run's diagnostics: what a user should know afterwards too."""
        self._show(text, True)

    def check(self) -> None:
        """Raise Stopped when the operation should end; called between steps and in every wait."""
        if self._stopping.is_set():
            raise Stopped("stopped on request; the resources created so far are recorded, and the next `up` continues")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise Stopped(f"not complete within {self._timeout_s:.0f} s")

    def wait_until(self, done: Callable[[], bool], *, awaiting: str, within_s: float, every_s: float = 0.05) -> None:
        """Wait for a condition.

        Raises:
            Stopped: the operation should end.
            TimeoutError: `within_s` seconds passed; the text says what was awaited.
        """
        deadline = time.monotonic() + within_s
        while not done():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {within_s:.0f} s for {awaiting}")
            self._stopping.wait(every_s)


class Kind(ABC, Generic[Inputs]):
    """One kind of resource; `inputs` is a frozen dataclass, outputs are plain values by name."""

    token: ClassVar[str]
    """Pulumi's type (`clusterwright:local:HostPool`)."""
    inputs: ClassVar[type[Any]]
    replace_on: ClassVar[frozenset[str]] = frozenset()
    """Inputs whose change makes a new resource."""
    gone_first: ClassVar[bool] = True
    """The old one is deleted before the new one is made, since both would have one name."""
    fixed: ClassVar[frozenset[str]] = frozenset()
    """Inputs that no update and no replacement may change."""
    secret_outputs: ClassVar[frozenset[str]] = frozenset()
    id_inputs: ClassVar[tuple[str, ...]] = ()
    """Inputs that make up the id, with slashes between them, of what nobody finds again without the stack's record: where a run was killed that created or changed it, it is recorded with what was asked for,
    and the refresh that follows observes what came of that. Of other kinds, the next `create` adopts what is there, and a stack that is deleted before leaves nothing that its target's sweep does not find."""
    timeout_s: ClassVar[float] = 600
    """Time for one operation when the program sets none."""

    @abstractmethod
    def identity(self, inputs: Inputs) -> str:
        """The resource's id; the same for the same thing in every run. A thing that exists in the state alone may have a random one."""

    def check(self, inputs: Inputs) -> Iterator[tuple[str, str]]:
        """Yield (input, reason) for what is wrong before anything is made. Runs in previews too, so it only looks."""
        return iter(())

    def expected(self, inputs: Inputs) -> Values:
        """Give the outputs that hold when all is well: shown in previews, compared in diffs. `UNKNOWN` marks what only an apply gives."""
        return {}

    def upgrade(self, recorded: Values) -> Values:
        """Bring what an older version recorded of a resource, inputs and outputs, to the form that this version gives it.

        Everything is compared after that, so that another form alone is no change. What has this version's form comes back as it is.
        """
        return recorded

    @abstractmethod
    def read(self, inputs: Inputs, outputs: Values) -> Values | None:
        """Observe the world and give the outputs as they are now, or None when nothing of it exists. Changes nothing.

        Raises:
            Unobserved: what the resource is in doesn't answer, and a later step of the same run may mend that: the record stays, with a warning.
            Exception: the world could not be observed; a refresh then fails instead of guessing.
        """

    @abstractmethod
    def create(self, inputs: Inputs, work: Work) -> Values:
        """Make it, adopting what is half-made, and give the outputs."""

    def update(self, inputs: Inputs, outputs: Values, work: Work) -> Values:
        """Bring it to the new inputs; `outputs` are those recorded before. The default makes no difference between create and update."""
        return self.create(inputs, work)

    @abstractmethod
    def delete(self, inputs: Inputs, outputs: Values, work: Work) -> None:
        """Remove it; removing what is not there is fine."""


@contextmanager
def step(what: str) -> Iterator[None]:
    """Put `what` in front of the message of anything that goes wrong inside."""
    try:
        yield
    except (Stopped, Refused, PartlyMade):
        raise
    except Exception as error:
        raise RuntimeError(f"{what}: {error}") from error


__all__ = ["UNKNOWN", "Inputs", "Kind", "PartlyMade", "Refused", "Stopped", "Unobserved", "Values", "Work", "step"]


def typed(kind: Kind[Any], values: Mapping[str, Any]) -> Any:
    """Turn plain values into the kind's inputs, a frozen dataclass; other names (outputs in a state) are left aside."""
    names = input_names(kind)
    return pydantic.TypeAdapter(kind.inputs).validate_python({name: value for name, value in values.items() if name in names})


def input_names(kind: Kind[Any]) -> list[str]:
    """Name the inputs of a kind."""
    return [field.name for field in dataclasses.fields(kind.inputs)]
