"""`clusterwright ssh`: log in as a user of the stack, host key verified."""

import argparse
import os

from ..engine import commands, login, state
from ..errors import Problem
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--user", help="who logs in (default: the blueprint's first user)")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="run this there instead of a shell")


def run(given: argparse.Namespace) -> int:
    commands.require()
    outputs = commands.outputs(given.stack) if state.exists(given.stack) else {}
    if "spec" not in outputs:
        raise Problem(f"stack {given.stack} is not up", why="no `up` of it has finished yet, so it has no login nodes", remedy=f"make up STACK={given.stack}")
    users = [user["name"] for user in outputs["spec"]["users"]]
    user = given.user or next(iter(users), "")
    if user not in users:
        raise Problem(f"no user {user}", why=f"the cluster has {', '.join(users) or 'no users'}", remedy="name one of them, or add the user to the blueprint")
    login.write_keys(given.stack, outputs)
    words = given.words[1:] if given.words[:1] == ["--"] else given.words
    argv = [*login.command(given.stack, outputs, user), *words]
    os.execvp(argv[0], argv)  # noqa: S606 - the session is ssh's from here on
