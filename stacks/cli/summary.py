"""`clusterwright summary`: what a stack has, how to log in, what acceptance checked and measured, and what is simulated."""

import argparse
from collections.abc import Mapping
from typing import Any

from blueprints import spec
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


def show(stack: str, *, has_new_checks: bool = True) -> None:
    """Print the summary from the stack's outputs.

    Args:
        has_new_checks: acceptance ran just now; otherwise its passed checks are only counted.
    """
    found = commands.outputs(stack) if state.exists(stack) else {}
    if "spec" not in found:
        raise Problem(f"stack {stack} has nothing to show", why="no `up` of it has finished yet", remedy=f"make up STACK={stack}")
    login.write_keys(stack, found)
    print("\n".join(lines(stack, found, has_new_checks=has_new_checks)))


def lines(stack: str, found: Mapping[str, Any], *, has_new_checks: bool = True) -> list[str]:
    """Write the summary from the stack's outputs.

    Raises:
        Problem: another version recorded the cluster.
    """
    logins = [login.shown(login.command(stack, found, user["name"]), relative_to=project_root()) for user in found["spec"]["users"]]
    try:
        return [*summary.lines(stack, found, logins=logins, has_new_checks=has_new_checks)]
    except spec.Unreadable as error:
        raise Problem(
            f"the record of stack {stack} can't be shown",
            why=f"another version wrote it: {error}",
            remedy=f"use the version that wrote it, or run `make up STACK={stack}`, which records the cluster again",
        ) from error
