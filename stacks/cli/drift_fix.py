"""`clusterwright drift fix`: show the commands that fix drift, run them when somebody agrees, and check again."""

import argparse
import os
import shlex
import sys

from blueprints import message_text
from blueprints.finding import Finding
from components.inspection.layer import LAYERS, Layer

from ..drift import fix, repair
from ..drift.reports import terminal
from ..project import ignore_file

EXIT_DRIFT = 7
EXIT_FAILED = 1
AGREED = "yes"


def arguments(group: argparse._ArgumentGroup) -> None:
    kinds = ", ".join(fix.Kind)
    group.add_argument(
        "--kind",
        dest="kinds",  # `kind` is what schedules checks (`--as`)
        action="append",
        choices=[str(kind) for kind in fix.Kind],
        default=[],
        metavar="KIND",
        help=f"what may be fixed; repeat it for several ({kinds})",
    )
    group.add_argument("--yes", action="store_true", help="fix without asking")


def run(given: argparse.Namespace) -> int:
    layers = tuple(Layer(name) for name in given.layer) if given.layer else tuple(layer for layer in LAYERS if layer is not Layer.CLOUD)
    prepared = repair.prepare(given.stack, layers=layers, kinds={fix.Kind(name) for name in given.kinds}, ignore_file=given.ignore or ignore_file(given.stack))
    _show(prepared)
    if not prepared.plan.steps:
        print("none of it can be fixed here" if prepared.drift else "nothing to fix")
        return EXIT_DRIFT if prepared.drift else 0
    if not given.yes and not _agreed():
        print("nothing was changed")
        return EXIT_DRIFT
    again = repair.carry_out(prepared)
    print(terminal.write(again, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ), end="")
    return EXIT_FAILED if again.failures else EXIT_DRIFT if again.findings else 0


def _show(prepared: repair.Repair) -> None:
    for step in prepared.plan.steps:
        print(f"will run on {step.host}: {message_text.printable(shlex.join(step.argv))}")
        print(f"  for {_described(step.finding)}")
    for one in prepared.plan.left:
        print(f"left alone: {_described(one.finding)}")
        print(f"  {'because' if one.finding.code in fix.KIND_OF else 'do'}: {message_text.printable(one.why)}")
    for covered in prepared.ignored:
        print(f"left alone: {_described(covered.finding)}")
        print(f"  because: the ignore file covers it: {message_text.printable(covered.reason)}")


def _described(finding: Finding) -> str:
    return f"{message_text.printable(finding.place)}: {message_text.printable(finding.what)} [{finding.code}]"


def _agreed() -> bool:
    if not sys.stdin.isatty():
        print(f"add --{AGREED} to do it", file=sys.stderr)
        return False
    return input(f"Do this? Type {AGREED!r} to agree: ").strip() == AGREED
