"""Instances that run under a stack's name (`components/discovery.py`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import discovery
from ..cloud import instances as cloud_instances
from . import attachments as attached
from . import instances, rest
from .instances import Instance

INSTANCE, TEMPLATE = "gcp:compute/instance:Instance", "gcp:compute/instanceTemplate:InstanceTemplate"
SITE = "clusterwright:gcp:Site"
NODES = "clusterwright:gcp:Nodes"
ENDED = ("TERMINATED", "STOPPING", "SUSPENDED")


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = False

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        return cloud_instances.mounts(role, controllers=controllers)

    def running_nodes(self, stack: discovery.Stack) -> discovery.RunningNodes:
        """List the running compute nodes."""
        return cloud_instances.running_nodes(stack, lambda: _look(stack), nodes_of)

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
    known = {node: one for one in found if (node := node_of(one, stack)) and not cloud_instances.is_foreign(one, stack, site=SITE)}
    return cloud_instances.inspectable(known, stack, running=instances.RUNNING)


def compare(found: Iterable[Instance], stack: discovery.Stack) -> discovery.Instances:
    """Separate nodes from strays, and compare each node with its template. Pure."""
    recorded = {str(one["outputs"].get("instanceId", "")) for one in stack.resources if one["type"] == INSTANCE}
    templates = cloud_instances.templates(stack, kind=TEMPLATE)
    strays: list[discovery.Stray] = []
    deviations: list[discovery.Deviation] = []
    skipped: list[tuple[str, str]] = []
    for one in sorted(found, key=lambda each: (each.launched, each.id)):
        if one.id in recorded or cloud_instances.is_foreign(one, stack, site=SITE):
            continue
        node = node_of(one, stack)
        if one.part == "image":
            skipped.append((one.name, "it builds an image, and is deleted when the build ends"))
        elif one.part != instances.COMPUTE or not node:
            strays.append(
                cloud_instances.stray(
                    one, one.name, f"{one.node_set} has no such node" if one.part == instances.COMPUTE else "it is neither recorded nor a compute node"
                )
            )
        elif one.state in ENDED:
            skipped.append((one.name, cloud_instances.STARTING_OR_ENDING))
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


def _deviations(instance: Instance, node: str, template: Mapping[str, Any]) -> list[discovery.Deviation]:
    account = str((template.get("serviceAccount") or {}).get("email", ""))
    compared = [("service account", account, instance.account), ("machine type", str(template.get("machineType", "")), instance.machine)]
    return cloud_instances.deviations(instance.name, node, compared)
