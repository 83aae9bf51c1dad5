"""What ends the findings of a node's diagnostics: what a node can do itself, and what a person does."""

import dataclasses
import functools
from collections.abc import Mapping

from . import files

ANY = "any"


@dataclasses.dataclass(frozen=True, slots=True)
class Repair:
    """One action."""

    says: str
    """How the reason of a drained node names it."""
    steps: Mapping[str, str]
    """What a person does, by target; `any` for the others. `{node}` is the node's name."""

    def by_hand(self, target: str, node: str) -> str:
        """Say what a person does about a node of a target."""
        return self.steps.get(target, self.steps[ANY]).format(node=node)


@functools.cache
def repairs() -> tuple[Repair, ...]:
    """Read the actions, in the order of the catalogue."""
    return tuple(Repair(one["says"], one["steps"]) for one in files.mapping("repairs")["actions"].values())


def wanted_repairs(reason: str) -> tuple[Repair, ...]:
    """Give the actions that the reason of a drained node names, in brackets."""
    return tuple(one for one in repairs() if f"({one.says})" in reason)
