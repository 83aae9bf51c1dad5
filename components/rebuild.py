"""What `rebuild` asks a target: how the engine comes to create a host again."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol


class Rebuild(Protocol):
    """What a target implements."""

    def check(self, stack: str, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse hosts that can't be rebuilt from here.

        Args:
            recorded: the stack's resources.
        Raises:
            RebuildRefused: nothing was changed.
        """

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Give the URNs of resources that the engine must replace, so that the hosts are new; none where `discard` is enough."""

    def discard(self, stack: str, hosts: Collection[str]) -> None:
        """Stop hosts and delete their disks, where the engine then creates the missing ones by itself.

        Raises:
            RebuildRefused: a host does not stop, or its disk can't be deleted.
        """
