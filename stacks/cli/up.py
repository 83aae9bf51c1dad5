"""`clusterwright up`: check the blueprint, repair what differs from the record, run the engine with a refresh, and print the summary."""

import argparse
from collections.abc import Sequence

from blueprints import message_text
from blueprints.load import Loaded
from components import release_choices
from components.finish import inspection_results

from ..drift import convergence, repair
from ..engine import commands, locks, operations, secrets
from ..engine.up import up
from ..errors import EngineFailed
from ..project import ignore_file
from . import access, agreement, options, rolling, summary, variables

ACCEPTANCE = "Acceptance"
"""The kind of resource that tests a cluster, for any scheduler."""
BEYOND_RECORDS = "What no record names, as setuid programs, open folders or the MTU, is not looked at here; `clusterwright drift` finds it."


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    options.blueprint(parser)
    options.recorded_values(parser)
    access.arguments(parser)
    options.forget_secrets(parser)
    options.verbose(parser)
    parser.add_argument("--unasked", action="store_true", help="don't validate the blueprint against the target's account or hosts first")
    parser.add_argument(
        "--as-recorded", action="store_true", help="don't look at the hosts, and repair nothing that changed on them since they were configured"
    )
    parser.add_argument("--yes", action="store_true", help="without asking, also repair what running jobs may notice, and restart hosts for kernel and drivers")
    options.abandon(parser)
    rolling.arguments(parser)


def run(given: argparse.Namespace) -> int:
    loaded = access.decided(given)  # one page of findings now, rather than from inside the engine
    with locks.held(given.stack, "up"):
        if given.forget_secrets:
            commands.require()
            operations.prepare(given.stack)
            secrets.forget(given.stack)
        _converge(loaded, given)
    return 0


def _converge(loaded: Loaded, given: argparse.Namespace) -> None:
    look = convergence.Look(None) if given.as_recorded else _look(given, loaded)
    outcome = _repair(look, given)
    checked = convergence.seen_last(look, outcome)
    returned = rolling.return_left(given, loaded.spec, checked)
    set_aside = inspection_results.left_to_roll_environment(rolling.left_to_roll(loaded.spec, checked))
    try:
        with variables.set_for({**convergence.environment(given.stack), **release_choices.environment(abandon=given.abandon), **set_aside}):
            values = options.values_to_record(given)
            done = up(loaded, given.stack, blueprint=given.blueprint, values=values, ask_live=not given.unasked, is_verbose=given.verbose)
    except EngineFailed:
        _show_staying(look, outcome)  # perhaps the cause
        raise
    was_repaired = False
    if convergence.has_dark_hosts(look, outcome):
        look = _look(given, loaded)
        outcome = _repair(look, given)
        checked = convergence.seen_last(look, outcome)
        was_repaired = bool(outcome and outcome.repaired)
    has_rolled = rolling.roll(given, loaded.spec, checked, returned=returned)
    if has_rolled or was_repaired:
        with variables.set_for({**convergence.environment(given.stack), **({} if has_rolled else set_aside)}):
            done = up(loaded, given.stack, ask_live=False, is_verbose=given.verbose)
    if has_rolled:
        look, outcome = _look(given, loaded), None  # what the roll installed differs no more
    # Since that look, the engine may have rebuilt hosts, and nodes came back whose daemons were repaired.
    may_differ = bool(convergence.staying(look.repair, outcome)) and bool(outcome or done.changed)
    last = _look(given, loaded) if may_differ else None
    known = look.record_of(given.stack) if outcome is None and not done.changed else {}
    summary.show(given.stack, known, has_new_checks=done.has_changed(ACCEPTANCE) or has_rolled or was_repaired)
    _show_staying(look, outcome, last)


def _look(given: argparse.Namespace, loaded: Loaded) -> convergence.Look:
    commands.require()
    operations.prepare(given.stack)
    look = convergence.look(given.stack, ignore_file(given.stack), loaded.spec)
    if look.why_not:
        print(f"hosts are taken as they are recorded, since they could not be compared: {look.why_not}")
    return look


def _repair(look: convergence.Look, given: argparse.Namespace) -> repair.Outcome | None:
    if look.repair is None:
        return None
    found = convergence.agreed(look.repair, lambda waiting: given.yes or _agrees(waiting))
    if not found.plan.steps:
        return None
    print("Repairs")
    _show(convergence.repairs(found.plan))
    return convergence.carry_out(found, say=lambda text: print(f"  {text} …", flush=True))


def _agrees(waiting: Sequence[str]) -> bool:
    if not agreement.is_possible():
        return False
    _show(waiting)
    return agreement.asked("Running jobs may notice these repairs. Do them now?")


def _show_staying(look: convergence.Look, outcome: repair.Outcome | None, last: convergence.Look | None = None) -> None:
    staying = convergence.staying(look.repair, outcome, last)
    if staying:
        print("\nStill different from the record")
        _show([f"{what}\n  do: {command}" for what, command in staying])
        if said := convergence.reasons(outcome):
            print("\nWhat the repairs ended with")
            _show(said)
    if staying or outcome is not None:
        print(f"\n{BEYOND_RECORDS}")


def _show(lines: Sequence[str]) -> None:
    for line in lines:
        print("\n".join(f"  {message_text.printable(part)}" for part in line.split("\n")))
