"""Record the resources that an interrupted run created without recording them, before the next operation on the stack."""

import datetime as dt
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from components import registry
from components.adoption import ABSENT, AGAIN, Account, Ambiguous, Certainty, Creation, NotAsked, Trace
from components.provider import packed

from ..errors import Problem
from . import backend, commands, deployment, preview, state

PROVIDERS = "pulumi:providers:"
OWN = "clusterwright:"
LAG_S = 20.0
"""A call that was under way when its engine was killed is carried out all the same, and lists of tags are some seconds behind (Amazon EC2 API Reference, "Eventual consistency")."""


def settle(stack: str, *words: str, lag_s: float = LAG_S) -> bool:
    """Repair the record of a stack whose last run was killed or failed; say whether there was anything to repair.

    The repaired record has the inputs of resources, not their outputs: a refresh has to follow.

    Args:
        words: what the program is run with.
        lag_s: for so long after the kill, what is not there may still come.
    Raises:
        Refusal: the account can't be asked, or only a person can decide; nothing was changed.
    """
    was_killed = _settle_killed(stack, lag_s=lag_s)
    return _settle_failed(stack, *words) or was_killed


def _settle_killed(stack: str, *, lag_s: float) -> bool:
    if backend.folder() is not None and not state.has_pending(stack):
        return False  # other backends can only be asked through the engine
    record = commands.record(stack)
    changing = [one for one in deployment.updates(record) if identity(one)]
    pending = [*deployment.creations(record), *changing]
    if not any(registry.target_of(one.kind) or identity(one) for one in pending):
        return False  # the project's other kinds adopt what they find
    print(f"an earlier run of stack {stack} was killed while it created{' or changed' if changing else ''} {len(pending)} resources")
    traces = _traces(record, pending)
    wait_s = lag_s - deployment.age_s(record, dt.datetime.now(dt.UTC))
    if wait_s > 0 and any(trace == ABSENT for trace in traces.values()):
        print(f"  waiting {wait_s:.0f} s: the account may not list the latest resources yet")
        time.sleep(wait_s)
        traces = _traces(record, pending)
    state.replace_record(stack, deployment.repaired(record, traces), instead_of=record)
    for line in deployment.lines(pending, traces):
        print(f"  {line}")
    return True


def _settle_failed(stack: str, *words: str) -> bool:
    """Find resources that a provider created before it failed without reporting them."""
    if not state.has_failed(stack):
        return False
    record = commands.record(stack)
    if not any(registry.target_of(one["type"].removeprefix(PROVIDERS)) for one in commands.resources_of(record)):
        return False  # the project's own kinds report what they created, and adopt what they find
    steps = preview.creations(stack, *words)
    if steps is None:
        print(f"the last run of stack {stack} failed; resources that it may have created without recording them are looked for once the program runs again")
        return False
    supposed = deployment.supposed(record, [step for step in steps if registry.target_of(step.get("newState", {}).get("type", ""))])
    traces = _traces(supposed, deployment.creations(supposed))
    found = {urn: trace if trace.certainty is Certainty.FOUND else ABSENT for urn, trace in traces.items()}
    there = [one for one in deployment.creations(supposed) if found[one.urn].identities]
    if not there:
        return False
    print(f"the last run of stack {stack} failed after it had created {len(there)} resources that it did not record")
    state.replace_record(stack, deployment.repaired(supposed, found), instead_of=record)
    for line in deployment.lines(there, found):
        print(f"  {line}")
    return True


def identity(creation: Creation) -> str:
    """Give the id of a resource of the project's own that only the stack's record finds again; empty: of any other, and of kinds that this version no longer has."""
    from components.provider import kinds  # all that the provider can do takes its time to load

    if not creation.kind.startswith(OWN):
        return ""
    try:
        kind = kinds.named(creation.kind)
    except KeyError:
        return ""
    inputs = packed.unpack_each(creation.inputs)
    return "/".join(str(inputs[name]) for name in kind.id_inputs)


def is_elsewhere(resources: Iterable[Mapping[str, Any]]) -> bool:
    """Say whether a stack has resources in some account rather than on this machine."""
    return any(registry.target_of(one["type"]) for one in resources)


def keep(record: deployment.Record) -> list[str]:
    """Mark resources that outlive the deleted stack, and describe each.

    Args:
        record: of the stack before it was deleted.
    Raises:
        Problem: the account can't be asked; the resources are not marked.
    """
    staying = [(target, one) for one in deployment.kept(record) if one.name and (target := registry.target_of(one.kind))]
    for place in sorted({(target, one.region) for target, one in staying}):
        names = [one.name for target, one in staying if (target, one.region) == place]
        try:
            registry.adopter(*place).keep(names)
        except NotAsked as error:
            raise Problem(
                "the stack is deleted, and the resources that it keeps are not marked as kept",
                why=str(error),
                remedy=f"check credentials and permissions, then give these the tag clusterwright:kept: {', '.join(names)}",
            ) from error
    return [f"{one.shown} ({one.identity})" for _, one in staying]


def _traces(record: deployment.Record, pending: Iterable[Creation]) -> dict[str, Trace]:
    """Find out what became of each creation."""
    known = deployment.known_ids(record)
    accounts: dict[tuple[str, str], Account] = {}
    found: dict[str, Trace] = {}
    for one in pending:
        target = registry.target_of(one.kind)
        if one.urn in known:
            found[one.urn] = Trace(Certainty.FOUND, (known[one.urn],))
        elif target is None:
            found[one.urn] = Trace(Certainty.LIKELY, (own,)) if (own := identity(one)) else AGAIN
        else:
            place = target, deployment.region(record, one)
            if place not in accounts:
                accounts[place] = registry.adopter(*place)
            found[one.urn] = _asked(accounts[place], one, recorded=deployment.identities(record, one.kind))
    return found


def _asked(account: Account, creation: Creation, *, recorded: Collection[str]) -> Trace:
    try:
        return account.trace(creation, recorded=recorded)
    except NotAsked as error:
        raise Problem(
            "the account can't be searched for what a killed run created",
            why=str(error),
            remedy="check credentials and network, then run the command again; nothing was changed",
        ) from error
    except Ambiguous as error:
        example = f"pulumi import {error.creation.kind} {error.creation.name} {error.identities[0]}"
        raise Problem(
            f"several resources could be {error.creation.shown}, which a killed run was creating",
            why=f"{', '.join(error.identities)} carry its tags, hold data, and are not recorded",
            remedy=f"`pulumi refresh --clear-pending-creates` forgets that run; then record the right one (`{example}`) or delete the unwanted ones by hand",
        ) from error
