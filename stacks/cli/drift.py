"""`clusterwright drift`: compare a stack with what it should be, layer by layer, and change nothing.

Exit status: 0 no drift, 7 drift, 1 a layer could not be checked (its findings and those of the others are reported all the same), 75 not now: an update runs.
"""

import argparse
import dataclasses
import datetime as dt
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from blueprints.finding import Level

from ..drift import detect, filters, history, ignore, notifications, reports
from ..drift.layer import LAYERS, Layer
from ..drift.report import Report, Result
from ..drift.reports import terminal
from ..engine import commands, locks, state
from ..problem import Problem
from ..project import drift_folder, ignore_file
from . import fixing, options, scheduling

EXIT_DRIFT = 7  # Pulumi's own number for it
EXIT_UNCHECKED = 1
EXIT_NOT_NOW = 75  # EX_TEMPFAIL of sysexits(3): try again later
WEBHOOK_VARIABLE = "CLUSTERWRIGHT_DRIFT_WEBHOOK"
BASELINE_DAYS = 90
ACTIONS = {
    "check": "compare, and report (the default)",
    "baseline": "write the ignore file so that it covers what differs now",
    "schedule": "write what runs checks regularly",
    "fix": "put right what can be put right safely, after showing the plan",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    described = "; ".join(f"{name}: {what}" for name, what in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=[*ACTIONS], default="check", metavar="ACTION", help=described)
    layers = ", ".join(LAYERS)
    parser.add_argument(
        "--layer", action="append", choices=[str(layer) for layer in LAYERS], metavar="LAYER", help=f"only this layer, several by repeating it ({layers})"
    )
    parser.add_argument("--acceptance", action="store_true", help="judge the figures of the last acceptance, too")
    _report_arguments(parser.add_argument_group("what is reported"))
    told = parser.add_argument_group("when, and who is told")
    told.add_argument("--notify-command", metavar="COMMAND", help="run this when something is new; it gets the JSON report on its standard input")
    told.add_argument("--notify-webhook", metavar="URL", help=f"post Slack's JSON there when something is new (or in the environment: {WEBHOOK_VARIABLE})")
    told.add_argument(
        "--settle", type=_seconds, metavar="SECONDS", help="do nothing when the stack's last update is younger than this (default: 0; in schedules 600)"
    )
    baseline = parser.add_argument_group("baseline")
    baseline.add_argument("--reason", default="", help="why the differences may stand")
    scheduling.arguments(parser.add_argument_group("schedule"))
    fixing.arguments(parser.add_argument_group("fix"))
    baseline.add_argument("--days", type=_positive, default=BASELINE_DAYS, help="for how many days (default: %(default)s)")


def _report_arguments(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")
    group.add_argument(
        "--out", action="append", type=_report_file, default=[], metavar="FILE", help=f"write a report there, too ({', '.join(reports.ENDINGS)})"
    )
    group.add_argument("--since-last", action="store_true", help="report, and count for the exit status, only what the check before didn't report")
    group.add_argument(
        "--at-least",
        choices=[str(level) for level in Level],
        default=str(Level.NOTE),
        metavar="LEVEL",
        help=f"leave out what matters less ({', '.join(Level)})",
    )
    group.add_argument("--confirm", type=_positive, default=1, metavar="N", help="count a finding only when N checks in a row found it (default: 1)")
    group.add_argument("--ignore", type=Path, metavar="FILE", help="the ignore file (default: stacks/Drift.<stack>.yaml)")
    group.add_argument("--show-ignored", action="store_true", help="list what the ignore file covers")
    group.add_argument("--history", type=Path, metavar="FOLDER", help="where earlier checks are kept (default: below .clusterwright)")


def _positive(word: str) -> int:
    if not word.isdigit() or int(word) < 1:
        raise argparse.ArgumentTypeError("give a whole number from 1 on")
    return int(word)


def _seconds(word: str) -> int:
    if not word.isdigit():
        raise argparse.ArgumentTypeError("give a whole number of seconds")
    return int(word)


def _report_file(word: str) -> Path:
    path = Path(word)
    if path.suffix not in reports.ENDINGS:
        raise argparse.ArgumentTypeError(f"the ending says the form: {', '.join(f'{ending} ({form})' for ending, form in reports.ENDINGS.items())}")
    return path


def run(given: argparse.Namespace) -> int:
    if given.action == "schedule":
        return scheduling.run(given)
    commands.require()
    if busy := _not_now(given):
        print(f"no check now: {busy}", file=sys.stderr)
        return EXIT_NOT_NOW
    match given.action:
        case "baseline":
            return _baseline(given)
        case "fix":
            return fixing.run(given)
        case _:
            return _check(given)


def _not_now(given: argparse.Namespace) -> str:
    """Say why this is no moment for a check; empty when it is one."""
    if holder := locks.holder(given.stack):
        return f"stack {given.stack} is being updated by {holder}"
    age_s = state.age_s(given.stack) if given.settle else None
    if age_s is not None and age_s < given.settle:
        return f"the last update of stack {given.stack} was {age_s:.0f} s ago; {given.settle} s are left for it to settle"
    return ""


def _check(given: argparse.Namespace) -> int:
    report, entries = _look(given)
    folder = given.history or drift_folder(given.stack)
    runs = history.read(folder)
    before = runs[-1] if runs else None
    wish = filters.Choice(entries, least=Level(given.at_least), confirm=given.confirm, since_last=given.since_last)
    chosen = filters.choose(report, wish, before)
    try:
        history.add(folder, chosen.run)
    except OSError as error:
        print(f"warning: this check is not remembered: {error}", file=sys.stderr)
    unwritten = [path for path in given.out if not _write(path, chosen, (*runs, chosen.run), show_ignored=given.show_ignored)]
    if given.json:
        print(reports.text(".json", chosen.report, ()), end="")
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print(terminal.write(chosen.report, colour=colour, show_ignored=given.show_ignored), end="")
    was_delivered = _tell(given, chosen, before)
    return status(chosen.report) if was_delivered and not unwritten else EXIT_UNCHECKED


def _write(path: Path, chosen: filters.Chosen, runs: Sequence[history.Run], *, show_ignored: bool) -> bool:
    """Write a report, and say whether that went well: what was found is shown all the same."""
    try:
        reports.write(path, chosen.report, runs, show_ignored=show_ignored)
    except OSError as error:
        print(f"error: the report {path} could not be written: {error}", file=sys.stderr)
        return False
    return True


def status(report: Report) -> int:
    """Give the exit status: a hole in a report outranks what the report says, which is there to be read all the same."""
    return EXIT_UNCHECKED if report.failures else EXIT_DRIFT if report.findings else 0


def _look(given: argparse.Namespace) -> tuple[Report, Sequence[ignore.Entry]]:
    """Check, and read the ignore file; one that can't be used is said in the report and covers nothing."""
    layers = tuple(Layer(name) for name in given.layer) if given.layer else LAYERS
    say: Callable[[str], None] = (lambda text: print(f"{text} …", file=sys.stderr)) if sys.stderr.isatty() else (lambda _: None)
    report = detect.detect(given.stack, layers=layers, acceptance=given.acceptance, say=say).report
    try:
        return report, ignore.read(given.ignore or ignore_file(given.stack))
    except ignore.BadIgnoreFile as error:
        return dataclasses.replace(report, results=(*report.results, Result(Layer.CHECK, failure=f"nothing is ignored: {error}"))), ()


def _tell(given: argparse.Namespace, chosen: filters.Chosen, before: history.Run | None) -> bool:
    """Tell whoever wants to know what is new; say whether that went well."""
    if not notifications.is_worth(chosen.report, chosen.news, failed_before=frozenset(before.failed if before else ())):
        return True
    webhook = given.notify_webhook or os.environ.get(WEBHOOK_VARIABLE, "")
    went_well = True
    for tell, address in ((notifications.run_command, given.notify_command), (notifications.post, webhook)):
        try:
            if address:
                tell(address, chosen.report, chosen.news)
        except notifications.NotDelivered as error:
            print(f"error: nobody was told: {error}", file=sys.stderr)
            went_well = False
    return went_well


def _baseline(given: argparse.Namespace) -> int:
    report, entries = _look(given)
    if report.failures:
        names = ", ".join(str(result.layer) for result in report.failures)
        why = "\n".join(dict.fromkeys(result.failure for result in report.failures))
        raise Problem(f"no baseline: {names} could not be checked", why=why, remedy="mend that first: a baseline says of everything that it was looked at")
    day = report.moment.date()
    until = day + dt.timedelta(days=given.days)
    kept = [entry for entry in entries if not entry.has_ended(day)]
    findings, _ = ignore.apply(report.findings, kept, day)
    path = given.ignore or ignore_file(given.stack)
    path.write_text(ignore.baseline(findings, kept, reason=given.reason or f"there at the baseline of {day}", until=until), encoding="utf-8")
    print(f"{path} covers {len(findings)} more finding{'' if len(findings) == 1 else 's'} until {until}")
    return 0
