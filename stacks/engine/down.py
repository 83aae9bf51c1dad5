"""Delete a stack: refuse what must not be deleted, run the engine, then delete what it left on this machine."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from components import registry, removal
from components.files import memory_folders

from .. import project
from ..errors import EngineFailed
from . import account, commands, operations, preflight, recovery, secrets, state

PROVIDERS = "pulumi:providers:"


def down(stack: str, *, agree: removal.Agree, forget_secrets: bool = False, is_verbose: bool = False) -> str:
    """Delete everything that belongs to a stack, and give one sentence about the result.

    Args:
        agree: asked before the resources of an owner that no longer exists are removed.
        forget_secrets: go on without secrets that can't be decrypted.
        is_verbose: show every step of every resource.
    Raises:
        Refusal: data is protected, the hosts belong to another checkout, or the engine failed.
    """
    commands.require()
    operations.prepare(stack)
    removals = registry.removals()
    existed = state.exists(stack)
    if forget_secrets:
        secrets.forget(stack)
    elif existed:
        commands.outputs(stack)  # the engine would say only after it has started that it can't decrypt the secrets
    recorded: list[dict[str, Any]] = []
    staying: list[str] = []
    if existed:
        looks = ["--refresh"] if recovery.settle(stack) else []
        record = commands.record(stack)
        recorded = commands.resources_of(record)
        for of_target in removals:
            of_target.check(stack, recorded)
        preflight.refuse_protected(stack, recorded)
        for target, region in accounts(recorded):
            account.require_credentials(target, region)
        done = operations.operate("destroy", *looks, "--yes", "--skip-preview", "--suppress-outputs", stack=stack, is_verbose=is_verbose)
        if done.status:
            raise EngineFailed(
                f"stack {stack} is not deleted",
                why=f"the engine ended with status {done.status}; its output is above",
                remedy="correct the cause and run the same command again",
            )
        staying = recovery.keep(record)
    is_elsewhere = recovery.is_elsewhere(recorded)
    swept = [] if is_elsewhere else [of_target.sweep(stack, say=print, agree=agree) for of_target in removals]
    if not existed and not any(swept):
        return f"there is no stack {stack} here; nothing was deleted"
    memory_folders.clear_orphans()
    shutil.rmtree(project.private_folder(stack), ignore_errors=True)
    kept = staying if is_elsewhere else [one for of_target in removals for one in of_target.kept(stack)]
    return f"stack {stack} is deleted{'' if is_elsewhere else ' from this machine'}" + (f"; protected and kept: {', '.join(kept)}" if kept else "")


def accounts(recorded: Sequence[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Give the targets whose accounts hold resources of the stack, each with its region."""
    providers = [resource for resource in recorded if resource["type"].startswith(PROVIDERS)]
    return {(one["type"].removeprefix(PROVIDERS), one.get("inputs", {}).get("region", "")) for one in providers}
