"""`clusterwright compare`: one blueprint on several targets side by side; it creates nothing and needs no credentials."""

import argparse
import dataclasses
import json
from typing import get_args

from blueprints.language import TargetName
from blueprints.plan import compare
from components import this_machine

from ..render import comparison, tables
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""
EXIT_INVALID = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    options.blueprint(parser)
    options.stack(parser)
    options.what_if(parser)
    parser.add_argument("--targets", type=_targets, default=get_args(TargetName), metavar="TARGET,…", help="which targets, in which order (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    settled = options.chosen(given)
    options.announce(given)
    found = compare.compare(
        settled.blueprint, targets=given.targets, stack=given.stack, facts=this_machine.facts(given.stack or ""), overrides=settled.overrides
    )
    found = tuple(dataclasses.replace(side, findings=options.placed(side.findings, f"option --targets {side.target}")) for side in found)
    if given.json:
        print(json.dumps({"format": FORMAT, **compare.as_record(settled.blueprint, found)}, indent=2))
    else:
        tables.show(comparison.sections(settled.blueprint, found))
    return 0 if any(one.cluster for one in found) else EXIT_INVALID


def _targets(words: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(words.split(",")))
    unknown = [name for name in names if name not in get_args(TargetName)]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(map(repr, unknown))}; there are {', '.join(get_args(TargetName))}")
    return names
