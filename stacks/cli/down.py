"""`clusterwright down`: delete a stack, then look for anything that is left of it on this machine."""

import argparse
import sys
from collections.abc import Sequence

from blueprints import message_text
from components import release_choices

from ..engine import locks
from ..engine.down import down
from . import agreement, options, variables


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    options.forget_secrets(parser)
    options.verbose(parser)
    options.abandon(parser)
    parser.add_argument("--delete-data", action="store_true", help="also delete the database tables and job state on released hosts, which otherwise stay")
    parser.add_argument(f"--{agreement.AGREED}", action="store_true", help="delete without asking what belongs to a checkout that no longer exists")


def run(given: argparse.Namespace) -> int:
    choices = release_choices.environment(abandon=given.abandon, delete_data=given.delete_data)
    with locks.held(given.stack, "down"), variables.set_for(choices):
        print(down(given.stack, agree=_show if given.yes else _asked, forget_secrets=given.forget_secrets, is_verbose=given.verbose))
    return 0


def _show(why: str, what: Sequence[str]) -> bool:
    print(f"{why}; this deletes:")
    for line in what:
        print(f"  {message_text.printable(line)}")
    sys.stdout.flush()
    return True


def _asked(why: str, what: Sequence[str]) -> bool:
    _show(why, what)
    return agreement.asked("Delete all of it?")
