"""How servers are rebuilt (`components/rebuild.py`): by their owner, who reinstalls them. The next `up` then finishes them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .. import errors


class Rebuild:
    """Implements `rebuild.Rebuild`."""

    keeps_state = False

    def check(self, stack: str, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse all: no disk of a server is the stack's to empty."""
        named = hostlist.compress(sorted(hosts))
        raise errors.RebuildRefused(
            f"{named} can't be rebuilt from here",
            why="the servers belong to you, and only you can install their operating system again",
            remedy=f"reinstall {named}, write the new host keys into the inventory, then: clusterwright up --stack {stack}",
        )

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Give none: a group adopts reinstalled servers by itself."""
        return ()

    def discard(self, stack: str, hosts: Collection[str], *, keeping_state: Collection[str] = ()) -> None:
        """Do nothing: `check` refuses before."""
