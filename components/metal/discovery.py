"""What runs beside the recorded servers (`components/discovery.py`): nothing does, since nobody but the owner starts a server."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import discovery


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = False

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        """Give none: the names of users and hosts are files of each server."""
        return ()

    def running_nodes(self, stack: discovery.Stack) -> discovery.RunningNodes:
        """Find none: each server is recorded."""
        return discovery.RunningNodes()

    def instances(self, stack: discovery.Stack) -> discovery.Instances:
        """Find nothing: no account lists a site's servers."""
        return discovery.Instances()

    def added_policies(self, kind: str, outputs: Mapping[str, Any], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Find nothing: servers have no roles of an account."""
        return ()

    def attachments(self, stack: discovery.Stack) -> discovery.Attachments:
        """Find nothing: no account attaches resources to a server."""
        return discovery.Attachments()
