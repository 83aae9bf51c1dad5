"""`clusterwright library`: the blueprints to start from, for whom each is, where it can run, and how large it is there."""

import argparse
import json

from blueprints import library as files
from components import this_machine

from ..render import library, tables

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    entries = [library.entry(name, this_machine.facts()) for name in files.names()]
    if given.json:
        print(json.dumps({"format": FORMAT, "blueprints": [library.as_record(one) for one in entries]}, indent=2, ensure_ascii=False))
    else:
        tables.show([library.section(entries)])
    return 0
