"""What services and schedulers refuse beyond: each limit with its source."""

import dataclasses
import fnmatch
import functools

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


def can_be_packed(target: str, machine_name: str) -> bool:
    """Say whether a target's placement groups take a machine; true unless the catalogue excludes it."""
    entry = files.mapping("limits")["unpacked"].get(target)
    return entry is None or not any(fnmatch.fnmatchcase(machine_name, pattern) for pattern in entry["machines"])


def packing_source(target: str) -> str:
    """Name the source of `can_be_packed`."""
    source: str = files.mapping("limits")["unpacked"][target]["source"]
    return source
