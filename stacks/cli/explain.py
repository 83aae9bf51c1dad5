"""`clusterwright explain`: what the code of a finding means, how much it matters, and how a blueprint accepts it."""

import argparse
import json

from blueprints import lookalikes, message_text

from ..errors import EXIT_USAGE, Problem
from ..render import codes, tables

FORMAT = 1
"""Of the JSON document (docs/json.md)."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", type=str.upper, metavar="CODE", help="the code that a finding ends with: CW520 (default: all of them)")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    known = codes.known()
    if given.code and given.code not in known:
        near = message_text.near(given.code, known)
        meant = f"did you mean {near}? " if near else ""
        why = "each finding shows its code in brackets at the end of its first line"
        raise Problem(
            f"no finding has the code {given.code}{lookalikes.explanation(given.code, known)}",
            why=why,
            remedy=f"{meant}`clusterwright explain` lists all codes",
            status=EXIT_USAGE,
        )
    chosen = [known[given.code]] if given.code else [*known.values()]
    if given.json:
        print(json.dumps({"format": FORMAT, "codes": [codes.as_record(code) for code in chosen]}, indent=2))
    elif given.code:
        print("\n".join(codes.lines(chosen[0])))
    else:
        tables.show([codes.listed(chosen)])
    return 0
