"""What the conformance suite has to know of an offering."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from tests.components.registered import Program

Said = Mapping[str, Any]


class Run(Protocol):
    """Runs a blueprint against Pulumi's mocks, with values put over its own by dotted path."""

    def __call__(self, blueprint: str, overrides: Mapping[str, Any], *, preview: bool = False) -> Program: ...


class Marks(Protocol):
    """Gives the stack's mark, and everything that can carry it with what it carries."""

    def __call__(self, program: Program) -> tuple[Said, list[tuple[str, Said]]]: ...


class Deletion(Protocol):
    """Lists chains of names in the order in which they have to be deleted: what starts nodes, what ends them, what they use."""

    def __call__(self, program: Program) -> Iterator[tuple[str, ...]]: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Offering:
    """One way in which a target runs a scheduler.

    Args:
        blueprints: together they register every kind of resource that the offering can.
        starter: a blueprint with one elastic or fixed pool, `train`, and nothing that is protected.
        package: begins the tokens of the cloud's SDK; empty: the target has none.
        storage: kind of file system → keys that it needs beside `kind` and `mount`.
        holding_data: kinds whose content exists nowhere else.
        disposable: names of resources of these kinds whose content the next `up` writes again.
        adopted: kinds of the cloud's SDK that are found again after a kill.
        control: the group of the scheduler's own hosts.
        most_nodes: the largest cluster that is tried.
        with_nodes: number of nodes → what to put over the starter's values for as many.
    """

    target: str
    scheduler: str
    run_by: str
    blueprints: tuple[str, ...]
    starter: str
    package: str
    run: Run
    marks: Marks
    deletion: Deletion
    storage: Mapping[str, Mapping[str, Any]]
    holding_data: frozenset[str]
    disposable: frozenset[str]
    adopted: frozenset[str]
    control: str = "control"
    most_nodes: int = 7500
    with_nodes: Callable[[int], Mapping[str, Any]] = lambda nodes: {"network.cidr": "10.64.0.0/16", "pools.train.nodes": {"min": 0, "max": nodes}}

    @property
    def name(self) -> str:
        return f"{self.target}-{self.run_by}"
