"""Instances that run under a stack's name, and attachments of its resources (`components/discovery.py`). Imports boto3 only for a query."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import discovery
from ..cloud import instances as cloud_instances
from . import attachments as attached
from . import instances as ec2
from .instances import Instance

INSTANCE, TEMPLATE = "aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate"
SITE = "clusterwright:aws:Site"
ROLE, ROLE_ATTACHMENT, ROLE_POLICY = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy"
NAMED_WITHIN = dt.timedelta(minutes=10)
"""The elastic program names an instance after its start, or, when that failed, with the next `sync`."""


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = True

    def mounts(self, role: str, *, controllers: int) -> tuple[str, ...]:
        return cloud_instances.mounts(role, controllers=controllers)

    def running_nodes(self, stack: discovery.Stack) -> discovery.RunningNodes:
        """List the running compute nodes."""
        return cloud_instances.running_nodes(stack, lambda: ec2.look(region=stack.region, stack=stack.name), nodes_of)

    def instances(self, stack: discovery.Stack) -> discovery.Instances:
        """Compare the instances that carry the stack's name with its record.

        Raises:
            TargetUnanswered: EC2 does not answer, or refuses.
        """
        return compare(ec2.look(region=stack.region, stack=stack.name), stack, now=dt.datetime.now(dt.UTC))

    def added_policies(self, kind: str, outputs: Mapping[str, Any], recorded: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """Name policies that somebody attached to a role: the role's record does not list them, so a refresh shows no change."""
        if kind != ROLE:
            return ()
        role = outputs.get("name")
        attached = {one["outputs"].get("policyArn") for one in recorded if one["type"] == ROLE_ATTACHMENT and one["outputs"].get("role") == role}
        inline = {one["outputs"].get("name") for one in recorded if one["type"] == ROLE_POLICY and one["outputs"].get("role") == role}
        managed = {arn for arn in outputs.get("managedPolicyArns") or () if arn not in attached}
        return tuple(sorted({*managed, *(one["name"] for one in outputs.get("inlinePolicies") or () if one.get("name") and one["name"] not in inline)}))

    def attachments(self, stack: discovery.Stack) -> discovery.Attachments:
        """List attachments of the stack's resources."""
        return attached.unrecorded(attached.look(attached.attachable(stack), region=stack.region), stack)


def nodes_of(instances: Iterable[Instance], stack: discovery.Stack) -> discovery.RunningNodes:
    """Select the compute nodes that can be inspected, verified by the host key of all the stack's nodes. Pure."""
    known = {
        one.node: one
        for one in sorted(instances, key=lambda one: (one.launched, one.id))
        if one.part == ec2.COMPUTE and one.node in stack.nodes.get(one.node_set, ()) and not cloud_instances.is_foreign(one, stack, site=SITE)
    }
    return cloud_instances.inspectable(known, stack, running=ec2.RUNNING)


def compare(instances: Iterable[Instance], stack: discovery.Stack, *, now: dt.datetime) -> discovery.Instances:
    """Separate nodes from strays, and compare each node with its launch template. Pure.

    Args:
        now: when the instances were listed.
    """
    recorded = {one["id"] for one in stack.resources if one["type"] == INSTANCE}
    strays: list[discovery.Stray] = []
    skipped: list[tuple[str, str]] = []
    nodes: dict[str, list[Instance]] = defaultdict(list)
    for one in sorted(instances, key=lambda instance: (instance.launched, instance.id)):
        if one.id in recorded or cloud_instances.is_foreign(one, stack, site=SITE):
            continue
        if one.builds_image:
            skipped.append((one.id, "it builds an image, and terminates when the build ends"))
        elif one.node_set not in stack.nodes or one.part != ec2.COMPUTE:
            strays.append(cloud_instances.stray(one, one.id, "it is neither recorded nor a compute node"))
        elif not one.node and now - one.launched < NAMED_WITHIN:
            skipped.append((one.id, f"it was just started for {one.node_set} and has no name yet"))
        elif one.node not in stack.nodes[one.node_set]:
            strays.append(
                cloud_instances.stray(
                    one, one.id, f"{one.node_set} has no node {one.node}" if one.node else f"it was started for {one.node_set} and is no node"
                )
            )
        else:
            nodes[one.node].append(one)
    deviations: list[discovery.Deviation] = []
    templates = cloud_instances.templates(stack, kind=TEMPLATE)
    for name, several in sorted(nodes.items()):
        *older, youngest = several
        strays += [cloud_instances.stray(one, one.id, f"{youngest.id} started later and is {name}") for one in older]
        if reason := _not_comparable(youngest, templates):
            skipped.append((f"{youngest.id} ({name})", reason))
        else:
            deviations += _deviations(youngest, templates[youngest.node_set])
    return discovery.Instances(tuple(strays), tuple(deviations), tuple(skipped))


def _not_comparable(instance: Instance, templates: Mapping[str, Mapping[str, Any]]) -> str:
    template = templates.get(instance.node_set)
    if template is None:
        return "the launch template is not recorded"
    if instance.template_version != str(int(template.get("latestVersion") or 0)):
        return "it was started from another version of the launch template; it is terminated when it is idle"
    return ""


def _deviations(instance: Instance, template: Mapping[str, Any]) -> list[discovery.Deviation]:
    groups = frozenset(group for interface in template.get("networkInterfaces") or () for group in interface.get("securityGroups") or ())
    profile = (template.get("iamInstanceProfile") or {}).get("arn", "")
    compared = [("security groups", ", ".join(sorted(groups)), ", ".join(sorted(instance.groups))), ("instance profile", profile, instance.profile)]
    return cloud_instances.deviations(instance.id, instance.node, compared)
