"""What services and schedulers refuse beyond: each limit with its source."""

import dataclasses
import fnmatch
import functools

from ..capacity_kind import CapacityKind
from . import files


@dataclasses.dataclass(frozen=True, slots=True)
class Limit:
    value: int
    source: str
    as_of: str


@functools.cache
def limit(owner: str, name: str) -> Limit | None:
    """Give a limit; None where none is known.

    Args:
        owner: a target or a scheduler.
    """
    entry = files.mapping("limits").get(owner, {}).get(name)
    return Limit(**entry) if entry else None


@dataclasses.dataclass(frozen=True, slots=True)
class PolicySize:
    """How many characters the policies of a role may have, and what a controller's policy needs: limits.yaml explains each number."""

    limit: int
    base: int
    machine_copies: int
    bucket: int
    buckets: int
    key: int
    keys: int
    groups: int
    source: str
    as_of: str


@functools.cache
def policy_size(target: str) -> PolicySize | None:
    """Return the limit of a role's policies and what they need; None for a target without such policies."""
    entry = files.mapping("limits")["policies"].get(target)
    return PolicySize(**entry) if entry else None


def unpacked_by(target: str, machine_name: str, kind: CapacityKind) -> str | None:
    """Name the source that says that a target's placement groups don't take a machine with this capacity; None where the catalogue excludes nothing."""
    excluded = files.mapping("limits")["unpacked"].get(target)
    if excluded and _matches(machine_name, excluded["machines"]):
        return str(excluded["source"])
    flex = files.mapping("limits")["packed_flex"].get(target) if kind is CapacityKind.FLEX else None
    return str(flex["source"]) if flex and not _matches(machine_name, flex["machines"]) else None


def _matches(machine_name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(machine_name, pattern) for pattern in patterns)
