"""`clusterwright graph`: a picture of what a blueprint will be, as SVG."""

import argparse
from pathlib import Path

from .. import picture
from . import options
from .problem import Problem


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)
    options.blueprint(parser)
    parser.add_argument("--output", type=Path, help="write the picture to this file (default: standard output)")


def run(given: argparse.Namespace) -> int:
    drawn = picture.draw(options.spec(given))
    if given.output:
        try:
            given.output.write_text(drawn)
        except OSError as error:
            raise Problem("the picture can't be written", why=str(error), remedy="name a file in a folder that exists and that you may write to") from error
    else:
        print(drawn, end="")
    return 0
