"""`clusterwright up`: check the blueprint, run the engine with a refresh, and end with a true summary."""

import argparse

from . import engine, options, summary
from .problem import Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)


def run(given: argparse.Namespace) -> int:
    options.spec(given)  # one page of findings now, rather than from inside the engine
    engine.require()
    engine.prepare(given.stack)
    engine.make_if_missing(given.stack)
    words = ["up", "--refresh", "--yes", "--skip-preview", "--suppress-outputs"]
    if given.blueprint:
        words += ["--config", f"clusterwright:blueprint={given.blueprint}"]
    if interrupted := engine.pending_creates(given.stack):
        print(f"an earlier run was killed while making {len(interrupted)} resources; they are adopted or made anew")
        engine.operate("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--suppress-outputs", stack=given.stack)
    if status := engine.operate(*words, stack=given.stack):
        raise Problem(
            f"stack {given.stack} is not up",
            why=f"the engine ended with status {status}; what it said is above",
            remedy="what was made is recorded: mend the cause and run the same command again, which goes on from there, or `make down` removes it",
        )
    summary.show(given.stack)
    return 0
