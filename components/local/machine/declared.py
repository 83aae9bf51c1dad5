"""How hosts of a stack declare their memory: a stack keeps the rule that it was created with."""

from . import record
from .names import StackNames

BY_MACHINE = "machine"
"""A share of the machine's memory, whatever the number of hosts."""


def write(names: StackNames) -> None:
    """Record that a new stack declares by the machine."""
    record.write(names.declared_file, {"memory_by": BY_MACHINE})


def by_count(stack: str) -> bool:
    """Say whether the stack exists and was created by a version in which the number of hosts decided."""
    try:
        names = StackNames(stack)
        return names.owner_file.exists() and (record.read(names.declared_file) or {}).get("memory_by") != BY_MACHINE
    except (PermissionError, ValueError):
        return False  # who is not root can look at a plan; a name that no stack here can have has no hosts here
