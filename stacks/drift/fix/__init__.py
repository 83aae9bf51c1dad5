"""Repairs: which findings a command on a host, or finishing the host again, ends; one module for each family of findings. Pure.

A command is built from a finding's typed subject and values, never from text that was written for people. A name or value that a command would read as something else is refused, and the finding is left
to a person. What somebody added is never deleted: files are moved into a folder that only root reads.
"""

from .planning import Plan, busy_nodes, plan
from .step import KIND_OF, Boot, Command, Finish, Kind, Left, Step

__all__ = ["KIND_OF", "Boot", "Command", "Finish", "Kind", "Left", "Plan", "Step", "busy_nodes", "plan"]
