"""Before a stack goes: the compute nodes that its own program started go first, as the engine doesn't know them."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.interrupted import NotAsked

from . import engine, recover
from .problem import Problem

NODES = {"aws": "components.aws.nodes:Nodes"}
"""Package of a stack's resources → what knows its nodes."""


def end_nodes(stack: str, resources: Sequence[Mapping[str, Any]]) -> bool:
    """End the compute nodes of a stack; say whether there were any.

    Controllers start nodes for as long as jobs wait, so they are destroyed before.

    Args:
        resources: the stack's, as they are recorded.
    Raises:
        Problem: the account can't be asked, or something doesn't end.
    """
    had = False
    for package in sorted({one["type"].partition(":")[0] for one in resources} & NODES.keys()):
        nodes = recover.imported(NODES[package])(resources)
        try:
            there = nodes.there()
            if not there:
                continue
            had = True
            print(f"{len(there)} compute nodes are there: first the controllers go, which start them, then the nodes")
            _destroy(stack, nodes.controllers)
            nodes.end()
        except NotAsked as error:
            raise Problem(
                f"the compute nodes of stack {stack} can't be ended", why=str(error), remedy="see to credentials and network, then run the command again"
            ) from error
    return had


def _destroy(stack: str, urns: Sequence[str]) -> None:
    targets = [word for urn in urns for word in ("--target", urn)]
    if targets and (status := engine.operate("destroy", *targets, "--target-dependents", "--yes", "--skip-preview", "--suppress-outputs", stack=stack)):
        raise Problem(
            f"the controllers of stack {stack} are not gone",
            why=f"the engine ended with status {status}; what it said is above",
            remedy="mend the cause and run the same command again",
        )
