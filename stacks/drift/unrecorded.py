"""What is in the account under the stack's name without being recorded: instances that come and go with the work, and those that are nobody's.

A refresh looks at what is recorded and sees none of them. `look` asks; all else is pure.
"""

import datetime as dt
import importlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .codes import Code
from .record import Known, groups
from .report import Drift, Layer, Unchecked, drift

if TYPE_CHECKING:
    from components.aws.instances import Instance

LISTS = {"aws": "components.aws.instances"}
"""Target → the module that lists instances there."""
INSTANCE_TYPE, TEMPLATE_TYPE = "aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate"
SITE_TYPE = "clusterwright:aws:Site"
NAMED_WITHIN = dt.timedelta(minutes=10)
"""An instance is named after it was started, and by the next `sync` if that failed."""
END_IT = "if nobody needs it, end it: it is paid for"


class Unanswered(Exception):
    """The account could not be asked; the text says why."""


def look(stack_name: str, spec: Mapping[str, Any]) -> "tuple[Instance, ...]":
    """List the instances that carry the stack's name; none where nobody can list them.

    Raises:
        Unanswered: the cloud does not answer, or refuses.
    """
    if spec["target"] not in LISTS:
        return ()
    lists = importlib.import_module(LISTS[spec["target"]])
    try:
        found: tuple[Instance, ...] = lists.look(region=spec["network"]["region"], stack=stack_name)
    except lists.Unanswered as error:
        raise Unanswered(str(error)) from error
    return found


def findings(instances: "Sequence[Instance]", known: Known, *, moment: dt.datetime) -> tuple[list[Drift], list[Unchecked]]:
    """Tell nodes from what is nobody's, and compare nodes with what they were started from.

    Args:
        moment: when the instances were listed.
    """
    recorded = {one["id"] for one in known.resources if one["type"] == INSTANCE_TYPE}
    names = {group["name"]: {f"{group['prefix']}-{number}" for number in range(int(group["count"]))} for group in groups(known.spec)}
    templates = _templates(known)
    found: list[Drift] = []
    unchecked: list[Unchecked] = []
    nodes: dict[str, list[Instance]] = defaultdict(list)
    for one in sorted(instances, key=lambda instance: (instance.launched, instance.id)):
        if one.id in recorded or is_anothers(one, known):
            continue
        if one.builds_image:
            unchecked.append(Unchecked(Layer.CLOUD, f"instance {one.id}", "it builds an image, and ends with it"))
        elif one.node_set not in names or one.part != "compute":
            found.append(_unknown(one, "it is neither recorded nor a compute node"))
        elif not one.node and moment - one.launched < NAMED_WITHIN:
            unchecked.append(Unchecked(Layer.CLOUD, f"instance {one.id}", f"it was just started for {one.node_set} and has no name yet"))
        elif one.node not in names[one.node_set]:
            found.append(_unknown(one, f"{one.node_set} has no node {one.node}" if one.node else f"it was started for {one.node_set} and is no node"))
        else:
            nodes[one.node].append(one)
    for name, several in sorted(nodes.items()):
        found += [_unknown(one, f"{several[-1].id}, which is younger, is {name}") for one in several[:-1]]
        differing, why = _compared(several[-1], templates)
        found += differing
        unchecked += [Unchecked(Layer.CLOUD, f"instance {several[-1].id} ({name})", why)] if why else []
    return found, unchecked


def is_anothers(instance: "Instance", known: Known) -> bool:
    """Say whether an instance belongs to another stack of the same name, whose mark it carries."""
    mark = next((one["outputs"].get("owner") for one in known.resources if one["type"] == SITE_TYPE), None)
    return bool(mark and instance.owner and instance.owner != mark)


def _templates(known: Known) -> dict[str, Mapping[str, Any]]:
    """Give the outputs of the recorded launch templates, by node set."""
    found = {one["name"]: one["outputs"] for one in known.resources if one["type"] == TEMPLATE_TYPE}
    return {node_set["hosts"]["name"]: outputs for node_set in known.spec["node_sets"] if (outputs := found.get(f"{node_set['hosts']['name']}-template"))}


def _unknown(instance: "Instance", why: str) -> Drift:
    return drift(
        Layer.CLOUD,
        Code.INSTANCE_UNKNOWN,
        f"instance {instance.id}",
        f"the instance carries the stack's name, and {why}",
        remedy=f"`clusterwright-elastic status` on the controller names the nodes that are its own; {END_IT}",
        actual=f"{instance.machine}, {instance.state}, started {instance.launched:%Y-%m-%d %H:%M} UTC",
    )


def _compared(instance: "Instance", templates: Mapping[str, Mapping[str, Any]]) -> tuple[list[Drift], str]:
    """Compare a node's instance with the launch template, or say why that can't be done."""
    template = templates.get(instance.node_set)
    if template is None:
        return [], "the launch template is not recorded"
    if instance.template_version != str(int(template.get("latestVersion") or 0)):
        return [], "it was started from another version of the launch template, and goes when it is idle"
    wanted = frozenset(group for interface in template.get("networkInterfaces") or () for group in interface.get("securityGroups") or ())
    profile = (template.get("iamInstanceProfile") or {}).get("arn", "")
    sides = (("security groups", ", ".join(sorted(wanted)), ", ".join(sorted(instance.groups))), ("instance profile", profile, instance.profile))
    return [_differs(instance, what, asked, actual) for what, asked, actual in sides if asked != actual], ""


def _differs(instance: "Instance", what: str, wanted: str, actual: str) -> Drift:
    return drift(
        Layer.CLOUD,
        Code.INSTANCE_CHANGED,
        f"instance {instance.id} ({instance.node}): {what}",
        f"the instance has other {what} than its launch template says",
        remedy=f"put them back, or drain the node: `scontrol update nodename={instance.node} state=power_down_asap` has it made anew",
        desired=wanted or None,
        recorded=wanted or None,
        actual=actual or None,
    )
