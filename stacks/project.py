"""Places in the project folder that everyday operations use."""

from pathlib import Path

from blueprints.project import project_root

PRIVATE = ".clusterwright"
"""Ignored by git: state of the file backend, passphrase, users' keys."""


def stack_file(stack: str) -> Path:
    """The stack's settings, in Pulumi's form."""
    return project_root() / "stacks" / f"Pulumi.{stack}.yaml"


def private_folder(stack: str) -> Path:
    """Keys that the stack created for its users, and what is needed to log in with them."""
    return project_root() / PRIVATE / "stacks" / stack


def drift_folder(stack: str) -> Path:
    """What earlier drift checks found."""
    return private_folder(stack) / "drift"


def ignore_file(stack: str) -> Path:
    """Drift that is known and accepted; commit it to the repository."""
    return project_root() / "stacks" / f"Drift.{stack}.yaml"


def servers_file(stack: str) -> Path:
    """Serial numbers and firmware of the stack's servers as somebody recorded them; commit it to the repository."""
    return project_root() / "stacks" / f"Servers.{stack}.yaml"
