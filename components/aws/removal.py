"""Stacks on AWS that `down` refuses to delete (`components/removal.py`)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import errors, removal
from .names import PART_TAG

CONTROLLER, CONTROL = "aws:ec2/instance:Instance", "control"
NODES = "clusterwright:aws:Nodes"
"""Terminates a node set's instances; the program creates one for each node set before it creates a controller."""


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a stack that has controllers but no resources that terminate their nodes: AWS would refuse to delete each resource that the nodes use, after a long wait."""
        if any(one["type"] == NODES for one in recorded):
            return
        controllers = [one["urn"].rpartition("::")[2] for one in recorded if one["type"] == CONTROLLER and _part(one) == CONTROL]
        if controllers:
            raise errors.RemovalRefused(
                f"an earlier version created stack {stack}, and did not record how to terminate its compute nodes",
                why=f"{', '.join(controllers)} may have started nodes, and AWS deletes security groups and subnets only after these nodes are terminated; nothing was changed",
                remedy=f"run `make up STACK={stack}` once, which records it, then `make down STACK={stack}`",
            )

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: removal.Agree) -> bool:
        """Find nothing: everything in the account is recorded, or recovery finds it by the stack's mark."""
        return False

    def kept(self, stack: str) -> tuple[str, ...]:
        """Return nothing: recovery names the resources that stay in an account."""
        return ()


def _part(resource: Mapping[str, Any]) -> str:
    return str(((resource.get("inputs") or {}).get("tags") or {}).get(PART_TAG, ""))
