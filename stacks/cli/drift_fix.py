"""`clusterwright drift fix`: show what would end drift, do it when somebody agrees, and check again."""

import argparse
import os
import sys

from blueprints import message_text
from blueprints.finding import Finding
from blueprints.finding.subject import HostSubject
from components.inspection.layer import LAYERS, Layer

from ..drift import fix, repair
from ..drift.reports import terminal
from ..project import ignore_file
from . import agreement

EXIT_DRIFT = 7
EXIT_FAILED = 1


def arguments(group: argparse._ArgumentGroup) -> None:
    kinds = ", ".join(fix.Kind)
    group.add_argument(
        "--kind",
        dest="kinds",  # `kind` is what schedules checks (`--as`)
        action="append",
        choices=[str(kind) for kind in fix.Kind],
        default=[],
        metavar="KIND",
        help=f"repair only this; repeat it for several ({kinds})",
    )
    group.add_argument(
        "--only",
        action="append",
        type=_single,
        default=[],
        metavar="CODE[:WHERE]",
        help="repair, or accept in a baseline, only these findings; both may be patterns ('CW721:train-0: /etc/*'); repeat it for several",
    )
    group.add_argument("--yes", action="store_true", help="repair without asking")


def _single(word: str) -> tuple[str, str]:
    code, _, where = word.partition(":")
    return code.strip().upper(), where.strip() or "*"


def run(given: argparse.Namespace) -> int:
    layers = tuple(Layer(name) for name in given.layer) if given.layer else tuple(layer for layer in LAYERS if layer is not Layer.CLOUD)
    selection = repair.Selection(frozenset(map(fix.Kind, given.kinds)) or None, tuple(given.only))
    prepared = repair.prepare(given.stack, layers=layers, selection=selection, ignore_file=given.ignore or ignore_file(given.stack))
    show(prepared)
    if not prepared.plan.steps:
        print(_nothing_done(prepared))
        return EXIT_DRIFT if prepared.drift else 0
    if not given.yes and not agreement.asked("Do this?"):
        print("nothing was changed")
        return EXIT_DRIFT
    outcome = repair.carry_out(prepared, say=lambda text: print(f"{text} …", file=sys.stderr))
    print(terminal.write(outcome.report, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ), end="")
    show_stayed(outcome, given.stack)
    return EXIT_FAILED if outcome.report.failures else EXIT_DRIFT if outcome.report.findings else 0


def _nothing_done(prepared: repair.Repair) -> str:
    if not prepared.drift:
        return "nothing to fix"
    return "nothing was repaired: all of it waits until jobs end" if len(prepared.plan.waiting) == len(prepared.drift) else "none of it can be fixed here"


def show(prepared: repair.Repair) -> None:
    """Print what would be done, and what would not."""
    for step in prepared.plan.steps:
        print(f"will run on {step.host}: {message_text.printable(str(step.action))}")
        for finding in step.findings:
            print(f"  for {_described(finding)}")
    for one in prepared.plan.left:
        print(f"left alone: {_described(one.finding)}")
        print(f"  {'because' if one.waits or one.needs_kind else 'do'}: {message_text.printable(one.why)}")
        if one in prepared.plan.waiting and isinstance(one.finding.subject, HostSubject):
            host = one.finding.subject.host
            print(f"  do: `scontrol update nodename={host} state=drain reason={one.finding.code}` on a controller, and this again when the jobs have ended")
    for covered in prepared.ignored:
        print(f"left alone: {_described(covered.finding)}")
        print(f"  because: the ignore file covers it: {message_text.printable(covered.reason)}")


def show_stayed(outcome: repair.Outcome, stack: str) -> None:
    """Print what a repair did not end, and the command that does."""
    for finding, said in outcome.stayed:
        print(f"still there: {_described(finding)}")
        if said:
            print(f"  because: {message_text.printable(said)}")
        print(f"  do: {message_text.printable(repair.command_for(finding, stack=stack, plan=outcome.plan, tried=True, known=outcome.checked.known))}")


def _described(finding: Finding) -> str:
    return f"{message_text.printable(finding.place)}: {message_text.printable(finding.what)} [{finding.code}]"
