"""Instances that run under a stack's name (`components/discovery.py`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import discovery, errors, host_folders
from . import attachments as attached
from . import instances, rest
from .instances import Instance

INSTANCE, TEMPLATE = "gcp:compute/instance:Instance", "gcp:compute/instanceTemplate:InstanceTemplate"
SITE = "clusterwright:gcp:Site"
NODES = "clusterwright:gcp:Nodes"
BOOT_S = 600.0
"""Boot time of a node; until then only the scheduler knows whether it has booted."""
NO_NODE_KEY = "the stack has no SSH host key for its nodes yet, so nothing identifies them; the next `up` creates the key"
STARTED_BEFORE_KEY = "it started before the stack had an SSH host key for its nodes; its replacement gets the key"
STARTING_OR_ENDING = "it is starting or terminating"
ENDED = ("TERMINATED", "STOPPING", "SUSPENDED")


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = False

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        """A single controller mounts a disk; each of two controllers mounts their shared file system."""
        if role != "control":
            return ()
        return (f"{host_folders.STATE}/slurmctld" if controllers > 1 else host_folders.STATE,)

    def running_nodes(self, stack: discovery.Stack) -> discovery.RunningNodes:
        """List the running compute nodes."""
        if not stack.node_key:
            return discovery.RunningNodes(reason=NO_NODE_KEY)
        try:
            return nodes_of(_look(stack), stack)
        except errors.TargetUnanswered as error:
            return discovery.RunningNodes(failure=f"elastic nodes could not be listed: {error}", reason="they could not be listed")

    def instances(self, stack: discovery.Stack) -> discovery.Instances:
        """Compare the instances that carry the stack's name with its record.

        Raises:
            TargetUnanswered: Compute Engine does not answer, or refuses.
        """
        return compare(_look(stack), stack)

    def added_policies(self, kind: str, outputs: Mapping[str, Any], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Name nothing: on Google Cloud, a policy lists its members, and an account doesn't list its policies."""
        return ()

    def attachments(self, stack: discovery.Stack) -> discovery.Attachments:
        """List attachments of the stack's networks and secrets."""
        project, _ = _place(stack)
        return attached.unrecorded(attached.look(stack, project=project), stack) if project else discovery.Attachments()


def _look(stack: discovery.Stack) -> tuple[Instance, ...]:
    project, zone = _place(stack)
    return instances.look(rest.Compute(project), stack=stack.name, zone=zone) if project else ()


def _place(stack: discovery.Stack) -> tuple[str, str]:
    """Give project and zone of the stack's instances; empty: the stack recorded none."""
    found: Mapping[str, Any] = next((one["outputs"] for one in stack.resources if one["type"] in (INSTANCE, NODES)), {})
    return str(found.get("project", "")), str(found.get("zone", ""))


def nodes_of(found: Iterable[Instance], stack: discovery.Stack) -> discovery.RunningNodes:
    """Select the compute nodes that can be inspected, verified by the host key of all the stack's nodes. Pure."""
    known = {node: one for one in found if (node := node_of(one, stack)) and not is_foreign(one, stack)}
    inspected: list[discovery.RunningNode] = []
    skipped: dict[str, str] = {}
    for name, one in sorted(known.items()):
        if one.state != instances.RUNNING or not one.address:
            skipped[name] = STARTING_OR_ENDING
        elif stack.node_key_since and one.created < stack.node_key_since:
            skipped[name] = STARTED_BEFORE_KEY
        else:
            inspected.append(discovery.RunningNode(name, one.node_set, one.address, one.id, stack.node_key, one.created))
    return discovery.RunningNodes(tuple(inspected), skipped, boot_s=BOOT_S)


def compare(found: Iterable[Instance], stack: discovery.Stack) -> discovery.Instances:
    """Separate nodes from strays, and compare each node with its template. Pure."""
    recorded = {str(one["outputs"].get("instanceId", "")) for one in stack.resources if one["type"] == INSTANCE}
    templates = _templates(stack)
    strays: list[discovery.Stray] = []
    deviations: list[discovery.Deviation] = []
    skipped: list[tuple[str, str]] = []
    for one in sorted(found, key=lambda each: (each.created, each.id)):
        if one.id in recorded or is_foreign(one, stack):
            continue
        node = node_of(one, stack)
        if one.part == "image":
            skipped.append((one.name, "it builds an image, and is deleted when the build ends"))
        elif one.part != instances.COMPUTE or not node:
            strays.append(_stray(one, f"{one.node_set} has no such node" if one.part == instances.COMPUTE else "it is neither recorded nor a compute node"))
        elif one.state in ENDED:
            skipped.append((one.name, STARTING_OR_ENDING))
        elif one.node_set not in templates:
            skipped.append((one.name, "the template is not recorded"))
        else:
            deviations += _deviations(one, node, templates[one.node_set])
    return discovery.Instances(tuple(strays), tuple(deviations), tuple(skipped))


def node_of(one: Instance, stack: discovery.Stack) -> str:
    """Give the node that an instance is, by the end of its name; empty: it is none."""
    parts = one.name.split("-")
    ends = {"-".join(parts[start:]) for start in range(len(parts))}
    return next((name for name in stack.nodes.get(one.node_set, ()) if name in ends), "") if one.part == instances.COMPUTE else ""


def is_foreign(instance: Instance, stack: discovery.Stack) -> bool:
    """Return whether an instance carries the mark of another stack of the same name."""
    mark = next((one["outputs"].get("owner") for one in stack.resources if one["type"] == SITE), None)
    return bool(mark and instance.owner and instance.owner != mark)


def _templates(stack: discovery.Stack) -> dict[str, Mapping[str, Any]]:
    """Return the outputs of the recorded templates, by node set."""
    found = {one["name"]: one["outputs"] for one in stack.resources if one["type"] == TEMPLATE}
    return {node_set: found[f"{node_set}-template"] for node_set in stack.nodes if found.get(f"{node_set}-template")}


def _stray(one: Instance, reason: str) -> discovery.Stray:
    return discovery.Stray(one.name, reason, f"{one.machine}, {one.state}, started {one.created:%Y-%m-%d %H:%M} UTC")


def _deviations(instance: Instance, node: str, template: Mapping[str, Any]) -> Iterator[discovery.Deviation]:
    for attribute, expected, actual in (
        ("service account", str((template.get("serviceAccount") or {}).get("email", "")), instance.account),
        ("machine type", str(template.get("machineType", "")), instance.machine),
    ):
        if expected != actual:
            yield discovery.Deviation(instance.name, node, attribute, expected, actual)
