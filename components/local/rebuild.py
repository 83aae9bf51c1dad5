"""How hosts of this machine are rebuilt (`components/rebuild.py`): their disks are deleted, and their pool creates what is missing."""

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .. import errors
from ..provider.kind import Work
from .machine import claim, command, host
from .machine.names import StackNames

SITE = "clusterwright:local:Site"
STOP_WITHIN_S = 20


class Rebuild:
    """Implements `rebuild.Rebuild`."""

    keeps_state = True
    by_owner = False

    def check(self, stack: str, hosts: Mapping[str, str], recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse hosts that belong to another state."""
        names = StackNames(stack)
        tokens = [one.get("outputs", {}).get("token") for one in recorded if one["type"] == SITE]
        try:
            claim.require(names, str(tokens[0] if tokens else ""))
        except claim.Foreign as foreign:
            raise errors.RebuildRefused(
                f"the hosts of stack {stack} are not this stack's to rebuild",
                why=str(foreign),
                remedy="run the command in the checkout, and on the machine, that created them",
            ) from foreign

    def replaced(self, hosts: Collection[str], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Give none: a pool creates the hosts that it misses."""
        return ()

    def discard(self, stack: str, hosts: Collection[str], *, keeping_state: Collection[str] = ()) -> None:
        """Kill hosts and delete their disks."""
        work = Work(show=lambda _text, _kept: None, stopping=threading.Event(), timeout_s=0)
        try:
            for name in hosts:
                host.kill(StackNames(stack).host(name))
            for name in hosts:
                here = StackNames(stack).host(name)
                work.wait_until(lambda here=here: host.is_gone(here), awaiting=f"the processes of {name} to end", within_s=STOP_WITHIN_S)  # type: ignore[misc]
                if name in keeping_state:
                    host.set_state_aside(here)
                host.remove(here)
        except (command.CommandFailed, OSError, TimeoutError) as error:
            raise errors.RebuildRefused(
                "a host can't be deleted", why=str(error), remedy="run the command as root, and again once what it names is gone"
            ) from error
