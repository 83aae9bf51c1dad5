"""`clusterwright down`: destroy the stack, then look whether anything of it is left on this machine."""

import argparse
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from blueprints.project import project_root
from components import memory
from components.local.machine import claim, command, folder, sweep
from components.local.machine.names import StackNames
from components.provider.kind import Work

from .. import project
from ..engine import account, commands, recovery
from ..problem import Problem
from . import leaving, options

SITE = "clusterwright:local:Site"
PROVIDERS = "pulumi:providers:"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)


def run(given: argparse.Namespace) -> int:
    commands.require()
    commands.prepare(given.stack)
    names = StackNames(given.stack)
    existed = commands.exists(given.stack)
    recorded: list[dict[str, Any]] = []
    staying: list[str] = []
    if existed:
        looks = ["--refresh"] if recovery.settle(given.stack) else []
        record = commands.record(given.stack)
        recorded = commands.resources_of(record)
        _refuse_foreign(names, recorded)
        _refuse_protected(given.stack, recorded)
        leaving.refuse_older(given.stack, recorded)
        for target, region in _accounts(recorded):
            account.require_credentials(target, region)
        if status := commands.operate("destroy", *looks, "--yes", "--skip-preview", "--suppress-outputs", stack=given.stack):
            raise Problem(
                f"stack {given.stack} is not gone",
                why=f"the engine ended with status {status}; what it said is above",
                remedy="mend the cause and run the same command again",
            )
        staying = recovery.keep(record)
    is_elsewhere = recovery.is_elsewhere(recorded)
    left = False if is_elsewhere else _sweep(names)
    if not existed and not left:
        print(f"there is no stack {given.stack} here; nothing was to be removed")
        return 0
    memory.clear_orphans()
    shutil.rmtree(project.private_folder(given.stack), ignore_errors=True)
    kept = staying if is_elsewhere else [*map(str, folder.protected(names))]
    print(f"stack {given.stack} is gone{'' if is_elsewhere else ' from this machine'}" + (f"; protected and kept: {', '.join(kept)}" if kept else ""))
    return 0


def _sweep(names: StackNames) -> bool:
    """Remove what the engine left on this machine; say whether there was anything."""
    try:
        if not sweep.left_behind(names):
            return False
        _sweep_unrecorded(names)
    except (claim.Foreign, command.CommandFailed, OSError) as error:
        raise Problem(
            f"what is left of stack {names.stack} on this machine can't be seen or removed",
            why=str(error),
            remedy="run the command as root; `make setup` installs tools that are missing",
        ) from error
    return True


def _refuse_foreign(names: StackNames, recorded: Sequence[Mapping[str, Any]]) -> None:
    """Stop where the hosts are another's by now: each would be refused, but not before the state forgot what needs no deletion."""
    tokens = [resource.get("outputs", {}).get("token") for resource in recorded if resource["type"] == SITE]
    if (mine := claim.read(names)) and tokens and mine.token not in tokens:
        raise Problem(
            f"the hosts of stack {names.stack} on this machine are not those of this state",
            why=claim.foreign_page(names, mine),
            remedy=f"`pulumi state delete` forgets what this state records; `make down` in {mine.owner} removes the hosts",
        )


def _accounts(recorded: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Give the targets whose accounts hold something of the stack, each with its region."""
    providers = [resource for resource in recorded if resource["type"].startswith(PROVIDERS)]
    return {(one["type"].removeprefix(PROVIDERS), one.get("inputs", {}).get("region", "")) for one in providers}


def _refuse_protected(stack: str, recorded: Sequence[Mapping[str, Any]]) -> None:
    """Stop before anything is destroyed: the engine would take down every host first and only then refuse the data."""
    if protected := [resource["urn"].rpartition("::")[2] for resource in recorded if resource.get("protect")]:
        raise Problem(
            f"stack {stack} has data that is protected: {', '.join(protected)}",
            why="the blueprint says so (storage.<name>.protect, accounting.protect); nothing was removed",
            remedy="set protect to false there and run `make up`, then `make down`; what is in those folders is then deleted with the stack",
        )


def _sweep_unrecorded(names: StackNames) -> None:
    """Remove what no state knows of: an engine killed in its first moments, or a lost state."""
    if (mine := claim.read(names)) is not None:
        backend = os.environ.get(claim.BACKEND_VARIABLE, "")
        if mine.owner != str(project_root()) and mine.owner_exists:
            raise Problem(
                f"this checkout has no stack {names.stack}",
                why=f"the hosts of that name on this machine belong to {mine.owner}",
                remedy="run `make down` there",
            )
        if mine.backend != backend:
            raise Problem(
                f"stack {names.stack} is recorded elsewhere",
                why=f"its hosts were made with the state in {mine.backend}, and this shell uses {backend}",
                remedy=f"{claim.BACKEND_VARIABLE}={mine.backend} make down STACK={names.stack}",
            )
    print(f"removing what stack {names.stack} left without a record")
    work = Work(show=lambda text, _: print(f"  {text}"), stopping=threading.Event(), timeout_s=120)
    sweep.sweep(names, wait_until=work.wait_until, say=work.say)
