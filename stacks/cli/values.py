"""`clusterwright values`: every value of a blueprint after everything is merged, and where it comes from."""

import argparse
import json

from ..render import values
from . import options

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    options.target(parser)
    options.what_if(parser)
    parser.add_argument("--all", action="store_true", help="also show values that nothing sets")
    parser.add_argument("--json", action="store_true", help="print them as JSON (docs/json.md)")
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="show only the values below this path: pools.train")


def run(given: argparse.Namespace) -> int:
    found = values.chosen(options.loaded(given), given.path, every=given.all)
    if given.json:
        print(json.dumps({"format": FORMAT, "values": found}, indent=2))
    else:
        width = max((len(one["path"]) for one in found), default=0)
        for one in found:
            print(f"{one['path']:{width}} = {json.dumps(one['value'], ensure_ascii=False)}   ({one['from']})")
    return 0
