"""What shall go wrong, and a count of every call. A call has a name: `create ec2.Subnet` at the provider's door, `ec2.CreateFleet` at the API's."""

import dataclasses
import fnmatch
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

Effect = Literal["fail", "slow", "leave", "taint", "die", "kill-engine"]
HALF_WAY: frozenset[Effect] = frozenset({"leave", "taint"})


@dataclasses.dataclass(slots=True)
class Fault:
    """One thing that shall go wrong.

    Args:
        match: a pattern over call names (`create fsx.*`).
        effect: `fail` refuses the call with `code`; `slow` answers after `delay_s`; `leave` carries it out and then refuses, so that nobody records what was made; `taint`
            carries it out and reports a failure that is recorded; `die` ends the server; `kill-engine` ends the engine that asked, after the call when `after` is set.
        skip: how many matching calls pass first.
        times: how many calls after those it hits; None for all.
        where: words that the call's values must hold (`{"InstanceType": "p5.48xlarge"}`), anywhere inside.
    """

    match: str
    effect: Effect = "fail"
    code: str = "InternalError"
    message: str = "this was asked for by a test"
    delay_s: float = 0.0
    skip: int = 0
    times: int | None = 1
    after: bool = False
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Faults:
    """The faults that are set, in their order, and the calls so far."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._set: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._set.append(fault)

    def clear(self) -> None:
        self._set.clear()

    def count(self, match: str) -> int:
        return sum(number for name, number in self.calls.items() if fnmatch.fnmatchcase(name, match))

    def of(self, call: str, values: Any) -> list[Fault]:
        """Count a call and give the faults that hit it."""
        self.calls[call] += 1
        hitting = []
        for fault in self._set:
            if not fnmatch.fnmatchcase(call, fault.match) or not all(_holds(values, name, value) for name, value in fault.where.items()):
                continue
            if fault.skip:
                fault.skip -= 1
            elif fault.times is None:
                hitting.append(fault)
            elif fault.times:
                fault.times -= 1
                hitting.append(fault)
        return hitting


def _holds(values: Any, name: str, wanted: Any) -> bool:
    if isinstance(values, Mapping):
        return any((key == name and value == wanted) or _holds(value, name, wanted) for key, value in values.items())
    return isinstance(values, list) and any(_holds(value, name, wanted) for value in values)
