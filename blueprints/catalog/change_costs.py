"""What changing a field of the spec costs on one target, where it differs from the cost declared beside the field."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class OtherCost:
    """What changes cost instead, while a field had a value."""

    field: str
    value: str
    effect: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True)
class ChangeCost:
    """What changing some fields of the spec costs on one target."""

    fields: tuple[str, ...]
    """Paths (`node_sets.*.minimum`): of the scheduler where `offerings` names what runs it, else of the spec."""
    offerings: tuple[str, ...] = ()
    """Empty: it doesn't depend on how the target runs a scheduler."""
    effect: str = ""
    """Empty: the field's own cost."""
    why: str = ""
    given: tuple[OtherCost, ...] = ()
    is_anew: bool = False
    """Whether a running cluster refuses the change."""


@functools.cache
def change_costs(target: str) -> tuple[ChangeCost, ...]:
    """List what changes cost on a target, where it differs from the costs declared beside the fields."""
    return tuple(_change_cost(**entry) for entry in files.mapping("change_costs").get(target, ()))


def _change_cost(fields: list[str], *, under: str = "", offerings: tuple[str, ...] = (), given: tuple[Mapping[str, Any], ...] = (), **rest: Any) -> ChangeCost:
    paths = tuple(f"{under}.{field}" if under else field for field in fields)
    return ChangeCost(fields=paths, offerings=tuple(offerings), given=tuple(OtherCost(**one) for one in given), **rest)
