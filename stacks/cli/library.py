"""`clusterwright library`: the blueprints to start from, for whom each is, where it can stand, and how large it is there."""

import argparse
import dataclasses
import json
from collections.abc import Sequence
from typing import Any, get_args

from blueprints import finding, library, load
from blueprints.facts import Facts
from blueprints.language import TargetName
from components import this_machine

from ..render import formatting, pool_sizes, tables
from ..render.tables import Cell, Column, Section, Shown, Table
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Size:
    """How large a blueprint is on one target, with every pool at its largest."""

    target: str
    nodes: int
    gpus: int


@dataclasses.dataclass(frozen=True, slots=True)
class Volume:
    """One blueprint of the library."""

    name: str
    audience: str
    description: str
    scheduler: str
    sizes: tuple[Size, ...]
    """On the targets where it can stand."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    volumes = [volume(name, this_machine.facts()) for name in library.names()]
    if given.json:
        print(json.dumps({"format": FORMAT, "blueprints": [as_record(one) for one in volumes]}, indent=2, ensure_ascii=False))
    else:
        tables.show([section(volumes)])
    return 0


def volume(name: str, facts: Facts) -> Volume:
    """Look at a blueprint on every target."""
    source = load.open_document(library.find(name))
    sizes = []
    for target in get_args(TargetName):
        try:
            cluster = load.from_document(source, target=target, stack=options.DEFAULT_STACK, facts=facts).spec
        except finding.Invalid:
            continue
        sizes.append(Size(target, pool_sizes.nodes(cluster), pool_sizes.gpus(cluster)))
    audience, description, scheduler = (str(source.at(key) or "") for key in ("audience", "description", "scheduler"))
    return Volume(name, audience, description, scheduler, tuple(sizes))


def section(volumes: Sequence[Volume]) -> Section:
    """Write the list for people."""
    columns = (Column("blueprint"), Column("for"), Column("stands on"), Column("nodes", right=True), Column("GPUs", right=True))
    return Section("Blueprints of the library", (Table(columns, tuple(_row(one) for one in volumes)),))


def _row(one: Volume) -> tuple[Shown, ...]:
    where = ", ".join(size.target for size in one.sizes) or Cell("none: `check` says why", "care")
    return (one.name, one.audience, where, *(_between(numbers) for numbers in ([size.nodes for size in one.sizes], [size.gpus for size in one.sizes])))


def _between(numbers: Sequence[int]) -> str:
    return formatting.between(min(numbers), max(numbers)) if numbers else ""


def as_record(one: Volume) -> dict[str, Any]:
    """Turn a blueprint's entry into plain JSON values."""
    record = dataclasses.asdict(one)
    sizes = record.pop("sizes")
    return {**record, "targets": sizes}
