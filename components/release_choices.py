"""What whoever runs `down` or `up` decided about hosts that a stack releases, handed to their resources through the engine's environment."""

import dataclasses
import os
from collections.abc import Mapping

from blueprints import hostlist

ABANDONED_VARIABLE = "CLUSTERWRIGHT_ABANDON"
DELETE_VARIABLE = "CLUSTERWRIGHT_DELETE_DATA"


@dataclasses.dataclass(frozen=True, slots=True)
class Choices:
    """What was decided."""

    abandoned: frozenset[str] = frozenset()
    """Hosts that are forgotten when they can't be released."""
    deletes_data: bool = False
    """Database tables and job state are deleted with the stack."""


def environment(*, abandon: str = "", delete_data: bool = False) -> Mapping[str, str]:
    """Give the environment that says it.

    Args:
        abandon: a hostlist.
    """
    return {**({ABANDONED_VARIABLE: abandon} if abandon else {}), **({DELETE_VARIABLE: "1"} if delete_data else {})}


def received() -> Choices:
    """Give what was handed over."""
    return Choices(frozenset(hostlist.expand(os.environ.get(ABANDONED_VARIABLE, ""))), os.environ.get(DELETE_VARIABLE) == "1")
