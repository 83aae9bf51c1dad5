"""Create or change a stack: ask every question first, recover what an interrupted run left, then run the engine."""

from collections.abc import Mapping
from typing import Any

from blueprints import spec
from blueprints.load import Loaded
from components import registry

from ..errors import EngineFailed
from ..render import finding_list
from . import account, commands, live, operations, preflight, recovery, state


def up(
    loaded: Loaded, stack: str, *, blueprint: str | None = None, values: Mapping[str, Any] | None = None, ask_live: bool = True, is_verbose: bool = False
) -> operations.Done:
    """Make the stack what its blueprint says.

    Args:
        blueprint: recorded as the stack's setting, when the command line names one.
        values: recorded as the stack's setting `set`, in place of those that it has; None: they stay.
        ask_live: validate the blueprint against the target's account or hosts first.
        is_verbose: show every step of every resource.
    Raises:
        Invalid: the account or the hosts lack something.
        Problem: the engine failed, or can't start.
    """
    target, region = loaded.spec.target, loaded.spec.network.region
    registry.require_sdk(target)
    commands.require()
    operations.prepare(stack)
    preflight.refuse_changes(stack, loaded.spec)
    if live.is_possible(target) and ask_live:
        preflight.validate_live(loaded, stack, has_resources=_has_resources(stack), recorded=_recorded(stack))
    else:
        finding_list.show(loaded.findings)
        if whose := account.require_credentials(target, region):
            print(f"the account is {whose}")
    state.create_if_missing(stack)
    if values is not None:
        state.record_values(stack, values)
    config = ["--config", f"clusterwright:blueprint={blueprint}"] if blueprint else []
    recovery.settle(stack, *config)
    if interrupted := state.pending_creates(stack):
        print(f"a killed run was creating {len(interrupted)} resources; they are adopted or created again")
        operations.operate("refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--suppress-outputs", stack=stack, is_verbose=is_verbose)
    done = operations.operate("up", "--refresh", "--yes", "--skip-preview", "--suppress-outputs", *config, stack=stack, is_verbose=is_verbose)
    if done.status:
        raise EngineFailed(
            f"stack {stack} is not up",
            why=f"the engine ended with status {done.status}; its output is above",
            remedy=f"correct the cause and run the same command again: it continues with what is recorded; `clusterwright down --stack {stack}` deletes that",
        )
    return done


def _has_resources(stack: str) -> bool:
    """Say whether an account has resources of the stack already."""
    return state.exists(stack) and recovery.is_elsewhere(commands.resources_of(commands.record(stack)))


def _recorded(stack: str) -> spec.ClusterSpec | None:
    """Give the cluster that the last finished `up` recorded; None where there is none, or this version can't read it."""
    record = state.spec(stack)
    try:
        return spec.from_record(record) if record is not None else None
    except spec.Unreadable:
        return None
