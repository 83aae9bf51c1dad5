"""How servers are rebuilt (`components/rebuild.py`): by their owner, who installs them again. `rebuild` takes them out of service before, and the next `up` adopts and finishes them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from blueprints import hostlist

from .. import errors

HANDED_OVER = frozenset({"compute", "access"})
"""Roles of hosts whose disk has nothing that the cluster needs."""


class Rebuild:
    """Implements `rebuild.Rebuild`."""

    keeps_state = False
    by_owner = True

    def check(self, stack: str, hosts: Mapping[str, str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse controllers: accounting and the state of the scheduler are on their disks."""
        kept = sorted(name for name, role in hosts.items() if role not in HANDED_OVER)
        if kept:
            named = hostlist.compress(kept)
            raise errors.RebuildRefused(
                f"{named} can't be rebuilt",
                why="it is a controller: its own disk has what the cluster knows of jobs and accounts, and a new system would begin without it",
                remedy=f'save that first (docs/metal.md, "Reinstall a controller"), reinstall {named}, write the new host key into the inventory, then: clusterwright up --stack {stack}',
            )

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Give none: a group adopts reinstalled servers by itself."""
        return ()

    def discard(self, stack: str, hosts: Collection[str], *, keeping_state: Collection[str] = ()) -> None:
        """Do nothing: the owner empties the disks."""
