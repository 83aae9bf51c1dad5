"""Instances of a cloud that carry a stack's name: what is the same whoever lists them. Pure, but for the listing that a caller hands in."""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from .. import discovery, errors, host_folders

BOOT_S = 600.0
"""Boot time of a node; until then only the scheduler knows whether it has booted."""
NO_NODE_KEY = "the stack has no SSH host key for its nodes yet, so nothing identifies them; the next `up` creates the key"
STARTED_BEFORE_KEY = "it started before the stack had an SSH host key for its nodes; its replacement gets the key"
STARTING_OR_ENDING = "it is starting or terminating"

Listed = TypeVar("Listed")


class Instance(Protocol):
    """What every cloud says of an instance."""

    @property
    def id(self) -> str: ...

    @property
    def node_set(self) -> str: ...

    @property
    def address(self) -> str:
        """In the hosts' network; empty: none yet."""

    @property
    def state(self) -> str: ...

    @property
    def owner(self) -> str:
        """The mark of its stack; empty: it has none."""

    @property
    def machine(self) -> str: ...

    @property
    def launched(self) -> dt.datetime: ...


def mounts(role: str, *, controllers: int) -> tuple[str, ...]:
    """Name what a host mounts beside the blueprint's file systems: a single controller a disk, each of two controllers their shared file system."""
    if role != "control":
        return ()
    return (f"{host_folders.STATE}/slurmctld" if controllers > 1 else host_folders.STATE,)


def running_nodes(
    stack: discovery.Stack, look: Callable[[], Listed], select: Callable[[Listed, discovery.Stack], discovery.RunningNodes]
) -> discovery.RunningNodes:
    """List the compute nodes that run, or say why none can be inspected."""
    if not stack.node_key:
        return discovery.RunningNodes(reason=NO_NODE_KEY)
    try:
        return select(look(), stack)
    except errors.TargetUnanswered as error:
        return discovery.RunningNodes(failure=f"elastic nodes could not be listed: {error}", reason="they could not be listed")


def inspectable(nodes: Mapping[str, Instance], stack: discovery.Stack, *, running: str) -> discovery.RunningNodes:
    """Select the nodes that can be inspected, verified by the host key of all the stack's nodes.

    Args:
        nodes: hostname → instance.
        running: the cloud's word for an instance that runs.
    """
    found: list[discovery.RunningNode] = []
    skipped: dict[str, str] = {}
    for name, one in sorted(nodes.items()):
        if one.state != running or not one.address:
            skipped[name] = STARTING_OR_ENDING
        elif stack.node_key_since and one.launched < stack.node_key_since:
            skipped[name] = STARTED_BEFORE_KEY
        else:
            found.append(discovery.RunningNode(name, one.node_set, one.address, one.id, stack.node_key, one.launched))
    return discovery.RunningNodes(tuple(found), skipped, boot_s=BOOT_S)


def is_foreign(instance: Instance, stack: discovery.Stack, *, site: str) -> bool:
    """Return whether an instance carries the mark of another stack of the same name.

    Args:
        site: type of the resource that holds the stack's mark.
    """
    mark = next((one["outputs"].get("owner") for one in stack.resources if one["type"] == site), None)
    return bool(mark and instance.owner and instance.owner != mark)


def templates(stack: discovery.Stack, *, kind: str) -> dict[str, Mapping[str, Any]]:
    """Give the outputs of the recorded templates, by node set.

    Args:
        kind: type of the cloud's templates.
    """
    found = {one["name"]: one["outputs"] for one in stack.resources if one["type"] == kind}
    return {node_set: found[f"{node_set}-template"] for node_set in stack.nodes if found.get(f"{node_set}-template")}


def stray(one: Instance, called: str, reason: str) -> discovery.Stray:
    return discovery.Stray(called, reason, f"{one.machine}, {one.state}, started {one.launched:%Y-%m-%d %H:%M} UTC")


def deviations(called: str, node: str, compared: Iterable[tuple[str, str, str]]) -> list[discovery.Deviation]:
    """Give what differs.

    Args:
        called: the instance, as the cloud names it.
        compared: attribute, what the template says, and what the instance has.
    """
    return [discovery.Deviation(called, node, attribute, expected, actual) for attribute, expected, actual in compared if expected != actual]
