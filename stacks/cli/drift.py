"""`clusterwright drift`: compare a stack with what it should be, layer by layer, and change nothing.

Exit status: 0 no drift, 7 drift, 1 a layer could not be checked (its findings and those of the others are reported all the same), 75 not now: an update runs.
"""

import argparse
import datetime as dt
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from blueprints import message_text
from blueprints.finding import Level
from components.inspection.layer import LAYERS, Layer

from ..acceptance import history, regular
from ..acceptance.run import accept
from ..drift import checks, filters, ignore, repair, reports
from ..drift.report import Report
from ..drift.reports import terminal
from ..engine import commands, locks
from ..errors import EXIT_USAGE, Problem
from ..project import drift_folder, ignore_file
from . import drift_fix, drift_schedule, options, summary

EXIT_DRIFT = 7  # Pulumi's own number for it
EXIT_UNCHECKED = 1
EXIT_NOT_NOW = 75  # EX_TEMPFAIL of sysexits(3): try again later
WEBHOOK_VARIABLE = "CLUSTERWRIGHT_DRIFT_WEBHOOK"
BASELINE_DAYS = 90
ACTIONS = {
    "check": "compare and report (the default)",
    "baseline": "write an ignore file that covers what differs now",
    "schedule": "write the files that run checks regularly",
    "fix": "show a plan of safe fixes, and carry it out after you agree",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    described = "; ".join(f"{name}: {what}" for name, what in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=[*ACTIONS], default="check", metavar="ACTION", help=described)
    layers = ", ".join(LAYERS)
    parser.add_argument(
        "--layer", action="append", choices=[str(layer) for layer in LAYERS], metavar="LAYER", help=f"only this layer; repeat it for several ({layers})"
    )
    parser.add_argument("--acceptance", action="store_true", help="also judge the figures of the last acceptance")
    parser.add_argument(
        "--accept-every",
        type=_interval,
        metavar="TIME",
        help="run acceptance on idle nodes first when the last one is older than this (12h, 7d), and judge its figures",
    )
    _report_arguments(parser.add_argument_group("what the report has"))
    told = parser.add_argument_group("when, and who is notified")
    told.add_argument("--notify-command", metavar="COMMAND", help="run this when something is new; it gets the JSON report on its standard input")
    told.add_argument("--notify-webhook", metavar="URL", help=f"post Slack's JSON there when something is new (or in the environment: {WEBHOOK_VARIABLE})")
    told.add_argument(
        "--settle", type=_seconds, metavar="SECONDS", help="do nothing when the stack's last update is more recent than this (default: 0; in schedules 600)"
    )
    baseline = parser.add_argument_group("baseline")
    baseline.add_argument("--reason", default="", help="why the differences are accepted")
    drift_schedule.arguments(parser.add_argument_group("schedule"))
    drift_fix.arguments(parser.add_argument_group("fix"))
    baseline.add_argument("--days", type=options.positive, default=BASELINE_DAYS, help="for how many days (default: %(default)s)")


def _report_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")
    group.add_argument(
        "--out", action="append", type=_report_file, default=[], metavar="FILE", help=f"also write a report to this file ({', '.join(reports.ENDINGS)})"
    )
    group.add_argument("--since-last", action="store_true", help="report, and count for the exit status, only what the previous check didn't report")
    group.add_argument(
        "--at-least",
        choices=[str(level) for level in Level],
        default=str(Level.NOTE),
        metavar="LEVEL",
        help=f"leave out findings of lower levels ({', '.join(Level)})",
    )
    group.add_argument("--confirm", type=options.positive, default=1, metavar="N", help="count a finding only when N checks in a row found it (default: 1)")
    group.add_argument("--ignore", type=Path, metavar="FILE", help="the ignore file (default: stacks/Drift.<stack>.yaml)")
    group.add_argument("--show-ignored", action="store_true", help="list what the ignore file covers")
    group.add_argument("--history", type=Path, metavar="FOLDER", help="where earlier checks are kept (default: below .clusterwright)")


def _interval(word: str) -> int:
    try:
        return regular.hours(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _seconds(word: str) -> int:
    if not (word.isascii() and word.isdigit()):
        raise argparse.ArgumentTypeError("give a whole number of seconds")
    return int(word)


def _report_file(word: str) -> Path:
    path = Path(word)
    if path.suffix not in reports.ENDINGS:
        raise argparse.ArgumentTypeError(f"the ending says the form: {', '.join(f'{ending} ({form})' for ending, form in reports.ENDINGS.items())}")
    return path


def run(given: argparse.Namespace) -> int:
    if given.ignore is not None and given.action != "baseline" and not given.ignore.exists():
        raise _no_ignore_file(given)
    if given.action == "check" and (words := [word for word, value in (("--only", given.only), ("--kind", given.kinds), ("--yes", given.yes)) if value]):
        raise Problem(
            f"a check has no {message_text.listed(words)}",
            why="it changes nothing, and compares whole layers (`--layer`); nothing was checked",
            remedy=f"to repair: `clusterwright drift fix --stack {shlex.quote(given.stack)}` with these words; to accept: `clusterwright drift baseline` with `--only`",
            status=EXIT_USAGE,
        )
    if given.action == "schedule":
        return drift_schedule.run(given)
    commands.require()
    if busy := checks.busy(given.stack, settle_s=given.settle or 0):
        print(f"no check now: {busy}", file=sys.stderr)
        return EXIT_NOT_NOW
    match given.action:
        case "baseline":
            selection = repair.Selection(only=tuple(given.only))
            print(checks.write_baseline(_wanted(given), selection, reason=given.reason, days=given.days, say=_progress()))
            return 0
        case "fix":
            with locks.held(given.stack, "drift fix"):
                return drift_fix.run(given)
        case _:
            return _check(given)


def _no_ignore_file(given: argparse.Namespace) -> Problem:
    """Refuse a named file that is not there: a check without its entries would report all that they accept."""
    command = f"clusterwright drift baseline --stack {shlex.quote(given.stack)} --ignore {shlex.quote(str(given.ignore))}"
    return Problem(
        f"there is no ignore file {given.ignore}",
        why="`--ignore` names it; nothing was checked",
        remedy=f"correct the name, or write the file from what differs now: `{command}`",
        status=EXIT_USAGE,
    )


def _wanted(given: argparse.Namespace) -> checks.Wanted:
    layers = tuple(Layer(name) for name in given.layer) if given.layer else LAYERS
    return checks.Wanted(given.stack, given.ignore or ignore_file(given.stack), layers, given.acceptance or given.accept_every is not None)


def _progress() -> Callable[[str], None]:
    return (lambda text: print(f"{text} …", file=sys.stderr)) if sys.stderr.isatty() else (lambda _: None)


def _check(given: argparse.Namespace) -> int:
    def choose(entries: Sequence[ignore.Entry]) -> filters.Choice:
        return filters.Choice(entries, least=Level(given.at_least), confirm=given.confirm, since_last=given.since_last)

    errors = [] if given.accept_every is None else _accept(given.stack, given.accept_every)
    found = checks.check(_wanted(given), given.history or drift_folder(given.stack), choose, say=_progress())
    if found.unsaved:
        print(f"warning: this check is missing in the history: {found.unsaved}", file=sys.stderr)
    errors += [*checks.write(found, given.out, show_ignored=given.show_ignored)]
    report = found.chosen.report
    if given.json:
        print(reports.text(".json", report, ()), end="")
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(terminal.write(report, colour=colour, show_ignored=given.show_ignored), end="")
    webhook = given.notify_webhook or os.environ.get(WEBHOOK_VARIABLE, "")
    errors += checks.notify(found, command=given.notify_command or "", webhook=webhook)
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return EXIT_UNCHECKED if errors else status(report)


def _accept(stack: str, every_hours: int) -> list[str]:
    """Run acceptance where it is due, keep what it found, and give an error where it could not run: the check goes on."""
    try:
        known = summary.readable(stack, commands.record(stack, show_secrets=True))
        if not regular.is_due(history.newest(stack, known), every_hours, dt.datetime.now(dt.UTC)):
            return []
        history.add(stack, accept(stack, known, (), say=_progress()))
    except Problem as problem:
        return [f"acceptance did not run: {problem}: {problem.why}"]
    return []


def status(report: Report) -> int:
    """Give the exit status: a layer that could not be checked outranks drift; the report has both."""
    return EXIT_UNCHECKED if report.failures else EXIT_DRIFT if report.findings else 0
