"""How instances of a cloud are rebuilt (`rebuild.Rebuild`): the engine replaces them. A controller's disks and its address are resources of their own, and stay."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from .. import errors


class Rebuild:
    """Implements `rebuild.Rebuild`."""

    kind: ClassVar[str]
    """The type of an instance as the engine records it."""
    labels: ClassVar[str]
    """The instance's input with its labels or tags."""
    name: ClassVar[str]
    """The label with the hostname."""

    keeps_state = False
    by_owner = False

    def check(self, stack: str, hosts: Mapping[str, str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a host without a recorded instance."""
        missing = sorted(set(hosts) - {self._hostname(one) for one in recorded if one["type"] == self.kind})
        if missing:
            raise errors.RebuildRefused(
                f"stack {stack} records no instance of {', '.join(missing)}",
                why="an interrupted run deleted it, or the stack never created it",
                remedy=f"run `clusterwright up --stack {stack}`, which creates what is missing",
            )

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        return tuple(str(one["urn"]) for one in recorded if one["type"] == self.kind and self._hostname(one) in hosts and not one.get("delete"))

    def discard(self, stack: str, hosts: Collection[str], *, keeping_state: Collection[str] = ()) -> None:
        """Do nothing: the engine terminates what it replaces."""

    def _hostname(self, resource: Mapping[str, Any]) -> str:
        return str(((resource.get("inputs") or {}).get(self.labels) or {}).get(self.name, ""))
