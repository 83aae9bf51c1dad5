"""`clusterwright summary`: what a stack has, how to log in, what acceptance checked and measured, and what is simulated."""

import argparse

from blueprints.project import project_root

from ..engine import commands, login, state
from ..errors import Problem
from ..render import summary
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)


def run(given: argparse.Namespace) -> int:
    commands.require()
    show(given.stack)
    return 0


def show(stack: str) -> None:
    """Print the summary from the stack's outputs."""
    found = commands.outputs(stack) if state.exists(stack) else {}
    if "spec" not in found:
        raise Problem(f"stack {stack} has nothing to show", why="no `up` of it has finished yet", remedy=f"make up STACK={stack}")
    login.write_keys(stack, found)
    logins = [login.shown(login.command(stack, found, user["name"]), relative_to=project_root()) for user in found["spec"]["users"]]
    print("\n".join(summary.lines(stack, found, logins=logins)))
