"""`clusterwright up`: check the blueprint, run the engine with a refresh, and end with a true summary."""

import argparse
import dataclasses

from blueprints import finding
from blueprints.codes import Code
from blueprints.finding import Invalid, Level
from blueprints.load import Loaded
from components import registry

from ..engine import account, commands, preflight, recovery
from ..problem import Problem
from ..render import finding_list
from . import options, summary


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    parser.add_argument("--unasked", action="store_true", help="don't hold the blueprint against the target's account first")


def run(given: argparse.Namespace) -> int:
    loaded = options.to_stand_up(given)  # one page of findings now, rather than from inside the engine
    target, region = loaded.spec.target, loaded.spec.network.region
    registry.require_sdk(target)
    commands.require()
    commands.prepare(given.stack)
    preflight.examine(given.stack, loaded.spec)
    if registry.has_account(target) and not given.unasked:
        hold_against_account(loaded, given.stack, stands=_stands(given.stack))
    else:
        finding_list.show(loaded.findings)
        if whose := account.require_credentials(target, region):
            print(f"the account is {whose}")
    commands.make_if_missing(given.stack)
    config = ["--config", f"clusterwright:blueprint={given.blueprint}"] if given.blueprint else []
    recovery.settle(given.stack, *config)
    if interrupted := commands.pending_creates(given.stack):
        print(f"an earlier run was killed while making {len(interrupted)} resources; they are adopted or made anew")
        commands.operate("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--suppress-outputs", stack=given.stack)
    if status := commands.operate("up", "--refresh", "--yes", "--skip-preview", "--suppress-outputs", *config, stack=given.stack):
        raise Problem(
            f"stack {given.stack} is not up",
            why=f"the engine ended with status {status}; what it said is above",
            remedy="what was made is recorded: mend the cause and run the same command again, which goes on from there, or `make down` removes it",
        )
    summary.show(given.stack)
    return 0


def hold_against_account(loaded: Loaded, stack: str, *, stands: bool) -> None:
    """Ask the account before anything is made in it, and show what there is to say.

    A cluster that stands is told the same, and is not kept from being changed by it: a reservation that has ended, say, is no reason not to let a user in.

    Raises:
        Invalid: the account has no place for the cluster, and nothing of it stands yet.
        Problem: the account can't be asked.
    """
    held = account.held(loaded, stack=stack)
    print(f"the account is {held.answers.account} as {held.answers.who}")
    findings = [_as_warning(found) if stands or found.code == Code.ACCOUNT_SILENT else found for found in held.findings]
    if any(found.level is Level.ERROR for found in findings):
        raise Invalid(finding.in_order(findings))
    finding_list.show(findings)


def _as_warning(found: finding.Finding) -> finding.Finding:
    return dataclasses.replace(found, level=Level.WARNING) if found.level is Level.ERROR else found


def _stands(stack: str) -> bool:
    """Say whether something of the stack is in an account already."""
    return commands.exists(stack) and recovery.is_elsewhere(commands.resources(stack))
