"""What `rebuild` asks a target: how the engine comes to create a host again."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol


class Rebuild(Protocol):
    """What a target implements."""

    keeps_state: bool
    """The state of Kubernetes can stay when the disk of a control plane's host is deleted."""
    by_owner: bool
    """Only their owner can install hosts again: a rebuild takes them out of service and hands them over, and the next `up` goes on."""

    def check(self, stack: str, hosts: Mapping[str, str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse hosts that can't be rebuilt.

        Args:
            hosts: host → its role.
            recorded: the stack's resources.
        Raises:
            RebuildRefused: nothing was changed.
        """

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Give the URNs of resources that the engine must replace, so that the hosts are new; none where `discard` is enough."""

    def discard(self, stack: str, hosts: Collection[str], *, keeping_state: Collection[str] = ()) -> None:
        """Stop hosts and delete their disks, where the engine then creates the missing ones by itself.

        Args:
            keeping_state: hosts whose next disk gets the state of Kubernetes from this one.
        Raises:
            RebuildRefused: a host does not stop, or its disk can't be deleted.
        """
