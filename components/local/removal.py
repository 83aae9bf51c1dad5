"""What `down` removes on this machine beside the recorded resources (`components/removal.py`)."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints.project import project_root

from .. import errors
from ..provider.kind import Work
from .machine import claim, command, folder, sweep
from .machine.names import StackNames

SITE = "clusterwright:local:Site"
SWEPT_WITHIN_S = 120


class Removal:
    """Implements `removal.Removal`."""

    def check(self, stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
        """Refuse where the hosts are another's by now: the machine would refuse each, after the record has forgotten what needs no deletion."""
        names = StackNames(stack)
        tokens = [resource.get("outputs", {}).get("token") for resource in recorded if resource["type"] == SITE]
        if (mine := claim.read(names)) and tokens and mine.token not in tokens:
            raise errors.RemovalRefused(
                f"the hosts of stack {stack} on this machine belong to another state",
                why=claim.foreign_page(names, mine),
                remedy=f"`pulumi state delete` forgets what this state records; `make down` in {mine.owner} removes the hosts",
            )

    def sweep(self, stack: str, *, say: Callable[[str], None]) -> bool:
        names = StackNames(stack)
        try:
            if not sweep.left_behind(names):
                return False
            _require_own(names)
            say(f"removing what stack {stack} left without a record")
            work = Work(show=lambda text, _: say(f"  {text}"), stopping=threading.Event(), timeout_s=SWEPT_WITHIN_S)
            sweep.sweep(names, wait_until=work.wait_until, say=work.say)
        except (claim.Foreign, command.CommandFailed, OSError) as error:
            raise errors.RemovalRefused(
                f"the remains of stack {stack} on this machine can't be listed or removed",
                why=str(error),
                remedy="run the command as root; `make setup` installs tools that are missing",
            ) from error
        return True

    def kept(self, stack: str) -> tuple[str, ...]:
        return tuple(map(str, folder.protected(StackNames(stack))))


def _require_own(names: StackNames) -> None:
    """Refuse what another checkout, or another state, records: an engine that was killed in its first moments left none, and neither did a state that was lost."""
    mine = claim.read(names)
    if mine is None:
        return
    backend = os.environ.get(claim.BACKEND_VARIABLE, "")
    if mine.owner != str(project_root()) and mine.owner_exists:
        raise errors.RemovalRefused(
            f"this checkout has no stack {names.stack}",
            why=f"the hosts of that name on this machine belong to {mine.owner}",
            remedy="run `make down` there",
        )
    if mine.backend != backend:
        raise errors.RemovalRefused(
            f"stack {names.stack} is recorded elsewhere",
            why=f"the state that records its hosts is in {mine.backend}, and this shell uses {backend}",
            remedy=f"{claim.BACKEND_VARIABLE}={mine.backend} make down STACK={names.stack}",
        )
