"""`clusterwright graph`: a picture of what a blueprint will be, as SVG."""

import argparse
from pathlib import Path

from .. import picture
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    parser.add_argument("--output", type=Path, help="write the picture to this file (default: standard output)")


def run(given: argparse.Namespace) -> int:
    drawn = picture.draw(options.spec(given))
    if given.output:
        given.output.write_text(drawn)
    else:
        print(drawn, end="")
    return 0
