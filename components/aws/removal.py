"""Which stacks on AWS `down` can't remove (`components/removal.py`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import errors
from .names import PART_TAG

CONTROLLER, CONTROL = "aws:ec2/instance:Instance", "control"
NODES = "clusterwright:aws:Nodes"
"""Ends a node set's instances; the program creates one for each node set before it creates a controller."""


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a stack with controllers and without resources that end their nodes: AWS would refuse to delete, one by one and after a long wait, what the nodes use."""
        if any(one["type"] == NODES for one in recorded):
            return
        controllers = [one["urn"].rpartition("::")[2] for one in recorded if one["type"] == CONTROLLER and _part(one) == CONTROL]
        if controllers:
            raise errors.RemovalRefused(
                f"stack {stack} was made by an earlier version, which did not record how its compute nodes end",
                why=f"{', '.join(controllers)} may have started nodes, and security groups and subnets can't be removed before these have ended; nothing was touched",
                remedy=f"run `make up STACK={stack}` once, which records it, then `make down STACK={stack}`",
            )

    def sweep(self, stack: str, *, say: Callable[[str], None]) -> bool:
        """Find nothing: everything in the account is recorded, or recovery finds it by the stack's mark."""
        return False

    def kept(self, stack: str) -> tuple[str, ...]:
        """Recovery names what stays in an account."""
        return ()


def _part(resource: Mapping[str, Any]) -> str:
    return str(((resource.get("inputs") or {}).get("tags") or {}).get(PART_TAG, ""))
