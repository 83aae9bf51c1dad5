"""What `down` removes on this machine beside the recorded resources (`components/removal.py`)."""

import os
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprints.project import project_root

from .. import errors, removal
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
                remedy=f"to forget what this state records: pulumi stack rm --force --yes --stack {stack}\nto delete the hosts after that: {_way_to(names, mine)}",
            )

    def sweep(self, stack: str, *, say: Callable[[str], None], agree: removal.Agree) -> bool:
        names = StackNames(stack)
        try:
            if not sweep.left_behind(names):
                return False
            mine = claim.read(names)
            if mine and _is_orphan(mine):
                _ask(names, mine, agree)
            elif mine:
                _require_own(names, mine)
            say(f"removing what stack {stack} left without a record")
            work = Work(show=lambda text, _: say(f"  {text}"), stopping=threading.Event(), timeout_s=SWEPT_WITHIN_S)
            sweep.sweep(names, wait_until=work.wait_until, say=work.say)
        except (claim.Foreign, command.CommandFailed, OSError) as error:
            raise errors.RemovalRefused(
                f"the remains of stack {stack} on this machine can't be listed or removed",
                why=str(error),
                remedy=f"run the same command as root: sudo make down STACK={stack}" if os.geteuid() else _remedy(names, error),
            ) from error
        return True

    def kept(self, stack: str) -> tuple[str, ...]:
        return tuple(map(str, folder.protected(StackNames(stack))))


def _is_orphan(mine: claim.Claim) -> bool:
    """Say whether neither the checkout that provisioned the stack nor the folder with its state exists any more, so that nobody else can delete the stack."""
    return not mine.owner_exists and (not mine.backend or (mine.state_folder is not None and not mine.state_folder.is_dir()))


def _ask(names: StackNames, mine: claim.Claim, agree: removal.Agree) -> None:
    why = f"the checkout that provisioned stack {names.stack}, {mine.owner}, and its state no longer exist"
    if not agree(why, sweep.summary(names)):
        raise errors.RemovalRefused(
            f"nothing of stack {names.stack} was deleted",
            why=f"{why}; this deletes its hosts and data on this machine, and nobody agreed to that",
            remedy=f"clusterwright down --stack {names.stack} --yes",
        )


def _require_own(names: StackNames, mine: claim.Claim) -> None:
    """Refuse what another checkout, or another state, records: an engine that was killed in its first moments left none, and neither did a state that was lost."""
    if mine.owner != str(project_root()) and mine.owner_exists:
        raise errors.RemovalRefused(
            f"this checkout has no stack {names.stack}",
            why=f"the hosts of that name on this machine belong to {mine.owner}",
            remedy=_way_to(names, mine),
        )
    if mine.backend != os.environ.get(claim.BACKEND_VARIABLE, ""):
        raise errors.RemovalRefused(
            f"stack {names.stack} is recorded elsewhere",
            why=f"the state that records its hosts is in {mine.backend}, and this shell uses {os.environ.get(claim.BACKEND_VARIABLE, 'none')}",
            remedy=f"{claim.BACKEND_VARIABLE}={shlex.quote(mine.backend)} make down STACK={names.stack}",
        )


def _way_to(names: StackNames, mine: claim.Claim) -> str:
    """Give the command that deletes a stack where it is recorded."""
    if mine.owner_exists:
        return f"make --directory {shlex.quote(mine.owner)} down STACK={names.stack}"
    return f"clusterwright down --stack {names.stack}"


def _remedy(names: StackNames, error: Exception) -> str:
    match error:
        case claim.Foreign():
            return f"if the stack is yours: rm {names.owner_file}\nthen the same command again"
        case command.CommandFailed():
            return "`make setup` installs tools that are missing; then run the same command again"
    return "correct what it names, then run the same command again: it goes on with what is left"
