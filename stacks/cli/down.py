"""`clusterwright down`: destroy the stack, then look whether anything of it is left on this machine."""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from components import memory, registry

from .. import project
from ..engine import account, commands, recovery
from ..problem import Problem
from . import options

PROVIDERS = "pulumi:providers:"


def arguments(parser: argparse.ArgumentParser) -> None:
    options.stack(parser)


def run(given: argparse.Namespace) -> int:
    commands.require()
    commands.prepare(given.stack)
    removals = registry.removals()
    existed = commands.exists(given.stack)
    recorded: list[dict[str, Any]] = []
    staying: list[str] = []
    if existed:
        looks = ["--refresh"] if recovery.settle(given.stack) else []
        record = commands.record(given.stack)
        recorded = commands.resources_of(record)
        for removal in removals:
            removal.check(given.stack, recorded)
        _refuse_protected(given.stack, recorded)
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
    swept = [] if is_elsewhere else [removal.sweep(given.stack, say=print) for removal in removals]
    if not existed and not any(swept):
        print(f"there is no stack {given.stack} here; nothing was to be removed")
        return 0
    memory.clear_orphans()
    shutil.rmtree(project.private_folder(given.stack), ignore_errors=True)
    kept = staying if is_elsewhere else [one for removal in removals for one in removal.kept(given.stack)]
    print(f"stack {given.stack} is gone{'' if is_elsewhere else ' from this machine'}" + (f"; protected and kept: {', '.join(kept)}" if kept else ""))
    return 0


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
