"""`clusterwright up`: check the blueprint, run the engine with a refresh, and print the summary."""

import argparse

from ..engine import commands, locks, operations, secrets
from ..engine.up import up
from . import access, options, summary

ACCEPTANCE = "Acceptance"
"""The kind of resource that tests a cluster, for any scheduler."""


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    options.blueprint(parser)
    options.recorded_values(parser)
    access.arguments(parser)
    options.forget_secrets(parser)
    options.verbose(parser)
    parser.add_argument("--unasked", action="store_true", help="don't validate the blueprint against the target's account first")


def run(given: argparse.Namespace) -> int:
    loaded = access.decided(given)  # one page of findings now, rather than from inside the engine
    with locks.held(given.stack, "up"):
        if given.forget_secrets:
            commands.require()
            operations.prepare(given.stack)
            secrets.forget(given.stack)
        done = up(
            loaded, given.stack, blueprint=given.blueprint, values=options.values_to_record(given), ask_account=not given.unasked, is_verbose=given.verbose
        )
        summary.show(given.stack, has_new_checks=done.has_changed(ACCEPTANCE))
    return 0
