"""`clusterwright drift fix`: show the commands that fix drift, run them when somebody agrees, and check again."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence

from blueprints import display
from blueprints.finding import Finding

from ..drift import detect, facts, filters, fix, ignore, record
from ..drift.layer import LAYERS, Layer
from ..drift.report import Ignored, layer_of
from ..drift.reports import terminal
from ..problem import Problem
from ..project import ignore_file

EXIT_DRIFT = 7
EXIT_FAILED = 1
PLAYBOOK = "fix.yml"
AGREED = "yes"


def arguments(group: argparse._ArgumentGroup) -> None:
    kinds = ", ".join(fix.Kind)
    group.add_argument(
        "--kind",
        action="append",
        choices=[str(kind) for kind in fix.Kind],
        default=[],
        metavar="KIND",
        help=f"what may be fixed, several by repeating it ({kinds})",
    )
    group.add_argument("--yes", action="store_true", help="fix without asking")


def run(given: argparse.Namespace) -> int:
    layers = tuple(Layer(name) for name in given.layer) if given.layer else tuple(layer for layer in LAYERS if layer is not Layer.CLOUD)
    try:
        entries = ignore.read(given.ignore or ignore_file(given.stack))
    except ignore.BadIgnoreFile as error:
        raise Problem("nothing is fixed: the ignore file can't be read", why=str(error), remedy="correct the ignore file") from error
    # Which nodes have jobs, only the scheduler knows.
    checked = detect.detect(given.stack, layers={*layers, Layer.SCHEDULER})
    if checked.known is None or checked.report.failures:
        why = "\n".join(dict.fromkeys(result.failure for result in checked.report.failures))
        raise Problem("nothing is fixed: not everything could be checked", why=why, remedy="repair that first")
    known = checked.known
    compute = {host.name for host in known.hosts if host.role == "compute"}
    wanted, stands = ignore.apply([finding for finding in checked.report.findings if layer_of(finding) in layers], entries, checked.report.moment.date())
    kinds = {fix.Kind(name) for name in given.kind}
    plan = fix.plan(wanted, kinds=kinds, controller=checked.controller, busy=fix.busy_nodes(checked.answers), compute=compute)
    _show(plan, stands)
    if not plan.steps:
        print("there is nothing to fix" if not wanted else "nothing is fixed")
        return EXIT_DRIFT if wanted else 0
    if not given.yes and not _agreed():
        print("nothing was changed")
        return EXIT_DRIFT
    _carry_out(known, plan, compute, title=f"{given.stack} drift fix")
    again = filters.choose(detect.detect(given.stack, layers=layers).report, filters.Choice(entries), None).report
    print(terminal.write(again, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ), end="")
    return EXIT_FAILED if again.failures else EXIT_DRIFT if again.findings else 0


def _show(plan: fix.Plan, stands: Sequence[Ignored]) -> None:
    for step in plan.steps:
        print(f"will run on {step.host}: {display.printable(shlex.join(step.argv))}")
        print(f"  for {_described(step.finding)}")
    for one in plan.left:
        print(f"left alone: {_described(one.finding)}")
        print(f"  {'because' if one.finding.code in fix.KIND_OF else 'do'}: {display.printable(one.why)}")
    for covered in stands:
        print(f"left alone: {_described(covered.finding)}")
        print(f"  because: the ignore file covers it: {display.printable(covered.reason)}")


def _described(finding: Finding) -> str:
    return f"{display.printable(finding.place)}: {display.printable(finding.what)} [{finding.code}]"


def _agreed() -> bool:
    if not sys.stdin.isatty():
        print(f"add --{AGREED} to do it", file=sys.stderr)
        return False
    return input(f"Do this? Only {AGREED!r} counts: ").strip() == AGREED


def _carry_out(known: record.Known, plan: fix.Plan, compute: set[str], *, title: str) -> None:
    variables = {
        host: {"drift_steps": fix.encode(steps), "drift_is_compute": host.name in compute}
        for host in known.hosts
        if (steps := [list(step.argv) for step in plan.steps if step.host == host.name])
    }
    outcome = facts.play(known, PLAYBOOK, variables, title=title)
    if not outcome.ok:
        said = "\n".join([*map(str, outcome.failures), outcome.error]).strip()
        raise Problem("not everything was fixed", why=said, remedy="`clusterwright drift` says what is left")
