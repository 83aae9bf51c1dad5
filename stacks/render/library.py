"""The blueprints of the library: for whom each is, where it can run, and how large it is there."""

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

from blueprints import finding, library, load
from blueprints.facts import Facts
from blueprints.language import TargetName

from . import formatting, pool_sizes
from .tables import Cell, Column, Section, Shown, Table


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """How large a blueprint is on one target, with every pool at its largest."""

    target: str
    nodes: int
    gpus: int


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One blueprint of the library."""

    name: str
    audience: str
    description: str
    scheduler: str
    sizes: tuple[Size, ...]
    """On the targets where it can run."""


def entry(name: str, facts: Facts) -> Entry:
    """Look at a blueprint on every target."""
    source = load.open_document(library.find(name))
    sizes = []
    for target in get_args(TargetName):
        try:
            cluster = load.from_document(source, target=target, stack="any", facts=facts).spec
        except finding.Invalid:
            continue
        sizes.append(Size(target, pool_sizes.nodes(cluster), pool_sizes.gpus(cluster)))
    audience, description, scheduler = (str(source.at(key) or "") for key in ("audience", "description", "scheduler"))
    return Entry(name, audience, description, scheduler, tuple(sizes))


def section(entries: Sequence[Entry]) -> Section:
    """Write the list for people."""
    columns = (Column("blueprint"), Column("for"), Column("runs on"), Column("nodes", right=True), Column("GPUs", right=True))
    return Section("Blueprints of the library", (Table(columns, tuple(_row(one) for one in entries)),))


def _row(one: Entry) -> tuple[Shown, ...]:
    where = ", ".join(size.target for size in one.sizes) or Cell("none: `check` says why", "care")
    return (one.name, one.audience, where, *(_between(numbers) for numbers in ([size.nodes for size in one.sizes], [size.gpus for size in one.sizes])))


def _between(numbers: Sequence[int]) -> str:
    return formatting.between(min(numbers), max(numbers)) if numbers else ""


def as_record(one: Entry) -> dict[str, Any]:
    """Turn a blueprint's entry into plain JSON values."""
    record = dataclasses.asdict(one)
    sizes = record.pop("sizes")
    return {**record, "targets": sizes}
