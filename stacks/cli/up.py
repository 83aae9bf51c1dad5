"""`clusterwright up`: check the blueprint, run the engine with a refresh, and end with a true summary."""

import argparse

from components import extras

from . import account, engine, options, recover, summary
from .problem import Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)


def run(given: argparse.Namespace) -> int:
    cluster = options.to_stand_up(given)  # one page of findings now, rather than from inside the engine
    _require_sdk(cluster.target)
    engine.require()
    if whose := account.require_credentials(cluster.target, cluster.network.region):
        print(f"the account is {whose}")
    engine.prepare(given.stack)
    engine.make_if_missing(given.stack)
    config = ["--config", f"clusterwright:blueprint={given.blueprint}"] if given.blueprint else []
    recover.settle(given.stack, *config)
    if interrupted := engine.pending_creates(given.stack):
        print(f"an earlier run was killed while making {len(interrupted)} resources; they are adopted or made anew")
        engine.operate("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--suppress-outputs", stack=given.stack)
    if status := engine.operate("up", "--refresh", "--yes", "--skip-preview", "--suppress-outputs", *config, stack=given.stack):
        raise Problem(
            f"stack {given.stack} is not up",
            why=f"the engine ended with status {status}; what it said is above",
            remedy="what was made is recorded: mend the cause and run the same command again, which goes on from there, or `make down` removes it",
        )
    summary.show(given.stack)
    return 0


def _require_sdk(target: str) -> None:
    try:
        extras.require(target)
    except extras.Missing as missing:
        raise Problem(missing.what, why=missing.why, remedy=missing.remedy) from None
