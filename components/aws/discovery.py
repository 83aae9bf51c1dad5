"""Instances that run under a stack's name, and attachments of its resources (`components/discovery.py`). Imports boto3 only for a query."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import discovery, errors, host_folders
from . import attachments as attached
from . import instances as ec2
from .instances import Instance

INSTANCE, TEMPLATE = "aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate"
SITE = "clusterwright:aws:Site"
ROLE, ROLE_ATTACHMENT, ROLE_POLICY = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "aws:iam/rolePolicy:RolePolicy"
NAMED_WITHIN = dt.timedelta(minutes=10)
"""The elastic program names an instance after its start, or, when that failed, with the next `sync`."""
BOOT_S = 600.0
"""Boot time of a node; until then only the scheduler knows whether it has booted."""
NO_NODE_KEY = "the stack has no SSH host key for its nodes yet, so nothing identifies them; the next `up` creates the key"
STARTED_BEFORE_KEY = "it started before the stack had an SSH host key for its nodes; its replacement gets the key"
STARTING_OR_ENDING = "it is starting or terminating"


class Discovery:
    """Implements `discovery.Discovery`."""

    leases_end = True

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
            return nodes_of(ec2.look(region=stack.region, stack=stack.name), stack)
        except errors.TargetUnanswered as error:
            return discovery.RunningNodes(failure=f"elastic nodes could not be listed: {error}", reason="they could not be listed")

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
        if one.part == ec2.COMPUTE and one.node in stack.nodes.get(one.node_set, ()) and not is_foreign(one, stack)
    }
    found: list[discovery.RunningNode] = []
    skipped: dict[str, str] = {}
    for name, one in sorted(known.items()):
        if one.state != ec2.RUNNING or not one.address:
            skipped[name] = STARTING_OR_ENDING
        elif stack.node_key_since and one.launched < stack.node_key_since:
            skipped[name] = STARTED_BEFORE_KEY
        else:
            found.append(discovery.RunningNode(name, one.node_set, one.address, one.id, stack.node_key, one.launched))
    return discovery.RunningNodes(tuple(found), skipped, boot_s=BOOT_S)


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
        if one.id in recorded or is_foreign(one, stack):
            continue
        if one.builds_image:
            skipped.append((one.id, "it builds an image, and terminates when the build ends"))
        elif one.node_set not in stack.nodes or one.part != ec2.COMPUTE:
            strays.append(_stray(one, "it is neither recorded nor a compute node"))
        elif not one.node and now - one.launched < NAMED_WITHIN:
            skipped.append((one.id, f"it was just started for {one.node_set} and has no name yet"))
        elif one.node not in stack.nodes[one.node_set]:
            strays.append(_stray(one, f"{one.node_set} has no node {one.node}" if one.node else f"it was started for {one.node_set} and is no node"))
        else:
            nodes[one.node].append(one)
    deviations: list[discovery.Deviation] = []
    templates = _templates(stack)
    for name, several in sorted(nodes.items()):
        *older, youngest = several
        strays += [_stray(one, f"{youngest.id} started later and is {name}") for one in older]
        if reason := _not_comparable(youngest, templates):
            skipped.append((f"{youngest.id} ({name})", reason))
        else:
            deviations += _deviations(youngest, templates[youngest.node_set])
    return discovery.Instances(tuple(strays), tuple(deviations), tuple(skipped))


def is_foreign(instance: Instance, stack: discovery.Stack) -> bool:
    """Return whether an instance carries the mark of another stack of the same name."""
    mark = next((one["outputs"].get("owner") for one in stack.resources if one["type"] == SITE), None)
    return bool(mark and instance.owner and instance.owner != mark)


def _templates(stack: discovery.Stack) -> dict[str, Mapping[str, Any]]:
    """Return the outputs of the recorded launch templates, by node set."""
    found = {one["name"]: one["outputs"] for one in stack.resources if one["type"] == TEMPLATE}
    return {node_set: found[f"{node_set}-template"] for node_set in stack.nodes if found.get(f"{node_set}-template")}


def _stray(one: Instance, reason: str) -> discovery.Stray:
    return discovery.Stray(one.id, reason, f"{one.machine}, {one.state}, started {one.launched:%Y-%m-%d %H:%M} UTC")


def _not_comparable(instance: Instance, templates: Mapping[str, Mapping[str, Any]]) -> str:
    template = templates.get(instance.node_set)
    if template is None:
        return "the launch template is not recorded"
    if instance.template_version != str(int(template.get("latestVersion") or 0)):
        return "it was started from another version of the launch template; it is terminated when it is idle"
    return ""


def _deviations(instance: Instance, template: Mapping[str, Any]) -> Iterator[discovery.Deviation]:
    groups = frozenset(group for interface in template.get("networkInterfaces") or () for group in interface.get("securityGroups") or ())
    profile = (template.get("iamInstanceProfile") or {}).get("arn", "")
    for attribute, expected, actual in (
        ("security groups", ", ".join(sorted(groups)), ", ".join(sorted(instance.groups))),
        ("instance profile", profile, instance.profile),
    ):
        if expected != actual:
            yield discovery.Deviation(instance.id, instance.node, attribute, expected, actual)
