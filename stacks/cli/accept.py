"""`clusterwright accept`: run the checks of acceptance again, and keep what they found."""

import argparse
import json
import sys

from blueprints import message_text

from ..acceptance import history
from ..acceptance import run as runs
from ..engine import commands
from ..errors import EXIT_FAILED
from ..render import summary as render
from . import options, summary


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--pool", action="append", default=[], metavar="POOL", help="only this pool; may be given several times (default: all)")
    parser.add_argument(
        "--dcgm-level",
        type=int,
        choices=(1, 2, 3),
        default=0,
        metavar="LEVEL",
        help="level of DCGM's diagnostic (default: by the pools' health.check); 3 takes 15 minutes",
    )
    parser.add_argument("--history", action="store_true", help="list earlier runs instead")
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    if given.history:
        _show(history.read(given.stack), as_json=given.json)
        return 0
    commands.require()
    known = summary.readable(given.stack, commands.record(given.stack, show_secrets=True))
    terminal = sys.stderr.isatty()
    found = runs.accept(given.stack, known, given.pool, say=lambda text: print(f"  {text}", file=sys.stderr) if terminal else None, dcgm_level=given.dcgm_level)
    history.add(given.stack, found)
    if given.json:
        print(json.dumps(history.as_record(found), indent=2, ensure_ascii=False))
    else:
        for check in found.checks:
            print(message_text.printable(render.check_line(check)))
        print(f"{'passed' if found.ok else 'failed'}, in {found.seconds:.0f} s")
    return 0 if found.ok else EXIT_FAILED


def _show(found: tuple[history.Run, ...], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([history.as_record(one) for one in found], indent=2, ensure_ascii=False))
        return
    for one in found:
        wrong = [check for check in one.checks if check["verdict"] in ("fail", "error", "warn")]
        what = ", ".join(dict.fromkeys(f"{check['name']} ({check['node']})" for check in wrong))
        print(
            message_text.printable(
                f"{one.began:%Y-%m-%d %H:%M} UTC  {', '.join(one.pools) or 'all pools'}  {'passed' if one.ok else 'failed'}{f': {what}' if what else ''}"
            )
        )
    if not found:
        print("no run is kept; `clusterwright accept` runs the checks")
