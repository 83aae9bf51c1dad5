"""`clusterwright down`: delete a stack, then look for anything that is left of it on this machine."""

import argparse

from ..engine import locks
from ..engine.down import down
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    options.forget_secrets(parser)
    options.verbose(parser)


def run(given: argparse.Namespace) -> int:
    with locks.held(given.stack, "down"):
        print(down(given.stack, forget_secrets=given.forget_secrets, is_verbose=given.verbose))
    return 0
