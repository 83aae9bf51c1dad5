"""`clusterwright catalog`: what is known of machines, GPUs, regions, storage, software, fabrics and add-ons, with sources and dates."""

import argparse
import json
from typing import get_args

from blueprints.language import TargetName

from ..render import catalog_tables, tables
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=[*catalog_tables.SHELVES], help="what to list")
    options.target(parser, default="all of them")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    targets = (given.target,) if given.target else get_args(TargetName)
    if given.json:
        print(json.dumps({"format": FORMAT, "kind": given.kind, "entries": catalog_tables.SHELVES[given.kind].entries(targets)}, indent=2, ensure_ascii=False))
    else:
        tables.show(catalog_tables.sections(given.kind, targets))
    return 0
