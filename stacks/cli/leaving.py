"""Before a stack goes: whether its compute nodes can go with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from components.interrupted import Creation

from ..problem import Problem

CONTROLLER, CONTROL = "aws:ec2/instance:Instance", "control"
NODES = "clusterwright:aws:Nodes"
"""What ends a node set's instances; the program makes one of each node set before it makes a controller."""


def refuse_older(stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
    """Stop where controllers stand and nothing is recorded that ends their nodes: deleting what nodes use would be refused, one by one, after a long wait.

    Args:
        recorded: the stack's resources.
    Raises:
        Problem: the stack was made by an earlier version.
    """
    if any(one["type"] == NODES for one in recorded):
        return
    controllers = [Creation(one["urn"], one["type"], {}).name for one in recorded if one["type"] == CONTROLLER and _part(one) == CONTROL]
    if controllers:
        raise Problem(
            f"stack {stack} was made by an earlier version, which did not record how its compute nodes end",
            why=f"{', '.join(controllers)} may have started nodes, and security groups and subnets can't be removed before these have ended; nothing was touched",
            remedy=f"run `make up STACK={stack}` once, which records it, then `make down STACK={stack}`",
        )


def _part(resource: Mapping[str, Any]) -> str:
    return str(((resource.get("inputs") or {}).get("tags") or {}).get("clusterwright:part", ""))
