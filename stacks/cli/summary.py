"""`clusterwright summary`: what a stack has, how to log in, what acceptance checked and measured, and what is simulated."""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from blueprints.project import project_root
from components import errors
from components.finish import node_states
from components.inspection import record
from components.inspection.recorded_cluster import Known

from ..acceptance import history
from ..engine import commands, login, state
from ..errors import Problem
from ..render import summary, summary_json
from . import options


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser, applies=True)
    parser.add_argument("--json", action="store_true", help="print one JSON document (docs/json.md)")


def run(given: argparse.Namespace) -> int:
    commands.require()
    show(given.stack, as_json=given.json)
    return 0


def show(stack: str, exported: Mapping[str, Any] | None = None, *, has_new_checks: bool = True, as_json: bool = False) -> None:
    """Print the summary from the stack's record, and the states of its nodes now.

    Args:
        exported: the record as it is, decrypted, where somebody has it already.
        has_new_checks: acceptance ran just now; otherwise its passed checks are only counted.
        as_json: as one JSON document.
    """
    exported = exported or (commands.record(stack, show_secrets=True) if state.exists(stack) else {})
    found = record.outputs(exported)
    if "spec" not in found:
        raise Problem(f"stack {stack} has nothing to show", why="no `up` of it has finished yet", remedy=f"make up STACK={stack}")
    known = history.newest(stack, readable(stack, exported))
    logins = {}
    if "login" in found:  # a cluster of Kubernetes alone has no login nodes
        login.write_keys(stack, found)
        logins = {user.name: login.shown(login.command(stack, found, user.name), relative_to=project_root()) for user in known.cluster.users}
    now = states_now(known)
    if as_json:
        print(json.dumps(summary_json.document(stack, known, now=now, logins=logins), indent=2, ensure_ascii=False))
        return
    print("\n".join(summary.lines(stack, known, now=now, logins=[*logins.values()], has_new_checks=has_new_checks)))


def readable(stack: str, exported: Mapping[str, Any]) -> Known:
    """Read the record.

    Raises:
        Problem: another version recorded the cluster.
    """
    try:
        return record.read(exported)
    except errors.NotUp as error:
        raise Problem(
            f"the record of stack {stack} can't be shown",
            why=str(error),
            remedy=f"use the version that wrote it, or run `make up STACK={stack}`, which records the cluster again",
        ) from error


def states_now(known: Known) -> tuple[node_states.State, ...] | str:
    """Ask Slurm for the states of the nodes; give why it does not answer where it doesn't."""
    hosts = [host.as_finished for host in known.hosts if host.role == "access"]
    if not hosts or known.cluster.slurm is None:
        return ()
    try:
        return node_states.ask(hosts, private_key=known.private_key)
    except errors.SchedulerUnanswered as silence:
        return str(silence)
